"""Ops that move elements, put them in order or add them up, and functions made of them."""
import torch
import torch.nn.functional as F

from .common import D, L, W, entry

X234 = W((2, 3, 4), 1)


def ints(data):
    return D(data, "int64")


# ---- shapes ----
entry("transpose", [X234], {"perm": [2, 0, 1]}, lambda x: x.permute(2, 0, 1))
entry("reshape", [X234], {"shape": [4, -1]}, lambda x: x.reshape(4, -1))
entry("flatten", [X234], {"start_dim": 1}, lambda x: x.flatten(1))
entry("squeeze", [W((2, 1, 3), 1)], {"axis": 1}, lambda x: x.squeeze(1))
entry("expand_dims", [X234], {"axis": -2}, lambda x: x.unsqueeze(-2))
entry("moveaxis", [X234], {"source": [0, 1], "destination": [2, 0]},
      lambda x: x.movedim((0, 1), (2, 0)))
entry("swapaxes", [X234], {"dim0": 0, "dim1": -1}, lambda x: x.swapaxes(0, -1))
entry("broadcast_to", [W((3, 1), 1)], {"shape": [2, 3, 2]}, lambda x: x.expand(2, 3, 2))
entry("broadcast_like", [W((2, 3), 1), W((2, 4, 3), 2)], {"broadcast_axes": [1]},
      lambda x, like: x[:, None].expand_as(like) + 0 * like)
entry("math.broadcast_to_compatible_with", [W((3, 1), 1), L(W((4,), 2), W((2, 1, 1), 3))], {},
      lambda x, a, b: x.expand(2, 3, 4) + 0 * (a + b))
entry("tile", [W((2, 3), 1)], {"reps": [2, 1, 2]}, lambda x: x.tile(2, 1, 2))
entry("repeat_interleave", [W((2, 3), 1)], {"repeats": 2, "axis": 1},
      lambda x: x.repeat_interleave(2, 1))
entry("diagonal", [X234], {"offset": 1, "dim1": 1, "dim2": 2}, lambda x: x.diagonal(1, 1, 2))
entry("diagonal", [W((4, 2, 3), 1)], {"offset": -1, "dim1": 0, "dim2": 2},
      lambda x: x.diagonal(-1, 0, 2))
entry("roll", [X234], {"shifts": [1, -3], "dims": [0, 2]}, lambda x: x.roll((1, -3), (0, 2)))
entry("roll", [W((2, 3), 1)], {"shifts": 4}, lambda x: x.roll(4))
entry("reverse", [X234], {"axis": [0, 2]}, lambda x: x.flip((0, 2)))
entry("concat", [L(W((2, 3), 1), W((2, 1), 2))], {"axis": 1}, lambda a, b: torch.cat((a, b), 1))
entry("stack", [L(W((2, 3), 1), W((2, 3), 2))], {"axis": -1}, lambda a, b: torch.stack((a, b), -1))
entry("split", [W((2, 5), 1)], {"sizes": [1, 2, 2], "axis": 1}, lambda x: x.split([1, 2, 2], 1))
entry("split", [W((5, 2), 1)], {"sizes": 2}, lambda x: x.split(2))

# ---- slices and borders ----
entry("slice", [W((4, 5), 1)], {"begin": [1, -3], "size": [-1, 2]}, lambda x: x[1:, 2:4])
entry("slice_v2", [W((5, 6), 1)], {"slice_tup_list": [[4, 0, -2], [1, 6, 2]]},
      lambda x: x.flip(0)[0:4:2, 1::2])
entry("slice_update", [W((4, 5), 1), W((2, 2), 2)], {"slice_tup_list": [[0, 4, 2], [1, 3]]},
      lambda x, u: torch.slice_scatter(x, torch.slice_scatter(x[::2], u, 1, 1, 3), 0, 0, 4, 2))
for mode in "constant", "reflect", "replicate", "circular":
    entry("pad", [W((1, 2, 3, 4), 1)], {"paddings": [0, 0, 0, 0, 2, 1, 1, 3], "mode": mode},
          lambda x, mode=mode: F.pad(x, (1, 3, 2, 1), mode=mode))
entry("constant_pad2d", [W((1, 2, 3, 2), 1)], {"padding": [1, 0, 2, 3], "constant_value": 0.5},
      lambda x: F.pad(x, (1, 0, 2, 3), value=0.5))
entry("reflection_pad2d", [W((2, 1, 3, 4), 1)], {"padding": [3, 1, 2, 0]},
      torch.nn.ReflectionPad2d((3, 1, 2, 0)))
entry("replication_pad2d", [W((2, 1, 3, 4), 1)], {"padding": 2}, torch.nn.ReplicationPad2d(2))

# ---- choice by indices ----
index = ints([[2, 0], [1, 2]])
entry("gather", [W((2, 3, 2), 1), index], {"axis": 1}, lambda x, i: x[:, i])
entry("gather", [W((2, 4, 3), 1), ints([[3, 0, 3], [1, 1, 2]])], {"batch_dims": 1},
      lambda x, i: torch.stack([x[b, i[b]] for b in range(2)]))
entry("gather", [W((2, 2, 4), 1), ints([[3, 0], [1, 1]])], {"batch_dims": 1, "axis": 2},
      lambda x, i: torch.stack([x[b][:, i[b]] for b in range(2)]))
entry("nn.embedding", [ints([[3, 0], [1, 3]]), W((4, 3), 1)], {}, F.embedding)
entry("nn.embedding", [ints([[3, 0], [1, 3]]), W((4, 3), 1)], {"padding_idx": 3},
      lambda i, w: F.embedding(i, w, padding_idx=3))
entry("gather_nd", [W((3, 4, 2), 1), ints([[2, 1], [0, 3], [2, 1]])], {},
      lambda x, i: x[i[:, 0], i[:, 1]])
entry("scatter_nd", [ints([[2, 1], [0, 3], [2, 1]]), W((3, 2), 1)], {"shape": [3, 4, 2]},
      lambda i, u: torch.zeros(3, 4, 2).index_put((i[:, 0], i[:, 1]), u, accumulate=True))
entry("tensor_scatter_nd_update", [W((3, 4), 1), ints([[2, 1], [0, 3]]), W((2,), 2)], {},
      lambda x, i, u: x.index_put((i[:, 0], i[:, 1]), u))
entry("tensor_scatter_nd_add", [W((3, 4), 1), ints([[2], [2]]), W((2, 4), 2)], {},
      lambda x, i, u: x.index_put((i[:, 0],), u, accumulate=True))
along = ints([[2, 0, 1, 1], [0, 0, 2, 1]])
entry("dim_gather", [W((3, 4), 1), 0, along], {}, lambda x, i: x.gather(0, i))
entry("dim_scatter_add", [0, W((3, 4), 1), along, W((2, 4), 2)], {},
      lambda x, i, u: x.scatter_add(0, i, u))
entry("masked_fill", [W((2, 3), 1), D([[1, 0, 0], [0, 1, 1]], "int8")], {"value": -2},
      lambda x, m: x.masked_fill(m.bool(), -2))
entry("one_hot", [ints([2, 0, 1])], {"depth": 4}, lambda i: F.one_hot(i, 4).float(), False)
entry("math.unsorted_segment_sum", [W((4, 3), 1), ints([2, 0, 2, 1])], {"num_segments": 4},
      lambda x, i: torch.zeros(4, 3).index_add(0, i, x))
entry("math.unsorted_batch_segment_sum", [W((2, 3), 1), ints([[1, 1, 0], [0, 2, 0]])],
      {"num_segments": 3}, lambda x, i: torch.zeros(2, 3).scatter_add(1, i, x))
entry("math.unsorted_segment_sum_like", [W((2, 3), 1), ints([1, 1, 0]), W((2, 5), 3)],
      {"axis": 1}, lambda x, i, like: torch.zeros(2, 5).index_add(1, i, x) + 0 * like)
entry("math.in_top_k", [ints([2, 1, 0]), W((3, 4), 1)], {"k": 2},
      lambda i, p: (p.topk(2)[1] == i[:, None]).any(1).to(torch.int8), False)

# ---- order, sums, products ----
for descending in False, True:
    direction = {"direction": "DESCENDING" if descending else "ASCENDING"}
    entry("sort", [X234], dict(direction, axis=1),
          lambda x, d=descending: x.sort(1, descending=d)[0])
    entry("argsort", [X234], direction,
          lambda x, d=descending: x.argsort(-1, descending=d).int(), False)
entry("math.top_k", [W((3, 9), 1)], {"k": 4}, lambda x: x.topk(4)[1].int(), False)
for axis in 0, 2:
    entry("cumsum", [X234], {"axis": axis}, lambda x, a=axis: x.cumsum(a))
    entry("cumprod", [X234], {"axis": axis}, lambda x, a=axis: x.cumprod(a))
entry("cumsum", [X234], {"axis": 1, "exclusive": True, "reverse": True},
      lambda x: x.flip(1).cumsum(1).flip(1) - x)
entry("cumprod", [D([[1, 2, 0, 3], [0, 4, 0, 2], [3, 1, 2, 5]])], {"axis": 1},
      lambda x: x.cumprod(1))
entry("experimental.square_sum", [X234], {}, lambda x: (x * x).sum().reshape(1))
entry("count_not_finite", [D([1, float("inf"), float("nan"), -float("inf"), 0])], {},
      lambda x: (~x.isfinite()).sum().reshape(1), False)

entry("matmul", [W((2, 1, 3, 4), 1), W((5, 4, 2), 2)], {}, torch.matmul)
entry("matmul", [W((2, 3, 4), 1), W((5, 4), 2)], {"transpose_b": True},
      lambda a, b: torch.matmul(a, b.t()))
for equation, shapes in (
        ("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bkj->bik", ((2, 3, 4), (2, 2, 4))),
        ("bhid,bhjd->bhij", ((2, 2, 3, 4), (2, 2, 2, 4))), ("i,j->ij", ((3,), (2,))),
        ("ij,ij->i", ((2, 3), (2, 3))), ("ii->i", ((3, 3),)), ("ijk->kj", ((2, 3, 4),)),
        ("ij,jk,kl->il", ((2, 3), (3, 2), (2, 2))),
        ("...ij,...jk->...ik", ((2, 1, 3, 4), (3, 4, 2)))):
    entry("einsum", [equation, L(*(W(s, i + 1) for i, s in enumerate(shapes)))], {},
          lambda *x, e=equation: torch.einsum(e, *x))
entry("unbind", [X234], {"axis": 1}, lambda x: x.unbind(1))
entry("unbind", [X234], {}, lambda x: x.unbind())
entry("chunk", [W((5, 2), 1), 3], {}, lambda x: x.chunk(3))
entry("chunk", [X234, 3], {"axis": -1}, lambda x: x.chunk(3, -1))
