# A loss of your own: the pinball loss, for a time that nine of ten deliveries keep:
# examples/recipes/loss.lua with PyTorch.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def pinball(share):
    def loss(promise, time):
        late = time - promise
        return torch.maximum(late * share, late * (share - 1)).mean()
    return loss


def deliveries(n):
    way = 1 + np.random.rand(n, 1) * 9
    minutes = (3 * way - way * np.log(1 - np.random.rand(n, 1))) / 10
    return [torch.tensor(column, dtype=torch.float32) for column in (way / 10, minutes)]


np.random.seed(7)
torch.manual_seed(7)
train, test = deliveries(4000), deliveries(2000)


def promises(loss_of):
    net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
    adam = torch.optim.Adam(net.parameters(), 0.005)
    for _ in range(30):
        for way, time in DataLoader(TensorDataset(*train), batch_size=32, shuffle=True):
            adam.zero_grad()
            loss_of(net(way), time).backward()
            adam.step()
    return net


for name, loss in ("mean", nn.MSELoss()), ("nine of ten", pinball(0.9)):
    net = promises(loss)
    with torch.no_grad():
        kept = (test[1] <= net(test[0])).float().mean()
        five = 10 * net(torch.tensor([[0.5]])).item()
    print(f"{name}: {five:.0f} minutes for 5 km, kept by {kept:.2f} of all")
