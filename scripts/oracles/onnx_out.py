"""onnx_out.py FOLDER: has onnxruntime run what scripts/oracles/onnx_out.lua has written there, and
onnx check it; prints what differs from jfl. Needs onnx and onnxruntime."""
import sys
sys.path.pop(0)  # this folder has a math.py
import glob
import os

import numpy as np
import onnx
import onnxruntime

onnxruntime.set_default_logger_severity(3)


def worst(want, got):
    if want.shape != got.shape:
        return f"shape {got.shape}, jfl has {want.shape}"
    if want.dtype != got.dtype:
        return f"dtype {got.dtype}, jfl has {want.dtype}"
    if not np.array_equal(np.isnan(want.astype(float)), np.isnan(got.astype(float))):
        return "nan elsewhere"
    if want.dtype == np.uint8:  # means of pixels that end in a half may be rounded either way
        bad = np.abs(want.astype(int) - got.astype(int)) > 1
        return f"{bad.sum()} of {bad.size} differ by more than 1" if bad.any() else None
    near = 2e-3 if want.dtype == np.float16 else 2e-5
    bad = ~np.isclose(got.astype(float), want.astype(float), near, near / 10, equal_nan=True)
    if bad.any():
        return f"{bad.sum()} of {bad.size} differ, as {got[bad].flat[0]} from {want[bad].flat[0]}"
    return None


def compare(path):
    model = onnx.load(path)
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path)
    for case in sorted(glob.glob(path[:-5] + ".*.npz")):
        arrays = np.load(case)
        names = [i.name for i in session.get_inputs()]
        got = session.run(None, {name: arrays[name] for name in names})
        for i, result in enumerate(got):
            wrong = worst(arrays[f"result{i + 1}"], result)
            if wrong:
                yield f"{os.path.basename(case)}: result {i + 1}: {wrong}"
    return model


count, bad = 0, 0
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx"))):
    count += 1
    try:
        problems = list(compare(path))
    except Exception as error:  # what a library raises is a finding, too
        problems = [f"{os.path.basename(path)}: {str(error)[:300]}"]
    for problem in problems:
        print(problem)
    bad += bool(problems)
print(f"{count} files, {bad} with differences")
sys.exit(bad > 0)
