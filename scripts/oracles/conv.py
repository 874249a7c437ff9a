"""Convolutions and pools."""
import torch
import torch.nn.functional as F

from .common import D, W, entry


def same_pads(n, k, s, d=1, lower=True):
    out = -(-n // s)
    p = max(0, (out - 1) * s + (k - 1) * d + 1 - n)
    return (p - p // 2, p // 2) if lower else (p // 2, p - p // 2)


def conv(x, f, pads, stride=1, dilation=1, groups=1):
    (t, b), (l, r) = pads
    return F.conv2d(F.pad(x, (l, r, t, b)), f, stride=stride, dilation=dilation, groups=groups)


def max_pool(x, k, s, pads):
    (t, b), (l, r) = pads
    return F.max_pool2d(F.pad(x, (l, r, t, b), value=-1e300), k, s)


def avg_pool(x, k, s, pads):
    (t, b), (l, r) = pads
    total = F.avg_pool2d(F.pad(x, (l, r, t, b)), k, s)
    part = F.avg_pool2d(F.pad(torch.ones_like(x), (l, r, t, b)), k, s)
    return total / part


for lower in (True, False):
    pads = (same_pads(7, 4, 2, lower=lower), same_pads(6, 3, 2, lower=lower))
    entry("conv2d", [W((2, 2, 7, 6), 1), W((3, 2, 4, 3), 2)],
          {"strides": 2, "padding": "SAME" if lower else "SAME_UPPER"},
          lambda x, f: conv(x, f, pads, 2))
entry("conv2d", [W((1, 4, 5, 6), 1), W((6, 2, 3, 2), 2)], {"groups": 2, "padding": [1, 1, 0, 2]},
      lambda x, f: conv(x, f, ((1, 1), (0, 2)), groups=2))
entry("conv2d", [W((1, 2, 8, 9), 1), W((2, 2, 3, 3), 2)], {"dilations": [2, 3], "strides": [1, 2]},
      lambda x, f: F.conv2d(x, f, stride=(1, 2), dilation=(2, 3)))
pads = (same_pads(7, 3, 2), same_pads(6, 3, 2))
options = {"ksize": 3, "strides": 2, "padding": "SAME"}
entry("max_pool2d", [W((2, 2, 7, 6), 1)], options, lambda x: max_pool(x, 3, 2, pads))
entry("avg_pool2d", [W((2, 2, 7, 6), 1)], options, lambda x: avg_pool(x, 3, 2, pads))
options = {"ksize": 2, "strides": 2, "padding": [0, 0], "ceil_mode": True}
entry("max_pool2d", [W((1, 1, 5, 7), 1)], options, lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True))
entry("avg_pool2d", [W((1, 1, 5, 7), 1)], options, lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True))
entry("max_pool2d", [D([[[[1, 1, 0], [1, 1, 2], [2, 2, 0]]]])], {"ksize": 2, "strides": 1},
      lambda x: F.max_pool2d(x, 2, 1))
