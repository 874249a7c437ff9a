#!/usr/bin/python3
"""Prints spec/op/oracle.lua: results and gradients of ops in float64, by PyTorch and numpy.

    /usr/bin/python3 scripts/oracles.py > spec/op/oracle.lua        (python3-numpy, python3-torch)

Inputs are waves, scale * sin(phase + 1.7 i), or given numbers; gradients are for dy = wave(9)."""
import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
entries = []


def wave(shape, phase, scale=1.0):
    n = int(np.prod(shape))
    return (scale * np.sin(phase + 1.7 * np.arange(n))).reshape(shape)


def lua(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, str):
        return '"%s"' % v
    if isinstance(v, dict):
        return "{ " + ", ".join("%s = %s" % (k, lua(x)) for k, x in v.items()) + " }"
    if isinstance(v, (list, tuple)):
        return "{ " + ", ".join(lua(x) for x in v) + " }" if len(v) else "{}"
    return "%.16g" % v


def wrapped(numbers):
    lines, line = [], "   "
    for word in [lua(float(x)) + "," for x in numbers]:
        if len(line) + len(word) > 96:
            lines.append(line)
            line = "   "
        line += " " + word
    return "\n".join(lines + [line])


def W(shape, phase, scale=1.0):
    return {"shape": list(shape), "phase": phase, "scale": scale}


def D(data, dtype="float64"):
    return {"data": data, "dtype": dtype}


def value(spec):
    if "shape" in spec:
        return wave(spec["shape"], spec["phase"], spec["scale"])
    return np.array(spec["data"], dtype=spec["dtype"])


def entry(op, inputs, options, fn, grad=True):
    """fn takes tensors; float64 inputs get gradients."""
    x = [torch.from_numpy(value(s).copy()) for s in inputs]
    wanted = [t for t in x if grad and t.dtype == torch.float64]
    for t in wanted:
        t.requires_grad_(True)
    y = fn(*x)
    dy = torch.from_numpy(wave(tuple(y.shape) or (1,), 9).reshape(y.shape))
    dx = torch.autograd.grad(y, wanted, dy) \
        if wanted else []
    entries.append((op, inputs, options, y.detach().numpy(), [g.numpy() for g in dx]))


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

labels = D([2, 0, 4, 1], "int32")
entry("sparse_softmax_cross_entropy_with_logits", [labels, W((4, 5), 1, 3)], {},
      lambda l, x: F.cross_entropy(x, l.long(), reduction="none"))
entry("softmax_cross_entropy_with_logits",
      [D([[0.1, 0.2, 0.7], [1, 0, 0], [0.5, 0.25, 0.25]]), W((3, 3), 1, 3)], {},
      lambda z, x: -(z * F.log_softmax(x, -1)).sum(-1))
entry("sigmoid_cross_entropy_with_logits",
      [D([[0.1, 0.2, 0.7], [1, 0, 0.5]]), W((2, 3), 1, 30)], {},
      lambda z, x: F.binary_cross_entropy_with_logits(x, z, reduction="none"))
for axis in (-1, 0, 1):
    entry("softmax", [W((2, 3, 4), 1, 5)], {"axis": axis}, lambda x: F.softmax(x, axis))
    entry("logsoftmax", [W((2, 3, 4), 1, 50)], {"axis": axis}, lambda x: F.log_softmax(x, axis))

entry("matmul", [W((3, 4), 1), W((4, 2), 2)], {}, torch.matmul)
entry("matmul", [W((2, 4, 3), 1), W((2, 5, 4), 2)], {"transpose_a": True, "transpose_b": True},
      lambda a, b: a.transpose(1, 2) @ b.transpose(1, 2))
entry("matmul", [D([[1, 2], [3, 4]], "int32"), D([[5, 6], [7, -8]], "int32")], {}, torch.matmul,
      False)
entry("bias_add", [W((2, 3, 2), 1), W((3,), 2)], {}, lambda x, b: x + b[:, None])

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

for name, fn in (("reduce_sum", torch.sum), ("reduce_mean", torch.mean), ("reduce_max", torch.amax),
                 ("reduce_min", torch.amin)):
    entry(name, [W((2, 3, 4), 1)], {}, lambda x: fn(x, dim=(0, 1, 2)).reshape(1))
    entry(name, [W((2, 3, 4), 1)], {"axis": [0, 2]}, lambda x: fn(x, dim=(0, 2)))
    entry(name, [W((2, 3, 4), 1)], {"axis": -2, "keepdims": True},
          lambda x: fn(x, dim=-2, keepdim=True))
entry("reduce_prod", [W((2, 3, 4), 1)], {"axis": 1}, lambda x: torch.prod(x, 1))
entry("reduce_prod", [D([[0, 2, 3], [0, 0, 4], [1, 2, 3]])], {"axis": 1},
      lambda x: torch.prod(x, 1))
entry("argmax", [W((3, 5), 1)], {}, lambda x: x.argmax(-1), False)
entry("argmin", [W((3, 5), 1)], {"axis": 0}, lambda x: x.argmin(0), False)

index = D([[2, 0], [1, 2]], "int64")
entry("gather", [W((2, 3, 2), 1), index], {"axis": 1}, lambda x, i: x[:, i])
entry("one_hot", [D([2, 0, 1], "int64")], {"depth": 4}, lambda i: F.one_hot(i, 4), False)
entry("transpose", [W((2, 3, 4), 1)], {"perm": [2, 0, 1]}, lambda x: x.permute(2, 0, 1))
entry("slice", [W((4, 5), 1)], {"begin": [1, -3], "size": [-1, 2]}, lambda x: x[1:, 2:4])
entry("broadcast_to", [W((3, 1), 1)], {"shape": [2, 3, 2]}, lambda x: x.expand(2, 3, 2))

print("--- Results and gradients as PyTorch and numpy have them; made by scripts/oracles.py.")
print("return {")
for op, inputs, options, y, dx in entries:
    print('  { op = "%s", options = %s,' % (op, lua(options)))
    print("    inputs = {\n%s\n    }," % ",\n".join("      " + lua(s) for s in inputs))
    print("    shape = %s," % lua(list(y.shape)))
    print("    y = {\n%s }," % wrapped(y.ravel()))
    if dx:
        print("    dx = {")
        for g in dx:
            print("   {\n%s }," % wrapped(g.ravel()))
        print("    },")
    print("  },")
print("}")
