"""Losses."""
import torch
import torch.nn.functional as F

from . import common
from .common import D, W


def entry(call, inputs, options, fn):
    """A case whose result is of shape (1) where PyTorch's has none."""
    common.entry(call, inputs, options, lambda *x: torch.atleast_1d(fn(*x)))


labels = D([2, 0, 4, 1], "int32")
entry("sparse_softmax_cross_entropy_with_logits", [labels, W((4, 5), 1, 3)], {},
      lambda l, x: F.cross_entropy(x, l.long(), reduction="none"))
entry("softmax_cross_entropy_with_logits",
      [D([[0.1, 0.2, 0.7], [1, 0, 0], [0.5, 0.25, 0.25]]), W((3, 3), 1, 3)], {},
      lambda z, x: -(z * F.log_softmax(x, -1)).sum(-1))
entry("sigmoid_cross_entropy_with_logits",
      [D([[0.1, 0.2, 0.7], [1, 0, 0.5]]), W((2, 3), 1, 30)], {},
      lambda z, x: F.binary_cross_entropy_with_logits(x, z, reduction="none"))

for smoothing in (0.1, 1):
    entry("sparse_softmax_cross_entropy_with_logits", [labels, W((4, 5), 1, 3)],
          {"label_smoothing": smoothing},
          lambda l, x, s=smoothing: F.cross_entropy(x, l.long(), reduction="none",
                                                    label_smoothing=s))
entry("nn.softmax_cross_entropy_with_logits",
      [D([[0.1, 0.2, 0.7], [1, 0, 0]]), W((2, 3), 1, 3)], {"label_smoothing": 0.2},
      lambda z, x: F.cross_entropy(x, z, reduction="none", label_smoothing=0.2))

# the losses that reduce, each in every way
A, B = W((3, 4), 1, 2), W((3, 4), 2)
P = D([[0.1, 0.5, 0.9], [0.3, 0.2, 0.99]])
Z = D([[0, 1, 0.25], [1, 0, 1]])
SIGNS = D([[1, -1, 1, -1], [1, 1, 1, 1], [-1, -1, 1, -1]])
POS = D([0.5, 2, 3])


def reduced(how, y, weight=None):
    """Losses as PyTorch reduces them; its own functions give weights no gradient."""
    if weight is not None:
        y = y * weight
    if how == "none":
        return y
    return y.sum() if how == "sum" else y.mean() if weight is None else y.sum() / weight.sum()


for how in ("mean", "sum", "none"):
    o = {"reduction": how}
    entry("nn.L1Loss", [A, B], o, lambda x, y: F.l1_loss(x, y, **o))
    entry("nn.MSELoss", [A, B], o, lambda x, y: F.mse_loss(x, y, **o))
    entry("smooth_l1_loss", [A, B], {"beta": 0.5, **o},
          lambda x, y: F.smooth_l1_loss(x, y, beta=0.5, **o))
    entry("nn.huber_loss", [A, B], {"delta": 0.7, **o},
          lambda x, y: F.huber_loss(x, y, delta=0.7, **o))
    entry("nn.BCELoss", [P, D([[0.2, 0.7, 0.4], [0.7, 0.1, 0.9]])], o,
          lambda x, z: F.binary_cross_entropy(x, z, **o))
    entry("nn.BCEWithLogitsLoss", [W((2, 3), 1, 9), Z], o,
          lambda x, z: F.binary_cross_entropy_with_logits(x, z, **o))
    entry("nn.BCEWithLogitsLoss", [W((2, 3), 1, 9), Z, D([[0.5], [2]]), POS], o,
          lambda x, z, w, p: reduced(how, -w * (p * z * F.logsigmoid(x)
                                                + (1 - z) * F.logsigmoid(-x))))
    entry("nn.KLDivLoss", [W((2, 3), 1, 2), P], o, lambda x, t: F.kl_div(x, t, **o))
    entry("nn.KLDivLoss", [W((2, 3), 1, 2), W((2, 3), 2)], {"log_target": True, **o},
          lambda x, t: F.kl_div(x, t, log_target=True, **o))
    entry("nn.MarginRankingLoss", [A, B, SIGNS], {"margin": 0.2, **o},
          lambda a, b, t: F.margin_ranking_loss(a, b, t, margin=0.2, **o))
    entry("nn.TripletMarginLoss", [A, B, W((3, 4), 3)], o,
          lambda a, p, n: F.triplet_margin_loss(a, p, n, **o))
    entry("nn.TripletMarginLoss", [A, B, W((3, 4), 3)], {"p": 3, "swap": True, **o},
          lambda a, p, n: F.triplet_margin_loss(a, p, n, p=3, swap=True, **o))
    entry("nn.cosine_embedding_loss", [A, B, D([1, -1, -1], "int32")], {"margin": -0.5, **o},
          lambda a, b, t: F.cosine_embedding_loss(a, b, t, margin=-0.5, **o))
    entry("nn.hinge_embedding_loss", [A, D(SIGNS["data"], "int32")], o,
          lambda x, t: F.hinge_embedding_loss(x, t, **o))
    entry("nn.nll_loss", [W((4, 5), 1), labels, D([1, 2, 0.5, 3, 0.25])], o,
          lambda x, l, w: reduced(how, F.nll_loss(x, l.long(), reduction="none"), w[l.long()]))
    entry("nn.nll_loss", [W((4, 5), 1), labels], {"ignore_index": 4, **o},
          lambda x, l: F.nll_loss(x, l.long(), ignore_index=4, **o))
    entry("nn.cross_entropy", [W((4, 5), 1, 3), labels], {"label_smoothing": 0.1, **o},
          lambda x, l: F.cross_entropy(x, l.long(), label_smoothing=0.1, **o))
    entry("nn.cross_entropy", [W((4, 5), 1, 3), D([2, -100, 4, -100], "int32")],
          {"ignore_index": -100, **o},
          lambda x, l: F.cross_entropy(x, l.long(), ignore_index=-100, **o))
    entry("nn.cross_entropy", [W((4, 5), 1, 3), labels, D([1, 2, 0.5, 3, 0.25])], o,
          lambda x, l, w: reduced(how, F.cross_entropy(x, l.long(), reduction="none"),
                                  w[l.long()]))

entry("nn.cross_entropy", [W((2, 3), 1, 3), D([[0.1, 0.2, 0.7], [1, 0, 0]])], {},
      lambda x, z: F.cross_entropy(x, z))


def focal(x, t, alpha=0.25, gamma=2.0):
    """Of torchvision's sigmoid_focal_loss."""
    p = torch.sigmoid(x)
    ce = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    p_t = p * t + (1 - p) * (1 - t)
    return (alpha * t + (1 - alpha) * (1 - t)) * ce * (1 - p_t) ** gamma


entry("nn.sigmoid_focal_loss", [W((2, 3), 1, 3), Z], {}, focal)
entry("nn.sigmoid_focal_loss", [W((2, 3), 1, 3), Z], {"alpha": 0.5, "gamma": 1.5,
                                                      "reduction": "sum"},
      lambda x, t: focal(x, t, 0.5, 1.5).sum())
entry("nn.sparse_cross_entropy", [D([2, 0], "int32"), P], {},
      lambda l, p: -torch.log(p.gather(1, l.long()[:, None])[:, 0]))
entry("nn.hinge_loss", [A, SIGNS], {}, lambda x, t: F.relu(1 - t * x).mean())
entry("nn.dice_loss", [P, Z], {},
      lambda p, t: (1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean())


def margins(x, label, m1, m2, m3):
    """Deng et al., ArcFace (arXiv:1801.07698), equation 4."""
    own = F.one_hot(label.long(), x.shape[1]).bool()
    return torch.where(own, torch.cos(m1 * torch.acos(x) + m2) - m3, x)


for m in ((1, 0, 0.3), (1, 0.5, 0), (1.2, 0.1, 0.05)):
    entry("combined_margin_loss", [W((4, 5), 1, 0.9), labels], dict(zip(("m1", "m2", "m3"), m)),
          lambda x, l, m=m: margins(x, l, *m))


def ctc(x, targets, times, lengths, blank=0):
    """Graves et al. (ICML 2006), equations 6 and 7, so that log_probs have the gradient of what is
    defined; that of PyTorch's function counts the softmax before it."""
    losses = []
    for i in range(x.shape[1]):
        labels = [int(v) for v in targets[i][:int(lengths[i])]]
        path = [blank] + [v for label in labels for v in (label, blank)]
        none = torch.tensor(float("-inf"))
        a = [x[0, i, c] if p < 2 else none for p, c in enumerate(path)]
        for t in range(1, int(times[i])):
            new = []
            for p, c in enumerate(path):
                ways = [a[p]] + ([a[p - 1]] if p else [])
                if p > 1 and c != blank and c != path[p - 2]:
                    ways.append(a[p - 2])
                ways = [w for w in ways if w > none]
                new.append(torch.logsumexp(torch.stack(ways), 0) + x[t, i, c] if ways else none)
            a = new
        losses.append(-torch.logsumexp(torch.stack(a[-2:]), 0))
    return torch.stack(losses)


T2 = D([[1, 2, 2], [3, 0, 0]], "int32")
for how in ("mean", "sum", "none"):
    def of(x, t, n, m):
        y = ctc(x, t, n, m)
        theirs = F.ctc_loss(x, t, n, m, reduction="none")
        assert torch.allclose(y, theirs, rtol=1e-12), (y, theirs)
        return reduced(how, y / m if how == "mean" else y)
    entry("ctc_loss", [W((7, 2, 4), 1), T2, D([7, 5], "int32"), D([3, 1], "int32")],
          {"reduction": how}, of)
entry("ctc_loss", [W((3, 2, 4), 1), T2, D([3, 3], "int32"), D([3, 1], "int32")],
      {"reduction": "none", "zero_infinity": True},
      lambda x, t, n, m: torch.stack([torch.zeros(()), ctc(x, t, n, m)[1]]))
entry("nn.KLDivLoss", [W((2, 3), 1, 2), P], {"reduction": "batchmean"},
      lambda x, t: F.kl_div(x, t, reduction="batchmean"))
entry("nn.KLDivLoss", [W((2, 3), 1, 2), W((2, 3), 2)],
      {"log_target": True, "reduction": "batchmean"},
      lambda x, t: F.kl_div(x, t, log_target=True, reduction="batchmean"))
