"""No call keeps what it was given or made."""

import gc
import sys

import every_call
import numpy as np


def growth(rounds):
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(rounds):
        every_call.one_round()
    gc.collect()
    return sys.getallocatedblocks() - before


def test_rounds_of_every_call_leave_nothing_behind():
    growth(150)  # caches fill
    rounds = 100
    assert min(growth(rounds) for _ in range(3)) < rounds  # less than one block a round


def test_arguments_are_let_go():
    kept = [every_call.GRAPH, every_call.X, every_call.W, every_call.B, None, True, np.dtype("f8"), np.dtype("f4")]
    every_call.one_round()
    gc.collect()
    before = [sys.getrefcount(x) for x in kept]
    for _ in range(20):
        every_call.one_round()
    gc.collect()
    after = [sys.getrefcount(x) for x in kept]
    assert all(b - a < 20 for a, b in zip(before, after)), (before, after)
