"""What scripts/bench/rows/math.lua times, in PyTorch."""
import torch
import torch.nn.functional as F

NAMES = {
    "exp": torch.exp, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": F.gelu,
    "sin": torch.sin, "log1p": lambda x: torch.log1p(torch.abs(x)), "erf": torch.erf,
    "relu": F.relu, "silu": F.silu, "mish": F.mish, "elu": F.elu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2), "hardswish": F.hardswish,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "selu": F.selu,
    "a chain": lambda x: torch.tanh(x * 2 + 1) * torch.sigmoid(x) - torch.square(x),
    "x + y": torch.add, "where(x > y, x, y)": lambda x, y: torch.where(x > y, x, y),
}
ROWS = {"%s of %s" % (name, size): f for name, f in NAMES.items() for size in ("100000", "1e+07")}
