"""Writes the node tests of the package onnx as files that scripts/onnx_nodes.lua runs.

python3 scripts/oracles/onnx_cases/nodes.py FOLDER
"""
import os
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def write(path, value, info):
    """A tensor as a message; a list as a folder of them. What is neither is left out."""
    if isinstance(value, list):
        os.makedirs(path, exist_ok=True)
        for i, each in enumerate(value):
            write(os.path.join(path, "%03d" % i), each, None)
        return "list %d" % len(value)
    if value is None:
        return "none"
    if isinstance(value, onnx.TensorProto):
        tensor = value
    elif isinstance(value, (numpy.ndarray, numpy.generic)):
        tensor = numpy_helper.from_array(numpy.asarray(value))
    else:
        return "other"
    with open(path + ".pb", "wb") as f:
        f.write(tensor.SerializeToString())
    return "tensor"


def main(folder):
    warnings.simplefilter("ignore")
    names = []
    for case in collect_testcases(None):
        if case.kind != "node" or case.model is None:
            continue
        at = os.path.join(folder, case.name)
        os.makedirs(at, exist_ok=True)
        with open(os.path.join(at, "model.onnx"), "wb") as f:
            f.write(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        with open(os.path.join(at, "about"), "w") as f:
            f.write("%g %g\n" % (case.rtol, case.atol))
            for i, value in enumerate(inputs):
                f.write("input %d %s\n" % (i, write("%s/input_%d" % (at, i), value, None)))
            for i, value in enumerate(outputs):
                f.write("output %d %s\n" % (i, write("%s/output_%d" % (at, i), value, None)))
        names.append(case.name)
    with open(os.path.join(folder, "list"), "w") as f:
        f.write("onnx %s\n" % onnx.__version__)
        f.write("".join(name + "\n" for name in sorted(names)))


main(sys.argv[1])
