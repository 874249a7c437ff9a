"""What the generators of parity cases share: inputs, calls, and how they are written.

A generator is a file of this folder, which calls `entry` or `case` for each case;
scripts/oracles/run AREA writes spec/oracle/AREA.lua from scripts/oracles/AREA.py. All numbers are
float64. Waves are rounded to float32, so that float32 kernels get the same inputs as the oracle.

Of a result of more than WHOLE numbers the first FIRST are kept, and its inner products with four
waves, which spec/oracle.lua works out from what jfl gives; it tells what they catch."""
import importlib
import math
import sys
import textwrap

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
cases = []
WHOLE, FIRST = 8, 2


def wave(shape, phase, scale=1.0):
    """scale * sin(phase + 1.7 i), rounded to float32."""
    n = int(np.prod(shape))
    numbers = scale * np.sin(phase + 1.7 * np.arange(n))
    return numbers.astype(np.float32).astype(np.float64).reshape(shape)


def W(shape, phase, scale=1):
    """An input that is a wave."""
    return {"shape": list(shape), "phase": phase, **({} if scale == 1 else {"scale": scale})}


def D(data, dtype="float64"):
    """An input with given data."""
    return {"data": data, **({} if dtype == "float64" else {"dtype": dtype})}


def L(*inputs):
    """An argument that is a list of inputs, as concat takes it."""
    return {"list": list(inputs)}


def flat(inputs):
    return [x for s in inputs if isinstance(s, dict) for x in s.get("list", [s])]


def value(spec):
    if "shape" in spec:
        return wave(spec["shape"], spec["phase"], spec.get("scale", 1))
    return np.array(spec["data"], dtype=spec.get("dtype", "float64"))


def case(key, name, given, results, decimals=13):
    """A case that is called `name` under the key, with what is given to it and its results: lists
    of arrays or, by name, arrays. decimals: how many are written, two more than are compared."""
    same = [c for c in cases if c["name"] == name]
    cases.append(dict(key=key, name=name, number=len(same) + 1, given=given, results=results,
                      decimals=decimals))


def entry(call, inputs, options, fn, grad=True, variables=None):
    """A case: `call`, the name of an op or a path such as "nn.relu", is called with the
    inputs, among which numbers and texts may stand as they are, and options. fn takes the
    inputs, lists laid out flat, and then the variables, as tensors, and returns the result or
    a tuple of results. What is float64 gets a gradient, for dy = wave(9) of the first result,
    wave(10) of the second, and so on. variables: name -> input, for layers."""
    variables = variables or {}
    x = [torch.from_numpy(value(s).copy()) for s in flat(inputs) + list(variables.values())]
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
    case("call", call, {
        "options": options, "inputs": inputs,
        "variables": [{"name": k, "value": s} for k, s in variables.items()],
    }, {"y": [t.detach().numpy() for t in y], "dx": [g.numpy() for g in dx]})


def level(y):
    """Above 1 a number counts by its logarithm, so that an error counts by its share in it."""
    return np.where(np.abs(y) > 1, np.sign(y) * (1 + np.log(np.maximum(np.abs(y), 1))), y)


def waves(a):
    """The inner products: cosine and sine of a steady frequency, and of one that rises."""
    y, i = level(a.ravel().astype(np.float64)), np.arange(a.size)
    return [float(math.sqrt(2) * np.sum(turn(t) * y)) for t in (2.27 * i, 0.91 * i * i)
            for turn in (np.cos, np.sin)]


# ---- how it is written ----

def lua(v, decimals=None):
    """A value as text; decimals: of its numbers, where these need not come back as they are."""
    def each(x):
        return lua(x, decimals)
    if isinstance(v, (bool, np.bool_)):
        return "true" if v else "false"
    if isinstance(v, str):
        return '"%s"' % v
    if isinstance(v, dict):
        is_wave = "phase" in v              # its extents stand in the table itself
        items = [each(x) for x in (v["shape"] if is_wave else [])]
        items += ["%s = %s" % (k if k.isidentifier() else '["%s"]' % k, each(x))
                  for k, x in v.items() if not (is_wave and k == "shape")]
        return "{ " + ", ".join(items) + " }"
    if isinstance(v, (list, tuple)):
        return "{ " + ", ".join(each(x) for x in v) + " }" if len(v) else "{}"
    if v != v:
        return "0 / 0"
    if v in (float("inf"), float("-inf")):
        return "1 / 0" if v > 0 else "-1 / 0"
    if decimals is not None:
        v = round(v, decimals) if abs(v) < 1 else float("%.*g" % (decimals + 1, v))
    return "%d" % v if v == int(v) and abs(v) < 1e15 else repr(float(v))


def tensor(a, decimals, full):
    """What is kept of a result, as text."""
    kept = ["shape = " + lua(list(a.shape))]
    if a.dtype != np.float64:
        kept.append('dtype = "%s"' % a.dtype)
    numbers = a.ravel().tolist()
    if full or len(numbers) <= WHOLE:
        kept += [lua(v, decimals) for v in numbers]
    else:
        assert np.isfinite(a).all(), "results that are not finite are kept whole: make it small"
        kept.append("first = " + lua(numbers[:FIRST], decimals))
        kept.append("\nwaves = " + lua(waves(a), decimals))
    return "{ " + ", ".join(kept).replace(", \n", ",\n") + " }"


def filled(text, begin, indent):
    """The text in lines, which are broken after commas."""
    glued = text.replace("{ ", "{\0").replace(" }", "\0}").replace(" = ", "\0=\0")
    lines = [textwrap.fill(line, 100, initial_indent=indent if i else begin,
                           subsequent_indent=indent, break_long_words=False,
                           break_on_hyphens=False) for i, line in enumerate(glued.split("\n"))]
    return "\n".join(lines).replace("\0", " ") + "\n"


def block(name, results, decimals, full, end):
    """A list or a table of results, each of which begins a line."""
    named = isinstance(results, dict)
    items = list(results.items() if named else enumerate(results))
    text = ""
    for i, (k, a) in enumerate(items):
        key = ("%s = " % k if k.isidentifier() else '["%s"] = ' % k) if named else ""
        text += filled(key + tensor(a, decimals, full) + ("," if i + 1 < len(items) else end),
                       "      " if i else "    %s = { " % name, "        ")
    return text


def head(c):
    """The lines of a case that say what it is and what it is given."""
    texts = [lua({c["key"]: c["name"]})[2:-2]]
    if sum(d["name"] == c["name"] for d in cases) > 1:
        texts[0] += ", case = %d" % c["number"]
    for k, v in c["given"].items():
        more = "%s = %s" % (k, lua(v))
        if v and len(texts[-1] + more) < 93:
            texts[-1] += ", " + more
        elif v:
            texts.append(more)
    return "".join(filled(text + ",", "    " if i else "  { ", "      ")
                   for i, text in enumerate(texts))


def write(area, chosen, full, command, out):
    out.write("--- Results by PyTorch and numpy; made by scripts/oracles/run %s.\n" % command)
    out.write('return { area = "%s",\n' % area)
    for c in chosen:
        out.write(head(c))
        blocks = [(k, v) for k, v in c["results"].items() if len(v)]
        for i, (k, v) in enumerate(blocks):
            out.write(block(k, v, None if full else c["decimals"], full,
                            " }," if i + 1 < len(blocks) else " } },"))
    out.write("}\n")


def main(argument, full=False):
    """Writes the cases of an area or, of AREA:NAME or AREA:NAME:NUMBER, those of that name."""
    area, _, rest = argument.partition(":")
    importlib.import_module("oracles." + area)
    name, _, number = rest.partition(":")
    chosen = [c for c in cases if name in ("", c["name"]) and number in ("", str(c["number"]))]
    if not chosen:
        sys.exit("%s: no such case" % argument)
    write(area, chosen, full, ("--full " if full else "") + argument, sys.stdout)
