"""The built-in reducers that are programs over operations, count, and several reducers in one call."""

import pathlib
import re

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def copy_kernel(given):
    class Copy(tg.MessagePassing):
        reducer = given

        def edge(self, src, dst, edge):
            return edge.m

    return Copy()


def row(values, reducer, dtype=None):
    """The reducer over one row, whose edges have these values; the second row is empty."""
    m = np.asarray(values, dtype)
    graph = tg.Graph.from_coo(np.zeros(len(m), np.int64), np.zeros(len(m), np.int64), num_src=1, num_dst=2)
    out, oracle = (f(graph=graph, edge={"m": m}) for f in (copy_kernel(reducer), copy_kernel(reducer).reference))
    np.testing.assert_allclose(np.float64(out), np.float64(oracle), rtol=1e-5)
    return out


nan, inf = np.nan, np.inf
EMPTY = {
    "logsumexp": (tg.logsumexp(), -inf),
    "var": (tg.var(), nan),
    "std": (tg.std(), nan),
    "var_unbiased": (tg.var(unbiased=True), nan),
    "std_unbiased": (tg.std(unbiased=True), nan),
    "any": (tg.any(), False),
    "all": (tg.all(), True),
    "count": (tg.count(), 0),
    "median": (tg.median(), nan),
    "quantile(0.3)": (tg.quantile(0.3), nan),
    "argmax": (tg.argmax(), -1),
    "argmin": (tg.argmin(), -1),
}
DTYPES = ["bool", "int32", "int64", "float32", "float64"]


def own(name, m):
    """By NumPy, over the edges of one row."""
    f = m.astype(np.float64)
    if name == "logsumexp":
        return np.logaddexp.reduce(f, axis=0)
    if name in ("any", "all", "argmax", "argmin"):
        return getattr(m, name)(0)
    if name == "count":
        return len(m)
    if name in ("median", "quantile(0.3)"):
        return np.quantile(f, 0.5 if name == "median" else 0.3, axis=0, method="lower")
    return {"v": f.var, "s": f.std}[name[0]](0, ddof=int(name.endswith("unbiased")))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("feature", [(), (3,), (2, 20), (0,)])
@pytest.mark.parametrize("name", EMPTY)
def test_against_numpy(hub, name, feature, dtype):
    rng = np.random.default_rng(2)
    m = rng.integers(-3, 4, (hub.num_edges, *feature)).astype(dtype)
    reducer, empty = EMPTY[name]
    kernel = copy_kernel(reducer)
    y = kernel(graph=hub, edge={"m": m})
    dst = hub.to_coo()[1]
    want = np.full((hub.num_dst, *(() if name == "count" else feature)), empty)
    for i in np.unique(dst):
        edges = np.flatnonzero(dst == i)
        if name.endswith("unbiased") and len(edges) == 1:
            continue
        want[i] = edges[own(name, m[edges])] if name[:3] == "arg" else own(name, m[edges])
    np.testing.assert_allclose(np.float64(y), want, rtol=1e-5, atol=1e-6)
    oracle = kernel.reference(graph=hub, edge={"m": m})
    assert oracle.dtype == y.dtype
    np.testing.assert_allclose(np.float64(y), np.float64(oracle), rtol=1e-5, atol=1e-6)


def test_dtypes_of_results():
    for name, (reducer, _) in EMPTY.items():
        kind = {"any": "bool", "all": "bool", "count": "int64", "argmax": "int64", "argmin": "int64"}
        for dtype in DTYPES:
            own_float = dtype if dtype.startswith("float") else "float32"
            assert row([1, 0, 1], reducer, dtype).dtype == kind.get(name, own_float), (name, dtype)


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_no_edges(nodes, name):
    reducer, empty = EMPTY[name]
    graph = tg.Graph.from_coo([], [], num_src=nodes, num_dst=nodes)
    m = torch.zeros((0, 2), dtype=torch.float64, requires_grad=True)
    y = copy_kernel(reducer)(graph=graph, edge={"m": m})
    np.testing.assert_equal(y.detach().numpy(), np.full(y.shape, empty))
    if y.requires_grad:
        y.sum().backward()
        assert m.grad.shape == (0, 2)


def test_empty_is_of_the_results_dtype():
    for reducer, want in [
        (tg.logsumexp(empty=0.5), 0.5),
        (tg.var(empty=2), 2.0),
        (tg.std(unbiased=True, empty=2), 2.0),
        (tg.any(empty=True), True),
        (tg.all(empty=False), False),
        (tg.count(empty=-7), -7),
        (tg.argmax(empty=2**40), 2**40),
    ]:
        y = row([1.0, 2.0], reducer)
        assert y[1] == want, reducer
        assert y.dtype == row([1.0, 2.0], EMPTY[reducer.name][0]).dtype
    assert row([1, 2], tg.sum(identity=5), "int64").dtype == np.int64
    with pytest.raises(ValueError, match="empty=2, but its results are bool"):
        row([1.0], tg.any(empty=2))


def test_logsumexp_at_the_edges():
    assert row([1000, 1001], tg.logsumexp())[0] == pytest.approx(1001.3132617)
    assert row([-1e5, -1e5], tg.logsumexp())[0] == pytest.approx(-1e5 + np.log(2))
    assert row([-inf, -inf], tg.logsumexp())[0] == -inf
    assert row([-inf, 3], tg.logsumexp())[0] == 3
    assert row([inf, 3], tg.logsumexp())[0] == inf
    np.testing.assert_equal(row([nan, 3], tg.logsumexp())[0], nan)
    assert row([-inf, -inf], tg.logsumexp(empty=0)).tolist() == [-inf, 0]


@pytest.mark.parametrize("values", [[-inf, -inf], [-inf, 0.0]])
def test_logsumexp_gradient_of_dead_messages(values):
    m = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    graph = tg.Graph.from_coo([0, 0], [0, 0], num_dst=2)
    y = copy_kernel(tg.logsumexp())(graph=graph, edge={"m": m})
    (dm,) = torch.autograd.grad(y, m, torch.ones_like(y), create_graph=True)
    assert dm.tolist() == [0.0, float(values[1] == 0)]
    (ddm,) = torch.autograd.grad(dm.sum(), m)
    assert ddm.tolist() == [0, 0]


@pytest.mark.parametrize("dtype, mean, spread", [("float32", 1e6, 0.25), ("float64", 1e8, 1e-3)])
@pytest.mark.parametrize("count", [5, 1000, 20_000])
def test_variance_is_accurate(dtype, mean, spread, count):
    rng = np.random.default_rng(1)
    m = (mean + spread * rng.standard_normal(count)).astype(dtype)
    exact = np.var(m.astype(np.longdouble))
    assert abs(row(m, tg.var(), dtype)[0] - exact) <= 1e-5 * exact
    assert abs(row(m, tg.std(), dtype)[0] - np.sqrt(exact)) <= 1e-5 * np.sqrt(exact)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [3.0, 0.1, 1e6 + 0.1])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 1000])
def test_equal_messages_have_no_variance(value, count, dtype):
    m = torch.full((count,), value, dtype=dtype, requires_grad=True)
    graph = tg.Graph.from_coo([0] * count, [0] * count, num_dst=2)
    eps = torch.finfo(dtype).eps
    for reducer in (tg.var(), tg.std()):
        y = copy_kernel(reducer)(graph=graph, edge={"m": m})[0]
        assert 0 <= y <= 100 * eps * value
        (dm,) = torch.autograd.grad(y, m)
        assert dm.abs().max() <= 100 * eps**0.5


def test_unbiased_of_one_message():
    m = torch.tensor([2.0, 1.0, 3.0], dtype=torch.float64, requires_grad=True)
    graph = tg.Graph.from_coo([0, 0, 0], [0, 1, 1], num_dst=3)
    for reducer, want in ((tg.var(unbiased=True), 2.0), (tg.std(unbiased=True), 2**0.5)):
        y = copy_kernel(reducer)(graph=graph, edge={"m": m})
        np.testing.assert_allclose(y.detach(), [nan, want, nan])
        (dm,) = torch.autograd.grad(y.sum(), m)
        assert dm[0] == 0 and dm[1] == -dm[2] != 0


def test_largest_and_smallest_truth():
    for reducer, empty in ((tg.max(), False), (tg.min(), True)):
        for m in ([True, False], [True, True], [False, False]):
            want = max(m) if reducer.name == "max" else min(m)
            assert row(m, reducer, "bool").tolist() == [want, empty]
    assert row([True], tg.max(empty=1), "bool").tolist() == [True, True]


def test_truth():
    assert row([0.0, -0.0], tg.any()).tolist() == [False, False]
    assert row([0.0, nan], tg.any()).tolist() == [True, False]
    assert row([nan, 1e-300], tg.all()).tolist() == [True, True]
    assert row([True, False], tg.all()).tolist() == [False, True]
    assert row([2**32, 0], tg.any(), "int64").tolist() == [True, False]


def test_which_edge():
    assert row([1, 3, 3, 2], tg.argmax()).tolist() == [1, -1]
    assert row([3, 1, 1, 2], tg.argmin()).tolist() == [1, -1]
    assert row([1, nan, 3, nan], tg.argmax())[0] == row([1, nan, 3, nan], tg.argmin())[0] == 1
    assert row([-inf, -inf], tg.argmax())[0] == row([inf, inf], tg.argmin())[0] == 0
    assert row([-0.0, 0.0], tg.argmax())[0] == row([0.0, -0.0], tg.argmin())[0] == 0
    assert row([False, True, True], tg.argmax())[0] == 1
    least = np.iinfo(np.int64).min
    assert row([least, least], tg.argmax(), "int64")[0] == 0
    assert row([least, least + 1], tg.argmin(), "int64")[0] == 0


@pytest.mark.parametrize("sort", [False, True])
def test_edges_are_numbered_in_the_callers_order(sort):
    dst, m = np.array([1, 0, 1, 0, 1]), np.float32([5, 1, 7, 1, 7])
    order = np.argsort(dst, kind="stable") if sort else np.arange(5)
    graph = tg.Graph.from_coo(np.zeros(5, np.int64), dst[order], num_dst=3)
    y = copy_kernel(tg.argmax())(graph=graph, edge={"m": m[order]})
    assert order[y[:2]].tolist() == [1, 2] and y[2] == -1
    back = copy_kernel(tg.argmin())(graph=graph.transpose(), edge={"m": m[order]})
    assert order[back].tolist() == [1]


def test_of_nodes_and_of_sources():
    """Messages that read no edge field; node values reduced to one; tables that outgrow the cache."""
    graph = tg.Graph.from_coo([2, 0, 1, 0], [0, 0, 1, 1], num_src=3, num_dst=2)
    x = np.float32([1, 5, 2])

    class Neighbour(tg.MessagePassing):
        reducer = tg.argmax()

        def edge(self, src, dst, edge):
            return src.x

    assert Neighbour()(graph=graph, src={"x": x}).tolist() == [0, 2]
    of_nodes = tg.formula("out = 10 * argmax(node.y) + argmin(src(node.y))")
    square = tg.Graph.from_coo([0, 1], [1, 1], num_src=3, num_dst=3)
    assert of_nodes(graph=square, ndata={"y": np.float32([3, 5, 4])}).tolist() == [9, 10, 9]
    n, width = 70_000, 64
    rng = np.random.default_rng(3)
    big = tg.Graph.from_coo(rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n), num_src=n, num_dst=n)
    table = rng.integers(0, 3, (n, width)).astype(np.float32)
    y = Neighbour()(graph=big, src={"x": table})
    src, dst = big.to_coo()
    rows = rng.integers(0, n, 50)
    for i in rows:
        edges = np.flatnonzero(dst == i)
        want = edges[table[src[edges]].argmax(0)] if len(edges) else -1
        np.testing.assert_array_equal(y[i], want)


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("feature", [(), (5,)])
def test_a_split_hub_has_the_same_bits_on_any_number_of_threads(name, feature):
    rng = np.random.default_rng(5)
    n = 40_000
    dst = np.where(np.arange(n) % 2 == 0, 1, rng.integers(0, 50, n))
    graph = tg.Graph.from_coo(rng.integers(0, 9, n), dst, num_src=9, num_dst=50)
    m = torch.tensor(rng.standard_normal((n, *feature)), dtype=torch.float32, requires_grad=True)
    kernel, results = copy_kernel(EMPTY[name][0]), []
    try:
        for threads in (1, 2, 3, 8):
            tg.set_num_threads(threads)
            y = kernel(graph=graph, edge={"m": m})
            grads = torch.autograd.grad(y.sum(), m) if y.requires_grad else ()
            results.append([t.detach().numpy().tobytes() for t in (y, *grads)])
    finally:
        tg.set_num_threads(0)
    assert all(r == results[0] for r in results)
    oracle = kernel.reference(graph=graph, edge={"m": m})
    np.testing.assert_allclose(y.detach().double(), oracle.double(), rtol=1e-4, atol=1e-5)


SMALL = tg.Graph.from_coo([0, 1, 1, 2, 3, 0, 4, 4], [1, 1, 1, 0, 3, 2, 2, 2], num_src=6, num_dst=6)
SMOOTH = [tg.logsumexp(empty=0), tg.var(empty=0), tg.std(empty=0)]


@pytest.mark.parametrize("reducer", SMOOTH, ids=repr)
@pytest.mark.parametrize("narrow", [False, True])
def test_derivatives(reducer, narrow):
    class Kernel(tg.MessagePassing):
        def __init__(self):
            self.reducer = reducer

        def edge(self, src, dst, edge):
            return edge.w * src.x if narrow else edge.w.unsqueeze(-1) * (src.x - 2 * dst.x)

    rng, kernel = np.random.default_rng(8), Kernel()
    # std of one message is 0, a corner; of several it is smooth
    graph = (
        SMALL
        if reducer.name != "std"
        else tg.Graph.from_coo([0, 1, 1, 0, 4, 4], [1, 1, 1, 2, 2, 2], num_src=6, num_dst=6)
    )
    shape = (6,) if narrow else (6, 2)
    values = [torch.tensor(rng.standard_normal(s), requires_grad=True) for s in (shape, (graph.num_edges,))]

    def run(x, w):
        return kernel(graph=graph, ndata={"x": x}, edge={"w": w})

    assert gradcheck(run, values)
    assert gradgradcheck(run, values)


def test_unbiased_derivatives():
    graph = tg.Graph.from_coo([0] * 5, [0, 0, 0, 1, 1])
    m = torch.tensor([1.0, 2.0, 4.0, -1.0, 0.5], dtype=torch.float64, requires_grad=True)
    for reducer in (tg.var(unbiased=True), tg.std(unbiased=True)):
        kernel = copy_kernel(reducer)
        assert gradcheck(lambda m, k=kernel: k(graph=graph, edge={"m": m}), [m])
        assert gradgradcheck(lambda m, k=kernel: k(graph=graph, edge={"m": m}), [m])


def test_costs_of_one_traversal():
    m = np.float32([1, 2, 3])
    graph = tg.Graph.from_coo([0, 0, 0], [0, 0, 1])
    for name, (reducer, _) in EMPTY.items():
        kernel = copy_kernel(reducer)
        kernel(graph=graph, edge={"m": m})
        cost = kernel.cost(graph)
        phases = {"var": 2, "std": 2, "arg": 2, "med": 18, "qua": 18, "cou": 0}.get(name[:3], 1)
        assert (cost.traversals, cost.edge_visits) == (min(phases, 1), 3 * phases), name
        assert cost.edge_buffer_bytes == 0


# ---- text ----


def test_text():
    assert "gf.reducer" in tg.count().mlir()
    for name in ("logsumexp", "var", "any", "argmax"):
        with pytest.raises(NotImplementedError, match=f"reducer '{name}' is a program over operations"):
            EMPTY[name][0].mlir()
    assert repr(tg.var(unbiased=True)) == "tg.var(unbiased=True)"
    with pytest.raises(NotImplementedError, match="tg.var over feature axes"):
        tg.var(np.ones(3))


@pytest.mark.parametrize("name", EMPTY)
def test_formulas(name):
    graph = tg.Graph.from_coo([0, 1, 1, 0], [0, 0, 0, 2], num_src=2, num_dst=3)
    x, given = np.float32([1, 3]), EMPTY[name][0]

    class Kernel(tg.MessagePassing):
        reducer = given

        def edge(self, src, dst, edge):
            return src.x

    call = "quantile(src.x, q=0.3" if name[0] == "q" else f"{name}(src.x"
    y = tg.formula(f"out = {call})")(graph=graph, src={"x": x})
    np.testing.assert_equal(y, Kernel()(graph=graph, src={"x": x}))
    filled = tg.formula(f"out = {call}, empty=1)")(graph=graph, src={"x": x})
    assert filled[1] == 1 and filled.dtype == y.dtype


def test_formulas_reduce_features_with_axis():
    x = np.float32([[1, 3], [0, 2]])
    graph = tg.Graph.from_coo([0], [0], num_src=2, num_dst=2)
    y = tg.formula("a = var(src.x, axis=-1); b = any(src.x == 0, axis=-1); c = logsumexp(src.x, axis=1)")
    out = y(graph=graph, src={"x": x})
    assert out["a"].tolist() == [1, 1] and out["b"].tolist() == [False, True]
    np.testing.assert_allclose(out["c"], np.logaddexp.reduce(x, 1), rtol=1e-6)


# ---- several reducers ----


def multi_kernel(node_function=None, edge_function=None, **reducers):
    class Kernel(tg.MessagePassing):
        reducer = tg.multi(**reducers)
        edge = edge_function or (lambda self, src, dst, edge: src.x)
        if node_function:
            node = node_function

    return Kernel()


def test_multi_of_one_message():
    kernel = multi_kernel(mean=tg.mean(empty=0), max=tg.max(empty=0), sum=tg.sum())
    x = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    out = kernel(graph=SMALL, ndata={"x": x})
    assert list(out) == ["mean", "max", "sum"]
    for name, y in out.items():
        alone = multi_kernel(only=kernel.reducer.reducers[name])(graph=SMALL, ndata={"x": x})
        assert list(alone) == ["only"] and torch.equal(alone["only"], y)
    assert kernel.cost(SMALL).traversals == 1
    assert kernel.cost(SMALL, "backward").traversals == 1
    reference = kernel.reference(graph=SMALL, ndata={"x": x})
    torch.testing.assert_close(reference, {k: v.detach() for k, v in out.items()})


def test_multi_gradients():
    kernel = multi_kernel(mean=tg.mean(empty=0), max=tg.max(empty=0), lse=tg.logsumexp(empty=0), n=tg.count())
    x = torch.tensor(np.random.default_rng(0).standard_normal((6, 2)), requires_grad=True)

    def run(x):
        out = kernel(graph=SMALL, ndata={"x": x})
        assert not out["n"].requires_grad
        return out["mean"], out["max"], out["lse"]

    assert gradcheck(run, [x])
    assert gradgradcheck(run, [x])
    (dx,) = torch.autograd.grad(run(x)[1].sum(), x)  # of one result alone
    own = multi_kernel(max=tg.max(empty=0))(graph=SMALL, ndata={"x": x})["max"]
    assert torch.equal(dx, torch.autograd.grad(own.sum(), x)[0])


def test_multi_of_a_message_each_and_node():
    def edge(self, src, dst, edge):
        return self.reducer(mean=src.x * edge.w, soft=(edge.w, src.x))

    def node(self, dst, aggregate):
        return aggregate.mean + aggregate["soft"] * dst.x

    kernel = multi_kernel(node, edge, mean=tg.mean(empty=0), soft=tg.online_softmax(empty=0))
    rng = np.random.default_rng(1)
    x, w = (torch.tensor(rng.standard_normal(n), requires_grad=True) for n in (6, 8))
    y = kernel(graph=SMALL, ndata={"x": x}, edge={"w": w})
    assert y.shape == (6,) and kernel.cost(SMALL).traversals == 1
    assert gradcheck(lambda x, w: kernel(graph=SMALL, ndata={"x": x}, edge={"w": w}), [x, w])


def test_multi_of_numpy_and_of_names_that_are_taken():
    kernel = multi_kernel(lambda self, dst, aggregate: aggregate, out=tg.sum(), x=tg.var(empty=0))
    out = kernel(graph=SMALL, ndata={"x": np.arange(6, dtype=np.float32)})
    assert list(out) == ["out", "x"] and out["out"].tolist() == [2, 2, 8, 3, 0, 0]

    def with_param(self, src, dst, edge, mean):
        return src.x * mean

    out = multi_kernel(None, with_param, mean=tg.sum())(graph=SMALL, ndata={"x": np.ones(6, np.float32)}, mean=2.0)
    assert out["mean"].tolist() == [2, 6, 6, 2, 0, 0]


def several_in_torch(m, dst, num_dst):
    """What PyTorch Geometric's MultiAggregation(["sum", "mean", "min", "max", "mul", "var", "std"]) joins."""
    rows = [m[dst == i] for i in range(num_dst)]
    one = m.new_zeros(m.shape[1:])
    kinds = [
        lambda r: r.sum(0),
        lambda r: r.mean(0),
        lambda r: r.amin(0),
        lambda r: r.amax(0),
        lambda r: r.prod(0),
        lambda r: r.var(0, correction=0),
        lambda r: r.var(0, correction=0).clamp(min=1e-30).sqrt(),
    ]
    return [torch.stack([k(r) if len(r) else one + (n == 4) for r in rows]) for n, k in enumerate(kinds)]


@pytest.mark.parametrize("mode", ["cat", "sum", "proj", "attention"])
def test_multi_joined_as_multi_aggregations_are(mode):
    """Each way to join several aggregations is a line in node(), in the same traversal."""

    def node(self, dst, aggregate, w):
        parts = [
            aggregate.sum,
            aggregate.mean,
            aggregate.min,
            aggregate.max,
            aggregate.mul,
            aggregate.var,
            aggregate.std,
        ]
        if mode == "cat":
            return tg.cat(parts, -1)
        if mode == "sum":
            return sum(parts)
        if mode == "proj":
            return tg.cat(parts, -1) @ w
        stacked = tg.stack(parts, 1)
        return (tg.softmax((stacked * w[:3, 0]).sum(-1, keepdim=True), 1) * stacked).sum(1)

    def joined(parts, w):
        if mode == "sum":
            return sum(parts)
        stacked = torch.stack(parts, 1)
        if mode == "attention":
            return (torch.softmax((stacked * w[:3, 0]).sum(-1, keepdim=True), 1) * stacked).sum(1)
        return torch.cat(parts, -1) @ w if mode == "proj" else torch.cat(parts, -1)

    kernel = multi_kernel(
        node,
        lambda self, src, dst, edge, w: src.x,
        sum=tg.sum(),
        mean=tg.mean(empty=0),
        min=tg.min(empty=0),
        max=tg.max(empty=0),
        mul=tg.prod(),
        var=tg.var(empty=0),
        std=tg.std(empty=0),
    )
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 9, 40), rng.integers(0, 8, 40)
    graph = tg.Graph.from_coo(src, dst, num_src=9, num_dst=9)
    x = torch.tensor(rng.standard_normal((9, 3)), requires_grad=True)
    w = torch.tensor(rng.standard_normal((21, 5)), requires_grad=True)
    y = kernel(graph=graph, src={"x": x}, w=w)
    want = joined(several_in_torch(x[torch.from_numpy(src)], torch.from_numpy(dst), 9), w)
    torch.testing.assert_close(y, want)
    cot = torch.from_numpy(rng.standard_normal(y.shape))
    grads = [torch.autograd.grad(v, [x, w], cot, allow_unused=True) for v in (y, want)]
    torch.testing.assert_close(grads[0][0], grads[1][0])
    if mode in ("proj", "attention"):
        torch.testing.assert_close(grads[0][1], grads[1][1])
    cost = kernel.cost(graph)
    assert cost.traversals == 1 and cost.edge_buffer_bytes == 0


WRONG = [
    (lambda: tg.multi(), TypeError, "no reducer"),
    (lambda: tg.multi(a=tg.sum), TypeError, r"write sum\(\)"),
    (lambda: tg.multi(a=tg.multi(b=tg.sum())), TypeError, "itself"),
    (lambda: tg.multi(_a=tg.sum()), TypeError, "identifier"),
    (lambda: tg.multi(a=tg.sum()).mlir(), TypeError, "print one"),
    (lambda: tg.multi(a=tg.sum())(1, a=1), TypeError, "one or the other"),
    (lambda: tg.multi(a=tg.sum(), b=tg.sum())(a=1), TypeError, "each of a, b"),
    (lambda: tg.multi(a=tg.sum())(), TypeError, "each of a"),
    (lambda: run_node(lambda self, dst, aggregate: aggregate.b), AttributeError, "aggregate.b: the reducers are a"),
    (lambda: run_node(lambda self, dst, aggregate: aggregate + 1), TypeError, "Aggregates"),
]


def run_node(node):
    return multi_kernel(node, a=tg.sum())(graph=SMALL, ndata={"x": np.ones(6, np.float32)})


@pytest.mark.parametrize("call, error, message", WRONG)
def test_multi_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- the documentation ----

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reducers.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_every_block_of_the_page_runs():
    assert len(BLOCKS) >= 4
    names = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)
