"""What scripts/bench/rows/conv.lua times, in PyTorch."""
import torch
import torch.nn.functional as F

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)

ROWS = {
    "conv2d 3x3 of (16, 64, 56, 56) to 64": lambda x, w: F.conv2d(x, w, padding=1),
    "conv2d 3x3 of (16, 56, 56, 64) to 64, channels last":
        lambda x, w: F.conv2d(x.permute(FIRST), w.permute(FIRST), padding=1).permute(LAST),
    "conv2d 3x3 of (16, 128, 56, 56), depthwise":
        lambda x, w: F.conv2d(x, w, padding=1, groups=128),
    "conv2d 3x3 of (16, 128, 56, 56), 32 groups":
        lambda x, w: F.conv2d(x, w, padding=1, groups=32),
    "conv2d 3x3 of (16, 64, 56, 56) to 64, dilated by 2":
        lambda x, w: F.conv2d(x, w, padding=2, dilation=2),
    "conv2d_transpose 4x4 / 2 of (16, 128, 28, 28) to 64":
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
    "conv1d 5 of (16, 64, 1000) to 64": lambda x, w: F.conv1d(x, w, padding=2),
    "conv3d 3x3x3 of (4, 32, 16, 28, 28) to 32": lambda x, w: F.conv3d(x, w, padding=1),
    "max_pool2d 3x3 / 2 of (16, 64, 112, 112)": lambda x: F.max_pool2d(x, 3, 2, 1),
    "avg_pool2d 2x2 of (16, 64, 56, 56)": lambda x: F.avg_pool2d(x, 2),
    "max_pool1d 2 of (64, 64, 1000)": lambda x: F.max_pool1d(x, 2),
    "max_pool3d 2 of (4, 32, 16, 56, 56)": lambda x: F.max_pool3d(x, 2),
    "avg_pool3d 2 of (4, 32, 16, 56, 56)": lambda x: F.avg_pool3d(x, 2),
    "mean of each channel of (16, 2048, 7, 7)": lambda x: x.mean((2, 3)),
    "adaptive_avg_pool2d 7 of (16, 512, 10, 10)": lambda x: F.adaptive_avg_pool2d(x, 7),
    "adaptive_max_pool2d 7 of (16, 512, 10, 10)": lambda x: F.adaptive_max_pool2d(x, 7),
    "nearest pixels of (16, 64, 56, 56), twice": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear pixels of (16, 64, 56, 56), twice":
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "PixelShuffle 2 of (16, 256, 28, 28)": lambda x: F.pixel_shuffle(x, 2),
}
