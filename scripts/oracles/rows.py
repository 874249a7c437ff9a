"""Softmax, products, reductions."""
import torch
import torch.nn.functional as F

from .common import D, W, entry


for axis in (-1, 0, 1):
    entry("softmax", [W((2, 3, 4), 1, 5)], {"axis": axis}, lambda x: F.softmax(x, axis))
    entry("logsoftmax", [W((2, 3, 4), 1, 50)], {"axis": axis}, lambda x: F.log_softmax(x, axis))

entry("matmul", [W((3, 4), 1), W((4, 2), 2)], {}, torch.matmul)
entry("matmul", [W((2, 4, 3), 1), W((2, 5, 4), 2)], {"transpose_a": True, "transpose_b": True},
      lambda a, b: a.transpose(1, 2) @ b.transpose(1, 2))
entry("matmul", [D([[1, 2], [3, 4]], "int32"), D([[5, 6], [7, -8]], "int32")], {}, torch.matmul,
      False)
entry("bias_add", [W((2, 3, 2), 1), W((3,), 2)], {}, lambda x, b: x + b[:, None])

for name, fn in (("reduce_sum", torch.sum), ("reduce_mean", torch.mean), ("reduce_max", torch.amax),
                 ("reduce_min", torch.amin)):
    entry(name, [W((2, 3, 4), 1)], {}, lambda x: fn(x, dim=(0, 1, 2)).reshape(1))
    entry(name, [W((2, 3, 4), 1)], {"axis": [0, 2]}, lambda x: fn(x, dim=(0, 2)))
    entry(name, [W((2, 3, 4), 1)], {"axis": -2, "keepdims": True},
          lambda x: fn(x, dim=-2, keepdim=True))
entry("reduce_prod", [W((2, 3, 4), 1)], {"axis": 1}, lambda x: torch.prod(x, 1))
entry("reduce_prod", [D([[0, 2, 3], [0, 0, 4], [1, 2, 3]])], {"axis": 1},
      lambda x: torch.prod(x, 1))
entry("argmax", [W((3, 5), 1)], {}, lambda x: x.argmax(-1).int(), False)
entry("argmin", [W((3, 5), 1)], {"axis": 0}, lambda x: x.argmin(0).int(), False)
entry("layers.dense", [W((2, 3, 4), 1)], {"units": 5, "name": "d"},
      lambda x, w, b: F.linear(x, w, b),
      variables={"d-weight": W((5, 4), 2), "d-bias": W((5,), 3)})
