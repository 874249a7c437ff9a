"""The rates of every schedule at its first 28 steps: PyTorch's where it has the schedule, else by
its formula."""
import math

import numpy as np
import torch
from torch.optim import lr_scheduler as s

from .common import case

N = 28


def rates_of(make, lr=0.2, last=N):
    """PyTorch's rates; those of step `last` and later are its rate at `last`."""
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr)
    schedule, rates = make(opt), []
    for t in range(N):
        rates.append(opt.param_groups[0]["lr"])
        if t < last:
            opt.step()
            schedule.step()
    return rates


def formula(fn):
    return [fn(t) for t in range(N)]


def linear_cosine(t, periods=0.5, alpha=0.0, beta=0.001):
    """Bello et al., "Neural optimizer search", ICML 2017, section 4.4, in OneFlow's names."""
    k = min(t, 10) / 10
    return 0.2 * ((alpha + 1 - k) * (1 + math.cos(2 * math.pi * periods * k)) / 2 + beta)


def cycling(t, power, end=0.1):
    """OneFlow's polynomial that cycles: its length is the next multiple of `steps`, 10."""
    length = 10 * max(1, math.ceil(t / 10))
    return (0.2 - end) * (1 - t / length) ** power + end


cosine = s.CosineAnnealingLR
warm = dict(
    linear=rates_of(lambda p: s.LinearLR(p, 0.4, 1, 5)),
    constant=rates_of(lambda p: s.ConstantLR(p, 0.4, 6)),
    cosine=rates_of(lambda p: cosine(p, 10), last=10),
)
SCHEDULES = (
    ("PiecewiseConstantScheduler", [[3, 12], [0.2, 0.1, 0.05]],
     rates_of(lambda p: s.MultiStepLR(p, [4, 13], 0.5))),
    ("PiecewiseScalingScheduler", [0.2, [3, 12], 0.5],
     rates_of(lambda p: s.MultiStepLR(p, [4, 13], 0.5))),
    ("PiecewiseScalingScheduler", [0.2, [3, 12], [0.1, 0.4]],
     formula(lambda t: 0.2 * (1 if t <= 3 else 0.1 if t <= 12 else 0.4))),
    ("CosineScheduler", [0.2, 10, 0.1], rates_of(lambda p: cosine(p, 10, 0.02), last=10)),
    ("LinearCosineScheduler", [0.2, 10], formula(linear_cosine)),
    ("LinearCosineScheduler", [0.2, 10, 1.5, 0.2, 0.01],
     formula(lambda t: linear_cosine(t, 1.5, 0.2, 0.01))),
    ("PolynomialScheduler", [0.2, 10, 0, 2], rates_of(lambda p: s.PolynomialLR(p, 10, 2))),
    ("PolynomialScheduler", [0.2, 10, 0.1, 2, True], formula(lambda t: cycling(t, 2))),
    ("ExponentialScheduler", [0.2, 10, 0.5],
     rates_of(lambda p: s.ExponentialLR(p, 0.5 ** 0.1))),
    ("ExponentialScheduler", [0.2, 10, 0.5, True], rates_of(lambda p: s.StepLR(p, 10, 0.5))),
    ("NaturalExpScheduler", [0.2, 10, 0.5],
     rates_of(lambda p: s.ExponentialLR(p, math.exp(-0.05)))),
    ("NaturalExpScheduler", [0.2, 10, 0.5, True],
     rates_of(lambda p: s.StepLR(p, 10, math.exp(-0.5)))),
    ("InverseTimeScheduler", [0.2, 10, 0.5],
     rates_of(lambda p: s.LambdaLR(p, lambda t: 1 / (1 + 0.05 * t)))),
    ("InverseTimeScheduler", [0.2, 10, 0.5, True],
     rates_of(lambda p: s.LambdaLR(p, lambda t: 1 / (1 + 0.5 * (t // 10))))),
    ("CosineRestartsScheduler", [0.2, 4, 2, 0.1],
     rates_of(lambda p: s.CosineAnnealingWarmRestarts(p, 4, 2, 0.02))),
    ("OneCycleScheduler", [0.2, 20],
     rates_of(lambda p: s.OneCycleLR(p, 0.2, 20, cycle_momentum=False), last=19)),
    ("OneCycleScheduler", [0.2, 20, 0.45, 10, 100],
     rates_of(lambda p: s.OneCycleLR(p, 0.2, 20, pct_start=0.45, cycle_momentum=False,
                                     div_factor=10, final_div_factor=100), last=19)),
    ("CosineWarmupScheduler", [0.2, 10, 4, 0.1, 0.25],
     rates_of(lambda p: s.SequentialLR(
         p, [s.LinearLR(p, 0.25, 1, 4), cosine(p, 6, 0.02)], [4]), last=10)),
    # A warm-up takes the place of the first rates; the schedule does not begin later for it.
    ("CosineScheduler", [0.2, 10, {"warmup": ["linear", 5, 0.4]}],
     warm["linear"][:5] + warm["cosine"][5:]),
    ("CosineScheduler", [0.2, 10, {"warmup": ["constant", 6, 0.4]}],
     warm["constant"][:6] + warm["cosine"][6:]),
)
for name, arguments, rates in SCHEDULES:
    case("name", name, {"arguments": arguments}, {"results": {"rates": np.array(rates)}}, 16)
