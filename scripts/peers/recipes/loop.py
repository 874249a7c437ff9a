# A training loop of your own, which trains on the hard examples more often:
# examples/recipes/loop.lua with PyTorch.
import copy
import math

import numpy as np
import torch
from torch import nn

N, BATCH, STEPS = 2000, 50, 1000


def points(n):
    radius, angle = np.random.rand(n) ** 2, np.random.rand(n) * 2 * math.pi
    rows = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    labels = np.floor(radius * 4) % 2
    return torch.tensor(rows, dtype=torch.float32), torch.tensor(labels, dtype=torch.int64)


np.random.seed(9)
torch.manual_seed(9)
x, y = points(N)
x_test, y_test = points(1000)


class Rings(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(2, 32)
        self.hidden2 = nn.Linear(32, 32)
        self.output = nn.Linear(32, 2)

    def forward(self, x):
        return self.output(self.hidden2(self.hidden1(x).relu()).relu())


net = Rings()
adam = torch.optim.Adam(net.parameters(), 0.01)
each_loss = nn.CrossEntropyLoss(reduction="none")


def judge():
    net.eval()
    with torch.no_grad():
        scores = net(x_test)
        loss = each_loss(scores, y_test).mean().item()
    return loss, (scores.argmax(1) == y_test).float().mean().item()


hardness = torch.ones(N)
best, best_state = 0, None
for i in range(1, STEPS + 1):
    chosen = torch.multinomial(hardness, BATCH, replacement=False)
    net.train()
    adam.zero_grad()
    losses = each_loss(net(x[chosen]), y[chosen])
    losses.mean().backward()
    adam.step()
    hardness[chosen] = losses.detach() + 0.05
    if i % 100 == 0:
        loss, right = judge()
        rate = adam.param_groups[0]["lr"]
        print(f"step {i}: rate {rate:.4f}, loss {loss:.3f}, {right:.3f} right")
        if right > best:
            best, best_state = right, copy.deepcopy(net.state_dict())
        adam.param_groups[0]["lr"] = rate * 0.7

torch.save(best_state, "rings.pt")
net.load_state_dict(torch.load("rings.pt"))
print(f"the best, loaded again: {judge()[1]:.3f} right")
