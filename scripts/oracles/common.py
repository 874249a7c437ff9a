"""What the generators of parity cases share: inputs, calls, and how they are written.

A generator is a file of this folder, which calls `entry` for each case; scripts/oracles/run AREA
writes spec/oracle/AREA.lua from scripts/oracles/AREA.py. All numbers are float64. Waves are rounded
to float32, so that float32 kernels get the same inputs as the oracle."""
import numpy as np
import torch

torch.set_default_dtype(torch.float64)
entries = []


def wave(shape, phase, scale=1.0):
    """scale * sin(phase + 1.7 i), rounded to float32."""
    n = int(np.prod(shape))
    numbers = scale * np.sin(phase + 1.7 * np.arange(n))
    return numbers.astype(np.float32).astype(np.float64).reshape(shape)


def W(shape, phase, scale=1.0):
    """An input that is a wave."""
    return {"shape": list(shape), "phase": phase, "scale": scale}


def D(data, dtype="float64"):
    """An input with given data."""
    return {"data": data, "dtype": dtype}


def L(*inputs):
    """An argument that is a list of inputs, as concat takes it."""
    return {"list": list(inputs)}


def flat(inputs):
    return [x for s in inputs if isinstance(s, dict) for x in s.get("list", [s])]


def value(spec):
    if "shape" in spec:
        return wave(spec["shape"], spec["phase"], spec["scale"])
    return np.array(spec["data"], dtype=spec["dtype"])


def entry(call, inputs, options, fn, grad=True, variables=None, tol=None):
    """A case: `call`, the name of an op or a path such as "nn.relu", is called with the
    inputs, among which numbers and texts may stand as they are, and options. fn takes the
    inputs, lists laid out flat, and then the variables, as tensors, and returns the result or
    a tuple of results. What is float64 gets a gradient, for dy = wave(9) of the first result,
    wave(10) of the second, and so on. variables: name -> input, for layers. tol: how far
    float32 may be off where that must be more than usual; say why beside it."""
    specs = flat(inputs) + list((variables or {}).values())
    x = [torch.from_numpy(value(s).copy()) for s in specs]
    wanted = [t for t in x if grad and t.dtype == torch.float64]
    for t in wanted:
        t.requires_grad_(True)
    y = fn(*x)
    y = list(y) if isinstance(y, (tuple, list)) else [y]
    dx = []
    if wanted:
        total = sum((t * torch.from_numpy(wave(tuple(t.shape) or (1,), 9 + i).reshape(t.shape)))
                    .sum() for i, t in enumerate(y) if t.dtype == torch.float64)
        dx = torch.autograd.grad(total, wanted, allow_unused=True)
        dx = [torch.zeros_like(t) if g is None else g for g, t in zip(dx, wanted)]
    entries.append(dict(call=call, inputs=inputs, options=options, variables=variables, tol=tol,
                        y=[t.detach().numpy() for t in y], dx=[g.numpy() for g in dx]))


def lua(v):
    if isinstance(v, (bool, np.bool_)):
        return "true" if v else "false"
    if isinstance(v, str):
        return '"%s"' % v
    if isinstance(v, dict):
        items = ((k if k.isidentifier() else '["%s"]' % k, lua(x)) for k, x in v.items())
        return "{ " + ", ".join("%s = %s" % item for item in items) + " }"
    if isinstance(v, (list, tuple)):
        return "{ " + ", ".join(lua(x) for x in v) + " }" if len(v) else "{}"
    if v != v:
        return "0 / 0"
    if v in (float("inf"), float("-inf")):
        return "1 / 0" if v > 0 else "-1 / 0"
    return "%.16g" % v


def wrapped(words, indent, width=96):
    """The words in lines, each with a comma behind it."""
    lines, line = [], indent
    for word in words:
        if line.strip() and len(line) + len(word) + 2 > width:
            lines.append(line.rstrip())
            line = indent
        line += word + ", "
    return "\n".join(lines + [line.rstrip()])


def broken(v):
    """A value as text, in as many lines as it needs."""
    return wrapped(lua(v).split(", "), "      ")


def numbers(a):
    return wrapped([lua(float(x)) for x in a.ravel()], "      ")


def write(area, out):
    print("--- Results and gradients by PyTorch and numpy; made by scripts/oracles/run %s." % area,
          file=out)
    print("return {", file=out)
    for e in entries:
        print('  { call = "%s",' % e["call"], file=out)
        if e["options"]:
            print("    options = {\n%s\n    }," % wrapped(
                ["%s = %s" % (k, lua(v)) for k, v in e["options"].items()], "      "), file=out)
        print("    inputs = {\n%s\n    }," % "\n".join(broken(s) for s in e["inputs"]), file=out)
        if e["variables"]:
            print("    variables = {", file=out)
            for name, s in e["variables"].items():
                print(broken({"name": name, "value": s}), file=out)
            print("    },", file=out)
        if e["tol"]:
            print("    tol = %s," % lua(e["tol"]), file=out)
        for y in e["y"]:
            whole = ", whole = true" if y.dtype != np.float64 else ""
            print("    { shape = %s%s, y = {\n%s } }," % (lua(list(y.shape)), whole, numbers(y)),
                  file=out)
        if e["dx"]:
            print("    dx = {", file=out)
            for g in e["dx"]:
                print("     {\n%s }," % numbers(g), file=out)
            print("    },", file=out)
        print("  },", file=out)
    print("}", file=out)
