"""What a first call costs in a fresh process, and what every later call costs.

The C program first_call runs many times: with an empty cache folder each time (LLVM is loaded and
compiles), then with a filled one (neither happens). Python's own dispatch is timed in this process,
imports excluded.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import tiga as tg
import torch


def first_call(program, cache):
    environment = os.environ | {"TIGA_CACHE_DIR": cache}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def processes(program, runs):
    """Reports of fresh processes: without a cache, and with a full one."""
    cold = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(first_call(program, cache))
    with tempfile.TemporaryDirectory() as cache:
        first_call(program, cache)
        cached = [first_call(program, cache) for _ in range(runs)]
    return cold, cached


class WeightedSum(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.weight * src.x


def dispatch_us(convert, grad=False, batches=201, batch=20):
    """The median call on 10 nodes from Python; grad: recorded by torch's autograd."""
    graph, kernel = tg.Graph.regular(10, 3), WeightedSum()
    x, weight = convert(np.arange(10, dtype=np.float32)), convert(np.ones(30, np.float32))
    if grad:
        x, weight = x.requires_grad_(), weight.requires_grad_()
    times = []
    for _ in range(batches):
        start = perf_counter()
        for _ in range(batch):
            kernel(graph=graph, src={"x": x}, dst={}, edge={"weight": weight})
        times.append((perf_counter() - start) / batch * 1e6)
    return median(times)


def run(build, runs):
    """Prints a table and returns its rows."""
    cold, cached = processes(Path(build) / "bench" / "first_call", runs)
    rows = []

    def row(name, values, unit):
        entry = {"name": name, "unit": unit, "median": median(values)}
        rows.append(entry | {"min": min(values), "max": max(values), "samples": len(values)})
        print(f"{name:44} {median(values):9.2f} {min(values):9.2f} {max(values):9.2f}  {unit}")

    def first(name, reports):
        loaded = {True: "LLVM loaded", False: "no LLVM"}[any(r["llvm"] for r in reports)]
        row(f"{name} ({loaded})", [r["first_ms"] for r in reports], "ms")

    print(f"{'latency, weighted sum of 10 nodes':44} {'median':>9} {'min':>9} {'max':>9}")
    first("first call, no cache", cold)
    first("first call, code on disk", cached)
    row("later tg_run from C", [r["run_us"] for r in cached], "us")
    row("later tg_call_run from C", [r["call_us"] for r in cached], "us")
    row("later call from Python, NumPy", [dispatch_us(np.asarray)], "us")
    row("later call from Python, torch", [dispatch_us(torch.from_numpy)], "us")
    row("later call from Python, torch, with gradients", [dispatch_us(torch.from_numpy, grad=True)], "us")
    return rows
