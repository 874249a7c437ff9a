"""Ten steps of every optimizer: PyTorch's own where it has the formula, else numpy. Two parameters,
because LAMB and LARS measure each by itself; their gradients are waves that a step moves on."""
import math

import numpy as np
import torch

from .common import case, wave

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
for name, options, result in RULES:
    case("name", name, {"options": options}, {"results": result})
