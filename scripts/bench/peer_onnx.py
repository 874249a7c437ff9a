#!/usr/bin/env python3
"""The peers of scripts/bench/onnx.lua.

    peer_onnx.py FOLDER                              writes the models that are not there
    peer_onnx.py FILE onnxruntime|openvino THREADS SECONDS   prints the median of a call in ms, and
                                                     the least time of the processor
    peer_onnx.py FILE int8 OUT                       writes it in int8 for OpenVINO, by NNCF
"""
import os
import sys
import time


def write_all(folder):
    import torch
    import torchvision
    import transformers
    torch.manual_seed(1)
    os.makedirs(folder, exist_ok=True)

    class Bert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.BertModel(transformers.BertConfig())

        def forward(self, ids, mask):
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    picture = (torch.randn(1, 3, 224, 224),)
    words = (torch.randint(0, 30000, (1, 128)), torch.ones(1, 128, dtype=torch.long))
    models = {name: (lambda name=name: getattr(torchvision.models, name)(weights=None), picture,
                     ["x"]) for name in ("mobilenet_v2", "resnet50", "vit_b_16")}
    models["bert_base"] = (Bert, words, ["ids", "mask"])
    for name, (make, inputs, names) in models.items():
        path = os.path.join(folder, name + ".onnx")
        if not os.path.exists(path):
            torch.onnx.export(make().eval(), inputs, path, opset_version=17, dynamo=False,
                              input_names=names, dynamic_axes={n: {0: "batch"} for n in names})


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
    if len(sys.argv) == 2:
        return write_all(sys.argv[1])
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
