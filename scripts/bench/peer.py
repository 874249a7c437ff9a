#!/usr/bin/env python3
"""Times one of the bench's models in PyTorch and prints its median in milliseconds.

    peer.py MODEL THREADS LAYOUT SECONDS

Models are lenet, mlp, lenet1, mlp1 and predict1; layouts contiguous and channels_last.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

WARM_UP, LEAST = 10, 20


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(784, 512)
        self.output = nn.Linear(512, 10)

    def forward(self, x):
        return self.output(F.relu(self.hidden(torch.flatten(x, 1))))


class Lenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.classifier = nn.Sequential(nn.Linear(3136, 512), nn.ReLU(), nn.Dropout(0.5),
                                        nn.Linear(512, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def train(model, images):
    labels = torch.arange(1, len(images) + 1) % 10
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def predict(model, images):
    model.eval()

    def step():
        with torch.inference_mode():
            return model(images)
    return step


def median(step, seconds):
    for _ in range(WARM_UP):
        step()
    times, begin = [], time.perf_counter()
    while len(times) < LEAST or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def main():
    name, threads, layout, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    model = Mlp() if name.startswith("mlp") else Lenet()
    images = torch.rand(1 if name.endswith("1") else 100, 1, 28, 28)
    if layout == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    make = predict if name.startswith("predict") else train
    print("%.6f" % (median(make(model, images), seconds) * 1e3))


main()
