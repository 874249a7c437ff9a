"""Writes the files of PyTorch's save that spec/lua/checkpoint/weights_spec.lua reads, which the
fuzzer begins with, too: spec/fuzz/corpus/torch. Developers run it, with a Python that has PyTorch:

    python3 scripts/oracles/weights.py spec/fuzz/corpus/torch

Element i of every tensor is i, or what is said."""
import argparse
import collections
import os
import sys

sys.path.pop(0)                # this folder, whose math.py is not Python's
import torch                   # noqa: E402

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def save(name, value, **options):
    torch.save(value, os.path.join(folder, name), **options)


def count(*shape, dtype=torch.float32):
    return torch.arange(torch.Size(shape).numel()).to(dtype).reshape(shape)


base = count(4, 6)
save("plain", collections.OrderedDict([
    ("fc.weight", count(2, 3)), ("fc.bias", torch.nn.Parameter(count(2))),
    ("turned", count(2, 3).t()), ("cut", base[1:3, 2:5]), ("every_second", count(10)[::2]),
    ("shared", base), ("none", count(0, 3)),
    ("scalar", torch.tensor(7)), ("permuted", count(2, 3, 4).permute(2, 0, 1)),
    ("half", count(3, dtype=torch.float16)), ("brain", count(3, dtype=torch.bfloat16)),
    ("double", count(3, dtype=torch.float64)), ("byte", count(3, dtype=torch.uint8)),
    ("small", count(3, dtype=torch.int8)), ("whole", count(3, dtype=torch.int32)),
    ("complex", count(3, dtype=torch.complex64)), ("truth", torch.tensor([True, False])),
    ("float8", count(2, dtype=torch.float8_e4m3fn)), ("short", count(2, dtype=torch.int16))]))
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
for tensor in model.state_dict().values():
    tensor.copy_(count(*tensor.shape))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model(torch.ones(2, 3)).sum().backward()
optimizer.step()
for tensor in model.state_dict().values():
    tensor.copy_(count(*tensor.shape))
save("training", {"epoch": 3, "best": 0.5, "big": 2 ** 80, "name": "a", "none": None,
                  "shape": torch.Size([2, 3]), "list": [count(2), (count(3), True)],
                  "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()})
save("protocol4", {"w": count(3), "deep": {"er": [count(2)]}}, pickle_protocol=4)
save("namespace", {"w": count(2), "args": argparse.Namespace(a=1)})
save("module", torch.nn.Linear(2, 2))
save("old", {"w": count(2)}, _use_new_zipfile_serialization=False)
