"""What scripts/bench/rows/images.lua times, in PyTorch."""
import torch
import torch.nn.functional as F

MEAN = torch.tensor([124.0, 117.0, 104.0]).reshape(1, 3, 1, 1)
STD = torch.tensor([58.0, 57.0, 57.0]).reshape(1, 3, 1, 1)
LOW = torch.tensor([0.5, 0.4, 0.3]).reshape(1, 3, 1, 1)
SPAN = torch.tensor([0.2, 0.3, 0.4]).reshape(1, 3, 1, 1)


def random_crop(x):
    """A part of each picture at a place of its own, as indices of rows and columns."""
    n, c, h, w = x.shape
    padded = F.pad(x, (4, 4, 4, 4))
    rows = torch.randint(0, 9, (n, 1)) + torch.arange(h)
    columns = torch.randint(0, 9, (n, 1)) + torch.arange(w)
    columns = torch.where(torch.rand(n, 1) < 0.5, columns.flip(1), columns)
    at = torch.arange(n).reshape(n, 1, 1, 1)
    return padded[at, torch.arange(c).reshape(1, c, 1, 1), rows.reshape(n, 1, h, 1),
                  columns.reshape(n, 1, 1, w)]


def last(x):
    """Bilinear pixels of pictures whose channels come last, in memory as in their shape."""
    y = F.interpolate(x.permute(0, 3, 1, 2), size=(224, 224), mode="bilinear")
    return y.permute(0, 2, 3, 1)


ROWS = {
    "crop_mirror_normalize of (16, 256, 256, 3) to 224":
        lambda x: (x[:, 16:240, 16:240].permute(0, 3, 1, 2).float() - MEAN) / STD,
    "image.Resize of (16, 3, 256, 256) to 128, areas":
        lambda x: F.interpolate(x, size=(128, 128), mode="area"),
    "image.Resize of (16, 3, 256, 256) to 224, bilinear":
        lambda x: F.interpolate(x, size=(224, 224), mode="bilinear"),
    "image.Resize of (16, 256, 256, 3) to 224, bilinear": last,
    "image.Resize of (16, 256, 256, 3) bytes to 224, bilinear": last,
    "image.normalize of (16, 3, 224, 224)": lambda x: (x - LOW) / SPAN,
    "image.random_crop of (128, 3, 32, 32), padded by 4 and mirrored": random_crop,
}
