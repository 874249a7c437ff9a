"""What scripts/bench/rows/arrays.lua times, in PyTorch."""
import torch
import torch.nn.functional as F


def segment_sum(x, ids):
    return torch.zeros(1000, x.shape[1]).index_add(0, ids, x)


def split_and_join(x):
    a, b, c = x.split(512, 1)
    return torch.cat((c, a, b), 1)


ROWS = {
    "embedding of (16, 128) words in (30522, 768)": lambda w, ids: F.embedding(ids, w),
    "gather of (1000000) from (100000)": lambda x, ids: x.index_select(0, ids),
    "dim_gather of (4096, 256) from (4096, 1024)": lambda x, ids: x.gather(1, ids),
    "segment sums of (100000, 64) in 1000": segment_sum,
    "gather_nd of (100000) from (512, 512, 16)": lambda x, ids: x[ids[:, 0], ids[:, 1]],
    "transpose of (2048, 2048)": lambda x: x.t().contiguous(),
    "transpose of (32, 64, 56, 56) to channels last":
        lambda x: x.permute(0, 2, 3, 1).contiguous(),
    "concat of two (32, 64, 56, 56) along channels": lambda a, b: torch.cat((a, b), 1),
    "stack of two (4096, 512) along the last axis": lambda a, b: torch.stack((a, b), 2),
    "split of (4096, 1536) in three, put together anew": split_and_join,
    "slice of (4096, 2048) along both axes": lambda x: x[100:3100, 512:1536].contiguous(),
    "every second column of (4096, 2048)": lambda x: x[:, ::2].contiguous(),
    "reverse of (4096, 1024) along rows": lambda x: x.flip(1),
    "roll of (4096, 1024)": lambda x: x.roll(100, 1),
    "pad of (32, 64, 56, 56) by 1": lambda x: F.pad(x, (1, 1, 1, 1)),
    "reflecting pad of (32, 64, 56, 56) by 3": lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"),
    "tile of (1024, 64) by (4, 16)": lambda x: x.tile(4, 16),
    "masked_fill of (4096, 1024)": lambda x, mask: x.masked_fill(mask.bool(), -1),
    "one_hot of (65536) in 256": lambda ids: F.one_hot(ids.long(), 256).float(),
    "sort of (1000000)": lambda x: x.sort()[0],
    "sort of (1000, 1000)": lambda x: x.sort()[0],
    "argsort of (64, 10000)": lambda x: x.argsort(),
    "top_k of (256, 10000), 10": lambda x: x.topk(10)[1],
    "top_k of (64, 50257), 50": lambda x: x.topk(50)[1],
    "cumsum of (4096, 1024) along rows": lambda x: x.cumsum(1),
    "cumsum of (4096, 1024) along columns": lambda x: x.cumsum(0),
    "cumprod of (4096, 256) along rows": lambda x: x.cumprod(1),
    "einsum bhid,bhjd->bhij of (8, 12, 128, 64)":
        lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b),
}
