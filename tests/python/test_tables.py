"""Rows of a table by a staged integer: values, gradients, and what an index out of range does."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")

N, E, ROWS = 5, 12, 4
generator = torch.Generator().manual_seed(3)
SRC = torch.tensor([0, 1, 2, 0, 3, 3, 1, 0, 0, 2, 3, 0])
DST = torch.tensor([1, 1, 0, 2, 2, 1, 1, 1, 1, 1, 3, 1])  # node 1 is a hub, node 4 has no edges
GRAPH = tg.Graph.from_coo(SRC, DST, num_src=N, num_dst=N)
KIND = torch.randint(0, ROWS, (E,), generator=generator)
PAIRS = torch.randint(0, ROWS, (E, 2), generator=generator)
NODES = torch.randint(0, ROWS, (N,), generator=generator)
X = torch.randn(N, 3, generator=generator, dtype=torch.float64)
T1 = torch.randn(ROWS, generator=generator, dtype=torch.float64)
T2 = torch.randn(ROWS, 3, generator=generator, dtype=torch.float64)
T3 = torch.randn(ROWS, 3, 2, generator=generator, dtype=torch.float64)


def kernel(edge, node=None):
    class Kernel(tg.MessagePassing):
        reducer = tg.sum()

    Kernel.edge = edge
    if node:
        Kernel.node = node
    return Kernel()


def at_destinations(messages):
    return torch.zeros(N, *messages.shape[1:], dtype=messages.dtype).index_add(0, DST, messages)


CASES = {  # edge function; the messages by torch
    "rows": (lambda self, src, dst, edge, t2: t2[edge.kind] * src.x, lambda x, t1, t2, t3: t2[KIND] * x[SRC]),
    "scalars": (lambda self, src, dst, edge, t1: t1[edge.kind], lambda x, t1, t2, t3: t1[KIND]),
    "pairs": (lambda self, src, dst, edge, t2: t2[edge.pairs].sum(1), lambda x, t1, t2, t3: t2[PAIRS].sum(1)),
    "pairs of scalars": (lambda self, src, dst, edge, t1: t1[edge.pairs], lambda x, t1, t2, t3: t1[PAIRS]),
    "matrices": (
        lambda self, src, dst, edge, t3: src.x @ t3[edge.kind],
        lambda x, t1, t2, t3: torch.einsum("ef,efg->eg", x[SRC], t3[KIND]),
    ),
    "two at once": (
        lambda self, src, dst, edge, t2: t2[edge.kind] * (t2[src.kind] + t2[dst.kind]),
        lambda x, t1, t2, t3: t2[KIND] * (t2[NODES][SRC] + t2[NODES][DST]),
    ),
    "places behind": (
        lambda self, src, dst, edge, t3: t3[edge.kind, 1:, 0] + t3[edge.kind][:, 0],
        lambda x, t1, t2, t3: t3[KIND, 1:, 0] + t3[KIND][:, 0],
    ),
    "computed": (
        lambda self, src, dst, edge, t2: (t2 * t2)[(edge.kind + 1) % ROWS],
        lambda x, t1, t2, t3: (t2 * t2)[(KIND + 1) % ROWS],
    ),
    "a transposed table": (
        lambda self, src, dst, edge, t2: t2.T[edge.kind % 3],
        lambda x, t1, t2, t3: t2.T[KIND % 3],
    ),
    "functions": (
        lambda self, src, dst, edge, t2: tg.take(t2, edge.kind) + tg.gather(t2, src.kind),
        lambda x, t1, t2, t3: t2[KIND] + t2[NODES][SRC],
    ),
    "torch's": (
        lambda self, src, dst, edge, t2: (
            torch.nn.functional.embedding(edge.kind, t2) + torch.index_select(t2, 0, src.kind)
        ),
        lambda x, t1, t2, t3: t2[KIND] + t2[NODES][SRC],
    ),
    "numpy's": (
        lambda self, src, dst, edge, t1, t2: np.take(t2, edge.kind, axis=0) * np.take(t1, edge.kind)[:, None],
        lambda x, t1, t2, t3: t2[KIND] * t1[KIND][:, None],
    ),
    "own tables": (
        lambda self, src, dst, edge: tg.take(src.x, edge.kind % 3),
        lambda x, t1, t2, t3: x[SRC].gather(1, KIND[:, None] % 3)[:, 0],
    ),
    "running sums": (
        lambda self, src, dst, edge, t2: (t2[edge.kind] * src.x).cumsum(-1),
        lambda x, t1, t2, t3: (t2[KIND] * x[SRC]).cumsum(-1),
    ),
}



def params(function, t1, t2, t3):
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {k: v for k, v in (("t1", t1), ("t2", t2), ("t3", t3)) if k in names}


def run(name, x, t1, t2, t3):
    function = CASES[name][0]
    fields = {"kind": KIND, "pairs": PAIRS}
    return kernel(function)(graph=GRAPH, ndata={"x": x, "kind": NODES}, edge=fields, **params(function, t1, t2, t3))


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    torch.testing.assert_close(run(name, X, T1, T2, T3), at_destinations(CASES[name][1](X, T1, T2, T3)))


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    leaves = [t.clone().requires_grad_() for t in (X, T1, T2, T3)]
    theirs = at_destinations(CASES[name][1](*leaves))
    reached = torch.autograd.grad(theirs.sum(), leaves, allow_unused=True, retain_graph=True)
    used = [t for t, g in zip(leaves, reached) if g is not None]

    def ours(*given):
        values = iter(given)
        return run(name, *(next(values) if any(t is u for u in used) else t.detach() for t in leaves))

    assert torch.autograd.gradcheck(ours, used)
    assert torch.autograd.gradgradcheck(ours, used)
    weights = torch.randn(theirs.shape, generator=generator, dtype=torch.float64)
    for mine, other in zip(
        torch.autograd.grad((ours(*used) * weights).sum(), used), torch.autograd.grad((theirs * weights).sum(), used)
    ):
        torch.testing.assert_close(mine, other)


def test_in_a_node_function():
    k = kernel(
        lambda self, src, dst, edge: src.x,
        lambda self, dst, aggregate, table: aggregate + table[dst.kind],
    )
    out = k(graph=GRAPH, ndata={"x": X, "kind": NODES}, table=T2)
    torch.testing.assert_close(out, at_destinations(X[SRC]) + T2[NODES])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("table", [np.float32, np.float64, np.int32, np.int64, np.bool_])
def test_dtypes(index, table):
    graph = tg.Graph.from_coo(np.arange(E), np.arange(E))
    values = (np.arange(ROWS * 3).reshape(ROWS, 3) % 2).astype(table)[:, ::-1]
    kind = KIND.numpy().astype(index)
    out = kernel(lambda self, src, dst, edge, table: table[edge.kind])(graph=graph, edge={"kind": kind}, table=values)
    np.testing.assert_array_equal(out, values[kind])


def test_an_embedding_module():
    module = torch.nn.Embedding(ROWS, 3)

    class Kernel(tg.MessagePassing):
        reducer = tg.sum()

        def edge(self, src, dst, edge):
            return module(edge.kind)

    Kernel()(graph=GRAPH, edge={"kind": KIND}).sum().backward()
    torch.testing.assert_close(module.weight.grad, torch.bincount(KIND, minlength=ROWS)[:, None].expand(-1, 3).float())


def test_an_empty_table_without_edges():
    graph = tg.Graph.from_coo(SRC[:0], DST[:0], num_src=2, num_dst=3)
    k = kernel(lambda self, src, dst, edge, table: table[edge.kind])
    table = torch.zeros(0, 3, requires_grad=True)
    out = k(graph=graph, edge={"kind": KIND[:0]}, table=table)
    assert out.shape == (3, 3) and not out.any()
    out.sum().backward()
    assert table.grad.shape == (0, 3)


BAD = {
    "too large": (torch.tensor([0, 3, 4, 9]), "index 'edge.kind' on edges at 2: 4 is out of range for 'table' of 4 rows"),
    "negative": (torch.tensor([0, 3, -1, 9]), "at 2: -1 is out of range for 'table' of 4 rows (a negative index does not"),
    "one of two": (torch.tensor([[0, 1], [2, 3], [0, 5], [7, 0]]), "at (2, 1): 5 is out of range for 'table' of 4 rows"),
}


@pytest.mark.parametrize("framework", ["torch", "numpy"])
@pytest.mark.parametrize("name", BAD)
def test_out_of_range(name, framework):
    kind, message = BAD[name]
    graph = tg.Graph.from_coo(torch.arange(4), torch.arange(4))
    table = T2.clone()
    if framework == "numpy":
        kind, table = kind.numpy(), table.numpy()
    k = kernel(lambda self, src, dst, edge, table: table[edge.kind])
    with pytest.raises(IndexError) as caught:
        k(graph=graph, edge={"kind": kind}, table=table)
    assert message in str(caught.value)
    with pytest.raises(IndexError) as again:
        k.reference(graph=graph, edge={"kind": kind}, table=table)
    assert str(again.value) == str(caught.value)
    k(graph=graph, edge={"kind": kind * 0}, table=table)  # and goes on


def test_out_of_range_in_backward():
    """The index is read again there: what changed it in between is found out."""
    kind = KIND.clone()
    table = T2.clone().requires_grad_()
    out = kernel(lambda self, src, dst, edge, table: table[edge.kind])(graph=GRAPH, edge={"kind": kind.numpy()}, table=table)
    kind[3] = ROWS
    with pytest.raises(IndexError, match="at 3: 4 is out of range for a table of 4 rows"):
        out.sum().backward()


REFUSED = {
    "float": (lambda self, src, dst, edge, t2: t2[src.x[:, 0]], TypeError, "expected int32 or int64"),
    "bool": (lambda self, src, dst, edge, t2: t2[edge.kind > 1], TypeError, "expected int32 or int64"),
    "not first": (lambda self, src, dst, edge, t2: t2[:, edge.kind], NotImplementedError, "stands first"),
    "staged table": (lambda self, src, dst, edge, t2: src.x[:, edge.kind], NotImplementedError, "tg.take"),
    "rows of edges": (lambda self, src, dst, edge, t2: src.x[edge.kind], NotImplementedError, "tg.take"),
    "list": (lambda self, src, dst, edge, t2: t2[[0, 1]], NotImplementedError, "indexing with list"),
    "flattened": (lambda self, src, dst, edge, t2: np.take(t2, edge.kind), NotImplementedError, "first axis"),
    "other axis": (lambda self, src, dst, edge, t2: np.take(t2, edge.kind, axis=1), NotImplementedError, "first axis"),
    "padding": (
        lambda self, src, dst, edge, t2: torch.nn.functional.embedding(edge.kind, t2, padding_idx=0),
        NotImplementedError,
        "padding_idx",
    ),
    "no axis": (lambda self, src, dst, edge, t2: t2[edge.kind].cumsum(), ValueError, "name one feature axis"),
    "the edge axis": (lambda self, src, dst, edge, t2: t2[edge.kind].cumsum(0), ValueError, "axis 0 is the edge axis"),
    "a scalar table": (lambda self, src, dst, edge, t2: tg.take(edge.kind, edge.kind), ValueError, "a table needs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    function, error, message = REFUSED[name]
    with pytest.raises(error) as caught:
        kernel(function)(graph=GRAPH, ndata={"x": X, "kind": NODES}, edge={"kind": KIND}, t2=T2)
    assert message in str(caught.value)


def test_formula():
    out = tg.formula("out = sum(T[edge.kind] * src.x)")(graph=GRAPH, src={"x": X}, edge={"kind": KIND}, T=T2)
    torch.testing.assert_close(out, at_destinations(T2[KIND] * X[SRC]))


def test_tensors():
    t, i = tg.tensor(T2.numpy(), requires_grad=True), tg.tensor([[3, 0], [1, 3]])
    rows = torch.tensor([[3, 0], [1, 3]])
    leaf = T2.clone().requires_grad_()
    for ours, theirs in ((t[i], leaf[rows]), (tg.take(t, i) * t[i, 1:2], leaf[rows] * leaf[rows, 1:2])):
        np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy())
        grad = tg.autograd.grad((ours * ours).sum(), t)
        np.testing.assert_allclose(grad.numpy(), torch.autograd.grad((theirs * theirs).sum(), leaf)[0].numpy())
    np.testing.assert_allclose(t.cumsum(0).numpy(), T2.cumsum(0).numpy())
    with pytest.raises(IndexError, match=r"index at \(0, 1\): 9 is out of range for a table of 4 rows"):
        t[tg.tensor([[0, 9]])].numpy()
