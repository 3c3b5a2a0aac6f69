"""Work without edges: sqrt(a * b + a) over a large array, against torch."""

import tiga as tg
import torch
from workload import Workload


def workloads(quick):
    n = 2**18 if quick else 2**22
    a, b = torch.rand(n) + 0.5, torch.rand(n) + 0.5
    x, y = tg.from_torch(a), tg.from_torch(b)
    fused = torch.compile(lambda: torch.sqrt(a * b + a), dynamic=False)
    peers = {"torch eager": lambda: torch.sqrt(a * b + a), "torch.compile": fused}
    yield Workload("sqrt(a * b + a)", f"{n}", lambda: tg.sqrt(x * y + x).to_torch(), peers)
