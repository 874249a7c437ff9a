"""Writes the end of a detector to spec/lua/onnx/cases, whose extents depend on numbers: which boxes
of which class have scores, suppression, what lies in the boxes on two levels, and what is kept of
that; with what onnxruntime gives for it.

python3 scripts/oracles/onnx_cases/detector.py spec/lua/onnx/cases
"""
import os
import sys
import warnings

import numpy
import onnx
import onnxruntime
import torch
import torchvision
from torchvision.models.detection import _utils as det_utils

warnings.simplefilter("ignore")
FOLDER = sys.argv[1]


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.align = torchvision.ops.MultiScaleRoIAlign(["a", "b"], 2, 2, canonical_scale=20)
        self.head = torch.nn.Linear(12, 3)

    def select(self, boxes, scores, classes, least, most):
        parts, labels, values = [], [], []
        for k in range(classes):
            keep = torch.where(scores[:, k] > least)[0]
            value, order = scores[keep, k].topk(det_utils._topk_min(scores[keep, k], 6, 0))
            parts.append(boxes[keep][order])
            values.append(value)
            labels.append(torch.full_like(value, k, dtype=torch.int64))
        boxes, values, labels = torch.cat(parts), torch.cat(values), torch.cat(labels)
        keep = torchvision.ops.batched_nms(boxes, values, labels, 0.4)[:most]
        return boxes[keep], values[keep], labels[keep]

    def forward(self, boxes, scores, a, b):
        boxes, _, _ = self.select(boxes, scores, 2, 0.5, 7)
        cells = self.align({"a": a, "b": b}, [boxes], [(32, 32)]).flatten(1)
        scores = torch.softmax(self.head(cells), 1)
        return self.select(boxes, scores, 3, 0.33, 5)


def feed(generator, count, low):
    first = torch.rand(count, 2, generator=generator) * 20
    boxes = torch.cat([first, first + 4 + torch.rand(count, 2, generator=generator) * 16], 1)
    scores = low + (1 - low) * torch.rand(count, 2, generator=generator)
    return [boxes, scores, torch.randn(1, 3, 8, 8, generator=generator),
            torch.randn(1, 3, 4, 4, generator=generator)]


def main():
    generator = torch.manual_seed(5)
    net = Detector().eval()
    feeds = [feed(generator, 12, low) for low in (0.3, 0.1)]
    feeds.append([feeds[0][0], feeds[0][1] * 0.1] + feeds[0][2:])       # nothing is found
    path = os.path.join(FOLDER, "detector.onnx")
    names = ["boxes", "scores", "a", "b"]
    torch.onnx.export(net, tuple(feeds[0]), path, dynamo=False, opset_version=17,
                      input_names=names)
    model = onnx.load(path)
    for node in model.graph.node:
        node.doc_string = ""
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path)
    arrays = {}
    for k, each in enumerate(feeds):
        for i, a in enumerate(each):
            arrays["in_%d_%d" % (k, i)] = a.numpy()
        given = {name: a.numpy() for name, a in zip(names, each)}
        for i, a in enumerate(session.run(None, given)):
            arrays["out_%d_%d" % (k, i)] = a
            print(a.shape)
    numpy.savez_compressed(os.path.join(FOLDER, "detector.npz"), **arrays)


main()
