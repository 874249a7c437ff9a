"""Writes spec/op/cases/blocks.lua: blocks of random bytes and what the package gguf makes of them;
and numbers with the blocks that it makes of these. pip install gguf."""
import sys
import textwrap

import numpy
from gguf import GGMLQuantizationType as Type, quants

rng = numpy.random.default_rng(1)
SIZE = {"q8_0": (34, [0]), "q4_0": (18, [0]), "q4_k": (144, [0, 2]), "q6_k": (210, [208])}


def put(out, key, raw, values):
    lines = textwrap.wrap(raw.hex(), 84)
    out.write("  %s = {\n    bytes = %s,\n" % (
        key, "\n      .. ".join("\"%s\"" % line for line in lines)))
    out.write("    values = {\n      %s } },\n" % "\n      ".join(
        textwrap.wrap(", ".join("%.9g" % v for v in values), 90)))


with open(sys.argv[1], "w") as out:
    out.write("-- Made by scripts/oracles/gguf/blocks.py: each form's blocks and their numbers.\n")
    out.write("return {\n")
    for name, (size, scales) in SIZE.items():
        block = rng.integers(0, 256, size, dtype=numpy.uint8)
        for at in scales:
            block[at:at + 2] = numpy.frombuffer(
                numpy.float16(rng.uniform(0.001, 0.1)).tobytes(), numpy.uint8)
        values = quants.dequantize(block, getattr(Type, name.upper()))
        put(out, name, block.tobytes(), values)
    numbers = rng.normal(0, 1, 64).astype(numpy.float32)
    for name in ("q8_0", "q4_0"):
        raw = quants.quantize(numbers, getattr(Type, name.upper()))
        put(out, "made_" + name, raw.tobytes(), numbers)
    out.write("}\n")
