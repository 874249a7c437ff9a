"""Attention, rotary embedding and recurrent layers."""
import torch
import torch.nn.functional as F

from .common import D, W, entry


def attend(**more):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **more)


Q, K, V = W((2, 3, 4, 5), 1), W((2, 3, 6, 5), 2), W((2, 3, 6, 2), 3)
SDPA = "nn.scaled_dot_product_attention"
entry(SDPA, [Q, K, V], {}, attend())
entry(SDPA, [Q, K, V], {"causal": True, "scale": 0.3}, attend(is_causal=True, scale=0.3))
entry(SDPA, [W((1, 4, 3, 2), 1), W((1, 2, 3, 2), 2), W((1, 2, 3, 2), 3)], {"causal": True},
      attend(is_causal=True, enable_gqa=True))


def turned(x, base=10000, offset=0, interleaved=False):
    """Rotary embedding as in section 3.4 of RoFormer (Su et al., 2021), with complex numbers."""
    n = x.shape[-1]
    angle = (torch.arange(x.shape[-2])[:, None] + offset) * base ** (-torch.arange(0, n, 2) / n)
    by = torch.polar(torch.ones_like(angle), angle)
    pairs = (x.unflatten(-1, (-1, 2)) if interleaved
             else torch.stack(x.chunk(2, -1), -1)).contiguous()
    y = torch.view_as_real(torch.view_as_complex(pairs) * by)
    return y.flatten(-2) if interleaved else torch.cat(y.unbind(-1), -1)


entry("nn.rotary_embedding", [W((2, 3, 6), 1)], {}, turned)
entry("nn.rotary_embedding", [W((2, 3, 6), 1)], {"base": 100, "offset": 5, "interleaved": True},
      lambda x: turned(x, 100, 5, True))

KINDS = {"rnn": (torch.nn.RNN, 1), "lstm": (torch.nn.LSTM, 4), "gru": (torch.nn.GRU, 3)}


def recurrent(kind, layers=1, both=False, options=None, more=None):
    """The layer with the given weights, as PyTorch's of the same names."""
    make, gates = KINDS[kind]
    net = make(3, 2, layers, bidirectional=both, batch_first=True, **(more or {}))
    names = [name for name, _ in net.named_parameters()]
    shapes = [p.shape for p in net.parameters()]
    assert shapes[0][0] == gates * 2

    def run(x, *weights):
        y, state = torch.func.functional_call(net, dict(zip(names, weights)), (x,))
        return (y,) + (state if isinstance(state, tuple) else (state,))

    entry("layers." + kind, [W((2, 4, 3), 1)],
          dict(options or {}, units=2, name="n", num_layers=layers, bidirectional=both), run,
          variables={"n-" + n: W(s, 2 + i, 0.6) for i, (n, s) in enumerate(zip(names, shapes))})


for k in KINDS:
    recurrent(k)
    recurrent(k, 2, True)
recurrent("rnn", options={"nonlinearity": "relu"}, more={"nonlinearity": "relu"})


def heads(x, w_in, b_in, w_out, b_out):
    net = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    names = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    weights = dict(zip(names, (w_in, b_in, w_out, b_out)))
    hidden = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
    return torch.func.functional_call(net, weights, (x, x, x), {
        "need_weights": False, "attn_mask": hidden})[0]


entry("layers.multi_head_attention", [W((2, 3, 4), 1)],
      {"num_heads": 2, "causal": True, "name": "m"}, heads,
      variables={"m-in_proj-weight": W((12, 4), 2), "m-in_proj-bias": W((12,), 3),
                 "m-out_proj-weight": W((4, 4), 4), "m-out_proj-bias": W((4,), 5)})
