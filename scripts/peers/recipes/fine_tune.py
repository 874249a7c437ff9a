# A network that has learned one task from many examples needs few for another:
# examples/recipes/fine_tune.lua with PyTorch.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LENGTH, OVERTONES, KINDS, NEW, FEW = 96, 5, 12, 4, 20
np.random.seed(3)
torch.manual_seed(3)

sounds = np.random.rand(KINDS + NEW, OVERTONES)


def record(n, first, last):
    labels = np.random.randint(first, last, n)
    pitch, start = 0.2 + np.random.rand(n, 1) * 0.3, np.random.rand(n, 1) * 7
    rows = np.random.rand(n, LENGTH) - 0.5
    for k in range(OVERTONES):
        rows += sounds[labels, k, None] * np.sin((k + 1) * (start + pitch * np.arange(LENGTH)))
    return torch.tensor(rows, dtype=torch.float32), torch.tensor(labels - first)


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 7, padding="same")
        self.conv2 = nn.Conv1d(16, 32, 7, padding="same")
        self.dense = nn.Linear(32, 32)

    def forward(self, x):
        x = x[:, None]
        for conv in self.conv1, self.conv2:
            x = nn.functional.max_pool1d(conv(x).relu(), 2)
        return self.dense(x.mean(2)).relu()


def learn(net, data, test, epochs):
    adam = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 0.01)
    for _ in range(epochs):
        for x, y in DataLoader(TensorDataset(*data), batch_size=20, shuffle=True):
            adam.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            adam.step()
    with torch.no_grad():
        return (net(test[0]).argmax(1) == test[1]).float().mean().item()


body = Body()
first = learn(nn.Sequential(body, nn.Linear(32, KINDS)), record(2000, 0, KINDS),
              record(300, 0, KINDS), 10)
few, test = record(FEW, KINDS, KINDS + NEW), record(300, KINDS, KINDS + NEW)
body.requires_grad_(False)
tuned = learn(nn.Sequential(body, nn.Linear(32, NEW)), few, test, 60)
fresh = learn(nn.Sequential(Body(), nn.Linear(32, NEW)), few, test, 60)
print(f"{KINDS} sounds: {first:.2f} right")
print(f"{NEW} others by {FEW} examples: {tuned:.2f} right; without what it knew {fresh:.2f}")
