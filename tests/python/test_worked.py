"""Cases worked out by hand, through torch and NumPy alike."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")

FLOATS = [torch.float32, torch.float64]


class Weighted(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.w * src.x


def copy_kernel(reducer):
    class Copy(tg.MessagePassing):
        def __init__(self):
            self.reducer = reducer

        def edge(self, src, dst, edge):
            return src.x

    return Copy()


def leaf(values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_weighted_sum(dtype, index):
    graph = tg.Graph.from_coo(torch.tensor([0, 1, 0], dtype=index), torch.tensor([2, 2, 1], dtype=index), num_src=3)
    x, w = leaf([2, 4, 8], dtype), leaf([2, -1, 3], dtype)
    y = Weighted()(graph=graph, src={"x": x}, dst={}, edge={"w": w})
    assert y.tolist() == [0, 6, 0]
    dx, dw = torch.autograd.grad(y, (x, w), torch.tensor([0, 5, 7], dtype=dtype))
    assert (dx.tolist(), dw.tolist()) == ([29, -7, 0], [14, 28, 10])


@pytest.mark.parametrize("dtype", FLOATS)
def test_mean_with_an_isolated_node(dtype):
    graph = tg.Graph.from_coo([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2], num_src=4, num_dst=4)
    x = leaf([1, 2, 3, 4], dtype)
    y = copy_kernel(tg.mean(empty=0))(graph=graph, ndata={"x": x})
    assert y.tolist() == [1, 1.5, 2, 0]
    y.sum().backward()
    np.testing.assert_allclose(x.grad, [11 / 6, 5 / 6, 1 / 3, 0], rtol=1e-6)


def test_duplicate_edges_count_twice():
    graph = tg.Graph.from_coo([0, 0], [1, 1], num_src=2)
    x = leaf([5, 0])
    y = copy_kernel(tg.sum())(graph=graph, src={"x": x})
    assert y.tolist() == [0, 10]
    y.sum().backward()
    assert x.grad.tolist() == [2, 0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_max_shares_among_ties(dtype):
    graph = tg.Graph.from_coo([0, 1, 2], [0, 0, 0], num_src=3, num_dst=2)
    x = leaf([1, 3, 3], dtype)
    y = copy_kernel(tg.max())(graph=graph, src={"x": x})
    assert y.tolist() == [3, -np.inf]
    y[0].backward()
    assert x.grad.tolist() == [0, 0.5, 0.5]


def softmax_kernel(**kwargs):
    class Softmax(tg.MessagePassing):
        def __init__(self):
            self.reducer = tg.online_softmax(**kwargs)

        def edge(self, src, dst, edge):
            return self.reducer(edge.score, edge.value)

    return Softmax()


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_weights_of_large_scores(dtype):
    graph = tg.Graph.from_coo([0, 1], [0, 0], num_src=2)
    value = torch.eye(2, dtype=dtype, requires_grad=True)
    y = softmax_kernel()(graph=graph, edge={"score": leaf([1000, 1001], dtype)[:, None], "value": value})
    weights = [[0.268941, 0.731059]]
    np.testing.assert_allclose(y.detach(), weights, atol=1e-6)
    y.sum().backward()
    # The backward pass has exp(score - logsumexp): as good as the scores' own last bits.
    np.testing.assert_allclose(value.grad.T, [weights[0]] * 2, atol=1e-4 if dtype == torch.float32 else 1e-6)


def test_softmax_ignores_dead_scores():
    graph = tg.Graph.from_coo([0, 1], [0, 0], num_src=2, num_dst=2)
    score, value = leaf([0, -np.inf]), leaf([1, np.nan])
    y = softmax_kernel(empty=0)(graph=graph, edge={"score": score, "value": value})
    assert y.tolist() == [1, 0]
    y.sum().backward()
    assert value.grad.tolist() == [1, 0]
    assert torch.isfinite(score.grad).all()


def test_softmax_of_only_dead_scores_is_empty():
    graph = tg.Graph.from_coo([0, 1], [0, 0], num_src=2)
    score, value = leaf([-np.inf, -np.inf]), leaf([1, 2])
    y = softmax_kernel(empty=0)(graph=graph, edge={"score": score, "value": value})
    assert y.tolist() == [0]
    y.sum().backward()
    assert score.grad.tolist() == value.grad.tolist() == [0, 0]


def test_gradient_of_the_sum_of_a_gradient():
    class Pairs(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x * dst.x

    graph = tg.Graph.from_coo(np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3))
    x = leaf([1.0, -2.0, 3.0])
    total = Pairs()(graph=graph, ndata={"x": x}).sum()
    (first,) = torch.autograd.grad(total, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [6, 6, 6]


def test_bipartite():
    graph = tg.Graph.from_coo([0, 1, 1, 1], [0, 1, 2, 3])
    x = leaf([3, 7])
    y = copy_kernel(tg.sum())(graph=graph, src={"x": x})
    assert y.tolist() == [3, 7, 7, 7]
    y.sum().backward()
    assert x.grad.tolist() == [1, 3]


def test_transposed_product():
    graph = tg.Graph.from_coo([0, 1, 2], [2, 1, 0])
    ones = np.ones(3, np.float32)
    assert copy_kernel(tg.sum())(graph=graph.transpose(), src={"x": ones}).tolist() == [1, 1, 1]


REDUCERS = [tg.sum(), tg.mean(empty=0), tg.max(empty=0), tg.min(empty=0)]


@pytest.mark.parametrize("nodes", [0, 1, 3])
@pytest.mark.parametrize("reducer", REDUCERS, ids=repr)
@pytest.mark.parametrize("feature", [(), (4,), (0,)])
def test_no_edges(nodes, reducer, feature):
    graph = tg.Graph.from_coo([], [], num_src=nodes, num_dst=nodes)
    x = torch.ones((nodes, *feature), requires_grad=True)
    y = copy_kernel(reducer)(graph=graph, ndata={"x": x})
    assert y.shape == x.shape and not y.any()
    y.sum().backward()
    assert x.grad.shape == x.shape and not x.grad.any()


def test_default_of_empty_rows():
    graph = tg.Graph.from_coo([], [], num_src=1, num_dst=1)
    x = np.ones(1, np.float32)
    values = [
        copy_kernel(r)(graph=graph, ndata={"x": x})[0]
        for r in (tg.sum(), tg.sum(identity=5), tg.mean(), tg.max(), tg.min())
    ]
    np.testing.assert_equal(values, [0, 5, np.nan, -np.inf, np.inf])


def test_three_self_loops():
    graph = tg.Graph.from_csr([0, 3], [0, 0, 0])
    x = leaf([2])
    y = copy_kernel(tg.sum())(graph=graph, ndata={"x": x})
    assert y.tolist() == [6]
    y.sum().backward()
    assert x.grad.tolist() == [3]


def test_max_gradient_loses_no_row():
    class Affine(tg.MessagePassing):
        reducer = tg.max()

        def edge(self, src, dst, edge):
            return edge.w * src.x + dst.b

    rng, n, degree = np.random.default_rng(0), 100_000, 4
    graph = tg.Graph.regular(n, degree)
    x, b = (torch.tensor(rng.standard_normal(n), dtype=torch.float32) for _ in range(2))
    w = torch.tensor(rng.standard_normal(n * degree), dtype=torch.float32)
    b.requires_grad_(True)
    Affine()(graph=graph, src={"x": x}, dst={"b": b}, edge={"w": w}).sum().backward()
    assert (b.grad == 1).all()


def test_edge_gradients_in_the_callers_order():
    src, dst = torch.tensor([2, 0, 1, 0]), torch.tensor([1, 0, 1, 2])
    graph = tg.Graph.from_coo(src, dst, num_src=3, num_dst=3)
    x, w = leaf([1, 2, 4]), leaf([1, 1, 1, 1])
    cotangent = torch.tensor([10.0, 20.0, 30.0], dtype=torch.float64)
    y = Weighted()(graph=graph, src={"x": x}, edge={"w": w})
    (dw,) = torch.autograd.grad(y, w, cotangent)
    assert dw.tolist() == (x.detach()[src] * cotangent[dst]).tolist()


def test_unsorted_rows():
    graph = tg.Graph.from_coo([0, 1, 2], [1, 0, 1])
    assert copy_kernel(tg.sum())(graph=graph, src={"x": np.float32([1, 2, 3])}).tolist() == [2, 4]


def test_many_ones():
    n = 2_000_000
    graph = tg.Graph.from_csr(np.array([0, n]), np.zeros(n, np.int32), num_src=1)
    assert copy_kernel(tg.sum())(graph=graph, src={"x": np.ones(1, np.float32)}).tolist() == [n]


def test_a_param_as_2_and_as_2_point_0():
    class Scaled(tg.MessagePassing):
        def edge(self, src, dst, edge, k):
            return src.x * k

    x, graph = np.float32([1, 2, 3]), tg.Graph.regular(3, 1)
    results = [Scaled()(graph=graph, src={"x": x}, k=k) for k in (2, 2.0, np.float32(2), np.int64(2))]
    assert all(r.tolist() == [2, 4, 6] and r.dtype == np.float32 for r in results)
