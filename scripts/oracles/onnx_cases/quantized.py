"""Writes a small model of spec/lua/onnx/cases in 8 bits, as onnxruntime quantizes it with a scale
for each filter, with what onnxruntime gives for that: once in int8, and once in uint8 with zero
points, in the other of the two forms of such files.

python3 scripts/oracles/onnx_cases/quantized.py spec/lua/onnx/cases
"""
import os
import sys
import tempfile

import numpy
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

FOLDER = sys.argv[1]


class Batches(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def quantize(name, **options):
    path = os.path.join(FOLDER, "resnet.onnx")
    out = os.path.join(FOLDER, name + ".onnx")
    arrays = numpy.load(os.path.join(FOLDER, "resnet.npz"))
    name = onnx.load(path).graph.input[0].name
    keys = [key for key in arrays.files if key.startswith("in_")]
    with tempfile.TemporaryDirectory() as folder:
        folded = os.path.join(folder, "folded.onnx")
        onnx.save(onnx.version_converter.convert_version(onnx.load(path), 17), folded)
        quant_pre_process(folded, folded, skip_symbolic_shape=True)
        quantize_static(folded, out, Batches([{name: arrays[key]} for key in keys]),
                        per_channel=True, op_types_to_quantize=["Conv", "Gemm"],
                        weight_type=QuantType.QInt8, **options)
    model = onnx.load(out)
    del model.metadata_props[:]
    del model.graph.value_info[:]
    onnx.save(model, out)
    session = onnxruntime.InferenceSession(out)
    kept = {}
    for i, key in enumerate(keys):
        kept["in_%d_0" % i] = arrays[key]
        kept["out_%d_0" % i] = session.run(None, {name: arrays[key]})[0]
    numpy.savez_compressed(out.replace(".onnx", ".npz"), **kept)


quantize("resnet_int8", quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8,
         extra_options={"ActivationSymmetric": True})
quantize("resnet_uint8", quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8)
