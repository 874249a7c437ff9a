"""Normalizations, with what is made of them."""
import torch
import torch.nn.functional as F

from .common import D, W, entry


def columns(t, x, axis=1):
    """t as a tensor that runs along an axis of x."""
    shape = [1] * x.dim()
    shape[axis] = -1
    return t.reshape(shape)


def batch_norm(x, g, b, epsilon):
    return F.batch_norm(x, None, None, g, b, True, 0, epsilon)


# Batch norm alone, with relu and with an addend: channels second, and last in the second shape.
for shape, axis in (((4, 3), 1), ((2, 3, 3, 2), 1), ((3, 2, 2), 0)):
    c = shape[axis]

    def norm(x, g, b):
        return batch_norm(x.movedim(axis, 1), g, b, 1e-3).movedim(1, axis)
    params = [W((c,), 2), W((c,), 3)]
    entry("batch_norm", [W(shape, 1), *params], {"axis": axis}, norm)
    entry("batch_norm", [W(shape, 1), *params], {"axis": axis, "relu": True},
          lambda x, g, b: F.relu(norm(x, g, b)))
    entry("batch_norm", [W(shape, 1), *params, {"list": [W(shape, 5)]}],
          {"axis": axis, "relu": True, "add": True},
          lambda x, g, b, y: F.relu(norm(x, g, b) + y))
entry("batch_norm", [W((2, 2, 2, 3), 1), W((3,), 2), W((3,), 3)], {"axis": -1, "epsilon": 0.1},
      lambda x, g, b: batch_norm(x.movedim(-1, 1), g, b, 0.1).movedim(1, -1))
entry("nn.batch_normalization",
      [W((2, 3, 2), 1), W((3,), 2), D([0.5, 1, 2]), W((3,), 3), W((3,), 4)], {"axis": 1},
      lambda x, m, v, b, g: (x - columns(m, x)) / torch.sqrt(columns(v, x) + 1e-5) * columns(g, x)
      + columns(b, x))
entry("nn.moments", [W((3, 4, 2), 1)], {"axes": [0, 2]},
      lambda x: (x.mean((0, 2)), x.var((0, 2), unbiased=False)))

entry("nn.layer_norm", [W((4, 5), 1)], {}, lambda x: F.layer_norm(x, (5,)))
entry("nn.layer_norm", [W((2, 3, 4), 1), W((4,), 2), W((4,), 3)], {"begin_norm_axis": -1},
      lambda x, g, b: F.layer_norm(x, (4,), g, b))
entry("nn.layer_norm", [W((2, 3, 4), 1), W((3, 4), 2), W((3, 4), 3)],
      {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 0.1},
      lambda x, g, b: F.layer_norm(x, (3, 4), g, b, 0.1))
entry("nn.layer_norm", [W((2, 3, 4), 1), W((4,), 2), W((4,), 3)], {"begin_norm_axis": 1},
      lambda x, g, b: F.layer_norm(x, (3, 4)) * g + b)
entry("nn.rms_norm", [W((3, 5), 1), W((5,), 2)], {},
      lambda x, g: F.rms_norm(x, (5,), g, 1e-6))
entry("nn.rms_norm", [W((3, 5), 1)], {"epsilon": 0.5}, lambda x: F.rms_norm(x, (5,), None, 0.5))

# The op by itself: params for each channel, and for each group as in the original.
entry("row_norm", [W((2, 6, 3), 1), {"list": [W((6,), 2), W((6,), 3)]}],
      {"axis": 1, "groups": 3, "scale": True, "shift": True},
      lambda x, g, b: F.group_norm(x, 3, g, b))
entry("row_norm", [W((2, 6, 3), 1), {"list": [W((3,), 2), W((3,), 3)]}],
      {"axis": 1, "groups": 3, "scale": True, "shift": True},
      lambda x, g, b: F.group_norm(x, 3, g.repeat_interleave(2), b.repeat_interleave(2)))
entry("nn.GroupNorm", [W((2, 4, 3), 1)], {"num_groups": 2, "affine": False},
      lambda x: F.group_norm(x, 2))
for axes in (1, 2, 3):
    entry("nn.InstanceNorm%dd" % axes, [W((2, 2) + (3, 2, 2)[:axes], 1)], {"affine": False},
          F.instance_norm)

entry("layers.layer_norm", [W((3, 4), 1)], {"name": "n"},
      lambda x, b, g: F.layer_norm(x, (4,), g, b),
      variables={"n-beta": W((4,), 2), "n-gamma": W((4,), 3)})
entry("layers.rms_norm", [W((3, 4), 1)], {"name": "n"}, lambda x, g: F.rms_norm(x, (4,), g, 1e-6),
      variables={"n-gamma": W((4,), 3)})
entry("layers.group_norm", [W((2, 4, 3), 1)], {"num_groups": 2, "name": "n"},
      lambda x, b, g: F.group_norm(x, 2, g, b),
      variables={"n-beta": W((4,), 2), "n-gamma": W((4,), 3)})
entry("layers.instance_norm", [W((2, 3, 4), 1)], {"name": "n"},
      lambda x, b, g: F.instance_norm(x, weight=g, bias=b),
      variables={"n-beta": W((3,), 2), "n-gamma": W((3,), 3)})
entry("nn.GroupNorm", [W((2, 4, 3), 1)], {"num_groups": 2, "name": "n"},
      lambda x, b, g: F.group_norm(x, 2, g.repeat_interleave(2), b.repeat_interleave(2)),
      variables={"n_beta": W((2,), 2), "n_gamma": W((2,), 3)})
entry("layers.batch_normalization", [W((4, 3), 1)], {"name": "n"},
      lambda x, b, g, m, v: (x - m) / torch.sqrt(v + 1e-3) * g + b,
      variables={"n-beta": W((3,), 2), "n-gamma": W((3,), 3), "n-moving_mean": W((3,), 4),
                 "n-moving_variance": D([0.5, 1, 2])})
entry("layers.prelu", [W((2, 3, 4), 1)], {"shared_axes": 2, "name": "n"},
      lambda x, a: F.prelu(x, a.reshape(3)), variables={"n-alpha": W((3, 1), 2)})
entry("layers.layer_norm_grad", [W((3, 4), 1), W((3, 4), 2), D([0.1, 0.2, 0.3]), D([1, 2, 3])], {},
      lambda dy, x, m, i: i[:, None] * (dy - dy.mean(1, True) - (x - m[:, None]) * i[:, None] ** 2
                                        * (dy * (x - m[:, None])).mean(1, True)), grad=False)
entry("layers.layer_norm_param_grad", [W((3, 4), 1), W((3, 4), 2), W((4,), 3)], {},
      lambda dy, n, g: (dy * g, dy.sum(0), (dy * n).sum(0)), grad=False)
for size in (1, 4, 5):
    entry("nn.local_response_norm", [W((2, 6, 3), 1, 2.0), size],
          {"alpha": 0.5, "beta": 0.6, "k": 1.5},
          lambda x: F.local_response_norm(x, size, 0.5, 0.6, 1.5))
