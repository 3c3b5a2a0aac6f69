"""A workload: one computation by Tiga and by its peers, checked against each other, then timed in pairs.

Each side is a function without arguments that returns a fresh result of the same kind."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from measure import clock, versus

Side = Callable[[], Any]
BEATEN, FEW = 4, 7  # a peer so many times slower than the fastest one is timed in as few rounds


@dataclass
class Workload:
    name: str
    features: int | str
    tiga: Side
    peers: dict[str, Side]
    tolerance: float = 1e-4  # of the largest element
    cost: Any = None  # kernel.cost(graph) of one call, where it is counted
    parts: dict[str, Side] = field(default_factory=dict)  # of the work, timed beside it


def check(name, ours, theirs, tolerance):
    """Same kind, same values but for rounding."""
    ours, theirs = (r if isinstance(r, tuple) else (r,) for r in (ours, theirs))
    for a, b in zip(ours, theirs, strict=True):
        assert type(a) is type(b) and a.shape == b.shape and a.dtype == b.dtype, f"{name}: another kind of result"
        a, b = (x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in (a, b))
        size = float(np.abs(b).max()) if b.size else 0.0
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size, err_msg=name)


def header():
    print(f"{'workload':34} {'F':>6} {'peer':26} {'tiga':>9} {'peer':>9} {'ratio':>7} {'95 %':>15}  rounds")


def run(work, seconds, least):
    """Prints a line a peer and returns the rows."""
    rows, once = [], {}
    result = work.tiga()
    for name, peer in work.peers.items():
        check(f"{work.name}, {name}", result, peer(), work.tolerance)
        once[name] = clock(peer)
    del result
    fastest = min(once.values(), default=0)
    cost = work.cost
    counts = {"flops": cost.flops, "bytes": cost.bytes_read + cost.bytes_written} if cost else {}
    for name, peer in (work.peers | work.parts).items():
        beaten = once.get(name, 0) > BEATEN * fastest
        timed = versus(work.tiga, peer, seconds, min(least, FEW) if beaten else least)
        rows.append({"workload": work.name, "features": work.features, "peer": name, **counts, **asdict(timed)})
        ratio, low, high = timed.ratio
        print(
            f"{work.name:34} {work.features:>6} {name:26} {timed.tiga_ms[0]:9.3f} {timed.peer_ms[0]:9.3f}"
            f" {ratio:7.2f} {low:7.2f}-{high:<7.2f}  {timed.rounds}",
            flush=True,
        )
    return rows


def step(forward, *inputs):
    """Forward and backward of forward(*inputs), from a cotangent of ones: the gradients of all inputs."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    work = forward(*leaves)
    ones = torch.ones_like(work())
    return lambda: torch.autograd.grad(work(), leaves, ones)
