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
