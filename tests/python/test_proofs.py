"""Reducers of one's own: which algebra is proven, in whatever spelling, and which is not."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
inf = float("inf")


def reducer(identity, combine, lift=None, finalize=None, **attributes):
    """An instance of a class made of functions without self."""
    methods = {"identity": lambda self: identity, "combine": lambda self, a, b: combine(a, b)}
    if lift:
        methods["lift"] = {1: lambda self, m: lift(m), 2: lambda self, s, v: lift(s, v)}[lift.__code__.co_argcount]
    if finalize:
        methods["finalize"] = lambda self, s: finalize(s)
    return type("Own", (tg.Reducer,), {"associative": True, **methods, **attributes})()


def proof(own, dtypes=None):
    count = len(own._message_names()) or 1
    text = own.mlir(message_dtypes=dtypes or (tg.float32,) * count)
    return text.partition('proof = "')[2].partition('"')[0]


def pick(c, a, b):
    return tuple(tg.where(c, x, y) for x, y in zip(a, b))


def rescaled(scale_left, scale_right, m):
    return lambda a, b: (m(a, b), *(x * scale_left(a, b) + y * scale_right(a, b) for x, y in zip(a[1:], b[1:])))


def largest(a, b):
    return a[0].maximum(b[0])


def branches(a, b):
    """The larger side keeps its scale."""
    d = a[0] - b[0]
    left = (a[0], a[1] + b[1] * (-d).exp(), a[2] + b[2] * (-d).exp())
    right = (b[0], a[1] * d.exp() + b[1], a[2] * d.exp() + b[2])
    return pick(a[0] > b[0], left, right)


def by_absolute_difference(a, b):
    far = (-(a[0] - b[0]).abs()).exp()
    up = a[0] >= b[0]
    p, q = tg.where(up, 1, far), tg.where(up, far, 1)
    return tg.where(up, a[0], b[0]), a[1] * p + b[1] * q, b[2] * q + p * a[2]


def guarded(a, b):
    m = largest(a, b)
    safe = tg.where(m == -inf, 0, m)
    p, q = (a[0] - safe).exp(), (b[0] - safe).exp()
    return m, a[1] * p + b[1] * q, a[2] * p + b[2] * q


def guarded_by_finiteness(a, b):
    m = largest(a, b)
    safe = tg.where(tg.isfinite(m), m, 0)
    return m, *((a[0] - safe).exp() * x + (b[0] - safe).exp() * y for x, y in zip(a[1:], b[1:]))


def max_last(a, b):
    m = tg.maximum(a[2], b[2])
    p, q = (a[2] - m).exp(), (b[2] - m).exp()
    return a[0] * p + b[0] * q, a[1] * p + b[1] * q, m


def softmax_of(combine):
    return reducer((-inf, 0.0, 0.0), combine, lambda s, v: (s, 1.0, v), lambda s: s[2] / s[1])


def sums_of(combine, identity=(0.0, 0.0)):
    return reducer(identity, combine, lambda m: (m, m * m), lambda s: s[0] - s[1])


def one(combine, identity):
    return reducer(identity, combine)


def argmax_of(combine, identity=(-inf, -1.0)):
    return reducer(identity, combine, lambda s, v: (s, v), lambda s: s[1])


def affine_of(combine, identity=(1.0, 0.0)):
    return reducer(identity, combine, lambda a, b: (a, b), lambda s: s[1])


SPELLINGS = {
    "componentwise-additive": [
        one(lambda a, b: a + b, 0.0),
        one(lambda a, b: b + a, 0),
        one(lambda a, b: (a + b + b) - b, 0.0),
        one(lambda a, b: a - (-b), -0.0),
        one(lambda a, b: 2 * (a / 2 + 0.5 * b), 0.0),
        one(lambda a, b: tg.maximum(a, b) + tg.minimum(b, a), 0.0),
        one(lambda a, b: tg.where(a < b, b + a, a + b), 0.0),
        sums_of(lambda a, b: (a[0] + b[0], b[1] + a[1])),
        reducer((0, 0, 0, 0), lambda a, b: tuple(x + y for x, y in zip(b, a)), lambda m: (1, m, m**2, m.exp()), lambda s: s[3] / s[0] + s[1] * s[2]),
        reducer((0.0,), lambda a, b: (a[0] + b[0],), lambda m: (m,), lambda s: s[0]),
    ],
    "product": [
        one(lambda a, b: a * b, 1.0),
        one(lambda a, b: b * a, 1),
        one(lambda a, b: a * b * b / b, 1.0),
        one(lambda a, b: -(a * -b), 1.0),
        one(lambda a, b: tg.maximum(a, b) * tg.minimum(a, b), 1.0),
        one(lambda a, b: (a * (b + 1)) - a, 1.0),
        one(lambda a, b: a / (1 / b), 1.0),
    ],
    "selection-max": [
        one(lambda a, b: a.maximum(b), -inf),
        one(lambda a, b: tg.maximum(b, a), -inf),
        one(lambda a, b: tg.where(a > b, a, b), -inf),
        one(lambda a, b: tg.where(b <= a, a, b), -inf),
        one(lambda a, b: tg.where(~(a < b), a, b), -inf),
        one(lambda a, b: (a + b + (a - b).abs()) / 2, -inf),
        one(lambda a, b: -tg.minimum(-a, -b), -inf),
        one(lambda a, b: a + tg.relu(b - a), -inf),
        one(lambda a, b: tg.where(a - b > 0, a, tg.where(a == b, a, b)), -inf),
    ],
    "selection-min": [
        one(lambda a, b: a.minimum(b), inf),
        one(lambda a, b: tg.minimum(b, a), inf),
        one(lambda a, b: tg.where(a > b, b, a), inf),
        one(lambda a, b: tg.where((a < b) | (a == b), a, b), inf),
        one(lambda a, b: -tg.maximum(-b, -a), inf),
        one(lambda a, b: a + b - tg.maximum(a, b), inf),
        one(lambda a, b: (a + b - (b - a).abs()) * 0.5, inf),
    ],
    "logsumexp": [
        one(lambda a, b: (a.exp() + b.exp()).log(), -inf),
        one(lambda a, b: a.maximum(b) + ((a - a.maximum(b)).exp() + (b - a.maximum(b)).exp()).log(), -inf),
        one(lambda a, b: a.maximum(b) + (-(a - b).abs()).exp().log1p(), -inf),
        one(lambda a, b: b + tg.log1p((a - b).exp()), -inf),
        one(lambda a, b: a + tg.softplus(b - a), -inf),
        one(lambda a, b: tg.where(a < b, b + (a - b).exp().log1p(), a + (b - a).exp().log1p()), -inf),
        one(lambda a, b: tg.maximum(a, b) + tg.log(1 + tg.exp(tg.minimum(a, b) - tg.maximum(a, b))), -inf),
    ],
    "stable-weighted": [
        softmax_of(rescaled(lambda a, b: (a[0] - largest(a, b)).exp(), lambda a, b: (b[0] - largest(a, b)).exp(), largest)),
        softmax_of(rescaled(lambda a, b: (-(largest(a, b) - a[0])).exp(), lambda a, b: 1 / (largest(a, b) - b[0]).exp(), largest)),
        softmax_of(rescaled(lambda a, b: a[0].exp() / largest(a, b).exp(), lambda a, b: b[0].exp() * (-largest(a, b)).exp(), largest)),
        softmax_of(rescaled(lambda a, b: (a[0] - b[0]).minimum(0).exp(), lambda a, b: (b[0] - a[0]).minimum(0).exp(), largest)),
        softmax_of(branches),
        softmax_of(by_absolute_difference),
        softmax_of(guarded),
        softmax_of(guarded_by_finiteness),
        reducer((0.0, 0.0, -inf), max_last, lambda s, v: (v, 1.0, s), lambda s: s[0] / s[1]),
    ],
    "affine-composition": [
        affine_of(lambda a, b: (a[0] * b[0], a[0] * b[1] + a[1])),
        affine_of(lambda a, b: (b[0] * a[0], b[1] + a[1] * b[0])),
        affine_of(lambda a, b: (a[0] * b[0], a[1] - a[0] * -b[1])),
        affine_of(lambda a, b: (a[0] * b[0], a[0] * (b[1] + a[1] / a[0]))),
        affine_of(lambda a, b: (a[0] * b[0], (a[1] + 1) * b[0] + b[1] - b[0])),
        reducer((0.0, 1.0), lambda a, b: (a[0] * b[1] + b[0], a[1] * b[1]), lambda a, b: (b, a), lambda s: s[0]),
        affine_of(lambda a, b: (a[0] * b[0], tg.where(a[0] > b[0], a[1] * b[0] + b[1], b[1] + b[0] * a[1]))),
    ],
}
ARGS = {
    "first": [
        lambda a, b: pick(a[0] >= b[0], a, b),
        lambda a, b: pick(b[0] > a[0], b, a),
        lambda a, b: pick(~(a[0] < b[0]), a, b),
        lambda a, b: (tg.maximum(a[0], b[0]), tg.where(a[0] >= b[0], a[1], b[1])),
        lambda a, b: (tg.maximum(a[0], b[0]), tg.where(tg.maximum(a[0], b[0]) == a[0], a[1], b[1])),
        lambda a, b: (tg.maximum(a[0], b[0]), b[1] + (a[0] >= b[0]).to(tg.float32) * (a[1] - b[1])),
        lambda a, b: pick((a[0] > b[0]) | (a[0] == b[0]), a, b),
    ],
    "last": [
        lambda a, b: pick(a[0] > b[0], a, b),
        lambda a, b: pick(b[0] >= a[0], b, a),
        lambda a, b: (tg.maximum(a[0], b[0]), tg.where(b[0] - a[0] < 0, a[1], b[1])),
        lambda a, b: pick(~(a[0] <= b[0]), a, b),
        lambda a, b: pick((a[0] != b[0]) & (a[0] > b[0]), a, b),
        lambda a, b: (tg.maximum(a[0], b[0]), tg.where(tg.maximum(a[0], b[0]) == b[0], b[1], a[1])),
    ],
}
SPELLINGS["selection-max"] += [argmax_of(c) for which in ARGS.values() for c in which]
CASES = [(form, k, own) for form, spellings in SPELLINGS.items() for k, own in enumerate(spellings)]


@pytest.mark.parametrize("form, k, own", CASES, ids=lambda x: x if isinstance(x, (str, int)) else "")
def test_spellings_are_proven(form, k, own):
    assert proof(own) == form


MIXED = [
    reducer((0.0, -inf), lambda a, b: (a[0] + b[0], a[1].maximum(b[1])), lambda m: (m, m), lambda s: s[1] - s[0]),
    reducer((inf, 0, -inf), lambda a, b: (a[0].minimum(b[0]), a[1] + b[1], a[2].maximum(b[2])), lambda m: (m, 1, m), lambda s: s[2] - s[0] + s[1]),
    reducer(
        (0.0, -inf, 0.0, 0.0),
        lambda a, b: (a[0] + b[0], *guarded(a[1:], b[1:])),
        lambda s, v: (v, s, 1.0, v),
        lambda s: s[3] / s[2] + s[0],
    ),
    reducer((0.0, -inf, 7.0), lambda a, b: (a[0] + b[0], *pick(a[1] >= b[1], a[1:], b[1:])), lambda s, v: (1.0, s, v), lambda s: s[2] * s[0]),
    reducer((-inf, 0.0), lambda a, b: ((a[0].exp() + b[0].exp()).log(), a[1] + b[1]), lambda m: (m, 1.0), lambda s: s[0] - s[1].log()),
    reducer((-inf, inf), lambda a, b: (tg.maximum(a[0], b[0]), tg.minimum(a[1], b[1])), lambda m: (m, m), lambda s: s[0] - s[1]),
]


@pytest.mark.parametrize("own", MIXED, ids=lambda x: "")
def test_independent_components(own):
    assert proof(own) == "independent-components"


def shift(combine, k, by):
    def wrong(a, b):
        out = list(combine(a, b))
        out[k] = out[k] + by(a, b)
        return tuple(out)

    return wrong


GOOD = rescaled(lambda a, b: (a[0] - largest(a, b)).exp(), lambda a, b: (b[0] - largest(a, b)).exp(), largest)
NEAR_MISSES = {
    "sum from 5": one(lambda a, b: a + b, 5.0),
    "difference": one(lambda a, b: a - b, 0.0),
    "sum of squares in combine": one(lambda a, b: a + b * b, 0.0),
    "one wrong component": sums_of(lambda a, b: (a[0] + b[0], a[1] - b[1])),
    "crossed components": sums_of(lambda a, b: (a[0] + b[1], a[1] + b[0])),
    "one identity": sums_of(lambda a, b: (a[0] + b[0], a[1] + b[1]), (0.0, 1.0)),
    "sum but NaN": one(lambda a, b: tg.where(tg.isnan(a), 0, a) + tg.where(tg.isnan(b), 0, b), 0.0),
    "sum but infinities": one(lambda a, b: tg.where(tg.isfinite(b), b, 0) + a, 0.0),
    "product from 0": one(lambda a, b: a * b, 0.0),
    "product and sum": one(lambda a, b: a * b + a, 1.0),
    "max from 0": one(lambda a, b: a.maximum(b), 0.0),
    "max from inf": one(lambda a, b: a.maximum(b), inf),
    "swapped branches": one(lambda a, b: tg.where(a < b, a, b), -inf),
    "max of absolutes": one(lambda a, b: tg.maximum(a.abs(), b.abs()), -inf),
    "max but finite ones": one(lambda a, b: tg.maximum(tg.where(a < inf, a, -inf), b), -inf),
    "min from -inf": one(lambda a, b: a.minimum(b), -inf),
    "max above a margin": one(lambda a, b: tg.where(a > b + 1e-3, a, b), -inf),
    "logsumexp from 0": one(lambda a, b: (a.exp() + b.exp()).log(), 0.0),
    "log of a difference": one(lambda a, b: (a.exp() - b.exp()).log(), -inf),
    "log1p of the wrong sign": one(lambda a, b: a.maximum(b) + (a - b).abs().exp().log1p(), -inf),
    "rescaled one side": softmax_of(rescaled(lambda a, b: 1, lambda a, b: (b[0] - largest(a, b)).exp(), largest)),
    "rescaled by the wrong sign": softmax_of(
        rescaled(lambda a, b: (largest(a, b) - a[0]).exp(), lambda a, b: (largest(a, b) - b[0]).exp(), largest)
    ),
    "rescaled by the other side": softmax_of(
        rescaled(lambda a, b: (b[0] - largest(a, b)).exp(), lambda a, b: (a[0] - largest(a, b)).exp(), largest)
    ),
    "rescaled to the minimum": softmax_of(lambda a, b: (tg.minimum(a[0], b[0]), *GOOD(a, b)[1:])),
    "rescaled by twice": softmax_of(
        rescaled(lambda a, b: (2 * (a[0] - largest(a, b))).exp(), lambda a, b: (2 * (b[0] - largest(a, b))).exp(), largest)
    ),
    "softmax and a bit": softmax_of(shift(GOOD, 2, lambda a, b: 1e-6)),
    "softmax from another identity": reducer((-inf, 1.0, 0.0), GOOD, lambda s, v: (s, 1.0, v), lambda s: s[2] / s[1]),
    "softmax from a finite maximum": reducer((-1e4, 0.0, 0.0), GOOD, lambda s, v: (s, 1.0, v), lambda s: s[2] / s[1]),
    "argmax of the loser": argmax_of(lambda a, b: (tg.maximum(a[0], b[0]), tg.where(a[0] > b[0], b[1], a[1]))),
    "argmax from 0": argmax_of(lambda a, b: pick(a[0] >= b[0], a, b), (0.0, -1.0)),
    "argmax by the payload": argmax_of(lambda a, b: (tg.maximum(a[0], b[0]), tg.where(a[1] > b[1], a[1], b[1]))),
    "softmax of finite values alone": softmax_of(
        lambda a, b: GOOD(a, tuple(tg.where(tg.isfinite(x), x, 0) if k == 2 else x for k, x in enumerate(b)))
    ),
    "too large to look through": softmax_of(
        lambda a, b: (largest(a, b), a[1] + b[1], (1 + a[0] + a[1] + a[2] + b[0] + b[1] + b[2]) ** 2 * (a[0] + b[1] + 2) * (a[1] + b[2] + 3))
    ),
    "affine from (0, 0)": affine_of(lambda a, b: (a[0] * b[0], a[0] * b[1] + a[1]), (0.0, 0.0)),
    "affine of the wrong sign": affine_of(lambda a, b: (a[0] * b[0], a[0] * b[1] - a[1])),
    "affine without a": affine_of(lambda a, b: (a[0] * b[0], b[1] + a[1] * a[0])),
    "the sum of tanh": one(lambda a, b: (a + b).tanh(), 0.0),
    "a running mean": one(lambda a, b: (a + b) / 2, 0.0),
}


@pytest.mark.filterwarnings("ignore::tiga.AlgebraWarning")
@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_are_not_proven(name):
    assert proof(NEAR_MISSES[name]) == "general"


def test_a_maximum_beside_sums_is_no_softmax():
    unscaled = softmax_of(lambda a, b: (largest(a, b), a[1] + b[1], a[2] + b[2]))
    assert proof(unscaled) == "independent-components"


# ---- what is proven runs as the built-in does ----

ROWS = [0, 1, 2, 3, 17, 5000]
GRAPH = tg.Graph.from_coo(np.zeros(sum(ROWS), np.int64), np.repeat(np.arange(len(ROWS)), ROWS), num_src=1, num_dst=len(ROWS))


def kernel_of(own, count=1):
    class Kernel(tg.MessagePassing):
        reducer = own

        def edge(self, src, dst, edge):
            return edge.m if count == 1 else self.reducer(edge.m, edge.v)

    return Kernel()


def literal(own, m, v=None):
    """The fold as the founding document writes it, a component a NumPy value."""
    out, start = [], 0
    for n in ROWS:
        state = own(None)
        for e in range(start, start + n):
            state = own(state, m[e]) if v is None else own(state, m[e], v[e])
        out.append(own(state, done=True))
        start += n
    return np.array(out)


def logsumexp_by_hand(state, m=None, done=False):
    return -inf if state is None else state if done else np.logaddexp(state, m)


def first_by_hand(state, m=None, v=None, done=False):
    return (-inf, -1.0) if state is None else state[1] if done else (m, v) if m > state[0] else state


def last_by_hand(state, m=None, v=None, done=False):
    return (-inf, -1.0) if state is None else state[1] if done else (m, v) if m >= state[0] else state


def softmax_by_hand(state, m=None, v=None, done=False):
    if state is None:
        return -inf, 0.0, 0.0
    if done:
        return state[2] / state[1] if state[1] else np.nan
    top = max(state[0], m)
    p, q = np.exp(state[0] - top), np.exp(m - top)
    return top, state[1] * p + q, state[2] * p + v * q


BY_HAND = [(own, 1, logsumexp_by_hand) for own in SPELLINGS["logsumexp"][:2]]
BY_HAND += [(argmax_of(ARGS["first"][0]), 2, first_by_hand), (argmax_of(ARGS["last"][0]), 2, last_by_hand)]
BY_HAND += [(own, 2, softmax_by_hand) for own in SPELLINGS["stable-weighted"]]


@pytest.mark.parametrize("own, count, fold", BY_HAND, ids=lambda x: "")
def test_rows_of_every_length(own, count, fold):
    rng = np.random.default_rng(1)
    m, v = rng.integers(-9, 9, GRAPH.num_edges) / 2, rng.standard_normal(GRAPH.num_edges)
    fields = {"m": m, "v": v}
    kernel = kernel_of(own, count)
    out = kernel(graph=GRAPH, edge=fields)
    want = literal(fold, m) if count == 1 else literal(fold, m, v)
    np.testing.assert_allclose(out, want, rtol=1e-12)
    np.testing.assert_allclose(kernel.reference(graph=GRAPH, edge=fields), want, rtol=1e-12)


SMALL = tg.Graph.from_coo([0] * 7, [1, 1, 1, 2, 2, 3, 3], num_src=1, num_dst=4)


@pytest.mark.parametrize("own", SPELLINGS["stable-weighted"][::3] + ARGS["first"][:1] + MIXED, ids=lambda x: "")
def test_derivatives_of_proven_ones(own):
    if not isinstance(own, tg.Reducer):
        own = argmax_of(own)
    count = len(own._message_names()) or 1
    rng = np.random.default_rng(4)
    values = [torch.tensor(rng.standard_normal(7), requires_grad=True) for _ in range(count)]
    kernel = kernel_of(own, count)

    def run(*messages):
        out = kernel(graph=SMALL, edge=dict(zip("mv", messages)))
        return out[1:]

    assert torch.autograd.gradcheck(run, values)
    assert torch.autograd.gradgradcheck(run, values)


@pytest.mark.parametrize("own", SPELLINGS["stable-weighted"], ids=lambda x: "")
def test_a_proven_softmax_treats_dead_scores_as_the_built_in(own):
    m = torch.tensor([-inf, 0, -inf, -inf, 1, 1e4, 1e4 - 1], requires_grad=True)
    v = torch.tensor([np.nan, 3, 4, 5, 6, 7, 8], dtype=torch.float32, requires_grad=True)
    out, want = (kernel_of(r, 2)(graph=SMALL, edge={"m": m, "v": v}) for r in (own, tg.online_softmax()))
    assert torch.equal(out.isnan(), want.isnan()) and torch.equal(out[1:], want[1:])
    grads, wanted = (torch.autograd.grad(y[1:].sum(), [m, v]) for y in (out, want))
    assert all(torch.equal(a, b) and a.isfinite().all() for a, b in zip(grads, wanted))


def test_selection_among_heads():
    """A key (E, H, 1) chooses among values (E, H, D); the gradient goes to what was chosen."""
    rng = np.random.default_rng(6)
    m = torch.tensor(rng.integers(0, 3, (7, 2, 1)) * 1.0, requires_grad=True)
    v = torch.tensor(rng.standard_normal((7, 2, 3)), requires_grad=True)
    y = kernel_of(argmax_of(ARGS["first"][0]), 2)(graph=SMALL, edge={"m": m, "v": v})
    assert y.shape == (4, 2, 3) and (y[0] == -1).all()
    (dv,) = torch.autograd.grad(y.sum(), v)
    for row, edges in {1: range(3), 2: (3, 4), 3: (5, 6)}.items():
        for h in range(2):
            best = max(edges, key=lambda e: (m[e, h, 0], -e))
            assert torch.equal(y[row, h], v[best, h]) and (dv[best, h] == 1).all()
    assert dv.sum() == 3 * 2 * 3


# ---- declarations are tried ----


def declared(identity, combine, lift=None, finalize=None, **flags):
    return reducer(identity, combine, lift, finalize, **{"associative": False, **flags})


WRONG = {
    "a difference": (declared(0.0, lambda a, b: a - b, associative=True), ["associative", "(a b) c", "a (b c)"]),
    "an average": (declared(0.0, lambda a, b: (a + b) / 2, associative=True), ["associative"]),
    "a difference swapped": (declared(0.0, lambda a, b: a - b, commutative=True), ["commutative", "a b gives"]),
    "composition swapped": (
        declared((1.0, 0.0), SPELLINGS["affine-composition"][0].combine, lambda a, b: (a, b), lambda s: s[1], commutative=True),
        ["commutative", "a = (", "b = ("],
    ),
    "an rnn": (declared(0.0, lambda a, b: (a + 2 * b).tanh(), associative=True, commutative=True), ["associative", "; declared commutative"]),
    "an unscaled softmax": (
        declared((-inf, 0.0), lambda a, b: (largest(a, b), a[1] + b[1] * (b[0] - a[0]).exp()), lambda m: (m, 1.0), lambda s: s[1], associative=True),
        ["associative"],
    ),
}
RIGHT = {
    "undeclared": declared(0.0, lambda a, b: a - b),
    "a proven sum": declared(0.0, lambda a, b: a + b, associative=True, commutative=True),
    "hypotenuse": declared(0.0, lambda a, b: (a * a + b * b).sqrt(), associative=True),
    "odds": declared(0.0, lambda a, b: a + b + a * b, associative=True, commutative=True),
    "composition": SPELLINGS["affine-composition"][0],
    "left wins": declared(0.0, lambda a, b: a, associative=True),
    "products of positive numbers": declared(0.0, lambda a, b: (a.log() + b.log()).exp() * 1.0, associative=True),
    "a count": declared(5.0, lambda a, b: a + b, lambda m: 1.0, associative=True, commutative=True),
    "equal results of unequal states": declared((0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] - b[1]), lambda m: (m, m), lambda s: s[0] * 2, associative=True),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_false_declaration_warns_once(name):
    own, words = WRONG[name]
    count = len(own._message_names()) or 1
    with pytest.warns(tg.AlgebraWarning) as caught:
        for _ in range(3):
            own.mlir(message_dtypes=(tg.float32,) * count)
    assert len(caught) == 1
    for word in words:
        assert word in str(caught[0].message), caught[0].message


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.filterwarnings("error")
def test_a_true_declaration_does_not(name):
    own = RIGHT[name]
    own.mlir(message_dtypes=(tg.float32,) * (len(own._message_names()) or 1))


def test_integers_are_tried_as_such():
    wrong = declared(0, lambda a, b: a // 2 + b, associative=True)
    with pytest.warns(tg.AlgebraWarning, match=r"a = -?\d+, b = -?\d+, c = -?\d+$"):
        wrong.mlir(message_dtypes=(tg.int64,))


def test_findings():
    m = np.arange(7.0)
    for own, shown in [
        (tg.mean(), "reducer 'mean' is proven componentwise-additive"),
        (SPELLINGS["selection-max"][2], "proven selection-max: NaN wins"),
        (MIXED[0], "proven independent-components"),
    ]:
        kernel = kernel_of(own)
        kernel(graph=SMALL, edge={"m": m})
        found = [f for f in kernel.diagnostics if f.stage == "algebra"]
        assert [f.disposition for f in found] == ["accepted"] and shown in found[0].message


ALL = [tg.sum(), tg.mean(), tg.max(), tg.min(), tg.var(), tg.std(), tg.logsumexp(), tg.median(), tg.online_softmax()]
ALL += MIXED + [softmax_of(guarded), SPELLINGS["selection-max"][-1]]


@pytest.mark.parametrize("own", ALL, ids=lambda x: "")
def test_rows_without_messages_have_no_derivative_of_any_order(own):
    count = len(own._message_names()) or 1
    values = [torch.tensor(np.arange(7.0) - 3, requires_grad=True) for _ in range(count)]
    y = kernel_of(own, count)(graph=SMALL, edge=dict(zip("mv", values)))
    cot = torch.ones_like(y, requires_grad=True)
    first = torch.autograd.grad(y, values, cot, create_graph=True)
    second = torch.autograd.grad(sum(g.sum() for g in first), [*values, cot], allow_unused=True)
    assert all(g.isfinite().all() for g in (*first, *second) if g is not None)
    assert second[-1][0] == 0


@pytest.mark.parametrize("n", [1, 3])
def test_a_row_of_dead_scores_is_an_empty_one_whatever_finalize_does(n):
    own = reducer((-inf, 0.0, 0.0), guarded, lambda s, v: (s, 1.0, v), lambda s: s[2] / s[1] + s[1].log())
    m = torch.full((n,), -inf, dtype=torch.float64, requires_grad=True)
    v = torch.arange(n, dtype=torch.float64, requires_grad=True)
    graph = tg.Graph.from_coo([0] * n, [0] * n, num_src=1, num_dst=2)
    y = kernel_of(own, 2)(graph=graph, edge={"m": m, "v": v})
    assert y.isnan().all()
    first = torch.autograd.grad(y.sum(), [m, v], create_graph=True)
    second = torch.autograd.grad(sum(g.sum() for g in first), [m, v])
    assert all((g == 0).all() for g in (*first, *second))


def test_states_of_any_length():
    def powers(m):
        return tuple(m**k for k in range(40))

    own = reducer((0.0,) * 40, lambda a, b: tuple(x + y for x, y in zip(a, b)), powers, lambda s: s[39] / s[0] + s[7])
    m = np.linspace(0.5, 1.5, 7)
    out = kernel_of(own)(graph=SMALL, edge={"m": m})
    np.testing.assert_allclose(out[1], np.mean(m[:3] ** 39) + np.sum(m[:3] ** 7))
    assert proof(own) == "componentwise-additive"
    with pytest.raises(NotImplementedError, match="257 state components, 1 to 256 are possible"):
        proof(reducer((0.0,) * 257, lambda a, b: a, lambda m: (m,) * 257, lambda s: s[0]))


def test_the_longest_state():
    """256 components: what each is computed of is looked at, not the whole combine once a pair of them."""
    n = 256

    def scaled(a, b):
        m = largest(a, b)
        p, q = tg.exp(a[0] - m), tg.exp(b[0] - m)
        return m, *(a[k] * p + b[k] * q for k in range(1, n))

    def neighbours(a, b):
        return tuple(tg.tanh(a[k] + b[(k + 1) % n]) for k in range(n))

    def run(combine, first=0.0, **flags):
        return proof(reducer((first,) + (0.0,) * (n - 1), combine, lambda m: (m,) * n, lambda s: s[n - 1], **flags))

    assert run(lambda a, b: tuple(x + y for x, y in zip(a, b))) == "componentwise-additive"
    assert run(scaled, -inf) == "stable-weighted"
    assert run(lambda a, b: (a[0] * b[0], *(a[0] * y + x for x, y in zip(a[1:], b[1:]))), 1.0) == "affine-composition"
    assert run(neighbours, associative=False) == "general"


def test_the_variant_is_of_name_flags_and_configuration():
    class Power(tg.Reducer):
        associative = commutative = True

        def __init__(self, p, **flags):
            super().__init__(**flags)
            self.p = p

        def identity(self):
            return 0.0

        def lift(self, m):
            return m.abs() ** self.p

        def combine(self, left, right):
            return left + right

        def finalize(self, state):
            return state ** (1 / self.p)

    class Kernel(tg.MessagePassing):
        def __init__(self, given):
            self.reducer = given

        def edge(self, src, dst, edge):
            return self.reducer(edge.m)

    m = np.arange(7.0)
    for p in (2, 1, 2.0, 3):
        out = Kernel(Power(p))(graph=SMALL, edge={"m": m})
        np.testing.assert_allclose(out[3], np.linalg.norm(m[5:], p))
    a, b, c = Power(2), Power(2), Power(2, deterministic=True)
    assert a._key() == b._key() != c._key()
    assert "deterministic = true" in c.mlir(symbol="power") and '"power"' in c.mlir(symbol="power")


WRONG_FUNCTIONS = [
    (reducer(0.0, lambda a, b: None), TypeError, r"combine\(\) returns None"),
    (reducer(0.0, lambda a, b: a, lambda m: None), TypeError, r"lift\(\) returns None"),
    (reducer(0.0, lambda a, b: a + b if a > b else b), TypeError, "truth value"),
    (reducer((0.0, 0.0), lambda a, b: a[0], lambda m: (m, m), lambda s: s[0]), ValueError, "combine gives 1 of the state's components, expected 2"),
    (reducer((0.0, 0.0), lambda a, b: a, lambda m: m), ValueError, "identity gives 2"),
    (reducer(0.0, lambda a, b: a + b, lambda m: m * np.ones(3)), TypeError, "pass tensors through edge"),
    (reducer(0.0, lambda a, b: a + b, lambda m: m.sum(-1)), ValueError, "axis -1"),
]


@pytest.mark.parametrize("own, error, words", WRONG_FUNCTIONS, ids=lambda x: "")
def test_functions_that_are_none(own, error, words):
    with pytest.raises(error, match=words):
        kernel_of(own)(graph=SMALL, edge={"m": np.arange(7.0)})


@pytest.mark.parametrize("own", SPELLINGS["product"], ids=lambda x: "")
def test_a_proven_product_is_zero_safe_however_it_is_spelled(own):
    m = torch.tensor([0.0, 3, 4, 2, 0, 5, -1], dtype=torch.float64, requires_grad=True)
    y = kernel_of(own)(graph=SMALL, edge={"m": m})
    (first,) = torch.autograd.grad(y.sum(), m, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), m)
    assert y.tolist() == [1, 0, 0, -5]
    assert first.tolist() == [12, 0, 0, 0, 2, -1, 5]
    assert second.tolist() == [7, 4, 3, 1, 1, 1, 1]


@pytest.mark.parametrize("own", SPELLINGS["affine-composition"], ids=lambda x: "")
def test_a_proven_composition_is_one_however_it_is_spelled(own):
    a, b = np.float64([0, 3, 4, 2, 0, 5, -1]), np.float64([1, 4, 5, 3, 1, 6, 0])
    left = kernel_of(SPELLINGS["affine-composition"][0], 2)(graph=SMALL, edge={"m": a, "v": b})
    right = kernel_of(SPELLINGS["affine-composition"][1], 2)(graph=SMALL, edge={"m": a, "v": b})
    assert left.tolist() == [0, 1, 5, 6] and right.tolist() == [0, 33, 1, -6]
    out = kernel_of(own, 2)(graph=SMALL, edge={"m": a, "v": b})
    assert out.tolist() in (left.tolist(), right.tolist())


@pytest.mark.filterwarnings("ignore::tiga.AlgebraWarning")
def test_what_looks_like_a_softmax_and_is_none_is_a_remark():
    kernel = kernel_of(NEAR_MISSES["rescaled by the other side"], 2)
    kernel(graph=SMALL, edge={"m": np.arange(7.0), "v": np.ones(7)})
    found = [f for f in kernel.diagnostics if f.stage == "algebra"]
    assert [f.disposition for f in found] == ["remark", "remark"]
    assert "uses maximum and exp, and is no online softmax" in found[0].message
    assert "declared associative" in found[1].message


@pytest.mark.filterwarnings("ignore::tiga.AlgebraWarning")
def test_a_sum_from_5_is_5_and_the_sum():
    kernel = kernel_of(NEAR_MISSES["sum from 5"])
    out = kernel(graph=SMALL, edge={"m": np.float64([0, 3, 4, 2, 0, 5, -1])})
    assert out.tolist() == [5, 12, 7, 9]
    (found,) = [f for f in kernel.diagnostics if f.stage == "algebra" and "no form is proven" in f.message]
    assert found.message.endswith("its combine is componentwise-additive, whose identity is another one")
    assert found.message in kernel.explain()
