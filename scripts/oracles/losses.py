"""Losses."""
import torch
import torch.nn.functional as F

from .common import D, W, entry


labels = D([2, 0, 4, 1], "int32")
entry("sparse_softmax_cross_entropy_with_logits", [labels, W((4, 5), 1, 3)], {},
      lambda l, x: F.cross_entropy(x, l.long(), reduction="none"))
entry("softmax_cross_entropy_with_logits",
      [D([[0.1, 0.2, 0.7], [1, 0, 0], [0.5, 0.25, 0.25]]), W((3, 3), 1, 3)], {},
      lambda z, x: -(z * F.log_softmax(x, -1)).sum(-1))
entry("sigmoid_cross_entropy_with_logits",
      [D([[0.1, 0.2, 0.7], [1, 0, 0.5]]), W((2, 3), 1, 30)], {},
      lambda z, x: F.binary_cross_entropy_with_logits(x, z, reduction="none"))
