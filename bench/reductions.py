"""Built-in reducers against torch's best way to do each, and reducers of a user's against the built-ins."""

import numpy as np
import problems
import tiga as tg
import torch
from peers import only
from workload import Workload, step


def kernel_of(by):
    class Kernel(tg.MessagePassing):
        reducer = by

        def edge(self, src, dst, edge):
            return src.x

    return Kernel()


def call(problem, kernel):
    return lambda x: lambda: kernel(graph=problem.graph, ndata={"x": x})


# ---- against torch ----

SCATTER = {"max": "amax", "min": "amin", "mean": "mean", "sum": "sum"}


def sparse_reduce(problem, x, how):
    parts = torch.from_numpy(problem.row_ptr), torch.from_numpy(problem.col_idx), torch.ones(problem.edges)
    matrix = torch.sparse_csr_tensor(*parts, size=(problem.nodes,) * 2, check_invariants=False)
    return lambda: torch.sparse.mm(matrix, x, SCATTER[how])


def scatter_reduce(problem, x, how):
    index = problem.dst[:, None].expand(-1, x.shape[1])
    return lambda: x.new_zeros(x.shape).scatter_reduce(
        0, index, x.index_select(0, problem.src), SCATTER[how], include_self=False
    )


def index_reduce(problem, x, how):
    if how == "sum":
        return None
    return lambda: x.new_zeros(x.shape).index_reduce(
        0, problem.dst, x.index_select(0, problem.src), SCATTER[how], include_self=False
    )


def segment_reduce(problem, x, how):
    offsets = torch.from_numpy(problem.row_ptr)
    return lambda: torch.segment_reduce(x.index_select(0, problem.src), how, offsets=offsets)


def against_torch(problem, how, features):
    x = problem.normal(features)
    ways = (sparse_reduce, scatter_reduce, index_reduce, segment_reduce)
    peers = only(*((f"torch {way.__name__}", way(problem, x, how)) for way in ways))
    yield Workload(f"{how} over edges", features, call(problem, kernel_of(getattr(tg, how)()))(x), peers)


def gradients(problem, features):
    x = problem.normal(features)
    ours = step(call(problem, kernel_of(tg.max())), x)
    theirs = step(lambda x: scatter_reduce(problem, x, "max"), x)
    yield Workload("max, forward and backward", features, ours, {"torch scatter_reduce": theirs})


# ---- a user's against the built-in ----


class Mean(tg.Reducer):
    associative = commutative = True

    def identity(self):
        return 0.0, 0.0

    def lift(self, m):
        return m, 1.0

    def combine(self, left, right):
        return left[0] + right[0], left[1] + right[1]

    def finalize(self, state):
        return state[0] / state[1]


class Product(tg.Reducer):
    associative = commutative = True

    def identity(self):
        return 1.0

    def combine(self, left, right):
        return left * right


class Softmax(tg.Reducer):
    associative = commutative = True

    def identity(self):
        return -np.inf, 0.0, 0.0

    def lift(self, score, value):
        return score, 1.0, value

    def combine(self, left, right):
        top = tg.maximum(left[0], right[0])
        a, b = tg.exp(left[0] - top), tg.exp(right[0] - top)
        return top, left[1] * a + right[1] * b, left[2] * a + right[2] * b

    def finalize(self, state):
        return state[2] / state[1]


def softmax_kernel(by):
    class Kernel(tg.MessagePassing):
        reducer = by

        def edge(self, src, dst, edge):
            return self.reducer(src.x[:, :1], src.x)

    return Kernel()


def against_built_in(problem, features):
    x = problem.normal(features) * 0.25 + 1
    pairs = {
        "mean": (kernel_of(Mean()), kernel_of(tg.mean())),
        "product": (kernel_of(Product()), kernel_of(tg.prod())),
        "softmax": (softmax_kernel(Softmax()), softmax_kernel(tg.online_softmax())),
    }
    for name, (own, built_in) in pairs.items():
        peers = {"tiga's built-in": call(problem, built_in)(x)}
        yield Workload(f"a user's {name}", features, call(problem, own)(x), peers)


def workloads(quick):
    problem = problems.regular(13107 if quick else 131072)
    for features in (32,) if quick else (32, 128):
        for how in SCATTER:
            yield from against_torch(problem, how, features)
        yield from gradients(problem, features)
    yield from against_built_in(problem, 32)
