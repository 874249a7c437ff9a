"""Elementwise ops."""
import torch
import torch.nn.functional as F

from .common import D, W, entry


for name, fn in (("add", torch.add), ("subtract", torch.subtract), ("multiply", torch.multiply),
                 ("maximum", torch.maximum), ("minimum", torch.minimum),
                 ("squared_difference", lambda a, b: (a - b) ** 2)):
    entry(name, [W((3, 1, 2), 1), W((4, 1), 2)], {}, fn)
entry("divide", [W((3, 1, 2), 1), D([[2], [-3], [0.5]])], {}, torch.divide)
entry("pow", [D([0.5, 1, 2, 3]), D([2, -1, 0.5, 3])], {}, torch.pow)
entry("mod", [W((3, 4), 1, 9), D([2, -3, 2.5, -0.7])], {}, torch.remainder)
entry("floordiv", [W((3, 4), 1, 9), D([2, -3, 2.5, -0.7])], {}, lambda a, b: torch.floor(a / b),
      False)
for dtype in ("int32", "int64"):
    a, b = D([[7, -7], [-8, 8]], dtype), D([[2], [-3]], dtype)
    entry("divide", [a, b], {}, lambda x, y: torch.div(x, y, rounding_mode="trunc"), False)
    entry("floordiv", [a, b], {}, lambda x, y: torch.div(x, y, rounding_mode="floor"), False)
    entry("mod", [a, b], {}, torch.remainder, False)
    entry("pow", [a, D([[3], [0]], dtype)], {}, torch.pow, False)

for name, fn in (("gelu", F.gelu), ("erf", torch.erf), ("softplus", F.softplus), ("elu", F.elu),
                 ("leaky_relu", lambda x: F.leaky_relu(x, 0.2)), ("relu", F.relu),
                 ("tanh", torch.tanh),
                 ("sigmoid", torch.sigmoid), ("expm1", torch.expm1), ("sin", torch.sin),
                 ("cos", torch.cos), ("exp", torch.exp), ("abs", torch.abs),
                 ("square", torch.square),
                 ("negative", torch.neg)):
    entry(name, [W((9,), 1, 4)], {}, fn)
for name, fn in (("sign", torch.sign), ("floor", torch.floor), ("ceil", torch.ceil)):
    entry(name, [W((9,), 1, 4)], {}, fn, False)
for name, fn in (("sqrt", torch.sqrt), ("rsqrt", torch.rsqrt), ("log", torch.log),
                 ("log1p", torch.log1p), ("reciprocal", torch.reciprocal)):
    entry(name, [D([0.01, 0.5, 1, 7, 1000])], {}, fn)
entry("round", [D([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49, 3.7])], {}, torch.round, False)
entry("clip_by_value", [W((9,), 1, 4)], {"min_value": -1, "max_value": 2.5},
      lambda x: x.clamp(-1, 2.5))

for name, fn in (("silu", F.silu), ("mish", F.mish), ("selu", F.selu), ("softsign", F.softsign),
                 ("log_sigmoid", F.logsigmoid), ("relu6", F.relu6), ("hardtanh", F.hardtanh),
                 ("hardsigmoid", lambda x: (x / 6 + 0.5).clamp(0, 1)),  # PyTorch's 1/6 is a float
                 ("hardswish", F.hardswish),
                 ("softshrink", F.softshrink), ("hardshrink", F.hardshrink),
                 ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")),
                 ("atan", torch.atan), ("sinh", torch.sinh), ("cosh", torch.cosh),
                 ("asinh", torch.asinh), ("exp2", torch.exp2), ("erfc", torch.erfc),
                 ("lgamma", torch.lgamma)):
    entry(name, [W((9,), 1, 8 if name.startswith("hard") or name == "relu6" else 4)], {}, fn)
entry("swish", [W((9,), 1, 4)], {"beta": 1.5}, lambda x: x * torch.sigmoid(1.5 * x))
entry("hardtanh", [W((9,), 1, 4)], {"min_val": -2, "max_val": 3}, lambda x: F.hardtanh(x, -2, 3))
entry("elu", [W((9,), 1, 4)], {"alpha": 0.7}, lambda x: F.elu(x, 0.7))
for name, fn in (("tan", torch.tan), ("asin", torch.asin), ("acos", torch.acos),
                 ("atanh", torch.atanh)):
    entry(name, [W((9,), 1, 0.9)], {}, fn)
entry("acosh", [D([1.01, 1.5, 7, 1000])], {}, torch.acosh)
# PyTorch's derivative of digamma is off by 1e-9.
entry("digamma", [W((9,), 1, 4)], {}, torch.digamma, False)
for name, fn in (("log2", torch.log2), ("log10", torch.log10), ("lgamma", torch.lgamma)):
    entry(name, [D([0.01, 0.5, 1, 7, 1000])], {}, fn)
entry("trunc", [W((9,), 1, 4)], {}, torch.trunc, False)
entry("reciprocal_no_nan", [D([0, 2, -0.25])], {},
      lambda x: torch.where(x == 0, 0.0, 1 / torch.where(x == 0, 1.0, x)))
entry("atan2", [W((3, 4), 1), W((4,), 2)], {}, torch.atan2)
entry("xlogy", [W((3, 4), 1), D([0.5, 1, 2, 9])], {}, torch.xlogy)
entry("xlogy", [D([0, 0]), D([0, 3])], {}, torch.xlogy, False)
odd = D([0, 1, float("nan"), float("inf"), float("-inf")])
for name, fn in (("isnan", torch.isnan), ("isinf", torch.isinf), ("isfinite", torch.isfinite),
                 ("logical_not", torch.logical_not)):
    entry(name, [odd], {}, lambda x, fn=fn: fn(x).to(torch.int8), False)
for name, fn in (("logical_and", torch.logical_and), ("logical_or", torch.logical_or),
                 ("logical_xor", torch.logical_xor)):
    entry(name, [D([[0], [2]]), D([0, -0.5])], {}, lambda x, y, fn=fn: fn(x, y).to(torch.int8),
          False)

for o in ({}, {"axis": 1}, {"axis": [0, 2], "keepdims": True}):
    dim, keep = o.get("axis", [0, 1, 2]), o.get("keepdims", False)

    def entry_of(name, fn):
        entry(name, [W((2, 3, 4), 1, 3)], o, lambda x: torch.atleast_1d(fn(x)))

    entry_of("math.reduce_variance", lambda x: x.var(dim, correction=0, keepdim=keep))
    entry_of("math.reduce_std", lambda x: x.std(dim, correction=0, keepdim=keep))
    entry_of("math.reduce_euclidean_norm", lambda x: x.square().sum(dim, keepdim=keep).sqrt())
    entry_of("math.reduce_l1", lambda x: x.abs().sum(dim, keepdim=keep))
    entry_of("math.reduce_logsumexp", lambda x: torch.logsumexp(x, dim, keepdim=keep))
    entry_of("math.two_stage_reduce_max", lambda x: x.amax(dim, keepdim=keep))
    entry_of("math.two_stage_reduce_min", lambda x: x.amin(dim, keepdim=keep))
entry("math.reduce_logsumexp", [D([[1000, 1001], [float("-inf"), float("-inf")]])], {"axis": 1},
      lambda x: torch.logsumexp(x, 1), False)
entry("math.gelu", [W((9,), 1, 4)], {"approximate": "tanh"},
      lambda x: F.gelu(x, approximate="tanh"))
entry("math.fused_bias_add_gelu", [W((3, 4), 1), W((4,), 2)], {}, lambda x, b: F.gelu(x + b))
entry("math.l2_normalize", [W((3, 4), 1)], {"axis": 1}, lambda x: F.normalize(x, dim=1, eps=1e-6))
entry("math.l2_normalize", [W((3, 4), 1)], {}, lambda x: x / x.square().sum().sqrt())
for k in (-1, 0, 2):
    entry("tril", [W((2, 3, 4), 1)], {"diagonal": k}, lambda x: torch.tril(x, k))
    entry("triu", [W((2, 4, 3), 1)], {"diagonal": k}, lambda x: torch.triu(x, k))
entry("fused_scale_tril", [W((3, 3), 1)], {"scale": 0.5, "fill_value": -9},
      lambda x: torch.tril(0.5 * x) + torch.triu(torch.full((3, 3), -9.0), 1))
entry("nn.glu", [W((2, 6, 3), 1)], {"axis": 1}, lambda x: F.glu(x, 1))
entry("nn.glu", [W((2, 4), 1)], {}, F.glu)
entry("nn.celu", [W((3, 4), 1, 3.0)], {"alpha": 1.5}, lambda x: F.celu(x, 1.5))
entry("nn.tanhshrink", [W((3, 4), 1, 3.0)], {}, F.tanhshrink)
entry("nn.threshold", [W((3, 4), 1), 0.25, -2], {}, lambda x: F.threshold(x, 0.25, -2))
entry("nn.cosine_similarity", [W((3, 5), 1), W((3, 5), 2)], {}, F.cosine_similarity)
entry("nn.cosine_similarity", [W((2, 3, 4), 1), W((3, 1), 2)], {"axis": -1},
      lambda a, b: F.cosine_similarity(a, b, -1))
entry("nn.cosine_similarity", [W((4, 2), 1), W((2, 4, 1), 2)], {"axis": 1, "eps": 0.9},
      lambda a, b: F.cosine_similarity(a, b, 1, 0.9), False)
for p in (1, 2, 3):
    entry("nn.pairwise_distance", [W((3, 4), 1), W((3, 4), 2)], {"p": p, "keepdims": p == 2},
          lambda a, b: F.pairwise_distance(a, b, p, keepdim=p == 2))
