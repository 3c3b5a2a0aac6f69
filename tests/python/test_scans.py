"""Reducers that no proof recognises, and products: folds of one's own run along the rows, with gradients of any
order, on rows of every length, with the same bits on any number of threads."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck

DEGREES = [0, 1, 2, 3, 17, 523]


class Complex(tg.Reducer):
    associative = True

    def identity(self):
        return 1.0, 0.0

    def combine(self, left, right):
        return left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]

    def finalize(self, state):
        return state[0] + 2 * state[1]


class Quaternion(tg.Reducer):
    """Products in the order of the row."""

    associative = True

    def identity(self):
        return 1.0, 0.0, 0.0, 0.0

    def combine(self, left, right):
        (a, b, c, d), (e, f, g, h) = left, right
        return (
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        )

    def finalize(self, state):
        return state[0] - state[1] + 3 * state[2] * state[3]


class Matrix(tg.Reducer):
    def identity(self):
        return 1.0, 0.0, 0.0, 1.0

    def combine(self, left, right):
        (a, b, c, d), (e, f, g, h) = left, right
        return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h

    def finalize(self, state):
        return state[0] * state[3] - 2 * state[1] + state[2]


class Welford(tg.Reducer):
    """The variance, by merging counts, means and sums of squares (Chan, Golub and LeVeque 1983)."""

    associative = True

    def identity(self):
        return 0.0, 0.0, 0.0

    def lift(self, m):
        return 1, m, 0.0

    def combine(self, left, right):
        n = left[0] + right[0]
        share = right[0] / tg.where(n > 0, n, 1)
        d = right[1] - left[1]
        return n, left[1] + d * share, left[2] + right[2] + d * d * left[0] * share

    def finalize(self, state):
        return state[2] / tg.where(state[0] > 0, state[0], 1)


class Automaton(tg.Reducer):
    """Three states, moved on by positive messages; what is collected depends on the state."""

    def identity(self):
        return 0.0, 0.25

    def lift(self, m):
        return m, 0.0

    def combine(self, left, right):
        step = tg.where(left[0] == 0, 1.0, tg.where(left[0] == 1, 2.0, 0.0))
        got = tg.where(left[0] == 1, right[0], left[1] * right[0] * 0.5)
        return tg.where(right[0] > 0, step, left[0]), left[1] * 0.75 + got

    def finalize(self, state):
        return state[1] + state[0]


class Kahan(tg.Reducer):
    def identity(self):
        return 0.0, 0.0

    def lift(self, m):
        return m, 0.0

    def combine(self, left, right):
        y = right[0] - left[1]
        t = left[0] + y
        return t, (t - left[0]) - y

    def finalize(self, state):
        return state[0]


class Affine(tg.Reducer):
    """x -> a x + b, one after the other."""

    associative = True

    def identity(self):
        return 1.0, 0.0

    def combine(self, left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    def finalize(self, state):
        return state[1] + state[0]


class GeometricMean(tg.Reducer):
    associative = commutative = True

    def identity(self):
        return 1.0, 0.0

    def lift(self, m):
        return m * m * 0.3 + 0.9, 1.0

    def combine(self, left, right):
        return left[0] * right[0], left[1] + right[1]

    def finalize(self, state):
        return state[0] ** (1 / tg.where(state[1] > 0, state[1], 1))


class Reliability(tg.Reducer):
    """The chance that one of several gates opens."""

    associative = commutative = True

    def identity(self):
        return 0.0

    def combine(self, left, right):
        return left + right - left * right


class Moments(tg.Reducer):
    associative = commutative = True

    def identity(self):
        return 0.0, 0.0, 0.0

    def lift(self, m):
        return m, m * m, 1.0

    def combine(self, left, right):
        return tuple(a + b for a, b in zip(left, right))

    def finalize(self, state):
        n = tg.where(state[2] > 0, state[2], 1)
        return state[1] / n - (state[0] / n) * (state[0] / n)


# How many messages, and about how large: products of 523 stay finite.
REDUCERS = {
    "complex": (Complex, 2, 0.7),
    "quaternion": (Quaternion, 4, 0.5),
    "matrix": (Matrix, 4, 0.6),
    "welford": (Welford, 1, 1),
    "automaton": (Automaton, 1, 1),
    "kahan": (Kahan, 1, 1),
    "affine": (Affine, 2, 0.9),
    "geometric": (GeometricMean, 1, 1),
    "reliability": (Reliability, 1, 0.3),
    "moments": (Moments, 1, 1),
}


class Np:
    """The vocabulary that the reducers use, for NumPy."""

    where = staticmethod(np.where)


def loop(reducer, rows, messages, monkeypatch):
    """The fold as it is defined, row by row."""
    monkeypatch.setattr(tg, "where", np.where)
    tuple_of = lambda s: s if isinstance(s, tuple) else (s,)  # noqa: E731
    out = []
    for edges in rows:
        shape = messages[0].shape[1:]
        first = tuple(np.full(shape, s, messages[0].dtype) for s in tuple_of(reducer.identity()))
        state = first if len(first) > 1 else first[0]
        for e in edges:
            m = reducer.lift(*(x[e] for x in messages))
            state = reducer.combine(state, m)
        out.append(reducer.finalize(state))
    monkeypatch.undo()
    return np.stack([np.broadcast_to(x, messages[0].shape[1:]) for x in out])


def graph_of(degrees, seed=3):
    """A graph of these degrees, its edges given in any order, and the edges of each row."""
    rng = np.random.default_rng(seed)
    dst = np.repeat(np.arange(len(degrees)), degrees)
    rng.shuffle(dst)
    src = rng.integers(0, 7, len(dst))
    graph = tg.Graph.from_coo(src=src, dst=dst, num_src=7, num_dst=len(degrees))
    return graph, src, [np.flatnonzero(dst == i) for i in range(len(degrees))]


def kernel_of(name):
    make, count, _ = REDUCERS[name]

    class Kernel(tg.MessagePassing):
        reducer = make()

        def edge(self, src, dst, edge):
            messages = [edge.m * src.x, edge.m - dst.z, src.x + 0.5 * edge.m, edge.m * dst.z][:count]
            return self.reducer(*messages)

    return Kernel()


def data_of(name, graph, src, feature, dtype, seed=5):
    rng = np.random.default_rng(seed)
    size = REDUCERS[name][2]
    x, z, m = (
        (rng.uniform(-1, 1, (n, *feature)) * size).astype(dtype) for n in (7, graph.num_dst, graph.num_edges)
    )
    dst = graph.to_coo()[1]
    messages = [m * x[src], m - z[dst], x[src] + dtype(0.5) * m, m * z[dst]][: REDUCERS[name][1]]
    return {"src": {"x": x}, "dst": {"z": z}, "edge": {"m": m}}, messages


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("feature", [(), (3,), (2, 20), (0,)])
@pytest.mark.parametrize("name", REDUCERS)
def test_values(name, feature, dtype, monkeypatch):
    graph, src, rows = graph_of(DEGREES)
    fields, messages = data_of(name, graph, src, feature, dtype)
    kernel = kernel_of(name)
    y = kernel(graph=graph, **fields)
    want = loop(kernel.reducer, rows, [m.astype(np.float64) for m in messages], monkeypatch)
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(y, want, rtol=tolerance, atol=tolerance)
    oracle = kernel.reference(graph=graph, **fields)
    if name != "moments":  # sums, which compiled code groups otherwise
        np.testing.assert_array_equal(y, oracle)


@pytest.mark.parametrize("name", REDUCERS)
def test_gradients(name):
    graph, src, _ = graph_of([0, 1, 2, 3, 5])
    fields, _ = data_of(name, graph, src, (2,), np.float64)
    kernel = kernel_of(name)

    def call(x, z, m):
        return kernel(graph=graph, src={"x": x}, dst={"z": z}, edge={"m": m})

    args = [torch.tensor(v[k], requires_grad=True) for v, k in zip(fields.values(), ("x", "z", "m"))]
    assert gradcheck(call, args)
    assert gradgradcheck(call, args, atol=1e-4)


@pytest.mark.parametrize("name", REDUCERS)
def test_gradients_of_long_rows(name):
    graph, src, _ = graph_of(DEGREES)
    fields, _ = data_of(name, graph, src, (), np.float64)
    kernel = kernel_of(name)

    def call(x, z, m):
        return kernel(graph=graph, src={"x": x}, dst={"z": z}, edge={"m": m})

    args = [torch.tensor(v[k], requires_grad=True) for v, k in zip(fields.values(), ("x", "z", "m"))]
    assert gradcheck(call, args, fast_mode=True, atol=1e-4)
    assert gradgradcheck(call, args, fast_mode=True, atol=1e-3)


@pytest.mark.parametrize("name", REDUCERS)
def test_threads_and_bits(name):
    """A hub whose row is cut into parts where the reducer is associative; with gradients, of float32."""
    graph, src, _ = graph_of([40000, 3, 0, 700, 20000])
    fields, _ = data_of(name, graph, src, (3,), np.float32)
    kernel, seen = kernel_of(name), []
    threads = tg.get_num_threads()
    for n in (1, 2, 3, 8):
        tg.set_num_threads(n)
        args = [torch.tensor(v[k], requires_grad=True) for v, k in zip(fields.values(), ("x", "z", "m"))]
        y = kernel(graph=graph, src={"x": args[0]}, dst={"z": args[1]}, edge={"m": args[2]})
        seen.append([y.detach(), *torch.autograd.grad((y * y).sum(), args)])
    tg.set_num_threads(threads)
    for other in seen[1:]:
        for a, b in zip(seen[0], other):
            assert a.numpy().tobytes() == b.numpy().tobytes()
    if name != "moments":
        np.testing.assert_array_equal(seen[0][0], kernel.reference(graph=graph, **fields))


# ---- products ----


def product_of(values, **options):
    class Product(tg.MessagePassing):
        reducer = tg.prod(**options)

        def edge(self, src, dst, edge):
            return edge.m

    graph = tg.Graph.from_coo(np.zeros(len(values), int), np.zeros(len(values), int), num_src=1, num_dst=2)
    return lambda m: Product()(graph=graph, edge={"m": m})


def test_products_of_zeros():
    m = torch.tensor([0.0, 3, 4], dtype=torch.float64, requires_grad=True)
    y = product_of(m)(m)
    assert y.tolist() == [0, 1]
    assert torch.autograd.grad(y[0], m)[0].tolist() == [12, 0, 0]
    m = torch.tensor([0.0, 0, 4], dtype=torch.float64, requires_grad=True)
    hessian = torch.autograd.functional.hessian(lambda v: product_of(v)(v)[0], m)
    assert hessian.tolist() == [[0, 4, 0], [4, 0, 0], [0, 0, 0]]
    assert gradgradcheck(product_of(m), m)


def test_products_of_the_others_do_not_underflow():
    m = torch.tensor([1e-200, 1e-200], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(product_of(m)(m)[0], m)[0].tolist() == [1e-200, 1e-200]


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
def test_products_of_dtypes(dtype):
    m = np.array([2, 1, 3]).astype(dtype)
    y = product_of(m)(m)
    assert y.dtype == (dtype if dtype.startswith("f") else "int64")
    assert y.tolist() == [1 if dtype == "bool" else 6, 1]
    assert product_of(m, empty=5)(m).tolist()[1] == 5


# ---- shapes, orders, refusals ----


class Weighted(tg.Reducer):
    """A scale for each head and values that it scales."""

    def identity(self):
        return 1.0, 0.0

    def combine(self, left, right):
        return left[0] * right[0] + 1, left[1] * right[0] + right[1]

    def finalize(self, state):
        return state[0]


def test_components_of_several_shapes():
    class Kernel(tg.MessagePassing):
        reducer = Weighted()

        def edge(self, src, dst, edge):
            return self.reducer(edge.a, edge.v)

    graph, _, rows = graph_of([0, 3, 1])
    rng = np.random.default_rng(1)
    a, v = rng.uniform(-1, 1, (4, 2, 1)), rng.uniform(-1, 1, (4, 2, 5))
    y = Kernel()(graph=graph, edge={"a": a, "v": v})
    assert y.shape == (3, 2, 1)
    for i, edges in enumerate(rows):
        s = np.ones((2, 1))
        for e in edges:
            s = s * a[e] + 1
        np.testing.assert_allclose(y[i], s, rtol=1e-12)


def test_a_fold_is_strict_unless_associative():
    """Of float32 numbers that a tree would add otherwise."""

    class Strict(tg.Reducer):
        def identity(self):
            return 0.0

        def combine(self, left, right):
            return left + right * 1.0000001

    class Tree(Strict):
        associative = True

    rng = np.random.default_rng(0)
    m = rng.standard_normal(50000).astype(np.float32)
    graph = tg.Graph.from_coo(np.zeros(50000, int), np.zeros(50000, int))

    def folded(by):
        class Kernel(tg.MessagePassing):
            reducer = by

            def edge(self, src, dst, edge):
                return edge.m

        y = Kernel()(graph=graph, edge={"m": m})
        np.testing.assert_array_equal(y, Kernel().reference(graph=graph, edge={"m": m}))
        return y[0]

    want = np.float32(0)
    for x in m:
        want = np.float32(np.float64(np.float32(1.0000001)) * np.float64(x) + np.float64(want))
    assert folded(Strict()) == want
    assert folded(Tree(deterministic=True)) == want
    assert folded(Tree()) != want


def test_deterministic_sums_are_strict():
    class Sum(tg.Reducer):
        def identity(self):
            return 0.0

        def combine(self, left, right):
            return left + right

    class Kernel(tg.MessagePassing):
        reducer = Sum(deterministic=True)

        def edge(self, src, dst, edge):
            return edge.m

    m = np.random.default_rng(0).standard_normal(50000).astype(np.float32)
    graph = tg.Graph.from_coo(np.zeros(50000, int), np.zeros(50000, int))
    assert Kernel()(graph=graph, edge={"m": m})[0] == np.cumsum(m)[-1]
    flags = torch.ones(5, dtype=torch.int32)
    few = tg.Graph.from_coo(np.zeros(5, int), np.zeros(5, int))
    assert Kernel()(graph=few, edge={"m": flags}).dtype == torch.int64
    x = torch.rand(5, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda v: Kernel()(graph=few, edge={"m": v}), x)


def test_what_is_kept_is_counted():
    graph, _, _ = graph_of(DEGREES)
    kernel = kernel_of("complex")
    fields, _ = data_of("complex", graph, graph.to_coo()[0], (4,), np.float32)
    kernel(graph=graph, **fields)
    assert kernel.cost(graph).edge_buffer_bytes == 0
    assert "no edge value is stored" in kernel.explain()
    assert kernel.cost(graph).traversals == 1
    back = kernel.cost(graph, direction="backward")
    assert (back.edge_buffer_bytes, back.staging_bytes) == (0, graph.num_edges * 4 * 4)
    assert back.traversals == 1


def test_many_components():
    """Each component takes from its neighbour; one more than a word has bits, and a few more."""
    n = 70

    class Ring(tg.Reducer):
        def identity(self):
            return (0.5,) * n

        def lift(self, m):
            return tuple(m * (1 + i / n) for i in range(n))

        def combine(self, left, right):
            return tuple(left[i] * 0.5 + right[i] * left[(i + 1) % n] for i in range(n))

        def finalize(self, state):
            return state[0] + state[n - 1]

    class Kernel(tg.MessagePassing):
        reducer = Ring()

        def edge(self, src, dst, edge):
            return src.x

    src = np.array([2, 0, 1, 2])
    graph = tg.Graph.from_coo(src, np.zeros(4, int), num_src=3, num_dst=1)
    kernel = Kernel()
    x = torch.tensor([0.3, -0.8, 1.1], dtype=torch.float64, requires_grad=True)

    def folded(v):
        state = torch.full((n,), 0.5, dtype=torch.float64)
        for s in src:
            lifted = v[s] * (1 + torch.arange(n, dtype=torch.float64) / n)
            state = state * 0.5 + lifted * state.roll(-1)
        return state[0] + state[n - 1]

    assert torch.allclose(kernel(graph=graph, src={"x": x})[0], folded(x), rtol=1e-12)
    (got,) = torch.autograd.grad(kernel(graph=graph, src={"x": x}).sum(), x)
    (want,) = torch.autograd.grad(folded(x), x)
    assert torch.allclose(got, want, rtol=1e-11)
