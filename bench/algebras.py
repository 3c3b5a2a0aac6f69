"""A reducer of a user's that no form is proven of, against the same algebra by hand in C (algebra.c), and its
gradient against its forward pass.

It merges counts, means and sums of squares; edge after edge (strict), and as a declared associative fold. A
step is forward and backward; "its forward pass" says by its ratio what share of the step that is."""

import ctypes
from functools import partial

import peers
import problems
import tiga as tg
import torch
from peers import scatter_sum
from workload import Workload, step


class Variance(tg.Reducer):
    def __init__(self, associative):
        super().__init__()
        self.associative = associative

    def identity(self):
        return 0.0, 0.0, 0.0

    def lift(self, m):
        return 1.0, m, 0.0 * m

    def combine(self, left, right):
        count, d = left[0] + right[0], right[1] - left[1]
        share = right[0] / tg.maximum(count, 1.0)
        return count, left[1] + d * share, left[2] + right[2] + d * d * left[0] * share

    def finalize(self, state):
        return state[2] / state[0]


def kernel(associative, weighted):
    class Kernel(tg.MessagePassing):
        reducer = Variance(associative)

        def edge(self, src, dst, edge):
            return edge.w * src.x if weighted else src.x

    return Kernel()


def by_hand(problem):
    """The C function of (x, w); None where it is not built."""
    path = peers.build / "bench" / "libalgebra.so"
    if not path.exists():
        return None
    function = ctypes.CDLL(path).algebra_variance
    function.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int64] * 3
    function.restype = None
    row_ptr, col = torch.from_numpy(problem.row_ptr), problem.src.to(torch.int32)

    def call(x, w=None):
        out = torch.empty(x.shape)
        arrays = [row_ptr, col, w, x, out]
        pointers = (None if a is None else a.data_ptr() for a in arrays)
        function(*pointers, problem.nodes, x.shape[1], torch.get_num_threads())
        return out

    return call


def of(problem, own):
    return lambda *inputs: lambda: own(
        graph=problem.graph, ndata={"x": inputs[0]}, edge=dict(zip(["w"], inputs[1:], strict=False))
    )


def eager(problem):
    """The variance in two passes, by torch's sums."""

    def variance(x, *w):
        message = x.index_select(0, problem.src) * (w[0] if w else 1)
        count = torch.from_numpy(problem.row_ptr).diff()[:, None]
        mean = scatter_sum(message, problem.dst, problem.nodes) / count
        distance = message - mean.index_select(0, problem.dst)
        return scatter_sum(distance * distance, problem.dst, problem.nodes) / count

    return lambda *inputs: lambda: variance(*inputs)


def workloads(quick):
    problem = problems.regular(13107 if quick else 131072)
    hand, w = by_hand(problem), problem.normal(1, rows="edges")
    for features in (1, 16) if quick else (1, 16, 64):
        x = problem.normal(features) * 0.25 + 1
        for name, inputs in (("three components", (x,)), ("weighted components", (x, w))):
            for associative in (False, True):
                forward = of(problem, kernel(associative, len(inputs) > 1))
                alone, kind = forward(*inputs), "associative" if associative else "strict"
                if hand:
                    sides = {"C by hand": partial(hand, *inputs)}
                    yield Workload(f"{name}, {kind}", features, alone, sides, 1e-3)
            peers = {"torch eager": step(eager(problem), *inputs)}
            both = step(forward, *inputs)
            yield Workload(f"{name}, step", features, both, peers, 1e-2, parts={"its forward pass": alone})
