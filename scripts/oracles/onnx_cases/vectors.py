"""Writes small support vector machines of scikit-learn for spec/lua/onnx/cases, with what
onnxruntime gives for them.

python3 scripts/oracles/onnx_cases/vectors.py spec/lua/onnx/cases
"""
import os
import sys
import warnings

import numpy
import onnxruntime
from skl2onnx import to_onnx
from sklearn.svm import SVC, SVR

warnings.simplefilter("ignore")
FOLDER = sys.argv[1]


def keep(name, machine, x, **options):
    model = to_onnx(machine, x[:1], options=options or None).SerializeToString()
    with open(os.path.join(FOLDER, name + ".onnx"), "wb") as f:
        f.write(model)
    session = onnxruntime.InferenceSession(model)
    arrays = {}
    for k, feed in enumerate([x[:1], x[:5]]):
        arrays["in_%d_0" % k] = feed
        for i, a in enumerate(session.run(None, {session.get_inputs()[0].name: feed})):
            arrays["out_%d_%d" % (k, i)] = a
    numpy.savez_compressed(os.path.join(FOLDER, name + ".npz"), **arrays)


def main():
    x = numpy.random.RandomState(3).randn(24, 3).astype(numpy.float32)
    two = (x[:, 0] + x[:, 1] ** 2 > 0.5).astype(int)
    three = two + (x[:, 2] > 0.3)
    keep("svc_two", SVC(kernel="poly").fit(x, two), x, zipmap=False)
    keep("svc_three", SVC(probability=True, random_state=0).fit(x, three), x, zipmap=False)
    keep("svr", SVR(kernel="sigmoid", C=10).fit(x, x[:, 0] * x[:, 1]), x)


main()
