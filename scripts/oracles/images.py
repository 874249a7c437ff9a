"""Pictures in batches."""
import torch
import torch.nn.functional as F

from .common import D, W, entry


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
      lambda x: ((x[:, 0:2] - torch.tensor(mean)) / torch.tensor(std)).permute(0, 3, 1, 2), False)
entry("image.CropMirrorNormalize", [pixels, D([1], "int8")], {"output_layout": "NHWC"},
      lambda x, m: x.flip(2).double(), False)
entry("image.normalize", [W((2, 2, 3, 3), 1)], {"mean": [0.1, 0.2, 0.3], "std": [1.0, 2.0, 4.0]},
      lambda x: (x - torch.tensor([0.1, 0.2, 0.3])) / torch.tensor([1.0, 2.0, 4.0]))
entry("image.flip", [W((2, 3, 4, 1), 1)], {"flip_code": -1}, lambda x: x.flip(1, 2))
entry("image.center_crop", [W((1, 2, 5, 7), 1)], {"size": [3, 3]}, lambda x: x[:, :, 1:4, 2:5])
