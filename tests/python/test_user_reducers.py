"""Ten reducers as users write them: proven or not, fused into one traversal, and right with derivatives."""

import pathlib
import subprocess

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
from algebras import ALGEBRAS, REAL, Compensated, literal

ROWS = [0, 1, 2, 3, 17]
LONG = 5000
TIGA_OPT = pathlib.Path(__file__).resolve().parents[2] / "build" / "tiga-opt"


def rows(lengths):
    """A row of each length, in the order of edges."""
    return tg.Graph.from_coo(
        [0] * sum(lengths), np.repeat(np.arange(len(lengths)), lengths), num_src=1, num_dst=len(lengths)
    )


def drawn(name, shape, dtype=torch.float64):
    """Its messages, which want gradients where they are floats."""
    a = ALGEBRAS[name]
    values = [torch.from_numpy(np.asarray(v)) for v in a.draw(np.random.default_rng(3), shape)]
    return [v if a.integer else v.to(dtype).requires_grad_() for v in values]


def by_hand(own, values, lengths):
    parts = zip(*[v.split(lengths) for v in values])
    return torch.stack([literal(own, *p) for p in parts])


@pytest.mark.parametrize("name", ALGEBRAS)
def test_fused(name):
    a, graph = ALGEBRAS[name], rows([*ROWS, LONG])
    kernel = a.kernel()
    kernel(graph=graph, edge=dict(zip(a.fields, drawn(name, (graph.num_edges,)))))
    cost = kernel.cost(graph)
    assert (cost.traversals, cost.edge_visits) == (1, a.phases * graph.num_edges)
    assert (cost.edge_buffer_bytes, cost.node_buffer_bytes) == (0, 0)
    shown = kernel.explain()
    assert "k0: one traversal" in shown and "k1" not in shown and "no edge value is stored" in shown
    assert kernel.ir("kernel").count('"gf_iter.traverse"') == 1
    own = kernel.reducer.mlir(message_dtypes=(tg.int64 if a.integer else tg.float64,) * len(a.fields))
    assert f'proof = "{a.form}"' in own
    assert (f"is proven {a.form}" in shown) == (a.form != "general")


@pytest.mark.parametrize("name", REAL)
def test_gradients_take_one_traversal(name):
    a, graph = ALGEBRAS[name], rows(ROWS)
    kernel, values = a.kernel(), drawn(name, (graph.num_edges,))
    kernel(graph=graph, edge=dict(zip(a.fields, values)))[1:].sum().backward()
    cost = kernel.cost(graph, "backward")
    assert cost.traversals == 1 and cost.edge_buffer_bytes == 0


def test_all_of_them_share_a_traversal():
    """With built-ins beside them, forward and backward."""
    owns = {f"own{k}": ALGEBRAS[name] for k, name in enumerate(REAL)}
    others = {"max": tg.max(), "argmax": tg.argmax(), "var": tg.var(), "prod": tg.prod()}

    class Kernel(tg.MessagePassing):
        reducer = tg.multi(**{name: a.reducer() for name, a in owns.items()}, **others)

        def edge(self, src, dst, edge):
            own = {name: (edge.m,) * len(a.fields) for name, a in owns.items()}
            return self.reducer(**own, **dict.fromkeys(others, edge.m))

    graph, kernel = rows(ROWS), Kernel()
    m = torch.from_numpy(np.random.default_rng(1).uniform(0.5, 1.5, graph.num_edges)).requires_grad_()
    out = kernel(graph=graph, edge={"m": m})
    for name, a in owns.items():
        alone = a.kernel()(graph=graph, edge=dict.fromkeys(a.fields, m))
        torch.testing.assert_close(out[name], alone, rtol=1e-12, atol=1e-12, equal_nan=True)
    sum(y[1:].sum() for y in out.values() if y.requires_grad).backward()
    for cost in (kernel.cost(graph), kernel.cost(graph, "backward")):
        assert cost.traversals == 1 and cost.edge_buffer_bytes == cost.node_buffer_bytes == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ALGEBRAS)
def test_what_they_declare_is_tried(name):
    """No warning where it is true; of a product in the order of a row, one that names messages."""
    a = ALGEBRAS[name]
    own, dtypes = a.reducer(), (tg.int64 if a.integer else tg.float64,) * len(a.fields)
    own.mlir(message_dtypes=dtypes)
    if own.commutative or name == "largest":
        return
    own.commutative = True
    with pytest.raises(tg.AlgebraWarning, match=r"declared commutative, but .* a = \(.*b = \("):
        own.mlir(message_dtypes=dtypes)


@pytest.mark.parametrize("feature", [(), (3,), (2, 20)])
@pytest.mark.parametrize("flags", [{}, {"associative": False}, {"deterministic": True}], ids=str)
@pytest.mark.parametrize("name", ALGEBRAS)
def test_values_and_gradients(name, flags, feature):
    a, graph, lengths = ALGEBRAS[name], rows([*ROWS, 400]), [*ROWS, 400]
    kernel, values = a.kernel(**flags), drawn(name, (graph.num_edges, *feature))
    fields = dict(zip(a.fields, values))
    out, want = kernel(graph=graph, edge=fields), by_hand(a.reducer(), values, lengths)
    assert out.dtype == want.dtype
    torch.testing.assert_close(out, want, rtol=1e-10, atol=1e-10, equal_nan=True)
    torch.testing.assert_close(
        kernel.reference(graph=graph, edge=fields), want.detach(), rtol=1e-10, atol=1e-10, equal_nan=True
    )
    if a.integer:
        return
    cot = torch.from_numpy(np.random.default_rng(9).standard_normal(out[1:].shape))
    found, wanted = (torch.autograd.grad(y[1:], values, cot) for y in (out, want))
    for g, w in zip(found, wanted):
        torch.testing.assert_close(g, w, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", REAL)
def test_float32_beside_float64(name):
    a, lengths = ALGEBRAS[name], [*ROWS, 400]
    graph, narrow = rows(lengths), drawn(name, (sum(lengths), 3), torch.float32)
    wide = [v.detach().double().requires_grad_() for v in narrow]
    found, wanted = [], []
    for values, into in ((narrow, found), (wide, wanted)):
        y = a.kernel()(graph=graph, edge=dict(zip(a.fields, values)))[1:]
        into += [y, *torch.autograd.grad(y.sum(), values)]
    for g, w in zip(found, wanted):
        assert g.dtype is torch.float32
        torch.testing.assert_close(g.double(), w, rtol=1e-4, atol=1e-4 * (1 + w.abs().max().item()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", REAL)
def test_halves_are_folded_in_float32(name, dtype):
    """The result is that of the same messages in float32, rounded once; gradients are those, rounded."""
    a, lengths = ALGEBRAS[name], [*ROWS, 100]
    graph, half = rows(lengths), drawn(name, (sum(lengths), 3), dtype)
    half = [v.detach().requires_grad_() for v in half]
    wide = [v.detach().float().requires_grad_() for v in half]
    y, want = (a.kernel()(graph=graph, edge=dict(zip(a.fields, v))) for v in (half, wide))
    assert y.dtype is dtype
    torch.testing.assert_close(y, want.to(dtype), rtol=0, atol=0, equal_nan=True)
    grads = [torch.autograd.grad(v[1:].sum(), of) for v, of in ((y, half), (want, wide))]
    for g, w in zip(*grads):
        torch.testing.assert_close(g, w.to(dtype), rtol=2e-2, atol=2e-2)


def test_the_order_of_a_row_is_the_graphs():
    """i j = k and j i = -k."""
    a = ALGEBRAS["quaternion product"]
    i, j, k = np.eye(4)[1:]
    for order, sign in (((i, j), 1), ((j, i), -1)):
        out = a.kernel()(graph=rows([2]), edge=dict(zip(a.fields, np.array(order).T.copy())))
        assert out.tolist() == [sign * (k @ [1, 2, 3, 4])]


# ---- what rounding leaves ----


@pytest.mark.parametrize("flags", [{}, {"associative": False}], ids=str)
@pytest.mark.parametrize("n", [40, 40_000])
def test_compensation_is_not_taken_for_a_sum(n, flags):
    m = np.resize([1e16, 1.0, -1e16, 1.0], n)
    kernel = ALGEBRAS["compensated sum"].kernel(**flags)
    assert kernel(graph=rows([n]), edge={"m": m}).tolist() == [n / 2]
    assert kernel.reference(graph=rows([n]), edge={"m": m}).tolist() == [n / 2]


def test_double_double_is_kept():
    """Unevaluated sums (high, low): the low part is not the sum of low parts."""

    class Pairs(Compensated):
        def lift(self, high, low):
            return high, low

        def finalize(self, state):
            return state[1]

    class Kernel(tg.MessagePassing):
        reducer = Pairs()

        def edge(self, src, dst, edge):
            return self.reducer(edge.high, edge.low)

    high, low = np.float64([1, 2**-60, 2**-60]), np.float64([0, 2**-120, 0])
    out = Kernel()(graph=rows([3]), edge={"high": high, "low": low})
    assert out.tolist() == [2**-59 + 2**-120]


# ---- dtypes ----


def own(identity, combine, lift=lambda m: m, finalize=lambda s: s):
    methods = {
        "identity": lambda self: identity,
        "lift": lambda self, m: lift(m),
        "combine": lambda self, a, b: combine(a, b),
        "finalize": lambda self, s: finalize(s),
    }
    return type("Own", (tg.Reducer,), methods)()


INTEGERS = {
    "sum": (own(0, lambda a, b: a + b), lambda m: sum(m), "i64"),
    "count": (own(0, lambda a, b: a + b, lambda m: 1), len, "i64"),
    "product": (own(1, lambda a, b: a * b), lambda m: int(np.prod(m)), "i64"),
    "exclusive or": (own(0, lambda a, b: a ^ b), lambda m: int(np.bitwise_xor.reduce(m)), None),
    "largest from a least": (own(-(2**31), tg.maximum), max, None),
    "digits": (own(0, lambda a, b: 3 * a + b), lambda m: int(sum(3**k * x for k, x in enumerate(m[::-1]))), None),
    "sum and count": (
        own((0, 0), lambda a, b: (a[0] - -b[0], a[1] + b[1]), lambda m: (m, 1), lambda s: s[0] - s[1]),
        lambda m: sum(m) - len(m),
        "i64",
    ),
}


@pytest.mark.parametrize("dtype", [tg.int32, tg.int64], ids=repr)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_stay_integers(name, dtype):
    reducer, want, widened = INTEGERS[name]
    text = reducer.mlir(message_dtypes=(dtype,), symbol="whole")
    assert "f32" not in text and "f64" not in text and '"whole"' in text
    if widened is None:
        assert ("i64" if dtype is tg.int32 else "i32") not in text.partition("gf.reducer")[2]
    shift = 0 if dtype is tg.int32 else 2**20  # beyond what float32 holds when added up
    m = np.array([3, 5, 7, 11], dtype.name) + shift * (name != "product")

    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return edge.m

    kernel = Kernel()
    kernel.reducer = reducer
    out = kernel(graph=rows([4, 1]), edge={"m": np.append(m, m[:1])})
    assert out.tolist() == [want(m.tolist()), want(m[:1].tolist())]
    assert out.dtype == (np.int64 if widened else m.dtype)


WHOLE, FLOATS = [tg.int32, tg.int64], [tg.float16, tg.bfloat16, tg.float32, tg.float64]
TEXTS = [(name, dtype) for name, a in ALGEBRAS.items() for dtype in (WHOLE if a.integer else FLOATS)]


@pytest.mark.parametrize("name, dtype", TEXTS, ids=str)
def test_texts_are_those_of_verified_ops(name, dtype):
    """tiga-opt reads, verifies and prints them as they are; a single dtype is that of one message."""
    a = ALGEBRAS[name]
    text = a.reducer().mlir(message_dtypes=(dtype,) * len(a.fields), symbol="user_mean")
    assert 'sym_name = "user_mean"' in text
    if TIGA_OPT.exists():
        assert subprocess.run([TIGA_OPT], input=text, capture_output=True, text=True, check=True).stdout == text
    if len(a.fields) == 1:
        assert a.reducer().mlir(message_dtypes=dtype, symbol="user_mean") == text


def test_a_component_is_of_the_dtype_that_lift_gives():
    """float64 of int32 messages is folded as float64."""
    reducer = own(0.0, lambda a, b: (a * 1.0 / 3.0).exp() + b, lambda m: m.to(tg.float64))
    assert "f32" not in reducer.mlir((tg.int32,))

    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return edge.m

    kernel = Kernel()
    kernel.reducer = reducer
    out = kernel(graph=rows([2]), edge={"m": np.int32([1, 2])})
    assert out.tolist() == [pytest.approx(np.exp(2 / 3) + 2, rel=1e-14)]
    text = own((0.0, 0), lambda a, b: (a[0] + 2 * b[0], a[1] + b[1]), lambda m: (0.5 * m, 1), lambda s: s[0]).mlir(
        (tg.int64,)
    )
    assert "(tensor<f32>, tensor<i64>) -> ()" in text
