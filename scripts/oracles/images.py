"""Pictures in batches."""
import torch
import torch.nn.functional as F

from .common import D, W, entry, wave


def last(f):
    """f of planes, as a function of pictures whose channels come last."""
    return lambda x: f(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


def resized(**options):
    return last(lambda x: F.interpolate(x, **options))


entry("image.Resize", [W((2, 4, 3, 2), 1)], {"target_size": [5, 7]},
      resized(size=(7, 5), mode="bilinear"))
entry("image.Resize", [W((1, 6, 4, 3), 1)], {"target_size": [2, 2]},
      resized(size=(2, 2), mode="area"))
entry("image.Resize", [W((1, 5, 7, 1), 1)],
      {"target_size": [4, 3], "interpolation_type": "bilinear"},
      resized(size=(3, 4), mode="bilinear"))
entry("image.Resize", [W((2, 2, 5, 4), 1)],
      {"target_size": [7, 3], "interpolation_type": "nearest", "data_format": "NCHW"},
      lambda x: F.interpolate(x, size=(3, 7), mode="nearest"))
pixels = D([[[[(37 * (r * 4 + c) + 91 * k) % 256 for k in range(3)] for c in range(4)]
             for r in range(3)]], "uint8")
mean, std = [123.5, 116.25, 103.5], [64.0, 32.0, 16.0]
entry("image.CropMirrorNormalize", [pixels], {"mean": mean, "std": std, "crop_h": 2},
      lambda x: ((x[:, 0:2] - torch.tensor(mean)) / torch.tensor(std)).permute(0, 3, 1, 2).float(),
      False)
entry("image.CropMirrorNormalize", [pixels, D([1], "int8")], {"output_layout": "NHWC"},
      lambda x, m: x.flip(2).float(), False)
entry("image.normalize", [W((2, 2, 3, 3), 1)], {"mean": [0.1, 0.2, 0.3], "std": [1.0, 2.0, 4.0]},
      lambda x: (x - torch.tensor([0.1, 0.2, 0.3])) / torch.tensor([1.0, 2.0, 4.0]))
entry("image.flip", [W((2, 3, 4, 1), 1)], {"flip_code": -1}, lambda x: x.flip(1, 2))
entry("image.center_crop", [W((1, 2, 5, 7), 1)], {"size": [3, 3]}, lambda x: x[:, :, 1:4, 2:5])


# Colours: by the formulas of torchvision's adjust functions, hues by the hexagons of HSV.
def within(x):
    return x.clamp(0, 1)


def grey(x):
    return (x * torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)).sum(1, keepdim=True)


def turned(x, turn):
    """Through hue, saturation and value, and back by the six sectors."""
    r, g, b = x.unbind(1)
    top, low = x.max(1).values, x.min(1).values
    span = top - low
    some = torch.where(span > 0, span, torch.ones_like(span))
    h = torch.where(top == r, (g - b) / some,
                    torch.where(top == g, 2 + (b - r) / some, 4 + (r - g) / some))
    h = (h / 6 + turn) % 1.0 * 6
    s = torch.where(top > 0, span / top, torch.zeros_like(top))
    sector, f = h.floor(), h - h.floor()
    p, q, t = top * (1 - s), top * (1 - s * f), top * (1 - s * (1 - f))
    sectors = [(top, t, p), (q, top, p), (p, top, t), (p, q, top), (t, p, top), (top, p, q)]
    y = torch.zeros_like(x)
    for i, channels in enumerate(sectors):
        y = y + torch.where((sector % 6 == i).unsqueeze(1), torch.stack(channels, 1), 0.0)
    return y


colours = D(((wave((2, 3, 3, 4), 1) + 1) / 2).round(4).tolist())
entry("image.adjust_brightness", [colours, 1.5], {}, lambda x: within(x * 1.5))
entry("image.adjust_contrast", [colours, 0.3], {}, lambda x: within(
    0.3 * x + 0.7 * grey(x).mean((1, 2, 3), keepdim=True)))
entry("image.adjust_saturation", [colours, 1.7], {}, lambda x: within(1.7 * x - 0.7 * grey(x)))
for turn in (-0.5, -0.07, 0, 0.2, 0.5):
    entry("image.adjust_hue", [colours, turn], {}, lambda x: turned(x, turn))
entry("image.adjust_hue", [D([[[[0.5, 0.2]], [[0.5, 0.2]], [[0.5, 0.3]]]]), 0.25], {},
      lambda x: turned(x, 0.25), False)
