"""Times two ways of the same work against each other, and says how sure the ratio is.

The two alternate in one process (A B, B A, A B, ...), so that whatever the machine does besides falls on
both. What is reported is the median and range of each, and the median over rounds of the ratio
peer / tiga with a bootstrap interval.
"""

from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np


@dataclass
class Versus:
    tiga_ms: tuple[float, float, float]  # median, fastest, slowest
    peer_ms: tuple[float, float, float]
    ratio: tuple[float, float, float]  # median of peer / tiga, 95 % interval
    rounds: int


def clock(work):
    """Milliseconds of one call; its result dies inside the clock on both sides."""
    start = perf_counter()
    work()
    return (perf_counter() - start) * 1e3


def versus(tiga, peer, seconds=3.0, least=7, most=41):
    """Both are functions without arguments that return a fresh result."""
    for _ in range(2):
        clock(tiga), clock(peer)
    a, b, end = [], [], perf_counter() + seconds
    while len(a) < least or (len(a) < most and perf_counter() < end):
        first, second = ((tiga, a), (peer, b)) if len(a) % 2 == 0 else ((peer, b), (tiga, a))
        for work, times in (first, second):
            times.append(clock(work))
    return Versus(spread(a), spread(b), interval(np.array(b) / np.array(a)), len(a))


def spread(times):
    return median(times), min(times), max(times)


def interval(ratios, samples=2000):
    """The median and its 95 % bootstrap interval."""
    draws = np.random.default_rng(0).choice(ratios, (samples, len(ratios)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(np.median(ratios)), float(low), float(high)
