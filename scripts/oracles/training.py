"""Networks trained by PyTorch: their losses, one of a sample, and their variables at the end."""
import math

import torch
import torch.nn.functional as F

from .common import case, wave


def variables(shapes):
    """Parameters that begin as waves of phases 1, 2, ..."""
    return {name: torch.from_numpy(wave(shape, 1 + i, 0.3)).requires_grad_()
            for i, (name, shape) in enumerate(shapes.items())}


def train(p, loss_of, opt, steps, clip=None, before=None):
    """All losses. Gradients are clipped to a norm of `clip`; before(t) runs before each update."""
    losses = []
    for t in range(1, steps + 1):
        loss = loss_of()
        losses.append(loss.detach())
        opt.zero_grad()
        loss.mean().backward()
        if clip:
            norm = math.sqrt(sum((v.grad ** 2).sum().item() for v in p.values()))
            for v in p.values():
                v.grad *= clip / max(norm, clip)
        if before:
            before(t)
        opt.step()
    return {"losses": torch.stack(losses).numpy(), **{k: v.detach().numpy() for k, v in p.items()}}


def convolutions(momentum, clip=None):
    """Six steps of SGD of a small convolutional network."""
    p = variables({
        "conv1-weight": (3, 1, 3, 3), "conv1-bias": (3,), "conv2-weight": (4, 3, 3, 3),
        "conv2-bias": (4,), "dense1-weight": (5, 16), "dense1-bias": (5,),
        "dense2-weight": (3, 5), "dense2-bias": (3,)})
    x, y = torch.from_numpy(wave((4, 1, 8, 8), 9)), torch.tensor([0, 2, 1, 2])

    def loss():
        w = list(p.values())
        h = F.max_pool2d(F.relu(F.conv2d(x, w[0], w[1], padding=1)), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, w[2], w[3], padding=1)), 2)
        h = F.relu(F.linear(h.flatten(1), w[4], w[5]))
        return F.cross_entropy(F.linear(h, w[6], w[7]), y, reduction="none")

    return train(p, loss, torch.optim.SGD(p.values(), lr=0.1, momentum=momentum), 6, clip)


def dense(beta1=0.9, beta2=0.999, epsilon=1e-8, do_bias_correction=True, clip=None):
    """Ten steps of Adam of one dense layer.

    PyTorch adds epsilon after the correction of the bias, jfl before, as section 2 of the paper
    ends: at step t PyTorch is given epsilon / sqrt(1 - beta2^t), which makes them one. Without the
    correction it is undone by the rate."""
    p = variables({"w": (4, 3), "b": (3,)})
    x, y = torch.from_numpy(wave((5, 4), 9)), torch.tensor([0, 2, 1, 2, 0])
    opt = torch.optim.Adam(p.values(), lr=0.05, betas=(beta1, beta2))

    def before(t):
        group, root = opt.param_groups[0], math.sqrt(1 - beta2 ** t)
        group["eps"] = epsilon / root
        group["lr"] = 0.05 if do_bias_correction else 0.05 * (1 - beta1 ** t) / root

    return train(p, lambda: F.cross_entropy(x @ p["w"] + p["b"], y, reduction="none"), opt, 10,
                 clip, before)


for options in (dict(momentum=0.0), dict(momentum=0.9), dict(momentum=0.0, clip=0.3),
                dict(momentum=0.9, clip=0.45)):
    case("name", "SGD", {"options": options}, {"results": convolutions(**options)}, 14)
for options in (dict(), dict(beta1=0.5, beta2=0.9, epsilon=1e-3), dict(do_bias_correction=False),
                dict(beta1=0.8, beta2=0.95, epsilon=1e-2, do_bias_correction=False),
                dict(clip=0.12)):
    case("name", "Adam", {"options": options}, {"results": dense(**options)}, 15)
