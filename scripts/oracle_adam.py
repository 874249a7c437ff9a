#!/usr/bin/env python3
"""Prints spec/optim/adam_oracle.lua: ten steps of PyTorch's Adam on two tensors.

    /usr/bin/python3 scripts/oracle_adam.py > spec/optim/adam_oracle.lua     (Debian: python3-torch)

PyTorch adds epsilon after the correction of the bias, jfl before, as the paper's section 2 ends: at
step t PyTorch is given epsilon / sqrt(1 - beta2^t), which makes them one. Without the correction it
is undone by the rate.
"""
import math

import torch

def wave(shape, phase, scale, dtype):
    n = math.prod(shape)
    values = [scale * math.sin(phase + 1.7 * i) for i in range(n)]
    return torch.tensor(values, dtype=dtype).reshape(shape)

CASES = (dict(), dict(beta1=0.5, beta2=0.9, epsilon=1e-3), dict(correct=False),
         dict(beta1=0.8, beta2=0.95, epsilon=1e-2, correct=False), dict(clip=0.2))

def train(dtype, beta1=0.9, beta2=0.999, epsilon=1e-8, correct=True, clip=None):
    w, b = wave((4, 3), 1, 0.3, dtype).requires_grad_(), wave((3,), 2, 0.3, dtype).requires_grad_()
    x, y = wave((5, 4), 9, 1.0, dtype), torch.tensor([0, 2, 1, 2, 0])
    opt, losses = torch.optim.Adam([w, b], lr=0.05, betas=(beta1, beta2)), []
    for t in range(1, 11):
        loss = torch.nn.functional.cross_entropy(x @ w + b, y, reduction="none")
        losses.append(loss.detach().tolist())
        opt.zero_grad()
        loss.mean().backward()
        if clip:
            norm = math.sqrt(sum((p.grad.double() ** 2).sum().item() for p in (w, b)))
            for p in (w, b): p.grad *= clip / max(norm, clip)
        group, root = opt.param_groups[0], math.sqrt(1 - beta2 ** t)
        group["eps"] = epsilon / root
        group["lr"] = 0.05 if correct else 0.05 * (1 - beta1 ** t) / root
        opt.step()
    return losses, w.detach().flatten().tolist(), b.detach().tolist()

def write(name, list_, digits, last=","):
    text = "    %s = {" % name
    for i in range(0, len(list_), 3):
        text += "\n      " + ", ".join("%.*g" % (digits, v) for v in list_[i:i + 3]) + ","
    print(text + "\n    }" + last)

print("--- Ten steps of PyTorch's Adam: the last losses and the variables; made by")
print("--- scripts/oracle_adam.py.")
print("return {")
for dtype, digits in ((torch.float64, 17), (torch.float32, 9)):
    for case in CASES:
        losses, w, b = train(dtype, **case)
        print("  {")
        print('    dtype = "%s",' % str(dtype).split(".")[1])
        for key, value in case.items():
            print("    %s = %s," % (key, str(value).lower()))
        write("losses", losses[-1], digits)
        write("w", w, digits)
        write("b", b, digits)
        print("  },")
print("}")
