#!/usr/bin/env python3
"""Times a training step in PyTorch on several processes of one thread each, which share the batch
(DistributedDataParallel over gloo), and prints the median in milliseconds.

    peer_ranks.py MODEL RANKS STEPS

MODEL is one of mlp, lenet and gpt2, or sum:N for the sum of N floats over the processes.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import peer_steps as peer

WARM_UP = 5


def step_of(name, ranks):
    if name.startswith("sum:"):
        x = torch.zeros(int(name[4:]))
        return lambda: dist.all_reduce(x)
    if name == "gpt2":
        model, batch = peer.Gpt2(), 4 // ranks
        x, labels = torch.randint(50257, (batch, 64)), torch.randint(50257, (batch * 64,))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    else:
        model, batch = {"mlp": peer.Mlp, "lenet": peer.Lenet}[name](), 100 // ranks
        x, labels = peer.images_like_mnist(batch), torch.arange(1, batch + 1) % 10
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    return peer.train(DistributedDataParallel(model), x, labels, optimizer)


def run(rank, name, ranks, steps):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    step, times = step_of(name, ranks), []
    for i in range(WARM_UP + steps):
        dist.barrier()
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    if rank == 0:
        print("%.6f" % (1e3 * sorted(times[WARM_UP:])[steps // 2]))
    dist.destroy_process_group()


if __name__ == "__main__":
    model, n, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    mp.spawn(run, (model, n, count), nprocs=n)
