# A schedule of your own: a cosine that begins anew, each time for twice as long, behind a few steps
# that warm up: examples/recipes/schedule.lua with PyTorch.
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

HIGH, LOW, WARM, FIRST = 0.05, 0.0005, 20, 180


def restarts(step):
    if step < WARM:
        return HIGH * (step + 1) / WARM
    at, length = step - WARM, FIRST
    while at >= length:
        at, length = at - length, length * 2
    return LOW + (HIGH - LOW) * (1 + math.cos(math.pi * at / length)) / 2


torch.manual_seed(8)
x = torch.rand(512, 1) * 6 - 3
y = torch.sin(x * 2) + torch.randn(512, 1) * 0.1
rates = []


def learn(rate):
    net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(),
                        nn.Linear(32, 1))
    adam = torch.optim.Adam(net.parameters(), 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, rate)
    for _ in range(20):
        total = 0
        for some_x, some_y in DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True):
            rates.append(adam.param_groups[0]["lr"])
            adam.zero_grad()
            loss = nn.functional.mse_loss(net(some_x), some_y)
            loss.backward()
            adam.step()
            schedule.step()
            total += loss.item() * len(some_x)
    return total / len(x)


with_restarts = learn(restarts)
plt.plot(rates)
plt.xlabel("step")
plt.savefig("rates.png")
without = learn(lambda step: HIGH)
print(f"loss {with_restarts:.4f}; with a constant rate {without:.4f}")

sgd = torch.optim.Adam(nn.Linear(1, 1).parameters(), HIGH)
usual = torch.optim.lr_scheduler.SequentialLR(sgd, milestones=[WARM], schedulers=[
    torch.optim.lr_scheduler.LinearLR(sgd, 0.1, 1, WARM),
    torch.optim.lr_scheduler.CosineAnnealingLR(sgd, 400)])
print(f"a ready one: {usual.get_last_lr()}")
