#!/usr/bin/env python3
"""The peers of scripts/bench/onnx.lua.

    peer_onnx.py FOLDER write MODEL...               writes the models that are not there
    peer_onnx.py FILE onnxruntime|openvino THREADS SECONDS   prints the median of a call in ms, and
                                                     the least time of the processor
    peer_onnx.py FILE int8 OUT                       writes it in int8 for OpenVINO, by NNCF
"""
import os
import sys
import time


def write_float(path, name):
    import torch
    import torchvision
    import transformers
    torch.manual_seed(1)

    class Bert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.BertModel(transformers.BertConfig())

        def forward(self, ids, mask):
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    if name == "bert_base":
        model, names = Bert, ["ids", "mask"]
        inputs = (torch.randint(0, 30000, (1, 128)), torch.ones(1, 128, dtype=torch.long))
    else:
        model, names = getattr(torchvision.models, name), ["x"]
        inputs = (torch.randn(1, 3, 224, 224),)
    torch.onnx.export(model().eval(), inputs, path, opset_version=17, dynamo=False,
                      input_names=names, dynamic_axes={n: {0: "batch"} for n in names})


def write_int8(path, of):
    """As onnxruntime quantizes: uint8 between layers, int8 filters with a scale each."""
    import numpy
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Pictures(quantization.CalibrationDataReader):
        left = 3

        def get_next(self):
            self.left -= 1
            random = numpy.random.RandomState(self.left + 1)
            return {"x": random.randn(1, 3, 224, 224).astype("float32")} if self.left >= 0 else None

    quant_pre_process(of, path + ".whole")
    quantization.quantize_static(path + ".whole", path, Pictures(), per_channel=True,
                                 activation_type=quantization.QuantType.QUInt8,
                                 weight_type=quantization.QuantType.QInt8)
    os.remove(path + ".whole")


def write(folder, name):
    path = os.path.join(folder, name + ".onnx")
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(path):
        return path
    if name.endswith("_int8"):
        write_int8(path, write(folder, name[:-5]))
    else:
        write_float(path, name)
    return path


def in_onnxruntime(path, threads):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    kinds = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}
    feed = {i.name: numpy.ones([e if isinstance(e, int) else 1 for e in i.shape], kinds[i.type])
            for i in session.get_inputs()}
    return lambda: session.run(None, feed)


def in_openvino(path, threads):
    import numpy
    import openvino
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({i.any_name: [e.get_length() if e.is_static else 1 for e in i.partial_shape]
                   for i in model.inputs})
    compiled = core.compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32"})
    feed = [numpy.ones(list(i.shape), i.element_type.to_dtype()) for i in compiled.inputs]
    request = compiled.create_infer_request()
    return lambda: request.infer(feed)


def in_int8(path, out):
    import numpy
    import nncf
    import openvino
    model = openvino.Core().read_model(path)
    shape = list(model.inputs[0].shape)
    batches = [numpy.random.rand(*shape).astype("float32") * 2 - 1 for _ in range(2)]
    model = nncf.quantize(model, nncf.Dataset(batches), subset_size=len(batches))
    openvino.save_model(model, out, compress_to_fp16=False)


def main():
    if sys.argv[2] == "write":
        for name in sys.argv[3:]:
            write(sys.argv[1], name)
        return
    if sys.argv[2] == "int8":
        return in_int8(sys.argv[1], sys.argv[3])
    path, peer, threads, seconds = sys.argv[1:]
    call = {"onnxruntime": in_onnxruntime, "openvino": in_openvino}[peer](path, int(threads))
    for _ in range(3):
        call()
    times, used, stop = [], [], time.perf_counter() + float(seconds)
    while time.perf_counter() < stop or len(times) < 5:
        start, before = time.perf_counter(), time.process_time()
        call()
        times.append(time.perf_counter() - start)
        used.append(time.process_time() - before)
    print(sorted(times)[len(times) // 2] * 1000, min(used) * 1000)


main()
