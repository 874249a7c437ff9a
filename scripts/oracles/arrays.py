"""Ops that move elements."""
import torch
import torch.nn.functional as F

from .common import D, L, W, entry


index = D([[2, 0], [1, 2]], "int64")
entry("gather", [W((2, 3, 2), 1), index], {"axis": 1}, lambda x, i: x[:, i])
entry("one_hot", [D([2, 0, 1], "int64")], {"depth": 4}, lambda i: F.one_hot(i, 4), False)
entry("transpose", [W((2, 3, 4), 1)], {"perm": [2, 0, 1]}, lambda x: x.permute(2, 0, 1))
entry("slice", [W((4, 5), 1)], {"begin": [1, -3], "size": [-1, 2]}, lambda x: x[1:, 2:4])
entry("broadcast_to", [W((3, 1), 1)], {"shape": [2, 3, 2]}, lambda x: x.expand(2, 3, 2))
entry("concat", [L(W((2, 3), 1), W((2, 1), 2))], {"axis": 1}, lambda a, b: torch.cat((a, b), 1))
