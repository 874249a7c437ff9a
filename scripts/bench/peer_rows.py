#!/usr/bin/env python3
"""Times rows of scripts/bench/rows in PyTorch, as scripts/bench/vocabulary.lua asks.

    peer_rows.py THREADS < requests > replies

A request is a line of JSON: area, row, inputs ([shape, dtype, low, high]), backward, seconds. The
reply is the best median of eager mode and torch.compile, in milliseconds, and which it was. Rows in
ROWS are functions of tensors; those in STEPS give their steps by name, of which the best counts."""
import importlib.util
import json
import os
import sys
import time

import torch

torch.manual_seed(1)
torch.set_num_threads(int(sys.argv[1]))
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rows")
areas, steps = {}, {}


def rows_of(area):
    if area not in areas:
        spec = importlib.util.spec_from_file_location(
            "rows_" + area, os.path.join(FOLDER, area + ".py"))
        areas[area] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(areas[area])
    return areas[area]


def tensor(shape, dtype, low, high):
    if dtype.startswith("float") or dtype == "bfloat16":
        return (torch.rand(shape) * (high - low) + low).to(getattr(torch, dtype))
    return torch.randint(int(low), int(high), shape, dtype=getattr(torch, dtype))


def step_of(f, request):
    x = [tensor(*i) for i in request["inputs"]]
    if not request["backward"]:
        def forward():
            with torch.inference_mode():
                return f(*x)
        return forward
    leaves = [t.requires_grad_(True) for t in x if t.is_floating_point()]
    dy = torch.rand_like(f(*x))

    def step():
        for t in leaves:
            t.grad = None
        f(*x).backward(dy)
    return step


def median(step, seconds):
    step()
    step()
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return 1e3 * sorted(times)[len(times) // 2]


def candidates(request):
    area, row = rows_of(request["area"]), request["row"]
    if row in getattr(area, "STEPS", {}):
        return area.STEPS[row]()
    f = area.ROWS[row]
    found = {"eager": step_of(f, request)}
    try:
        torch._dynamo.reset()
        found["compile"] = step_of(torch.compile(f), request)
        found["compile"]()
    except Exception:
        found.pop("compile", None)
    return found


for line in sys.stdin:
    request = json.loads(line)
    area = rows_of(request["area"])
    if request["row"] not in {**getattr(area, "ROWS", {}), **getattr(area, "STEPS", {})}:
        print("none -", flush=True)
        continue
    key = json.dumps([request["area"], request["row"], request["backward"]])
    if key not in steps:
        steps.clear()
        steps[key] = candidates(request)
    times = {mode: median(step, request["seconds"]) for mode, step in steps[key].items()}
    best = min(times, key=times.get)
    print("%.6f %s" % (times[best], best), flush=True)
