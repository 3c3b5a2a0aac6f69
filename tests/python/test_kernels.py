"""Compiled kernels against the interpreter and against torch, over shapes, reducers and dtypes."""

import numpy as np
import pytest

import tiga as tg

torch = pytest.importorskip("torch")

REDUCERS = {
    "sum": tg.sum(),
    "mean": tg.mean(empty=0),
    "max": tg.max(empty=0),
    "min": tg.min(empty=-1),
    "softmax": tg.online_softmax(empty=0),
}
FEATURES = [(), (1,), (2,), (7,), (16,), (64,), (100,), (3, 5), (2, 1, 4), (0,)]


def graphs():
    rng = np.random.default_rng(4)
    n = 60
    src, dst = rng.integers(0, n, 300), rng.integers(0, n // 2, 300)
    yield tg.Graph.from_coo(src, dst, num_src=n, num_dst=n)
    yield tg.Graph.from_coo(src.astype(np.int32), np.sort(dst).astype(np.int32), num_src=n, num_dst=n)


GRAPHS = list(graphs())


def kernel(name):
    class Kernel(tg.MessagePassing):
        reducer = REDUCERS[name]

        def edge(self, src, dst, edge, k):
            message = edge.w * src.x - dst.y * k
            return self.reducer(message * 0.5, src.x) if name == "softmax" else message

        def node(self, dst, aggregate):
            return aggregate + dst.y

    return Kernel()


def dense(name, graph, x, y, w, k):
    """By torch's own operations on edges."""
    src, dst = map(torch.from_numpy, graph.to_coo())
    m = w * x[src] - y[dst] * k
    rows = [m[dst == i] for i in range(graph.num_dst)]
    values = [x[src][dst == i] for i in range(graph.num_dst)]
    empty = REDUCERS[name]._empty or 0.0

    def reduce(r, v):
        if len(r) == 0:
            return torch.full(r.shape[1:], empty, dtype=r.dtype)
        if name == "softmax":
            return (torch.softmax(r * 0.5, 0) * v).sum(0)
        return {"sum": r.sum, "mean": r.mean, "max": r.amax, "min": r.amin}[name](0)

    return torch.stack([reduce(r, v) for r, v in zip(rows, values, strict=True)]) + y


VARIANTS = [(f, torch.float32) for f in FEATURES] + [(f, torch.float64) for f in ((), (7,), (3, 5))]


@pytest.mark.parametrize("feature, dtype", VARIANTS, ids=str)
@pytest.mark.parametrize("name", REDUCERS)
def test_values_and_gradients(name, feature, dtype):
    generator = torch.Generator().manual_seed(len(feature))
    for graph in GRAPHS:
        n, e = graph.num_src, graph.num_edges
        x, y, w = (torch.randn(rows, *feature, generator=generator, dtype=dtype) for rows in (n, n, e))
        cotangent = torch.randn(n, *feature, generator=generator, dtype=dtype)
        results = []
        for run in (
            lambda *a: kernel(name)(graph=graph, src={"x": a[0]}, dst={"y": a[1]}, edge={"w": a[2]}, k=0.75),
            lambda *a: dense(name, graph, *a, 0.75),
        ):
            leaves = [t.clone().requires_grad_(True) for t in (x, y, w)]
            out = run(*leaves)
            results.append((out.detach(), *torch.autograd.grad(out, leaves, cotangent)))
        tolerance = {"rtol": 2e-4, "atol": 2e-4} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-9}
        for ours, theirs in zip(*results, strict=True):
            torch.testing.assert_close(ours, theirs, **tolerance)


@pytest.mark.parametrize("feature", FEATURES, ids=str)
@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_small_integers_are_exact(name, feature):
    rng = np.random.default_rng(1)
    for graph in GRAPHS:
        x, y = (rng.integers(-8, 8, (graph.num_src, *feature)).astype(np.float32) for _ in range(2))
        w = rng.integers(-8, 8, (graph.num_edges, *feature)).astype(np.float32)
        given = {"graph": graph, "src": {"x": x}, "dst": {"y": y}, "edge": {"w": w}, "k": 2}
        np.testing.assert_array_equal(kernel(name)(**given), kernel(name).reference(**given))


def test_stacked_layers_in_one_formula():
    text = "h = relu(mean(edge.w * src(node.x @ A), empty=0)); out = sum(src(h @ B)) + c"
    rng = np.random.default_rng(0)
    graph = GRAPHS[0]
    x, A, B, c, w = (
        torch.tensor(rng.standard_normal(s), requires_grad=True)
        for s in [(60, 5), (5, 8), (8, 3), (3,), (graph.num_edges, 1)]
    )
    src, dst = map(torch.from_numpy, graph.to_coo())
    degree = torch.zeros(60, 1, dtype=x.dtype).index_add(0, dst, torch.ones(graph.num_edges, 1, dtype=x.dtype))
    h = torch.relu(torch.zeros(60, 8, dtype=x.dtype).index_add(0, dst, w * (x @ A)[src]) / degree.clamp(min=1))
    expected = torch.zeros(60, 3, dtype=x.dtype).index_add(0, dst, (h @ B)[src]) + c
    out = tg.formula(text)(graph=graph, ndata={"x": x}, edge={"w": w}, A=A, B=B, c=c)
    torch.testing.assert_close(out, expected)
    leaves, cotangent = (x, A, B, c, w), torch.tensor(rng.standard_normal((60, 3)))
    for ours, theirs in zip(
        torch.autograd.grad(out, leaves, cotangent), torch.autograd.grad(expected, leaves, cotangent), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("features", [5, 16, 33])
def test_a_wide_sum_takes_products_unrounded(features):
    """(1 + e)^2 on top of minus what it rounds to is e^2."""
    near = np.float32(1 + 2**-12)
    graph = tg.Graph.from_csr([0, 2], [0, 1], num_src=2)
    x = np.repeat(np.array([[-near * near], [near]], np.float32), features, 1)
    out = tg.formula("out = sum(edge.w * src.x)")(graph=graph, src={"x": x}, edge={"w": np.array([1, near], np.float32)})
    assert out.tolist() == [[2.0**-24] * features]
