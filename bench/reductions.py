"""Built-in reducers against torch's best way to do each, and reducers of a user's against the built-ins."""

import numpy as np
import problems
import tiga as tg
import torch
from peers import only, scatter_softmax, scatter_sum
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


def sparse_product(problem, x, how):
    if how != "sum":
        return None
    parts = torch.from_numpy(problem.row_ptr).int(), problem.src.int(), torch.ones(problem.edges)
    matrix = torch.sparse_csr_tensor(*parts, size=(problem.nodes,) * 2, check_invariants=False)
    return lambda: matrix @ x


def index_add(problem, x, how):
    if how != "sum":
        return None
    return lambda: scatter_sum(x.index_select(0, problem.src), problem.dst, problem.nodes)


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


def rows_of(problem, x):
    """Messages as rows of the same length: a way for such graphs alone, and then torch's best one at times."""
    return x.index_select(0, problem.src).view(problem.nodes, -1, x.shape[1])


def dense_reduce(problem, x, how):
    return lambda: getattr(torch, SCATTER[how])(rows_of(problem, x), 1)


WAYS = (sparse_reduce, sparse_product, index_add, scatter_reduce, index_reduce, segment_reduce, dense_reduce)


def against_torch(problem, how, features):
    x = problem.normal(features)
    peers = only(*((f"torch {way.__name__}", way(problem, x, how)) for way in WAYS))
    yield Workload(f"{how} over edges", features, call(problem, kernel_of(getattr(tg, how)()))(x), peers)


def gradients(problem, features):
    x = problem.normal(features)
    ours = step(call(problem, kernel_of(tg.max())), x)
    theirs = step(lambda x: scatter_reduce(problem, x, "max"), x)
    yield Workload("max, forward and backward", features, ours, {"torch scatter_reduce": theirs})


# ---- what torch has no operation for ----


def dense_argmax(problem, x):
    first = torch.from_numpy(problem.row_ptr)[:-1, None]
    return lambda: rows_of(problem, x).argmax(1) + first


def scatter_argmax(problem, x):
    index = problem.dst[:, None].expand(-1, x.shape[1])
    number = torch.arange(problem.edges)[:, None]

    def argmax():
        message = x.index_select(0, problem.src)
        top = x.new_zeros(x.shape).scatter_reduce(0, index, message, "amax", include_self=False)
        number_or_last = torch.where(message == top.index_select(0, problem.dst), number, problem.edges)
        return torch.full(x.shape, problem.edges).scatter_reduce(0, index, number_or_last, "amin")

    return argmax


def scatter_logsumexp(problem, x):
    index = problem.dst[:, None].expand(-1, x.shape[1])

    def logsumexp():
        message = x.index_select(0, problem.src)
        top = x.new_zeros(x.shape).scatter_reduce(0, index, message, "amax", include_self=False)
        distance = torch.exp(message - top.index_select(0, problem.dst))
        return top + torch.log(scatter_sum(distance, problem.dst, problem.nodes))

    return logsumexp


def dense_softmax(problem, x):
    def softmax():
        message = rows_of(problem, x)
        return (torch.softmax(message[:, :, :1], 1) * message).sum(1)

    return softmax


def edge_softmax(problem, x):
    def softmax():
        message = x.index_select(0, problem.src)
        weights = scatter_softmax(message[:, :1], problem.dst, problem.nodes)
        return scatter_sum(weights * message, problem.dst, problem.nodes)

    return softmax


def sorted_median(problem, x):
    """The edges of each row in order, by two sorts, and from there its middle."""
    offset = torch.from_numpy(problem.row_ptr)
    middle = offset[:-1] + torch.div(offset.diff() - 1, 2, rounding_mode="floor")

    def median():
        order = x.index_select(0, problem.src).sort(dim=0).indices
        order = order.gather(0, problem.dst[order].sort(dim=0, stable=True).indices)
        return x.index_select(0, problem.src).gather(0, order[middle])

    return median


def without_operation(problem, features):
    x = problem.normal(features)
    table = {
        "argmax": (kernel_of(tg.argmax()), {"scatter": scatter_argmax, "dense": dense_argmax}),
        "logsumexp": (
            kernel_of(tg.logsumexp()),
            {"scatter": scatter_logsumexp, "dense": lambda p, x: lambda: rows_of(p, x).logsumexp(1)},
        ),
        "softmax": (softmax_kernel(tg.online_softmax()), {"scatter": edge_softmax, "dense": dense_softmax}),
        "median": (
            kernel_of(tg.median()),
            {"sorts": sorted_median, "dense": lambda p, x: lambda: rows_of(p, x).median(1).values},
        ),
    }
    for name, (ours, ways) in table.items():
        peers = {f"torch {way}": side(problem, x) for way, side in ways.items()}
        yield Workload(f"{name} over edges", features, call(problem, ours)(x), peers)


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


class Variance(tg.Reducer):
    """In one pass, which for messages far from 0 loses what tg.var, by the distances from the mean, keeps."""

    associative = commutative = True

    def identity(self):
        return 0.0, 0.0, 0.0

    def lift(self, m):
        return 1.0, m, m * m

    def combine(self, left, right):
        return left[0] + right[0], left[1] + right[1], left[2] + right[2]

    def finalize(self, state):
        mean = state[1] / state[0]
        return state[2] / state[0] - mean * mean


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
        "one-pass variance": (kernel_of(Variance()), kernel_of(tg.var())),
    }
    for name, sides in pairs.items():
        own, built_in = (call(problem, side) for side in sides)
        yield Workload(f"a user's {name}", features, own(x), {"tiga's built-in": built_in(x)}, 1e-3)
        peers = {"tiga's built-in": step(built_in, x)}
        yield Workload(f"a user's {name}, step", features, step(own, x), peers, 1e-3)


def workloads(quick):
    sizes = (13107,) if quick else (16384, 131072)
    for problem in map(problems.regular, sizes):
        for features in (32,) if quick else (1, 16, 32, 64, 128):
            for how in SCATTER:
                yield from against_torch(problem, how, features)
    for features in (32,) if quick else (1, 32, 128):
        yield from gradients(problem, features)
        yield from without_operation(problem, features)
    for features in (32,) if quick else (1, 16, 64):
        yield from against_built_in(problem, features)
