#!/usr/bin/env python3
"""Prints what spec/optim/oracle.lua expects: six SGD steps of a small convolutional network in
PyTorch, float64.

    /usr/bin/python3 scripts/oracle_training.py     (Debian: python3-torch)
"""
import math

import torch

torch.set_default_dtype(torch.float64)
def wave(shape, phase, scale=0.3):
    n = math.prod(shape)
    return torch.tensor([scale * math.sin(phase + 1.7 * i) for i in range(n)]).reshape(shape)
P = {"conv1-weight": ((3,1,3,3),1), "conv1-bias": ((3,),2),
     "conv2-weight": ((4,3,3,3),3), "conv2-bias": ((4,),4),
     "dense1-weight": ((5,16),5), "dense1-bias": ((5,),6),
     "dense2-weight": ((3,5),7), "dense2-bias": ((3,),8)}
for momentum, clip in ((0.0, None), (0.9, None), (0.0, 0.3), (0.9, 0.45)):
    p = {k: wave(s, f).requires_grad_() for k,(s,f) in P.items()}
    opt = torch.optim.SGD(p.values(), lr=0.1, momentum=momentum)
    x, y = wave((4,1,8,8), 9, 1.0), torch.tensor([0,2,1,2])
    F = torch.nn.functional
    out = []
    for _ in range(6):
        h = F.max_pool2d(F.relu(F.conv2d(x, p["conv1-weight"], p["conv1-bias"], padding=1)), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, p["conv2-weight"], p["conv2-bias"], padding=1)), 2)
        h = F.relu(F.linear(h.flatten(1), p["dense1-weight"], p["dense1-bias"]))
        logits = F.linear(h, p["dense2-weight"], p["dense2-bias"])
        loss = F.cross_entropy(logits, y, reduction="none")
        out.append(loss.detach().tolist())
        opt.zero_grad(); loss.mean().backward()
        norm = torch.sqrt(sum((q.grad ** 2).sum() for q in p.values()))
        for q in p.values():
            if clip: q.grad *= clip / max(norm, clip)
        opt.step()
    print("momentum", momentum, "clip", clip)
    for l in out: print("{ " + ", ".join("%.15g" % v for v in l) + " },")
    for k in p:
        v = p[k].detach()
        print(k, "%.15g" % v.sum().item(), "%.15g" % v.abs().sum().item())
