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
