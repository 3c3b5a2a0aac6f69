"""out[i] = sum of weight[e] * x[j] over edges e = (j -> i), and its gradients.

Peers on torch tensors: torch.sparse.mm, and index_select with index_add; on NumPy arrays: SciPy's CSR
product (one thread); on matrices of its own: SuiteSparse:GraphBLAS."""

import numpy as np
import problems
import scipy.sparse
import tiga as tg
import torch
from peers import graphblas, only, scatter_sum
from workload import Workload, step


class WeightedSum(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.weight * src.x


def tiga(problem, x, weight):
    kernel = WeightedSum()
    return lambda: kernel(graph=problem.graph, src={"x": x}, dst={}, edge={"weight": weight})


def sparse_mm(problem, x, weight):
    parts = torch.from_numpy(problem.row_ptr), torch.from_numpy(problem.col_idx), weight
    matrix = torch.sparse_csr_tensor(*parts, size=(problem.nodes,) * 2, check_invariants=False)
    return (lambda: matrix @ x) if x.dim() == 1 else (lambda: torch.sparse.mm(matrix, x))


def index_add(problem, x, weight):
    weight = weight if x.dim() == 1 else weight[:, None]
    return lambda: scatter_sum(x.index_select(0, problem.src) * weight, problem.dst, problem.nodes)


def scipy_csr(problem, x, weight):
    parts = weight, problem.col_idx.astype(np.int32), problem.row_ptr.astype(np.int32)
    matrix = scipy.sparse.csr_array(parts, shape=(problem.nodes,) * 2)
    return lambda: matrix @ x


def graphblas_mxm(problem, x, weight):
    """Edges that repeat are one entry here."""
    if graphblas is None:
        return None
    rows, sizes = problem.dst.numpy(), {"nrows": problem.nodes, "ncols": problem.nodes}
    matrix = graphblas.Matrix.from_coo(rows, problem.col_idx, weight, **sizes, dup_op=graphblas.binary.plus)
    dense = graphblas.Vector.from_dense(x) if x.ndim == 1 else graphblas.Matrix.from_dense(x)
    product = matrix.mxv if x.ndim == 1 else matrix.mxm
    return lambda: product(dense, graphblas.semiring.plus_times).new().to_dense(0, np.float32)


def forward(name, problem, features):
    shape = (features,) if features > 1 else ()
    x, weight = problem.normal(*shape), problem.normal(rows="edges")
    cost = WeightedSum()
    cost(graph=problem.graph, src={"x": x}, dst={}, edge={"weight": weight})
    yield Workload(
        name,
        features,
        tiga(problem, x, weight),
        only(
            ("torch.sparse.mm", sparse_mm(problem, x, weight)),
            ("torch index_add", index_add(problem, x, weight)),
        ),
        cost=cost.cost(problem.graph),
    )
    a, w = x.numpy(), weight.numpy()
    yield Workload(
        name,
        features,
        tiga(problem, a, w),
        only(("SciPy CSR", scipy_csr(problem, a, w)), ("GraphBLAS", graphblas_mxm(problem, a, w))),
    )


def backward(problem, features):
    shape = (features,) if features > 1 else ()
    x, weight = problem.normal(*shape), problem.normal(rows="edges")
    both = (step(lambda x, w, f=f: f(problem, x, w), x, weight) for f in (tiga, index_add))
    ours, theirs = both
    yield Workload("weighted sum, forward and backward", features, ours, {"torch index_add": theirs})


def workloads(quick):
    nodes, widths = (13107, (1, 32)) if quick else (131072, (1, 16, 32, 64, 128))
    for local in (False, True):
        for index in (np.int64, np.int32)[: 1 if quick else 2]:
            problem = problems.regular(nodes, local=local, index=index)
            name = f"weighted sum, {'local' if local else 'random'}, {np.dtype(index).name}"
            for features in widths:
                yield from forward(name, problem, features)
    problem = problems.regular(nodes)
    for features in widths:
        yield from backward(problem, features)
    if not quick:
        for features in widths:
            yield from forward("weighted sum, N = 16384", problems.regular(16384), features)
    for name, problem in problems.irregular(nodes):
        yield from forward(f"weighted sum, {name}", problem, 32)
