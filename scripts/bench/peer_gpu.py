#!/usr/bin/env python3
"""Times one of the bench's training steps in PyTorch on a GPU: prints its median in milliseconds.

    peer_gpu.py MODEL MODE DTYPE SECONDS

Modes: eager, compile (torch.compile with mode="reduce-overhead"); with bfloat16 within
torch.autocast. TF32 is on for products and convolutions, as it is in jfl.
"""
import sys

import torch

from peer_steps import MODELS, Resnet50, classifier, median, photographs, writer

MODELS["resnet50_256"] = classifier(Resnet50, 256, photographs)
MODELS["gpt2_64"] = writer(64, 1024)


def main():
    name, mode, dtype, seconds = sys.argv[1:]
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True

    def prepare(model, x):
        model, x = model.cuda(), x.cuda()
        if x.dim() == 4 and dtype == "bfloat16":
            model, x = (m.to(memory_format=torch.channels_last) for m in (model, x))
        return torch.compile(model, mode="reduce-overhead") if mode == "compile" else model, x
    prepare.mode = mode
    with torch.autocast("cuda", torch.bfloat16, enabled=dtype == "bfloat16"):
        print("%.6f" % (1e3 * median(MODELS[name](prepare), float(seconds))))


main()
