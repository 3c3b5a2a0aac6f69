"""Formulas against NumPy: every word of the vocabulary, by the names and forms that docs/formula.md gives."""

import math
import re

import numpy as np
import pytest
import tiga as tg

N = 6
erf = np.vectorize(math.erf)


def fields(dtype):
    """h, m floats of shapes (4,) and (2, 3, 4); n int32 (2,); b bool; W and B parameters."""
    rng = np.random.default_rng(0)
    floats = {"h": (N, 4), "m": (N, 2, 3, 4), "W": (4, 5), "B": (2, 4, 5)}
    values = {name: rng.normal(size=shape).astype(dtype) for name, shape in floats.items()}
    values |= {"n": rng.integers(-5, 6, (N, 2)).astype("i4"), "b": rng.integers(0, 2, N).astype(bool)}
    return values


# Formula -> NumPy, in the names of fields().
CASES = {
    "h // 2 + h // -0.7": lambda v: v.h // 2 + v.h // v.h.dtype.type(-0.7),
    "h % 0.7 - h % -0.7": lambda v: v.h % v.h.dtype.type(0.7) - v.h % v.h.dtype.type(-0.7),
    "n // 3 + n // -3": lambda v: v.n // 3 + v.n // -3,
    "n % 3 - n % -3": lambda v: v.n % 3 - v.n % -3,
    "n / 2": lambda v: np.float32(v.n / 2),
    "n & 6 | 1 ^ ~n": lambda v: v.n & 6 | 1 ^ ~v.n,
    "~b ^ true & b": lambda v: ~v.b ^ True & v.b,
    "(n > 1) == (n >= 2)": lambda v: (v.n > 1) == (v.n >= 2),
    "-h ** 2 + 3 - 2 - 1": lambda v: -(v.h**2),
    "n ** 2": lambda v: v.n**2,
    "2 ** h - abs(h) ** -0.5": lambda v: 2**v.h - abs(v.h) ** -0.5,
    "elu(h) + elu(h, alpha=2) + elu(h, 2)": lambda v: 3 * np.maximum(v.h, 0) + 5 * np.expm1(np.minimum(v.h, 0)),
    "leaky_relu(h, negative_slope=0.5)": lambda v: np.where(v.h > 0, v.h, v.h / 2),
    "silu(h) - h * sigmoid(h)": lambda v: 0 * v.h,
    "softplus(h)": lambda v: np.logaddexp(0, v.h),
    "gelu(h)": lambda v: v.h * 0.5 * (1 + erf(v.h / np.sqrt(2))).astype(v.h.dtype),
    "rsqrt(abs(h)) * sqrt(abs(h))": lambda v: 1 + 0 * v.h,
    "expm1(h) + log1p(abs(h)) + erf(h)": lambda v: np.expm1(v.h) + np.log1p(abs(v.h)) + erf(v.h).astype(v.h.dtype),
    "sin(h) + cos(h) * tanh(h)": lambda v: np.sin(v.h) + np.cos(v.h) * np.tanh(v.h),
    "sign(h) * floor(h) + ceil(h) - round(h * 2)": lambda v: np.sign(v.h) * np.floor(v.h) + np.ceil(v.h) - np.round(v.h * 2),
    "isfinite(h / 0) | isnan(h)": lambda v: 0 * v.h > 0,
    "clamp(h, -1, 1) + clamp(h, max=0.5) + clamp(h, min=0)": lambda v: np.clip(v.h, -1, 1) + np.minimum(v.h, 0.5) + np.maximum(v.h, 0),
    "where(h > 0, 1, h) + max(h, 0) + minimum(h, W[:, 0])": lambda v: np.where(v.h > 0, 1, v.h) + np.maximum(v.h, 0) + np.minimum(v.h, v.W[:, 0]),
    "conj(h) + real(h) + imag(h)": lambda v: 2 * v.h,
    "int64(h * 10)": lambda v: (v.h * 10).astype("i8"),
    "int32(b) - int32(h * 10)[0]": lambda v: v.b.astype("i4") - (v.h[:, 0] * 10).astype("i4"),
    "bool(n[0]) & bool(h[0])": lambda v: v.n[:, 0].astype(bool) & v.h[:, 0].astype(bool),
    "float64(n) + float64(b)[None]": lambda v: v.n.astype("f8") + v.b[:, None],
    "sum(h, axis=-1) + mean(h, dim=1)": lambda v: v.h.sum(-1) + v.h.mean(1),
    "norm(m, axis=(1, 2), keepdims=true)": lambda v: np.sqrt((v.m**2).sum((1, 2), keepdims=True)),
    "prod(h, axis=-1) + var(h, axis=-1) - std(h, axis=-1)": lambda v: v.h.prod(-1) + v.h.var(-1) - v.h.std(-1),
    "min(m, axis=(1, -1))": lambda v: v.m.min((1, 3)),
    "max(m, axis=2, keepdims=True)": lambda v: v.m.max(2, keepdims=True),
    "any(h > 1, axis=-1) ^ all(h > -1, axis=-1)": lambda v: (v.h > 1).any(-1) ^ (v.h > -1).all(-1),
    "logsumexp(m, axis=(1, 2, 3))": lambda v: np.log(np.exp(v.m).sum((1, 2, 3))),
    "exp(log_softmax(h, axis=-1)) - softmax(h)": lambda v: 0 * v.h,
    "softmax(m, axis=1)": lambda v: np.exp(v.m) / np.exp(v.m).sum(1, keepdims=True),
    "mean(n, axis=-1)": lambda v: np.float32(v.n.mean(-1)),
    "sum(n, axis=-1) * prod(n, axis=-1)": lambda v: v.n.sum(-1) * v.n.prod(-1),
    "cumsum(m, axis=2)": lambda v: v.m.cumsum(2),
    "stack(h, 2 * h, axis=1)": lambda v: np.stack([v.h, 2 * v.h], 1),
    "stack([h, 2 * h], -1)": lambda v: np.stack([v.h, 2 * v.h], -1),
    "cat((h, m[0, 0]), -1)": lambda v: np.concatenate([v.h, v.m[:, 0, 0]], -1),
    "expand(h[None], -1, 3, 4)": lambda v: np.broadcast_to(v.h[:, None], (N, 3, 4)),
    "squeeze(unsqueeze(h, 1)) + squeeze(h[..., None], -1)": lambda v: 2 * v.h,
    "flatten(m, 2)": lambda v: v.m.reshape(N, 2, 12),
    "reshape(m, -1, 4, 6) + reshape(m, (-1, 4, -1))": lambda v: 2 * v.m.reshape(N, 4, 6),
    "permute(m, 0, 3, 1, 2)": lambda v: v.m.transpose(0, 3, 1, 2),
    "transpose(m, 1, -1)": lambda v: v.m.swapaxes(1, -1),
    "m[1, ::-2, -3:-1]": lambda v: v.m[:, 1, ::-2, -3:-1],
    "m[..., -1:-5:-2]": lambda v: v.m[..., -1:-5:-2],
    "m[None, 0, None, ..., 2]": lambda v: v.m[:, None, 0, None, ..., 2],
    "m[:, 10:, 0]": lambda v: v.m[:, :, 10:, 0],
    "h @ W": lambda v: v.h @ v.W,
    "m @ W + matmul(m, W)": lambda v: 2 * (v.m @ v.W),
    "h @ B": lambda v: np.stack([v.h @ v.B[0], v.h @ v.B[1]], 1),
    "m @ transpose(m, 2, 3)": lambda v: v.m @ v.m.swapaxes(2, 3),
    "m @ h": lambda v: np.einsum("nabc,nc->nab", v.m, v.h),
    "h @ h": lambda v: (v.h * v.h).sum(-1),
    "transpose(B, 1, 2) @ W": lambda v: v.B.swapaxes(1, 2) @ v.W,
}


class Named:
    def __init__(self, values):
        self.__dict__.update(values)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("text", CASES)
def test_formula_equals_numpy(text, dtype):
    values = fields(dtype)
    nodes = {name: values[name] for name in "hmnb" if re.search(rf"\b{name}\b", text)}
    params = {name: values[name] for name in "WB" if re.search(rf"\b{name}\b", text)}
    formula = tg.formula("out = " + re.sub(r"\b([hmnb])\b", r"node.\1", text))
    got = np.asarray(formula(graph=tg.Graph.regular(N, 2), ndata=nodes, **params))
    with np.errstate(all="ignore"):
        want = np.asarray(CASES[text](Named(values)))
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=2e-5 if dtype == "f4" else 1e-11, atol=1e-5 if dtype == "f4" else 1e-12)


ROTATION = """
q.identity = 1, 0
q.lift(m) = cos(m), sin(m)
q.combine(a, b) = a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]
q.finalize(s) = s[1]
out = q(edge.x)
"""


def test_declarations():
    """A row of several parts tells a tree from a strict fold."""

    class Rotation(tg.Reducer):
        def identity(self):
            return 1.0, 0.0

        def lift(self, m):
            return tg.cos(m), tg.sin(m)

        def combine(self, a, b):
            return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]

        def finalize(self, s):
            return s[1]

    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return edge.x

    row = np.zeros(50000, int)
    graph = tg.Graph.from_coo(row, row)
    x = np.random.default_rng(0).standard_normal(50000).astype(np.float32)

    def declared(text):
        return tg.formula(ROTATION + text)(graph=graph, edge={"x": x})[0]

    def reduced(associative):
        kernel, reducer = Kernel(), Rotation()
        reducer.associative = associative
        kernel.reducer = reducer
        return kernel(graph=graph, edge={"x": x})[0]

    strict, tree = reduced(False), reduced(True)
    assert strict != tree
    assert declared("") == declared("q.associative = false") == declared("q.commutative = true") == strict
    assert declared("q.associative = true") == tree
    assert declared("q.associative = True\nq.deterministic = true") == strict
    added = "s.identity = 0\ns.combine(a, b) = a + b\nout = s(edge.x)\ns.deterministic = true"
    assert tg.formula(added)(graph=graph, edge={"x": x})[0] == np.cumsum(x)[-1]


def test_declarations_are_tried():
    graph = tg.Graph.from_coo([0], [0])
    minus = tg.formula("p.identity = 0\np.combine(a, b) = a - b\np.associative = true\nout = p(edge.x)")
    minus(graph=graph, edge={"x": np.float32([1])})
    assert "declared associative, but combining (a b) c gives" in minus.explain()
