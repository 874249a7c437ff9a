"""What scripts/bench/rows/attention.lua times, in PyTorch."""
import torch
import torch.nn.functional as F


def attend(causal, rate=0.0):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, None, rate, causal)


def turn(x):
    n = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2])[:, None] * 10000 ** (-torch.arange(n) / n)
    c, s = angle.cos(), angle.sin()
    a, b = x[..., :n], x[..., n:]
    return torch.cat((a * c - b * s, a * s + b * c), -1)


def recurrent(run):
    def one(x, w, u, b):
        h = torch.zeros(1, 32, 256)
        state = (h, h) if run is torch.lstm else h
        return run(x, state, (w, u, b, b), True, 1, 0.0, False, False, False)[0]
    return one


ROWS = {"rotary embedding of (4, 12, 1024, 64)": turn}
for shape in ("(4, 12, 64, 64)", "(1, 12, 1024, 64)"):
    ROWS["attention of " + shape] = attend(False)
    ROWS["causal attention of " + shape] = attend(True)
    ROWS["attention of " + shape + ", a tenth dropped"] = attend(False, 0.1)
for name, run in (("lstm", torch.lstm), ("gru", torch.gru), ("rnn_tanh", torch.rnn_tanh)):
    ROWS[name + " of (64, 32, 256), 256 units"] = recurrent(run)
