"""Reducers where numbers are infinite, dead, equal, many, tiny or huge: in every float dtype, compiled and
interpreted, values and gradients."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
from algebras import Largest, kernel_of

inf, nan = float("inf"), float("nan")
HALVES = [torch.float16, torch.bfloat16]
FLOATS = [*HALVES, torch.float32, torch.float64]
WIDE = [torch.float32, torch.float64]


class Payload(Largest):
    def finalize(self, state):
        return state[1]


class LastPayload(Payload):
    def combine(self, left, right):
        newer = right[0] >= left[0]
        return torch.where(newer, right[0], left[0]), torch.where(newer, right[1], left[1])


class LeastPayload(Payload):
    def identity(self):
        return inf, -1.0

    def combine(self, left, right):
        keep = left[0] <= right[0]
        return torch.where(keep, left[0], right[0]), torch.where(keep, left[1], right[1])


def one_row(n):
    """n edges into the first of two rows."""
    zeros = np.zeros(n, np.int32)
    return tg.Graph.from_coo(zeros, zeros, num_src=1, num_dst=2)


def run(own, *messages, dtype=torch.float64):
    """The two rows' results, compiled (and the same as interpreted), and the gradient of the first one's."""
    fields = ["m", "v"][: len(messages)]
    kernel, graph = kernel_of(own, fields), one_row(len(messages[0]))
    values = [torch.as_tensor(m, dtype=dtype).clone().requires_grad_(dtype.is_floating_point) for m in messages]
    y = kernel(graph=graph, edge=dict(zip(fields, values)))
    same = kernel.reference(graph=graph, edge=dict(zip(fields, values)))
    torch.testing.assert_close(y.detach(), same, rtol=1e-2 if dtype in HALVES else 1e-5, atol=0, equal_nan=True)
    grads = torch.autograd.grad(y[0], values) if y.requires_grad else []
    return y.detach(), [g.tolist() for g in grads]


class Case(NamedTuple):
    own: Any
    messages: list[list[float]]
    result: float
    gradients: list[list[float]]
    dtypes: list[torch.dtype] = FLOATS


SOFTMAX = tg.online_softmax(empty=0)
CASES = {
    "a dead score beside a NaN": Case(SOFTMAX, [[-inf, 0, 0], [nan, 1, 2]], 1.5, [[0, -0.25, 0.25], [0, 0.5, 0.5]]),
    "a dead score beside an inf": Case(SOFTMAX, [[0, -inf], [1, inf]], 1, [[0, 0], [1, 0]]),
    "only dead scores": Case(SOFTMAX, [[-inf, -inf], [nan, 1]], 0, [[0, 0], [0, 0]]),
    "very small scores": Case(SOFTMAX, [[-6e4] * 4, [1, 2, 3, 6]], 3, [[-0.5, -0.25, 0, 0.75], [0.25] * 4]),
    "smaller ones": Case(
        SOFTMAX, [[-1e5] * 4, [1, 2, 3, 6]], 3, [[-0.5, -0.25, 0, 0.75], [0.25] * 4], [torch.bfloat16, *WIDE]
    ),
    "large scores": Case(SOFTMAX, [[1e4, 1e4 + 64, 1e4 + 64], [1, 2, 4]], 3, [[0, -0.5, 0.5], [0, 0.5, 0.5]]),
    "infinite scores": Case(SOFTMAX, [[inf, 5, inf], [1, 100, 3]], 2, [[0, 0, 0], [0.5, 0, 0.5]]),
    "logsumexp of the dead": Case(tg.logsumexp(empty=0), [[-inf, -inf]], -inf, [[0, 0]]),
    "logsumexp of some dead": Case(tg.logsumexp(), [[-inf, 4]], 4, [[0, 1]]),
    "logsumexp of large ones": Case(tg.logsumexp(), [[1e4, 1e4]], 1e4 + np.log(2), [[0.5, 0.5]]),
    "a product with a zero": Case(tg.prod(), [[0, 3, 4]], 0, [[12, 0, 0]]),
    "a product with zeros": Case(tg.prod(), [[0, 3, 0]], 0, [[0, 0, 0]]),
    "a product of -0": Case(tg.prod(), [[-0.0, 5, 2]], -0.0, [[10, 0, 0]]),
    "a product with an inf": Case(tg.prod(), [[inf, 2, -1]], -inf, [[-2, -inf, inf]]),
    "a vanishing product": Case(tg.prod(), [[1e-200, 1e-200]], 0, [[1e-200, 1e-200]], [torch.float64]),
    "a vanishing product of float32": Case(tg.prod(), [[1e-30, 1e-30]], 0, [[1e-30, 1e-30]], [torch.float32]),
    "a vanishing product of halves": Case(tg.prod(), [[2**-13, 2**-13]], 0, [[2**-13, 2**-13]], [torch.float16]),
    "an overflowing product": Case(tg.prod(), [[1e200, -1e200]], -inf, [[-1e200, 1e200]], [torch.float64]),
    "an overflowing product of float32": Case(tg.prod(), [[1e30, 1e30]], inf, [[1e30, 1e30]], [torch.float32]),
    "an overflowing product of halves": Case(tg.prod(), [[512, 512]], inf, [[512, 512]], [torch.float16]),
    "a product that leaves float16 and returns": Case(
        tg.prod(), [[512, 512, 2**-9]], 512, [[1, 1, inf]], [torch.float16]
    ),
    "NaN in max": Case(tg.max(), [[1, nan, 3, nan]], nan, [[0, 0.5, 0, 0.5]]),
    "NaN in min": Case(tg.min(), [[nan, -inf]], nan, [[1, 0]]),
    "ties in max": Case(tg.max(), [[1, 3, 3]], 3, [[0, 0.5, 0.5]]),
    "-0 and 0 in min": Case(tg.min(), [[0.0, -0.0, 1]], 0, [[0.5, 0.5, 0]]),
    "-0 and 0 in max": Case(tg.max(), [[-0.0, 0.0, -1]], 0, [[0.5, 0.5, 0]]),
    "-inf in max": Case(tg.max(empty=3), [[-inf, -inf]], -inf, [[0.5, 0.5]]),
    "a sum with infinities": Case(tg.sum(), [[inf, 1, -inf]], nan, [[1, 1, 1]]),
    "payload of the dead": Case(Payload(), [[-inf, -inf, -inf], [5, 7, 9]], 5, [[0, 0, 0], [1, 0, 0]]),
    "payload of one dead": Case(Payload(), [[-inf], [5]], 5, [[0], [1]]),
    "last payload of the dead": Case(LastPayload(), [[-inf, -inf], [5, 7]], 7, [[0, 0], [0, 1]]),
    "payload of the least": Case(LeastPayload(), [[inf, inf], [5, 7]], 5, [[0, 0], [1, 0]]),
    "payload of a NaN": Case(Payload(), [[1, nan, nan], [5, 7, 9]], 7, [[0, 0, 0], [0, 1, 0]]),
    "payload beside a NaN": Case(Payload(), [[1, 2, 0], [nan, 7, inf]], 7, [[0, 0, 0], [0, 1, 0]]),
    "payload of -0 and 0": Case(Payload(), [[-0.0, 0.0], [5, 7]], 5, [[0, 0], [1, 0]]),
    "a median with an inf": Case(tg.median(), [[inf, -inf, 2]], 2, [[0, 0, 1]]),
}
WHAT = [(name, dtype) for name, case in CASES.items() for dtype in case.dtypes]


@pytest.mark.parametrize("name, dtype", WHAT, ids=str)
def test_case(name, dtype):
    own, messages, result, gradients, _ = CASES[name]
    y, grads = run(own, *messages, dtype=dtype)
    assert y.dtype is dtype
    slack = dict(rtol=2**-7 if dtype in HALVES else 1e-6, atol=2**-7 if dtype in HALVES else 1e-6)
    np.testing.assert_allclose(y[0].double(), result, **slack)
    if result == 0:
        assert name[:3] == "-0 " or torch.signbit(y[0]) == np.signbit(result)
    for g, want in zip(grads, gradients):
        np.testing.assert_allclose(g, want, rtol=slack["rtol"], atol=1e-300 if "vanish" in name else slack["atol"])


# ---- integers ----


def test_payload_of_the_least_integers():
    least = np.iinfo(np.int64).min
    y, _ = run(Payload(), [least, least], [5, 7], dtype=torch.int64)
    assert y[0] == 5


# ---- long rows ----


@pytest.mark.parametrize("n", [1, 17, 5000, 40_000])
@pytest.mark.parametrize("own, best", [(Payload(), 0), (LastPayload(), -1), (LeastPayload(), 0)], ids=repr)
def test_payload_of_the_dead_in_rows_of_every_length(own, best, n):
    key = np.full(n, inf if isinstance(own, LeastPayload) else -inf)
    y, (dk, dv) = run(own, key, np.arange(n) + 1.0)
    assert y[0] == np.arange(n)[best] + 1 and y[1] == -1
    assert dv[best] == 1 == sum(dv) and not any(dk)


@pytest.mark.parametrize("given", [tg.argmax(), tg.argmin()], ids=repr)
@pytest.mark.parametrize("n", [1, 17, 5000, 40_000])
def test_number_of_the_dead(given, n):
    for value in (-inf, inf):
        assert run(given, np.full(n, value))[0].tolist() == [0, -1]


@pytest.mark.parametrize(
    "dtype, n", [(torch.bfloat16, 512), (torch.float16, 2048), (torch.float32, 20_000_000)], ids=str
)
def test_many_ones(dtype, n):
    graph, ones = one_row(n), torch.ones(n, dtype=dtype)
    for own, want in ((tg.sum(), n), (tg.mean(), 1), (tg.count(), n), (tg.prod(), 1)):
        assert kernel_of(own, ["m"])(graph=graph, edge={"m": ones})[0] == want, own


def test_a_hub_of_ones_of_one_source():
    """The gradient of the source is as many ones."""
    n = 20_000_000
    x = torch.ones(1, requires_grad=True)

    class Copy(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x

    y = Copy()(graph=one_row(n), src={"x": x})
    y[0].backward()
    assert (y[0].item(), x.grad.item()) == (n, n)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("n", [5, 5000])
def test_products_with_zeros_to_second_order(n, dtype):
    """With two zeros the second derivative in them is the product of the others, and there is no other."""
    m = torch.ones(n, dtype=dtype)
    m[1], m[-1], m[2] = 0, 0, 3
    m.requires_grad_()
    y = kernel_of(tg.prod(), ["m"])(graph=one_row(n), edge={"m": m})
    (first,) = torch.autograd.grad(y[0], m, create_graph=True)
    assert y[0] == 0 and not first.any()
    (second,) = torch.autograd.grad(first[1], m)
    assert second[-1] == 3 == second.sum()


def test_second_derivatives_of_products_do_not_vanish():
    m = torch.tensor([1e-200, 1e-200, 1.0], dtype=torch.float64, requires_grad=True)
    y = kernel_of(tg.prod(), ["m"])(graph=one_row(3), edge={"m": m})
    (first,) = torch.autograd.grad(y[0], m, create_graph=True)
    (second,) = torch.autograd.grad(first[0], m)
    assert first[:2].tolist() == [1e-200, 1e-200] and second.tolist() == [0, 1, 1e-200]


@pytest.mark.parametrize("dtype, mean, spread", [(torch.float32, 1e6, 0.25), (torch.float64, 1e8, 1e-3)])
@pytest.mark.parametrize("n", [3, 500, 40_000])
def test_gradients_of_variances_far_from_zero(n, dtype, mean, spread):
    rng = np.random.default_rng(1)
    m = torch.from_numpy(mean + spread * rng.standard_normal(n)).to(dtype)
    wide = m.numpy().astype(np.longdouble)
    d = wide - wide.mean()
    for own, want in ((tg.var(), 2 * d / n), (tg.std(), d / n / wide.std())):
        _, (dm,) = run(own, m, dtype=dtype)
        np.testing.assert_allclose(dm, np.float64(want), rtol=1e-4, atol=1e-4 * float(abs(want).max()))


# ---- strict ----


@pytest.mark.parametrize("n", [7, 50_000])
def test_built_ins_are_strict_when_asked(n):
    m = (1 + np.random.default_rng(0).standard_normal(n) * 1e-4).astype(np.float32)
    strict = np.add.accumulate(m)[-1]
    for own, want in (
        (tg.sum(deterministic=True), strict),
        (tg.mean(deterministic=True), strict / np.float32(n)),
        (tg.prod(deterministic=True), np.multiply.accumulate(m)[-1]),
    ):
        assert run(own, m, dtype=torch.float32)[0][0].item() == want
    assert run(tg.sum(deterministic=True, empty=7), m)[0][1] == 7
    assert "deterministic = true" in tg.prod(deterministic=True).mlir()
    for make in (
        tg.max,
        tg.min,
        tg.any,
        tg.all,
        tg.logsumexp,
        tg.var,
        tg.std,
        tg.count,
        tg.median,
        tg.argmax,
        tg.argmin,
    ):
        plain, same = (run(own, m, dtype=torch.float32)[0] for own in (make(), make(deterministic=True)))
        assert plain.dtype is same.dtype and torch.equal(plain[:1], same[:1])


def test_a_strict_reducer_is_another_variant():
    m = np.random.default_rng(0).standard_normal(50_000).astype(np.float32)
    kernel = kernel_of(tg.sum(), ["m"])
    plain = kernel(graph=one_row(len(m)), edge={"m": m})[0]
    kernel.reducer = tg.sum(deterministic=True)
    assert kernel(graph=one_row(len(m)), edge={"m": m})[0] == np.add.accumulate(m)[-1] != plain


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("features", [1, 3, 16, 40])
def test_an_extremum_of_zeros_is_plus_zero(dtype, features):
    """Rows of zeros of both signs, in any order: which one a schedule meets first says nothing."""
    degrees = [1, 1, 2, 2, 5, 33, 100, 17000]
    row = np.repeat(np.arange(len(degrees)), degrees)
    graph = tg.Graph.from_coo(np.zeros(len(row), int), row, num_src=1, num_dst=len(degrees))
    sign = np.random.default_rng(features).random((len(row), features)) < 0.5
    sign[:6] = np.array([0, 1, 0, 1, 1, 0])[:, None]
    m = torch.from_numpy(np.where(sign, -0.0, 0.0)).to(dtype).requires_grad_()
    for by in (tg.max(), tg.min()):
        kernel = kernel_of(by, ["m"])
        y, reference = kernel(graph=graph, edge={"m": m}), kernel.reference(graph=graph, edge={"m": m})
        assert (y == 0).all() and not (torch.signbit(y).any() or torch.signbit(reference).any())
    share = torch.autograd.grad(y.sum(), m)[0].to(torch.float64)
    want = torch.from_numpy(1 / np.repeat(degrees, degrees))[:, None].to(dtype).to(torch.float64)
    assert torch.allclose(share, want.expand_as(share), rtol=1e-2)


@pytest.mark.parametrize("by, of", [(tg.var(), torch.var), (tg.std(), torch.std)], ids=["var", "std"])
def test_variance_of_one_message(by, of):
    """0, with derivatives of every order that are 0, as torch's; the unbiased one is NaN, and gradient 0."""
    graph = tg.Graph.from_coo([0, 1, 2, 0], [0, 0, 1, 0], num_src=3, num_dst=3)
    m = torch.tensor([1.0, 2.5, 3.0, 0.5], dtype=torch.float64, requires_grad=True)
    biased = kernel_of(by, ["m"])

    def run(m):
        return biased(graph=graph, edge={"m": m})[:2]

    first, second = torch.autograd.grad(run(m).sum(), m, create_graph=True)[0], run(m)
    one = m[2:3]
    (due,) = torch.autograd.grad(of(one, 0, unbiased=False), one)
    assert second[1] == of(one, 0, unbiased=False) == 0 and first[2] == due[0] == 0
    assert torch.autograd.gradcheck(run, m) and torch.autograd.gradgradcheck(run, m)
    unbiased = kernel_of(getattr(tg, of.__name__)(unbiased=True), ["m"])
    y = unbiased(graph=graph, edge={"m": m})
    assert torch.isnan(y[1]) and torch.allclose(y[0], of(m[[0, 1, 3]]))
    assert torch.autograd.grad(y[1], m)[0].tolist() == [0, 0, 0, 0]
