# A layer of your own, which answers how near its input is to places that it learns, and a dense
# one beside it, on two spirals: examples/recipes/layer.lua with PyTorch.
import math

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class NearPlaces(nn.Module):
    def __init__(self, size, n):
        super().__init__()
        self.places = nn.Parameter(torch.randn(n, size))
        self.sharpness = nn.Parameter(torch.full((n,), 3.0))

    def forward(self, x):
        off = x[:, None] - self.places
        return torch.exp(-(off * off).sum(2) * nn.functional.softplus(self.sharpness))


def spirals(n):
    turn = np.sqrt(np.random.rand(n)) * 4 * math.pi
    labels = np.arange(n) % 2
    r, angle = turn / 8, turn + labels * math.pi
    rows = np.stack([r * np.cos(angle) + np.random.rand(n) * 0.1, r * np.sin(angle)], 1)
    return torch.tensor(rows, dtype=torch.float32), torch.tensor(labels)


np.random.seed(5)
torch.manual_seed(5)


def learn(name, layer):
    net = nn.Sequential(layer, nn.Linear(28, 2))
    adam = torch.optim.Adam(net.parameters(), 0.03)
    for _ in range(60):
        for x, y in batches:
            adam.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            adam.step()
    with torch.no_grad():
        right = (net(x_test).argmax(1) == y_test).float().mean()
    numbers = sum(p.numel() for p in net.parameters())
    print(f"{name}: {right:.2f} right, {numbers} numbers, all of them trained")


batches = DataLoader(TensorDataset(*spirals(1000)), batch_size=32, shuffle=True)
x_test, y_test = spirals(500)
learn("places", NearPlaces(2, 28))
learn("dense", nn.Sequential(nn.Linear(2, 28), nn.ReLU()))
