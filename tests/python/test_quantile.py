"""tg.median() and tg.quantile(q): exact order statistics, and gradients to what they choose."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
inf, nan = float("inf"), float("nan")
ROWS = [0, 1, 2, 3, 17, 5000]
GRAPH = tg.Graph.from_coo(np.zeros(sum(ROWS), np.int64), np.repeat(np.arange(len(ROWS)), ROWS), num_src=1, num_dst=len(ROWS))


def kernel_of(given):
    class Copy(tg.MessagePassing):
        reducer = given

        def edge(self, src, dst, edge):
            return edge.m

    return Copy()


def row(values, reducer, dtype=torch.float64):
    m = torch.tensor(values, dtype=dtype, requires_grad=dtype.is_floating_point)
    graph = tg.Graph.from_coo([0] * len(m), [0] * len(m), num_src=1, num_dst=2)
    return m, kernel_of(reducer)(graph=graph, edge={"m": m})


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("feature", [(), (3,)])
@pytest.mark.parametrize("q", [0, 0.25, 0.5, 0.9, 1])
def test_rows_of_every_length(q, feature, dtype):
    rng = np.random.default_rng(int(8 * q))
    m = rng.standard_normal((GRAPH.num_edges, *feature))
    m = (m * 10.0 ** rng.integers(-30, 30, m.shape)).astype(dtype) if dtype[0] == "f" else rng.integers(-99, 99, m.shape).astype(dtype)
    kernel = kernel_of(tg.quantile(q))
    out = kernel(graph=GRAPH, edge={"m": m})
    assert out.dtype == (m.dtype if dtype[0] == "f" else np.float32)
    starts = np.cumsum([0, *ROWS])
    for i, n in enumerate(ROWS):
        own = m[starts[i] : starts[i + 1]].astype(np.float64)
        want = np.sort(own, axis=0)[int(np.floor(q * (n - 1)))] if n else np.full(feature, nan)
        np.testing.assert_array_equal(out[i], want)
    np.testing.assert_array_equal(out, kernel.reference(graph=GRAPH, edge={"m": m}))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("values", [[1.0], [3, 1], [5, 1, 3], [2, 2, 2, 1], [-0.0, 0.0, -1.0], [inf, -inf, 0, 1e-42]])
def test_median_is_torchs(values, dtype):
    m, y = row(values, tg.median(), dtype)
    want = torch.median(m)
    assert y[0] == want and y[1].isnan()
    y[0].backward()
    assert m.grad.sum() == 1 and m[m.grad == 1] == want
    assert m.grad.argmax() == values.index(want.item())  # of equal ones the first


def test_a_row_with_a_nan_is_nan():
    m, y = row([3.0, nan, 1.0, nan], tg.quantile(0.25))
    assert y[0].isnan()
    y[0].backward()
    assert m.grad.tolist() == [0, 1, 0, 0]


def test_integers_are_exact_before_they_are_floats():
    big = 2**62
    assert row([big + 2**40, big, -big], tg.median(), torch.int64)[1][0] == float(np.float32(big))
    assert row([np.iinfo(np.int64).min, 5, 7], tg.quantile(0.5), torch.int64)[1][0] == 5


def test_gradients():
    graph = tg.Graph.from_coo([0, 1, 1, 2, 3, 0, 4, 4], [1, 1, 1, 0, 3, 2, 2, 2], num_src=6, num_dst=6)
    rng = np.random.default_rng(3)
    x, w = (torch.tensor(rng.standard_normal(s), requires_grad=True) for s in ((6, 2), (8,)))

    class Kernel(tg.MessagePassing):
        reducer = tg.median(empty=0)

        def edge(self, src, dst, edge):
            return edge.w.unsqueeze(-1) * (src.x - dst.x) ** 2

    def run(x, w):
        return Kernel()(graph=graph, ndata={"x": x}, edge={"w": w})

    assert torch.autograd.gradcheck(run, [x, w])
    assert torch.autograd.gradgradcheck(run, [x, w])


def test_empty_rows_and_refusals():
    assert row([1.0, 2.0], tg.median(empty=7))[1].tolist() == [1, 7]
    for q in (-0.1, 1.5, nan):
        with pytest.raises(ValueError, match="expected a number from 0 to 1"):
            tg.quantile(q)
    with pytest.raises(NotImplementedError, match=r"tg.quantile\(0.25\)"):
        tg.quantile(np.ones(3))
    assert repr(tg.quantile(0.25)) == "tg.quantile(0.25)"


def test_formulas():
    graph = tg.Graph.from_coo([0, 1, 2, 3], [0, 0, 0, 0], num_src=4, num_dst=1)
    x = np.float32([4, 1, 3, 2])
    y = tg.formula("a = median(src.x); b = quantile(src.x, q=0.9); c = quantile(src.x, q=0, empty=1)")(graph=graph, src={"x": x})
    assert [y[k].tolist() for k in "abc"] == [[2], [3], [1]]
    for text, words in [("out = quantile(src.x)", "takes q="), ("out = quantile(src.x, q=2)", "from 0 to 1")]:
        with pytest.raises(ValueError, match=words):
            tg.formula(text)(graph=graph, src={"x": x})
