"""Small inputs with one right answer, each a situation in which such libraries went wrong: what a kernel
gives and its gradients, in both float dtypes, on torch and (without gradients) on NumPy and the interpreter.

A case is a graph, a kernel, its arguments, the result, and the gradient of the result's sum by argument
name; arguments are "src.x", "dst.x", "node.x", "edge.x" or a param's name."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")

INF, NAN = np.inf, np.nan


def kernel(edge_function, reducer=None):
    class Kernel(tg.MessagePassing):
        edge = edge_function

        def __init__(self):
            self.reducer = reducer or tg.sum()

    return Kernel()


def copied(reducer=None):
    return kernel(lambda self, src, dst, edge: src.x, reducer)


def coo(src, dst, num_src, num_dst):
    return tg.Graph.from_coo(src, dst, num_src=num_src, num_dst=num_dst)


weighted = kernel(lambda self, src, dst, edge: edge.w * src.x)


def messages(reducer):
    return kernel(lambda self, src, dst, edge: edge.m, reducer)


softmax = kernel(lambda self, src, dst, edge: self.reducer(edge.s, edge.v), tg.online_softmax(empty=0))
from_sources = kernel(lambda self, src, dst, edge: self.reducer(edge.s, src.v), tg.online_softmax(empty=0))
power = kernel(lambda self, src, dst, edge: tg.where(src.x > 0, src.x * src.x, src.x * src.x * src.x))
SELF3 = coo([0, 1, 2], [0, 1, 2], 3, 3)
NOTHING = {n: coo([], [], n, n) for n in (0, 1, 3)}


class Case(NamedTuple):
    graph: tg.Graph
    kernel: tg.MessagePassing
    arguments: dict[str, Any]
    result: Any
    gradients: dict[str, Any]
    slack: float = 2e-6  # of gradients in float32, relative


CASES = {
    # ---- softmax, masks, empty rows ----
    "a dead score, a large one, an empty row": Case(
        coo([0, 0, 0, 0], [1, 1, 2, 2], 1, 3),
        softmax,
        {"edge.s": [[1], [-1], [-INF], [50]], "edge.v": np.eye(4)},
        [[0, 0, 0, 0], [0.88079708, 0.11920292, 0, 0], [0, 0, 0, 1]],
        {"edge.s": [[0], [0], [0], [0]], "edge.v": [[0.88079708] * 4, [0.11920292] * 4, [0] * 4, [1] * 4]},
    ),
    "all scores very small": Case(  # gradients know scores to the last bit of their logsumexp
        coo([0] * 4, [0] * 4, 1, 1),
        softmax,
        {"edge.s": [-1e5] * 4, "edge.v": [1, 2, 3, 6]},
        [3],
        {"edge.s": [-0.5, -0.25, 0, 0.75], "edge.v": [0.25] * 4},
        slack=5e-3,
    ),
    "one message a row weighs 1": Case(
        coo([0, 0], [1, 2], 3, 3),
        from_sources,
        {"edge.s": [7, -300], "src.v": [5, 1, 2]},
        [0, 5, 5],
        {"edge.s": [0, 0], "src.v": [2, 0, 0]},
    ),
    "softmax over a bipartite relation": Case(
        coo([2, 0, 2], [0, 3, 3], 3, 4),
        from_sources,
        {"edge.s": [1, 0, 0], "src.v": [[1, 2], [NAN, INF], [3, 6]]},
        [[3, 6], [0, 0], [0, 0], [2, 4]],
        {"edge.s": [0, -1.5, 1.5], "src.v": [[0.5, 0.5], [0, 0], [1.5, 1.5]]},
    ),
    "infinite scores share the weight": Case(
        coo([0] * 3, [0] * 3, 1, 1), softmax, {"edge.s": [INF, 5, INF], "edge.v": [1, 100, 3]}, [2], {}
    ),
    "a NaN score": Case(coo([0] * 2, [0, 1], 1, 2), softmax, {"edge.s": [NAN, 1], "edge.v": [1, 2]}, [NAN, 2], {}),
    "a padded neighbour": Case(
        coo([0, 1], [0, 0], 2, 1),
        weighted,
        {"src.x": [3, 1e38], "edge.w": [1, 0]},
        [3],
        {"src.x": [1, 0], "edge.w": [3, 1e38]},
    ),
    "mean of nothing": Case(
        NOTHING[3], copied(tg.mean(empty=0)), {"node.x": [1, 2, 3]}, [0, 0, 0], {"node.x": [0] * 3}
    ),
    "logsumexp of dead features": Case(
        SELF3,
        kernel(lambda self, src, dst, edge: tg.logsumexp(src.x, -1)),
        {"src.x": [[-INF, -INF], [0, 0], [-INF, 1]]},
        [-INF, np.log(2), 1],
        {"src.x": [[0, 0], [0.5, 0.5], [0, 1]]},
    ),
    "two large scores": Case(
        coo([0, 0], [0, 0], 1, 1),
        softmax,
        {"edge.s": [[1000], [1001]], "edge.v": np.eye(2)},
        [[0.26894142, 0.73105858]],
        {"edge.v": [[0.26894142] * 2, [0.73105858] * 2]},
    ),
    "a dead score and a NaN": Case(
        coo([0, 0], [0, 0], 1, 1),
        softmax,
        {"edge.s": [0, -INF], "edge.v": [1, NAN]},
        [1],
        {"edge.s": [0, 0], "edge.v": [1, 0]},
    ),
    "a row of dead scores": Case(
        coo([0, 0], [0, 0], 1, 1),
        softmax,
        {"edge.s": [-INF, -INF], "edge.v": [1, 2]},
        [0],
        {"edge.s": [0, 0], "edge.v": [0, 0]},
    ),
    "logsumexp of a row of the dead": Case(
        coo([0, 0], [1, 1], 1, 2), messages(tg.logsumexp()), {"edge.m": [-INF, -INF]}, [-INF, -INF], {"edge.m": [0, 0]}
    ),
    "max of nothing, filled": Case(
        coo([0], [1], 1, 3), messages(tg.max(empty=0)), {"edge.m": [-2]}, [0, -2, 0], {"edge.m": [1]}
    ),
    "max of nothing": Case(
        coo([0], [1], 1, 3), messages(tg.max()), {"edge.m": [-2]}, [-INF, -2, -INF], {"edge.m": [1]}
    ),
    # ---- gradients ----
    "a product with a zero": Case(
        coo([0] * 3, [0] * 3, 1, 1), messages(tg.prod()), {"edge.m": [0, 3, 4]}, [0], {"edge.m": [12, 0, 0]}
    ),
    "a product with two": Case(
        coo([0] * 3, [0] * 3, 1, 1), messages(tg.prod()), {"edge.m": [0, 3, 0]}, [0], {"edge.m": [0, 0, 0]}
    ),
    "the largest of ties": Case(
        coo([0] * 3, [0] * 3, 1, 1), messages(tg.max()), {"edge.m": [1, 3, 3]}, [3], {"edge.m": [0, 0.5, 0.5]}
    ),
    "products with zeros": Case(
        SELF3,
        kernel(lambda self, src, dst, edge: tg.prod(src.x, -1)),
        {"src.x": [[0, 3, 4], [0, 3, 0], [2, 3, 4]]},
        [0, 0, 24],
        {"src.x": [[12, 0, 0], [0, 0, 0], [12, 8, 6]]},
    ),
    "one weight": Case(coo([0], [1], 2, 2), weighted, {"node.x": [2, 9], "edge.w": [5]}, [0, 10], {"edge.w": [2]}),
    "a matrix as edges, the largest product": Case(
        coo([0, 1] * 3, [0, 0, 1, 1, 2, 2], 2, 3),
        kernel(lambda self, src, dst, edge: edge.a[:, None] * src.b, tg.max()),
        {"edge.a": [1, 2, 3, 4, 5, 6], "src.b": [[7, 9], [8, 10]]},
        [[16, 20], [32, 40], [48, 60]],
        {"edge.a": [0, 18, 0, 18, 0, 18], "src.b": [[0, 0], [12, 12]]},
    ),
    "two branches": Case(SELF3, power, {"src.x": [-1, 2, 3]}, [-1, 4, 9], {"src.x": [3, 4, 6]}),
    # ---- order, duplicates, bipartite ----
    "unsorted rows": Case(
        coo([0, 1, 2], [1, 0, 1], 3, 2), copied(), {"src.x": [1, 2, 3]}, [2, 4], {"src.x": [1, 1, 1]}
    ),
    "a transposed product with ones": Case(
        coo([0, 1, 2], [2, 1, 0], 3, 3).transpose(), weighted, {"node.x": [1, 1, 1], "edge.w": [1, 1, 1]}, [1, 1, 1], {}
    ),
    "two sources, four destinations": Case(
        coo([0, 1, 1, 1], [0, 1, 2, 3], 2, 4), copied(), {"src.x": [5, 7]}, [5, 7, 7, 7], {"src.x": [1, 3]}
    ),
    "an edge twice": Case(
        coo([0, 0], [1, 1], 2, 2), weighted, {"node.x": [5, 0], "edge.w": [1, 1]}, [0, 10], {"edge.w": [5, 5]}
    ),
    "the mean of an edge twice": Case(
        coo([0, 0], [1, 1], 2, 2), copied(tg.mean(empty=0)), {"node.x": [5, 0]}, [0, 5], {"node.x": [1, 0]}
    ),
    "ten sources, a hundred destinations": Case(
        coo([0], [0], 10, 100), copied(), {"src.x": range(7, 17)}, [7] + [0] * 99, {"src.x": [1] + [0] * 9}
    ),
    "a hub and its leaves": Case(
        coo([1, 2, 3, 0, 0, 0], [0, 0, 0, 1, 2, 3], 4, 4),
        copied(),
        {"node.x": [1, 2, 3, 4]},
        [9, 1, 1, 1],
        {"node.x": [3, 1, 1, 1]},
    ),
}
for _n, _graph in NOTHING.items():
    CASES[f"softmax of {_n} nodes without edges"] = Case(
        _graph,
        from_sources,
        {"edge.s": np.zeros((0, 1)), "node.v": np.ones((_n, 2))},
        np.zeros((_n, 2)),
        {"edge.s": np.zeros((0, 1)), "node.v": np.zeros((_n, 2))},
    )


def call(run, case, values):
    """run(graph=, src=, ...) with the values by their roles."""
    roles: dict[str, Any] = {}
    for name, value in values.items():
        role, _, field = name.rpartition(".")
        if role:
            roles.setdefault("ndata" if role == "node" else role, {})[field] = value
        else:
            roles[field] = value
    return run(graph=case.graph, **roles)


def numbers(case, dtype):
    return {name: np.array(value, dtype) for name, value in case.arguments.items()}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_case(name, dtype):
    case = CASES[name]
    close = dict(rtol=2e-6 if dtype == np.float32 else 1e-8, atol=1e-7)
    for run in (case.kernel, case.kernel.reference):
        result = call(run, case, numbers(case, dtype))
        assert result.dtype == dtype
        np.testing.assert_allclose(result, case.result, **close)
    leaves = {n: torch.tensor(v, requires_grad=True) for n, v in numbers(case, dtype).items()}
    result = call(case.kernel, case, leaves)
    np.testing.assert_allclose(result.detach(), case.result, **close)
    grads = torch.autograd.grad(result.sum(), list(leaves.values()))
    for leaf, grad in zip(leaves, grads):
        if leaf in case.gradients:
            rtol = case.slack if dtype == np.float32 else 1e-8
            np.testing.assert_allclose(grad, case.gradients[leaf], rtol=rtol, atol=rtol, err_msg=leaf)


# ---- second derivatives ----


def test_hessian_of_squared_row_sums():
    graph, x = coo([0, 1, 2], [0, 0, 1], 3, 2), torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(lambda x: copied()(graph=graph, src={"x": x}).square().sum(), x)
    assert hessian.tolist() == [[2, 2, 0], [2, 2, 0], [0, 0, 2]]


def test_products_of_rows_twice():
    x = torch.tensor([2.0, 3, 5, 7, 11], dtype=torch.float64, requires_grad=True)
    y = messages(tg.prod())(graph=coo([0] * 5, [1, 0, 2, 0, 1], 1, 3), edge={"m": x})
    (dx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert dx.tolist() == [11, 7, 1, 3, 2]
    assert torch.autograd.grad(dx.sum(), x)[0].tolist() == [1, 1, 0, 1, 1]


@pytest.mark.parametrize("flags", [{}, {"deterministic": True}], ids=str)
def test_the_complete_graph_twice(flags):
    """Each entry of the Hessian is 2."""
    ends = np.indices((3, 3)).reshape(2, 9)
    products = kernel(lambda self, src, dst, edge: src.x * dst.x, tg.sum(**flags))
    x = torch.tensor([1.0, -2, 4], dtype=torch.float64, requires_grad=True)
    y = products(graph=coo(*ends, 3, 3), ndata={"x": x})
    (dx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert torch.autograd.grad(dx.sum(), x)[0].tolist() == [6, 6, 6]


def test_products_twice():
    x = torch.tensor([[0.0, 0.0, 4.0]], dtype=torch.float64)
    run = kernel(lambda self, src, dst, edge: tg.prod(src.x, -1))
    graph = coo([0], [0], 1, 1)
    hessian = torch.autograd.functional.hessian(lambda x: run(graph=graph, src={"x": x}).sum(), x)
    assert hessian.reshape(3, 3).tolist() == [[0, 4, 0], [4, 0, 0], [0, 0, 0]]


def test_forces_of_coordinates_twice():
    def edge(self, src, dst, edge):
        offset = src.p - dst.p
        return src.h * tg.exp(-(offset * offset).sum(-1))

    rng, nodes = np.random.default_rng(4), 5
    pairs = rng.permutation([(i, j) for i in range(nodes) for j in range(nodes) if i != j])[:18]
    graph, energy = coo(pairs[:, 0], pairs[:, 1], nodes, nodes), kernel(edge)
    p = torch.tensor(rng.standard_normal((nodes, 3)), requires_grad=True)
    h = torch.tensor(rng.standard_normal(nodes), requires_grad=True)

    def forces(p, h):
        total = energy(graph=graph, ndata={"p": p, "h": h}).sum()
        return torch.autograd.grad(total, p, create_graph=True)[0]

    assert torch.autograd.gradcheck(forces, (p, h))
    assert torch.autograd.gradgradcheck(forces, (p, h))


# ---- refused ----


def test_rows_of_the_other_end_are_refused():
    x = np.ones(100, np.float32)
    with pytest.raises(ValueError, match="src field 'x': 100 rows, but the relation has 10 sources"):
        copied()(graph=coo([0], [0], 10, 100), src={"x": x})
    with pytest.raises(ValueError, match=r"src.*4.*position 1.*3"):
        coo([0, 4], [0, 0], 3, 5)


# ---- every reducer without edges, by either kind of index ----

EVERY = {
    "sum": (tg.sum(), 0),
    "prod": (tg.prod(), 1),
    "mean": (tg.mean(), NAN),
    "max": (tg.max(), -INF),
    "min": (tg.min(), INF),
    "logsumexp": (tg.logsumexp(), -INF),
    "var": (tg.var(), NAN),
    "std": (tg.std(), NAN),
    "median": (tg.median(), NAN),
    "filled": (tg.prod(empty=7), 7),
    "strict": (tg.sum(deterministic=True), 0),
    "several": (tg.multi(a=tg.max(empty=7), b=tg.var(empty=7)), 7),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("nodes", NOTHING)
@pytest.mark.parametrize("name", EVERY)
def test_nothing_at_all(name, nodes, dtype):
    reducer, empty = EVERY[name]
    x = torch.ones((nodes, 2), dtype=dtype, requires_grad=True)
    results = copied(reducer)(graph=NOTHING[nodes], ndata={"x": x})
    for y in results.values() if name == "several" else [results]:
        assert y.dtype is dtype
        np.testing.assert_array_equal(y.detach().float(), np.full((nodes, 2), empty))
        (dx,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
        assert dx.shape == (nodes, 2) and not dx.any()


@pytest.mark.parametrize("name", EVERY)
def test_indices_of_either_width(name):
    rng = np.random.default_rng(2)
    src, dst, x = rng.integers(0, 7, 60), rng.integers(0, 7, 60), rng.standard_normal((7, 3))
    run = copied(EVERY[name][0])
    found = [run(graph=coo(src.astype(d), dst.astype(d), 7, 7), ndata={"x": x}) for d in (np.int32, np.int64)]
    if name == "several":
        found = [np.stack(list(y.values())) for y in found]
    assert found[0].tobytes() == found[1].tobytes()


# ---- layouts: as contiguous ----

LAYOUTS = {
    "transposed": lambda x: x.T.copy().T,
    "every second column": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "unaligned": lambda x: np.frombuffer(b"-" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
    "one row for all": lambda x: np.broadcast_to(x[:1], x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    rng = np.random.default_rng(5)
    graph = coo(rng.integers(0, 20, 90), rng.integers(0, 20, 90), 20, 20)
    run = kernel(lambda self, src, dst, edge: tg.tanh(src.x * dst.x))
    x = LAYOUTS[layout](rng.standard_normal((20, 5)).astype(np.float32))
    expected = run(graph=graph, ndata={"x": np.ascontiguousarray(x)})
    assert run(graph=graph, ndata={"x": x}).tobytes() == expected.tobytes()
