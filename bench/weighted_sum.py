"""out[i] = sum of weight[e] * x[j] over edges e = (j -> i): Tiga against what there is.

Random edges, 16 a node, float32. Peers on torch tensors: torch.sparse.mm, and index_select with
index_add; on NumPy arrays: SciPy's CSR product (one thread). Each side returns a fresh result of the
same kind; they are compared before anything is timed.
"""

from dataclasses import asdict

import numpy as np
import scipy.sparse
import tiga as tg
import torch
from measure import versus


class WeightedSum(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.weight * src.x


class Problem:
    def __init__(self, nodes, degree, features):
        rng = np.random.default_rng(0)
        self.row_ptr = np.arange(0, nodes * degree + 1, degree)
        self.col_idx = rng.integers(0, nodes, nodes * degree)
        self.weight = rng.standard_normal(nodes * degree, np.float32)
        self.x = rng.standard_normal((nodes, features) if features > 1 else nodes, np.float32)
        self.graph = tg.Graph.from_csr(self.row_ptr, self.col_idx, num_src=nodes)
        self.nodes = nodes


def tiga(problem, x, weight):
    kernel = WeightedSum()
    return lambda: kernel(graph=problem.graph, src={"x": x}, dst={}, edge={"weight": weight})


def sparse_mm(problem, x, weight):
    parts = torch.from_numpy(problem.row_ptr), torch.from_numpy(problem.col_idx), weight
    matrix = torch.sparse_csr_tensor(*parts, size=(problem.nodes,) * 2, check_invariants=False)
    return (lambda: matrix @ x) if x.dim() == 1 else (lambda: torch.sparse.mm(matrix, x))


def index_add(problem, x, weight):
    src = torch.from_numpy(problem.col_idx)
    dst = torch.arange(problem.nodes).repeat_interleave(torch.from_numpy(np.diff(problem.row_ptr)))
    weight = weight if x.dim() == 1 else weight[:, None]
    return lambda: torch.zeros_like(x).index_add_(0, dst, x.index_select(0, src) * weight)


def scipy_csr(problem, x, weight):
    parts = weight, problem.col_idx.astype(np.int32), problem.row_ptr.astype(np.int32)
    matrix = scipy.sparse.csr_array(parts, shape=(problem.nodes,) * 2)
    return lambda: matrix @ x


def step(forward, x, weight):
    """Forward and backward, from a cotangent of ones."""
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    work = forward(x, weight)
    ones = torch.ones_like(x)
    return lambda: torch.autograd.grad(work(), (x, weight), ones)


def check(ours, theirs):
    """Same kind, same values but for rounding."""
    ours, theirs = (r if isinstance(r, tuple) else (r,) for r in (ours, theirs))
    for a, b in zip(ours, theirs, strict=True):
        assert type(a) is type(b) and a.shape == b.shape and a.dtype == b.dtype
        assert np.allclose(a, b, rtol=1e-4, atol=1e-4), "the two sides disagree"


def cases(problem):
    """name, Tiga's side, the peer's side."""
    x, weight = torch.from_numpy(problem.x), torch.from_numpy(problem.weight)
    for peer in (sparse_mm, index_add):
        yield f"torch {peer.__name__}", tiga(problem, x, weight), peer(problem, x, weight)
    yield (
        "scipy CSR",
        tiga(problem, problem.x, problem.weight),
        scipy_csr(problem, problem.x, problem.weight),
    )
    both = (step(lambda x, w, f=f: f(problem, x, w), x, weight) for f in (tiga, index_add))
    yield ("torch index_add, with gradients", *both)


def run(nodes, degree, widths, seconds):
    """Prints a table and returns its rows."""
    print(f"weighted sum, {nodes} nodes, {degree} random edges a node, float32,", end=" ")
    print(f"{torch.get_num_threads()} threads (scipy: 1); ms a call, ratio peer / tiga")
    print(f"{'peer':32} {'F':>4} {'tiga':>9} {'peer':>9} {'ratio':>7} {'95 %':>15}  rounds")
    rows = []
    for features in widths:
        problem = Problem(nodes, degree, features)
        for name, ours, theirs in cases(problem):
            check(ours(), theirs())
            result = versus(ours, theirs, seconds)
            rows.append({"peer": name, "features": features, **asdict(result)})
            ratio, low, high = result.ratio
            print(
                f"{name:32} {features:4} {result.tiga_ms[0]:9.3f} {result.peer_ms[0]:9.3f}"
                f" {ratio:7.2f} {low:7.2f}-{high:<7.2f}  {result.rounds}",
                flush=True,
            )
    return rows
