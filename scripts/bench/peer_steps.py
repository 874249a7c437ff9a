#!/usr/bin/env python3
"""Times one of the bench's models in PyTorch and prints its median in milliseconds.

    peer_steps.py MODEL THREADS LAYOUT MODE SECONDS

MODELS lists the models; layouts are contiguous and channels_last; modes eager, compile, bfloat16
(eager, within torch.autocast) and, for predictions, openvino, which computes in float32 as well.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

WARM_UP, LEAST = 10, 20          # steps; of slow models fewer
SLOW = 0.3                       # seconds


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


def conv_norm(inputs, filters, size=1, stride=1):
    return [nn.Conv2d(inputs, filters, size, stride, size // 2, bias=False),
            nn.BatchNorm2d(filters)]


class Block(nn.Module):
    """A bottleneck block of ResNet, its stride in the 3x3 convolution."""
    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.path = nn.Sequential(*conv_norm(inputs, filters), nn.ReLU(),
                                  *conv_norm(filters, filters, 3, stride), nn.ReLU(),
                                  *conv_norm(filters, 4 * filters))
        self.shortcut = None
        if stride > 1 or inputs != 4 * filters:
            self.shortcut = nn.Sequential(*conv_norm(inputs, 4 * filters, 1, stride))

    def forward(self, x):
        return F.relu(self.path(x) + (self.shortcut(x) if self.shortcut else x))


class Resnet50(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [*conv_norm(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(count):
                layers.append(Block(inputs, 64 * 2 ** stage, 2 if stage and i == 0 else 1))
                inputs = 256 * 2 ** stage
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                    nn.Linear(2048, 1000))

    def forward(self, x):
        return self.layers(x)


class Layer(nn.Module):
    """A block of a transformer of 768 numbers a word, its norms before the sums or behind them."""

    def __init__(self, first, approximate):
        super().__init__()
        self.first, self.approximate = first, approximate
        self.norm1, self.norm2 = nn.LayerNorm(768), nn.LayerNorm(768)
        self.into, self.out = nn.Linear(768, 2304), nn.Linear(768, 768)
        self.mlp1, self.mlp2 = nn.Linear(768, 3072), nn.Linear(3072, 768)

    def attend(self, x):
        heads = self.into(x).view(*x.shape[:2], 36, 64).transpose(1, 2)
        y = F.scaled_dot_product_attention(*heads.chunk(3, 1), is_causal=self.first)
        return self.out(y.transpose(1, 2).reshape(x.shape))

    def mlp(self, x):
        return self.mlp2(F.gelu(self.mlp1(x), approximate=self.approximate))

    def forward(self, x):
        if self.first:
            x = x + self.attend(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.mlp(x))


class Transformer(nn.Module):
    def __init__(self, words, places, first, approximate):
        super().__init__()
        self.words, self.places = nn.Embedding(words, 768), nn.Embedding(places, 768)
        self.norm = nn.LayerNorm(768)
        self.layers = nn.Sequential(*[Layer(first, approximate) for _ in range(12)])

    def embed(self, ids):
        return self.words(ids) + self.places.weight[:ids.shape[1]]


class Gpt2(Transformer):
    def __init__(self):
        super().__init__(50257, 1024, True, "tanh")

    def forward(self, ids):
        x = self.norm(self.layers(self.embed(ids)))
        return F.linear(x.view(-1, 768), self.words.weight)


class Bert(Transformer):
    def __init__(self):
        super().__init__(30522, 512, False, "none")

    def forward(self, ids):
        return self.layers(self.norm(self.embed(ids)))


def train(model, images, labels, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.001)
    labels = labels.to(images.device)

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


def answer_by_openvino(model, x):
    """A prediction by OpenVINO, of a model that PyTorch describes."""
    import openvino
    options = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "PERFORMANCE_HINT": "LATENCY",
               "INFERENCE_PRECISION_HINT": "f32"}
    with torch.inference_mode():
        described = openvino.convert_model(model, example_input=x, input=[list(x.shape)])
    request = openvino.compile_model(described, "CPU", options).create_infer_request()
    x = x.numpy()
    return lambda: request.infer([x])


def images_like_mnist(batch):
    return torch.rand(batch, 1, 28, 28)


def photographs(batch):
    return torch.rand(batch, 3, 224, 224)


def classifier(network, batch, images_of=images_like_mnist):
    """A training step of a classifier of pictures."""
    def make(prepare):
        model, images = prepare(network(), images_of(batch))
        return train(model, images, torch.arange(1, batch + 1) % 10)
    return make


def predictor(network, batch, images_of=images_like_mnist):
    def make(prepare):
        model, x = network().eval(), images_of(batch)
        if prepare.mode == "openvino":
            return answer_by_openvino(model, x)
        return predict(*prepare(model, x))
    return make


def writer(batch, length):
    """A training step of GPT-2."""
    def make(prepare):
        model, ids = prepare(Gpt2(), torch.randint(50257, (batch, length)))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
        return train(model, ids, torch.randint(50257, (batch * length,)), optimizer)
    return make


def reader(batch):
    return torch.randint(30522, (batch, 128))


# Each takes a function that puts a model and its input into the layout and mode asked for, and
# gives a function that runs one step.
MODELS = {
    "lenet": classifier(Lenet, 100), "lenet1": classifier(Lenet, 1),
    "mlp": classifier(Mlp, 100), "mlp1": classifier(Mlp, 1),
    "predict1": predictor(Lenet, 1),
    "resnet50": classifier(Resnet50, 16, photographs),
    "resnet50_predict1": predictor(Resnet50, 1, photographs),
    "gpt2": writer(4, 64),
    "bert_predict1": predictor(Bert, 1, reader),
}


def median(step, seconds):
    step()
    start = time.perf_counter()
    step()
    slow = time.perf_counter() - start > SLOW
    for _ in range(0 if slow else WARM_UP):
        step()
    times, begin = [], time.perf_counter()
    while len(times) < (3 if slow else LEAST) or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def main():
    name, threads, layout, mode, seconds = sys.argv[1:]
    torch.manual_seed(1)
    torch.set_num_threads(int(threads))

    def prepare(model, x):
        if mode == "openvino":
            sys.exit("only predictions run in openvino")
        if layout == "channels_last" and x.dim() == 4:
            model, x = (m.to(memory_format=torch.channels_last) for m in (model, x))
        return torch.compile(model) if mode == "compile" else model, x
    prepare.mode = mode
    with torch.autocast("cpu", torch.bfloat16, enabled=mode == "bfloat16"):
        print("%.6f" % (1e3 * median(MODELS[name](prepare), float(seconds))))


if __name__ == "__main__":
    main()
