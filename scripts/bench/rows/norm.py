"""What scripts/bench/rows/norm.lua times, in PyTorch."""
import torch
import torch.nn.functional as F


def batch_norm(x, g, b):
    return F.batch_norm(x, None, None, g, b, True)


ROWS = {
    "copy of (4096, 1024)": lambda x: x + 0.5,
    "softmax of (64, 768)": lambda x: torch.softmax(x, -1),
    "softmax of (16, 64, 56, 56) along axis 1": lambda x: torch.softmax(x, 1),
    "logsoftmax of (4096, 1024)": lambda x: torch.log_softmax(x, -1),
    "layer norm of (4096, 1024)": lambda x, g, b: F.layer_norm(x, (1024,), g, b),
    "layer norm of (64, 768)": lambda x, g, b: F.layer_norm(x, (768,), g, b),
    "rms norm of (4096, 1024)": lambda x, g: F.rms_norm(x, (1024,), g, 1e-6),
    "group norm of (16, 64, 56, 56)": lambda x, g, b: F.group_norm(x, 32, g, b),
    "instance norm of (16, 64, 56, 56)": F.instance_norm,
    "batch norm of (16, 64, 56, 56)": batch_norm,
    "batch norm of (256, 1024)": batch_norm,
}
