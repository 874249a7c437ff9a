"""Convolutions and pools."""
import torch
import torch.nn.functional as F

from .common import D, W, entry


def same_pads(n, k, s, d=1, lower=True):
    out = -(-n // s)
    p = max(0, (out - 1) * s + (k - 1) * d + 1 - n)
    return (p - p // 2, p // 2) if lower else (p // 2, p - p // 2)


def conv(x, f, pads, stride=1, dilation=1, groups=1):
    (t, b), (l, r) = pads
    return F.conv2d(F.pad(x, (l, r, t, b)), f, stride=stride, dilation=dilation, groups=groups)


def max_pool(x, k, s, pads):
    (t, b), (l, r) = pads
    return F.max_pool2d(F.pad(x, (l, r, t, b), value=-1e300), k, s)


def avg_pool(x, k, s, pads):
    (t, b), (l, r) = pads
    total = F.avg_pool2d(F.pad(x, (l, r, t, b)), k, s)
    part = F.avg_pool2d(F.pad(torch.ones_like(x), (l, r, t, b)), k, s)
    return total / part


for lower in (True, False):
    pads = (same_pads(7, 4, 2, lower=lower), same_pads(6, 3, 2, lower=lower))
    entry("conv2d", [W((2, 2, 7, 6), 1), W((3, 2, 4, 3), 2)],
          {"strides": 2, "padding": "SAME" if lower else "SAME_UPPER"},
          lambda x, f: conv(x, f, pads, 2))
entry("conv2d", [W((1, 4, 5, 6), 1), W((6, 2, 3, 2), 2)], {"groups": 2, "padding": [1, 1, 0, 2]},
      lambda x, f: conv(x, f, ((1, 1), (0, 2)), groups=2))
entry("conv2d", [W((1, 2, 8, 9), 1), W((2, 2, 3, 3), 2)], {"dilations": [2, 3], "strides": [1, 2]},
      lambda x, f: F.conv2d(x, f, stride=(1, 2), dilation=(2, 3)))
pads = (same_pads(7, 3, 2), same_pads(6, 3, 2))
options = {"ksize": 3, "strides": 2, "padding": "SAME"}
entry("max_pool2d", [W((2, 2, 7, 6), 1)], options, lambda x: max_pool(x, 3, 2, pads))
entry("avg_pool2d", [W((2, 2, 7, 6), 1)], options, lambda x: avg_pool(x, 3, 2, pads))
options = {"ksize": 2, "strides": 2, "padding": [0, 0], "ceil_mode": True}
entry("max_pool2d", [W((1, 1, 5, 7), 1)], options, lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True))
entry("avg_pool2d", [W((1, 1, 5, 7), 1)], options, lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True))
entry("max_pool2d", [D([[[[1, 1, 0], [1, 1, 2], [2, 2, 0]]]])], {"ksize": 2, "strides": 1},
      lambda x: F.max_pool2d(x, 2, 1))

# Channels last, depthwise filters, one and three axes.
first, last = (0, 3, 1, 2), (0, 2, 3, 1)
entry("nn.conv2d", [W((2, 6, 5, 4), 1), W((6, 3, 2, 2), 2)],
      {"strides": 2, "padding": "SAME", "data_format": "NHWC", "groups": 2},
      lambda x, f: conv(x.permute(first), f.permute(first),
                        (same_pads(6, 3, 2), same_pads(5, 2, 2)), 2, groups=2).permute(last))
entry("nn.conv2d", [W((1, 3, 5, 5), 1), W((6, 1, 3, 3), 2)], {"groups": 3, "padding": 1},
      lambda x, f: F.conv2d(x, f, padding=1, groups=3))
entry("nn.conv2d", [W((1, 16, 6, 5), 1), W((16, 16, 3, 3), 2)], {"padding": 1},
      lambda x, f: F.conv2d(x, f, padding=1))
entry("nn.compat_conv2d", [W((1, 2, 6, 7), 1), W((2, 2, 3, 4), 2)],
      {"strides": 2, "padding": "SAME"},
      lambda x, f: conv(x, f, (same_pads(6, 3, 2, lower=False), same_pads(7, 4, 2, lower=False)),
                        2))
entry("nn.conv1d", [W((2, 4, 9), 1), W((6, 2, 3), 2)],
      {"groups": 2, "padding": [2, 1], "strides": 2, "dilations": 2},
      lambda x, f: F.conv1d(F.pad(x, (2, 1)), f, stride=2, dilation=2, groups=2))
entry("nn.conv1d", [W((2, 9, 4), 1), W((3, 3, 4), 2)], {"data_format": "NWC"},
      lambda x, f: F.conv1d(x.transpose(1, 2), f.transpose(1, 2)).transpose(1, 2))
entry("nn.conv3d", [W((1, 2, 4, 5, 6), 1), W((3, 2, 3, 2, 3), 2)],
      {"strides": [1, 2, 1], "padding": [1, 0, 1]},
      lambda x, f: F.conv3d(x, f, stride=(1, 2, 1), padding=(1, 0, 1)))
entry("nn.conv3d", [W((1, 3, 4, 5, 4), 1), W((4, 2, 2, 2, 2), 2)],
      {"data_format": "NDHWC", "groups": 2, "dilations": [1, 2, 1]},
      lambda x, f: F.conv3d(x.permute(0, 4, 1, 2, 3), f.permute(0, 4, 1, 2, 3), groups=2,
                            dilation=(1, 2, 1)).permute(0, 2, 3, 4, 1))

# Transposed convolutions.
entry("nn.conv1d_transpose", [W((2, 3, 5), 1), W((3, 4, 3), 2)], {"strides": 2, "padding": 1},
      lambda x, f: F.conv_transpose1d(x, f, stride=2, padding=1))
entry("nn.conv2d_transpose", [W((2, 4, 3, 4), 1), W((4, 3, 3, 2), 2)],
      {"strides": [2, 3], "padding": [1, 0], "groups": 2, "output_padding": [1, 2]},
      lambda x, f: F.conv_transpose2d(x, f, stride=(2, 3), padding=(1, 0), groups=2,
                                      output_padding=(1, 2)))
entry("nn.conv2d_transpose", [W((1, 2, 3, 4), 1), W((2, 3, 4, 4), 2)],
      {"strides": 2, "padding": "SAME"},
      lambda x, f: F.conv_transpose2d(x, f, stride=2, padding=1))
entry("nn.conv2d_transpose", [W((1, 3, 4, 2), 1), W((2, 3, 3, 3), 2)],
      {"strides": 2, "data_format": "NHWC", "output_shape": [1, 8, 10, 3]},
      lambda x, f: F.conv_transpose2d(x.permute(first), f.permute(first), stride=2,
                                      output_padding=(1, 1)).permute(last))
entry("nn.conv3d_transpose", [W((1, 2, 2, 3, 2), 1), W((2, 2, 2, 3, 2), 2)],
      {"strides": 2, "dilations": [1, 2, 1]},
      lambda x, f: F.conv_transpose3d(x, f, stride=2, dilation=(1, 2, 1)))
entry("nn.torch_conv2d_transpose", [W((1, 2, 3, 4), 1), W((2, 3, 3, 3), 2)],
      {"output_padding": 1, "strides": 2, "padding_needed": 2},
      lambda x, f: F.conv_transpose2d(x, f, stride=2, padding=1, output_padding=1))

# Pools over one and three axes, and of a given size.
entry("nn.max_pool1d", [W((2, 3, 8), 1)], {"ksize": 3, "strides": 2, "padding": 1},
      lambda x: F.max_pool1d(x, 3, 2, 1))
entry("nn.avg_pool1d", [W((2, 7, 3), 1)], {"ksize": 3, "padding": [1, 1], "data_format": "NWC"},
      lambda x: F.avg_pool1d(x.transpose(1, 2), 3, padding=1,
                             count_include_pad=False).transpose(1, 2))
entry("nn.max_pool3d", [W((1, 2, 5, 6, 5), 1)],
      {"ksize": [2, 3, 3], "strides": 2, "padding": [0, 1, 1], "ceil_mode": True},
      lambda x: F.max_pool3d(x, (2, 3, 3), 2, (0, 1, 1), ceil_mode=True))
entry("nn.max_pool3d", [D([[[[[1, 3], [3, 2]], [[3, 3], [0, 1]]]]])], {"ksize": 2},
      lambda x: F.max_pool3d(x, 2))
entry("nn.avg_pool3d", [W((1, 2, 5, 4, 6), 1)],
      {"ksize": 3, "strides": [2, 1, 2], "padding": 1, "ceil_mode": True},
      lambda x: F.avg_pool3d(x, 3, (2, 1, 2), 1, ceil_mode=True, count_include_pad=False))
entry("nn.avg_pool3d", [W((1, 4, 4, 4, 2), 1)], {"ksize": 2, "data_format": "NDHWC"},
      lambda x: F.avg_pool3d(x.permute(0, 4, 1, 2, 3), 2).permute(0, 2, 3, 4, 1))
entry("nn.adaptive_avg_pool1d", [W((2, 3, 7), 1)], {"output_size": 3},
      lambda x: F.adaptive_avg_pool1d(x, 3))
entry("nn.adaptive_avg_pool2d", [W((2, 3, 7, 5), 1)], {"output_size": [4, 5]},
      lambda x: F.adaptive_avg_pool2d(x, (4, 5)))
entry("nn.adaptive_avg_pool2d", [W((2, 6, 4, 3), 1)],
      {"output_size": [3, 2], "data_format": "NHWC"},
      lambda x: F.adaptive_avg_pool2d(x.permute(first), (3, 2)).permute(last))
entry("nn.adaptive_avg_pool3d", [W((1, 2, 3, 5, 4), 1)], {"output_size": 2},
      lambda x: F.adaptive_avg_pool3d(x, 2))
entry("nn.adaptive_max_pool1d", [W((2, 3, 7), 1)], {"output_size": 3},
      lambda x: F.adaptive_max_pool1d(x, 3))
entry("nn.adaptive_max_pool2d", [W((2, 3, 7, 5), 1)], {"output_size": [4, 6]},
      lambda x: F.adaptive_max_pool2d(x, (4, 6)))
entry("nn.adaptive_max_pool2d", [D([[[[1, 3, 3], [2, 3, 3], [1, 0, 2]]]])], {"output_size": 2},
      lambda x: F.adaptive_max_pool2d(x, 2))
entry("nn.adaptive_max_pool2d", [W((2, 6, 4, 3), 1)],
      {"output_size": [3, 3], "data_format": "NHWC"},
      lambda x: F.adaptive_max_pool2d(x.permute(first), (3, 3)).permute(last))
entry("nn.adaptive_max_pool3d", [W((1, 2, 3, 5, 4), 1)], {"output_size": 2},
      lambda x: F.adaptive_max_pool3d(x, 2))
entry("nn.global_avg_pool", [W((2, 3, 4, 5), 1)], {}, lambda x: x.mean((2, 3)))
entry("nn.global_avg_pool", [W((2, 4, 5, 3), 1)], {"data_format": "NHWC", "keepdims": True},
      lambda x: x.mean((1, 2), keepdim=True))

# Images at another size.
for size in ((6, 15), (2, 3), (5, 4)):
    for corners in (False, True):
        entry("nn.interpolate", [W((2, 3, 4, 5), 1)],
              {"size": list(size), "mode": "bilinear", "align_corners": corners},
              lambda x: F.interpolate(x, size, mode="bilinear", align_corners=corners))
    entry("nn.interpolate", [W((2, 3, 4, 5), 1)], {"size": list(size)},
          lambda x: F.interpolate(x, size, mode="nearest"))
entry("nn.interpolate", [W((1, 4, 5, 3), 1)],
      {"scale_factor": [2, 3], "mode": "bilinear", "data_format": "NHWC"},
      lambda x: F.interpolate(x.permute(first), scale_factor=(2, 3), mode="bilinear").permute(last))
entry("nn.interpolate", [W((1, 2, 5), 1)], {"scale_factor": 3, "mode": "linear"},
      lambda x: F.interpolate(x, scale_factor=3, mode="linear"))
entry("nn.interpolate", [W((1, 2, 3, 3, 2), 1)], {"size": [5, 2, 4], "mode": "trilinear"},
      lambda x: F.interpolate(x, (5, 2, 4), mode="trilinear"))
entry("nn.interpolate", [W((1, 2, 2, 3, 2), 1)], {"scale_factor": 2},
      lambda x: F.interpolate(x, scale_factor=2))
entry("layers.upsample_2d", [W((1, 16, 3, 4), 1)], {"interpolation": "bilinear"},
      lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"))
entry("nn.PixelShuffle", [W((2, 8, 2, 3), 1)], {"upscale_factor": 2},
      lambda x: F.pixel_shuffle(x, 2))
entry("nn.PixelShufflev2", [W((1, 6, 2, 3), 1)], {"h_upscale_factor": 1, "w_upscale_factor": 3},
      lambda x: x.reshape(1, 2, 3, 2, 3).permute(0, 1, 3, 4, 2).reshape(1, 2, 2, 9))

# Layers.
entry("layers.conv1d", [W((2, 3, 7), 1)], {"filters": 4, "kernel_size": 3, "name": "c"},
      lambda x, f, b: F.conv1d(x, f, b),
      variables={"c-weight": W((4, 3, 3), 2), "c-bias": W((4,), 3)})
entry("layers.conv2d", [W((2, 5, 6, 2), 1)],
      {"filters": 3, "kernel_size": [2, 3], "data_format": "NHWC", "name": "c"},
      lambda x, f, b: F.conv2d(x.permute(first), f.permute(first), b).permute(last),
      variables={"c-weight": W((3, 2, 3, 2), 2), "c-bias": W((3,), 3)})
entry("layers.conv3d", [W((1, 2, 3, 4, 3), 1)], {"filters": 2, "kernel_size": 2, "name": "c"},
      lambda x, f, b: F.conv3d(x, f, b),
      variables={"c-weight": W((2, 2, 2, 2, 2), 2), "c-bias": W((2,), 3)})
entry("layers.conv2d_transpose", [W((2, 4, 3, 3), 1)],
      {"filters": 6, "kernel_size": 3, "strides": 2, "padding": 1, "groups": 2, "name": "t"},
      lambda x, f, b: F.conv_transpose2d(x, f, b, 2, 1, 0, 2),
      variables={"t-weight": W((4, 3, 3, 3), 2), "t-bias": W((6,), 3)})
entry("layers.conv1d_transpose", [W((1, 4, 2), 1)],
      {"filters": 3, "kernel_size": 4, "strides": 2, "data_format": "NWC", "name": "t"},
      lambda x, f, b: F.conv_transpose1d(x.transpose(1, 2), f.transpose(1, 2), b, 2)
      .transpose(1, 2),
      variables={"t-weight": W((2, 4, 3), 2), "t-bias": W((3,), 3)})
entry("layers.conv3d_transpose", [W((1, 2, 2, 2, 2), 1)],
      {"filters": 2, "kernel_size": 2, "strides": 2, "use_bias": False, "name": "t"},
      lambda x, f: F.conv_transpose3d(x, f, stride=2),
      variables={"t-weight": W((2, 2, 2, 2, 2), 2)})

# Windows as columns, and back.
entry("nn.unfold", [W((2, 3, 5, 4), 1), 2], {}, lambda x: F.unfold(x, 2))
entry("nn.unfold", [W((1, 2, 6, 7), 1)],
      {"kernel_size": [3, 2], "dilation": [1, 2], "padding": [1, 0], "stride": [2, 1]},
      lambda x: F.unfold(x, (3, 2), (1, 2), (1, 0), (2, 1)))
entry("nn.fold", [W((2, 12, 12), 1)], {"output_size": [5, 4], "kernel_size": 2},
      lambda x: F.fold(x, (5, 4), 2))
entry("nn.fold", [W((1, 12, 15), 1)],
      {"output_size": [6, 7], "kernel_size": [3, 2], "dilation": [1, 2], "padding": [1, 0],
       "stride": [2, 1]},
      lambda x: F.fold(x, (6, 7), (3, 2), (1, 2), (1, 0), (2, 1)))
