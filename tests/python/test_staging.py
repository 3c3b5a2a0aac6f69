"""Gradients of folds into source fields: added by blocks of rows, with the bits of a sum over each source's edges."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")


class Rotation(tg.Reducer):
    """Strict: a row is one task, however long."""

    def identity(self):
        return 1.0, 0.0

    def lift(self, angle):
        return tg.cos(angle), tg.sin(angle)

    def combine(self, left, right):
        return left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]

    def finalize(self, state):
        return state[0]


class Tree(Rotation):
    associative = True


class OfSources(tg.MessagePassing):
    def edge(self, src, dst, edge):
        return edge.w * src.x


class OfEdges(tg.MessagePassing):
    def edge(self, src, dst, edge):
        return edge.w * edge.x


class Added(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.g


def kernel_of(form, reducer):
    kernel = form()
    kernel.reducer = reducer
    return kernel


def edges_of(sort):
    """Several blocks: short rows, none, rows of more than a chunk and than a block, a source of 40000 edges."""
    rng = np.random.default_rng(0)
    degrees = np.concatenate([rng.integers(0, 60, 1500), [17000, 0, 40000], rng.integers(0, 9, 400)])
    dst = np.repeat(np.arange(len(degrees)), degrees)
    src = rng.integers(0, 700, len(dst))
    src[rng.random(len(dst)) < 0.3] = 7
    if not sort:
        order = rng.permutation(len(dst))
        src, dst = src[order], dst[order]
    return src, dst, len(degrees)


def gradient(kernel, graph, w, field, values, cot):
    x = torch.tensor(values, requires_grad=True)
    y = kernel(graph=graph, **{**field(x), "edge": {"w": w, **field(x).get("edge", {})}})
    (g,) = torch.autograd.grad(y, x, cot)
    return g


@pytest.fixture(params=[True, False], ids=["sorted", "shuffled"])
def data(request):
    src, dst, num_dst = edges_of(request.param)
    graph = tg.Graph.from_coo(src, dst, num_src=701, num_dst=num_dst)
    return request.param, src, dst, graph


@pytest.mark.parametrize(
    "reducer, width, dtype",
    [
        (Rotation(), 6, "float32"),
        (Rotation(), 1, "float32"),
        (Tree(), 17, "float64"),
        (Tree(), 3, "float32"),
        (tg.prod(), 5, "float64"),
    ],
)
def test_large_gradients(data, reducer, width, dtype):
    in_order, src, dst, graph = data
    rng = np.random.default_rng(1)
    x = rng.uniform(0.997, 1.003, (701, width)).astype(dtype)
    w = torch.tensor(rng.uniform(0.997, 1.003, (len(src), 1)).astype(dtype))
    cot = torch.tensor(rng.standard_normal((graph.num_dst, width)).astype(dtype))
    kernel = kernel_of(OfSources, reducer)
    bits = []
    before = tg.get_num_threads()
    for threads in (1, 2, 3, 8):
        tg.set_num_threads(threads)
        bits.append(gradient(kernel, graph, w, lambda v: {"src": {"x": v}}, x, cot))
    tg.set_num_threads(before)
    assert all(torch.equal(b, bits[0]) for b in bits)
    each = gradient(kernel_of(OfEdges, reducer), graph, w, lambda v: {"edge": {"x": v}}, x[src], cot)
    want = np.zeros((701, width), np.longdouble)
    np.add.at(want, src, each.numpy())
    scale = np.zeros((701, width))
    np.add.at(scale, src, abs(each.double().numpy()))
    assert np.all(abs(bits[0].double().numpy() - want) <= 64 * np.finfo(dtype).eps * scale)
    turned = tg.Graph.from_coo(dst, src, num_src=graph.num_dst, num_dst=701)
    added = Added()(graph=turned, edge={"g": each})
    short = (np.bincount(src, minlength=701) <= 16384)[:, None]  # no parts of a row
    if in_order and width > 4:
        assert np.array_equal(added.numpy() * short, bits[0].numpy() * short)


def test_no_edges_and_no_features():
    kernel = kernel_of(OfSources, Rotation())
    for edges, width in ((0, 3), (2, 0)):
        src = np.arange(edges)
        graph = tg.Graph.from_coo(src, src, num_src=3, num_dst=2)
        x = torch.ones(3, width, requires_grad=True)
        y = kernel(graph=graph, src={"x": x}, edge={"w": torch.ones(edges, 1)})
        (g,) = torch.autograd.grad(y, x, torch.ones(2, width))
        assert g.shape == (3, width) and not g[2].any()


def test_nan_and_infinity_stay_with_their_sources():
    src, dst, num_dst = edges_of(True)
    graph = tg.Graph.from_coo(src, dst, num_src=701, num_dst=num_dst)
    cot = torch.zeros(num_dst, 2)
    cot[3], cot[5] = float("nan"), float("inf")
    w = torch.ones(len(src), 1)
    g = gradient(kernel_of(OfSources, tg.prod()), graph, w, lambda v: {"src": {"x": v}}, np.ones((701, 2), "f"), cot)
    touched = np.zeros(701, bool)
    touched[src[(dst == 3) | (dst == 5)]] = True
    assert np.array_equal(~np.isfinite(g.numpy()[:, 0]), touched)
    assert not g[~touched].any()


def test_transposed():
    """Rows are sources: the sum goes to destinations."""
    src, dst, num_dst = edges_of(False)
    graph = tg.Graph.from_coo(src, dst, num_src=701, num_dst=num_dst)
    plain = tg.Graph.from_coo(dst, src, num_src=num_dst, num_dst=701)
    rng = np.random.default_rng(2)
    x = rng.uniform(0.997, 1.003, (num_dst, 5))
    w = torch.tensor(rng.uniform(0.997, 1.003, (len(src), 1)))
    cot = torch.tensor(rng.standard_normal((701, 5)))
    kernel = kernel_of(OfSources, Tree())
    field = lambda v: {"src": {"x": v}}  # noqa: E731
    a = gradient(kernel, graph.transpose(), w, field, x, cot)
    b = gradient(kernel, plain, w, field, x, cot)
    assert torch.equal(a, b)


def test_plan_and_cost():
    src, dst, num_dst = edges_of(True)
    graph = tg.Graph.from_coo(src, dst, num_src=701, num_dst=num_dst)
    kernel = kernel_of(OfSources, Tree())
    kernel(graph=graph, src={"x": np.ones((701, 4), "f")}, edge={"w": np.ones((len(src), 1), "f")})
    back = kernel.cost(graph, direction="backward")
    assert back.traversals == 1
    assert back.edge_buffer_bytes == 0
    assert back.staging_bytes == 16384 * 4 * 4
