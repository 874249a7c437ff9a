"""Ten steps of every optimizer, and the rates of every schedule at its first 28 steps:

    PYTHONPATH=scripts python3 -m oracles.optim > spec/optim/oracle_rules.lua

PyTorch's own where it has the formula, else numpy. Two parameters, because LAMB and LARS measure
each by itself; their gradients are waves that a step moves on. All is float64."""
import math
import sys

import numpy as np
import torch
from torch.optim import lr_scheduler

from oracles.common import lua, numbers, wave, wrapped

RATE, STEPS, SHAPES = 0.05, 10, {"w": (3, 7), "b": (5,)}
# LazyAdam leaves elements alone whose gradient is exactly 0: its gradients are 0 below this.
THRESHOLD = 0.3


def gradient(name, step, sparse=False):
    g = wave(SHAPES[name], 1.3 * step + (name == "b"))
    return np.where(np.abs(g) < np.float32(THRESHOLD), 0, g) if sparse else g


def start(name):
    return wave(SHAPES[name], 2, 0.8)


# ---- by PyTorch: before(optimizer, state, t) changes what PyTorch does otherwise ----

def by_torch(make, before=None):
    w = {name: torch.from_numpy(start(name).copy()).requires_grad_() for name in SHAPES}
    opt = make(list(w.values()))
    for t in range(1, STEPS + 1):
        for name, p in w.items():
            p.grad = torch.from_numpy(gradient(name, t).copy())
        if before:
            before(opt, t)
        opt.step()
    return {name: p.detach().numpy() for name, p in w.items()}


def epsilon_of_adam(epsilon, beta2):
    """PyTorch adds epsilon after the correction of the bias, jfl before."""
    def before(opt, t):
        opt.param_groups[0]["eps"] = epsilon / math.sqrt(1 - beta2 ** t)
    return before


def epsilon_of_rmsprop(epsilon, decay):
    """PyTorch adds epsilon to the root, jfl in the root: with PyTorch's at 0, its mean of squares
    is kept at epsilon more than it would be."""
    def before(opt, t):
        for p in opt.param_groups[0]["params"]:
            state = opt.state[p]
            if t == 1:
                state.update(step=torch.tensor(0.), grad_avg=torch.zeros_like(p),
                             square_avg=torch.full_like(p, epsilon))
            state["square_avg"] += (1 - decay) / decay * epsilon
    return before


def adam(kind, beta1, beta2, epsilon, **more):
    return by_torch(lambda p: kind(p, RATE, (beta1, beta2), **more),
                    epsilon_of_adam(epsilon, beta2))


def rmsprop(decay, epsilon, centered):
    return by_torch(lambda p: torch.optim.RMSprop(p, RATE, alpha=decay, eps=0, centered=centered),
                    epsilon_of_rmsprop(epsilon, decay))


# ---- by numpy: rule(w, g, s, t) gives the new w; s is what it keeps ----

def by_numpy(rule, sparse=False):
    result = {}
    for name in SHAPES:
        w, s = start(name), {"m": np.zeros(SHAPES[name]), "v": np.zeros(SHAPES[name])}
        for t in range(1, STEPS + 1):
            w = rule(w, gradient(name, t, sparse), s, t)
        result[name] = w
    return result


def sgdw(momentum, decay):
    """OneFlow's: the rate is folded into the velocity, the decay stays outside of it."""
    def rule(w, g, s, t):
        s["m"] = momentum * s["m"] - RATE * g
        return w + s["m"] - RATE * decay * w
    return by_numpy(rule)


def uncorrected_adam(beta1, beta2, epsilon):
    """Kingma and Ba, algorithm 1, without the correction of the bias."""
    def rule(w, g, s, t):
        s["m"] = beta1 * s["m"] + (1 - beta1) * g
        s["v"] = beta2 * s["v"] + (1 - beta2) * g * g
        return w - RATE * s["m"] / (np.sqrt(s["v"]) + epsilon)
    return by_numpy(rule)


def lazy_adam(beta1, beta2, epsilon):
    """OneFlow's LazyAdam: Adam with corrected bias, but only where something was looked up; the
    count of steps is that of all."""
    def rule(w, g, s, t):
        on = g != 0
        s["m"] = np.where(on, beta1 * s["m"] + (1 - beta1) * g, s["m"])
        s["v"] = np.where(on, beta2 * s["v"] + (1 - beta2) * g * g, s["v"])
        rate = RATE * math.sqrt(1 - beta2 ** t) / (1 - beta1 ** t)
        return np.where(on, w - rate * s["m"] / (np.sqrt(s["v"]) + epsilon), w)
    return by_numpy(rule, sparse=True)


def lamb(beta1, beta2, epsilon, decay):
    """You et al., "Large batch optimization for deep learning", ICLR 2020, algorithm 2, in
    OneFlow's form: powers of beta begin at 2, and the ratio of norms leaves the decay out."""
    def rule(w, g, s, t):
        s["m"] = beta1 * s["m"] + (1 - beta1) * g
        s["v"] = beta2 * s["v"] + (1 - beta2) * g * g
        mean, square = s["m"] / (1 - beta1 ** (t + 1)), s["v"] / (1 - beta2 ** (t + 1))
        u = mean / (np.sqrt(square) + epsilon)
        return w - RATE * np.linalg.norm(w) / np.linalg.norm(u) * (u + decay * w)
    return by_numpy(rule)


def lars(momentum, epsilon, coefficient, decay):
    """You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017, in
    OneFlow's form: norms are roots of means, and the first step's ratio leaves the decay out."""
    def rule(w, g, s, t):
        size, slope = np.sqrt(np.mean(w * w)), np.sqrt(np.mean(g * g))
        below = epsilon + slope + (0 if t == 1 else decay * size)
        s["m"] = momentum * s["m"] - RATE * coefficient * size / below * (g + decay * w)
        return w + s["m"]
    return by_numpy(rule)


def lion(beta1, beta2, decay):
    """Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2."""
    def rule(w, g, s, t):
        step = np.sign(beta1 * s["m"] + (1 - beta1) * g)
        s["m"] = beta2 * s["m"] + (1 - beta2) * g
        return w - RATE * (step + decay * w)
    return by_numpy(rule)


o = torch.optim
RULES = (
    ("SGD", dict(momentum=0), by_torch(lambda p: o.SGD(p, RATE))),
    ("SGD", dict(momentum=0.8), by_torch(lambda p: o.SGD(p, RATE, momentum=0.8))),
    ("SGD", dict(momentum=0.8, nesterov=True),
     by_torch(lambda p: o.SGD(p, RATE, momentum=0.8, nesterov=True))),
    ("SGDW", dict(momentum=0, weight_decay=0.1), sgdw(0, 0.1)),
    ("SGDW", dict(momentum=0.8, weight_decay=0.1), sgdw(0.8, 0.1)),
    ("Adam", dict(), adam(o.Adam, 0.9, 0.999, 1e-8)),
    ("Adam", dict(beta1=0.5, beta2=0.9, epsilon=1e-3), adam(o.Adam, 0.5, 0.9, 1e-3)),
    ("Adam", dict(beta2=0.9, amsgrad=True), adam(o.Adam, 0.9, 0.9, 1e-8, amsgrad=True)),
    ("Adam", dict(beta1=0.8, beta2=0.95, epsilon=1e-2, do_bias_correction=False),
     uncorrected_adam(0.8, 0.95, 1e-2)),
    ("AdamW", dict(weight_decay=0.1), adam(o.AdamW, 0.9, 0.999, 1e-8, weight_decay=0.1)),
    ("AdamW", dict(weight_decay=0.1, beta2=0.9, amsgrad=True),
     adam(o.AdamW, 0.9, 0.9, 1e-8, weight_decay=0.1, amsgrad=True)),
    ("LazyAdam", dict(epsilon=1e-4), lazy_adam(0.9, 0.999, 1e-4)),
    ("NAdam", dict(), by_torch(lambda p: o.NAdam(p, RATE))),
    ("NAdam", dict(beta1=0.8, beta2=0.9, epsilon=1e-3, momentum_decay=0.5),
     by_torch(lambda p: o.NAdam(p, RATE, (0.8, 0.9), 1e-3, momentum_decay=0.5))),
    ("RMSProp", dict(), rmsprop(0.99, 1e-8, False)),
    ("RMSProp", dict(decay_rate=0.9, epsilon=1e-2, centered=True), rmsprop(0.9, 1e-2, True)),
    ("Adagrad", dict(), by_torch(lambda p: o.Adagrad(p, RATE))),
    ("Adagrad", dict(lr_decay=0.1, initial_accumulator_value=0.5, epsilon=1e-3),
     by_torch(lambda p: o.Adagrad(p, RATE, 0.1, 0, 0.5, 1e-3))),
    ("Adadelta", dict(), by_torch(lambda p: o.Adadelta(p, RATE))),
    ("Adadelta", dict(rho=0.7, epsilon=1e-3), by_torch(lambda p: o.Adadelta(p, RATE, 0.7, 1e-3))),
    ("LAMB", dict(weight_decay=0.1), lamb(0.9, 0.999, 1e-6, 0.1)),
    ("LARS", dict(lars_coefficient=0.1, weight_decay=0.1), lars(0.9, 1e-9, 0.1, 0.1)),
    ("Lion", dict(weight_decay=0.1), lion(0.9, 0.99, 0.1)),
)

# ---- schedules ----

N = 28


def rates_of(make, lr=0.2, last=N):
    """PyTorch's rates; those of step `last` and later are its rate at `last`."""
    opt = o.SGD([torch.zeros(1, requires_grad=True)], lr)
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


s, cosine = lr_scheduler, lr_scheduler.CosineAnnealingLR
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


def block(name, words):
    print("    %s = {\n%s\n    }," % (name, words))


print("--- Ten steps of optimizers and rates of schedules, by PyTorch and numpy; made by")
print("--- scripts/oracles/optim.py.")
print("return {\n  rate = %s, steps = %d, threshold = %s,\n  rules = {"
      % (lua(RATE), STEPS, lua(THRESHOLD)))
for name, options, result in RULES:
    print('  { name = "%s",' % name)
    if options:
        print("    options = %s," % lua(options))
    for of, values in result.items():
        block(of, numbers(values))
    print("  },")
print("  },\n  schedules = {")
for name, arguments, rates in SCHEDULES:
    print('  { name = "%s", arguments = %s,' % (name, lua(arguments)))
    block("rates", wrapped([lua(x) for x in rates], "      "))
    print("  },")
print("  },\n}")
sys.stdout.flush()
