"""First and second derivatives of every reducer, built-in or a user's, over rows of 0 to 5000 messages."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
from algebras import ALGEBRAS, REAL, kernel_of, smooth

LONG = 5000


def apart(rng, shape):
    """Messages that differ by more than the differences taken: none changes places with another."""
    return [rng.permutation(np.prod(shape)).reshape(shape) / 64 - 1]


def some_zeros(rng, shape):
    m = np.exp(0.02 * rng.standard_normal(shape)) * rng.choice([-1, 1], shape)
    m.flat[[1, 4, 5, 9, 10]] = 0  # in rows of 2 and of 3 messages one and two, in the long one two
    return [m]


# name: reducer, fields, how messages are drawn, lengths of the rows that are smooth there
ROWS = [0, 1, 2, 3, 17]
BUILTINS = {
    "sum": (tg.sum(), ["m"], smooth(1), ROWS),
    "mean": (tg.mean(), ["m"], smooth(1), ROWS),
    "prod": (tg.prod(), ["m"], lambda rng, shape: [np.exp(0.02 * rng.standard_normal(shape))], ROWS),
    "prod with zeros": (tg.prod(), ["m"], some_zeros, ROWS),
    "max": (tg.max(), ["m"], apart, ROWS),
    "min": (tg.min(), ["m"], apart, ROWS),
    "median": (tg.median(), ["m"], apart, ROWS),
    "quantile": (tg.quantile(0.3), ["m"], apart, ROWS),
    "logsumexp": (tg.logsumexp(), ["m"], smooth(1), ROWS),
    "var": (tg.var(), ["m"], smooth(1), ROWS),
    "unbiased var": (tg.var(unbiased=True), ["m"], smooth(1), [0, 2, 3, 17]),
    "std": (tg.std(), ["m"], smooth(1), [0, 2, 3, 17]),  # of one message it is 0, a corner
    "unbiased std": (tg.std(unbiased=True), ["m"], smooth(1), [0, 2, 3, 17]),
    "online_softmax": (tg.online_softmax(), ["score", "value"], smooth(2), ROWS),
    "strict sum": (tg.sum(deterministic=True), ["m"], smooth(1), ROWS),
    "strict mean": (tg.mean(deterministic=True), ["m"], smooth(1), ROWS),
    "strict prod": (tg.prod(deterministic=True), ["m"], some_zeros, ROWS),
}
ALL = [*BUILTINS, *REAL]


def setting(name, lengths=None):
    """A function of messages that gives the rows with messages, and messages."""
    own, fields, draw, rows = (
        BUILTINS[name] if name in BUILTINS else (None, ALGEBRAS[name].fields, ALGEBRAS[name].draw, ROWS)
    )
    kernel = kernel_of(own, fields) if own else ALGEBRAS[name].kernel()
    lengths = lengths or rows
    n = sum(lengths)
    graph = tg.Graph.from_coo([0] * n, np.repeat(np.arange(len(lengths)), lengths), num_src=1, num_dst=len(lengths))
    values = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in draw(np.random.default_rng(3), (n,))]
    first = lengths.index(max(lengths)) if len(lengths) == 1 else 1

    def run(*values):
        return kernel(graph=graph, edge=dict(zip(fields, values)))[first:]

    return run, values


@pytest.mark.parametrize("name", ALL)
def test_derivatives(name):
    run, values = setting(name)
    assert torch.autograd.gradcheck(run, values)
    assert torch.autograd.gradgradcheck(run, values)


def difference(function, values, along):
    """How a function changes along a direction, by differences."""
    step = 1e-5
    ends = [function(*[v.detach() + s * step * d for v, d in zip(values, along)]) for s in (-1, 1)]
    return ((ends[1] - ends[0]) / (2 * step)).detach()


def total(gradients, along):
    return sum((g * d).sum() for g, d in zip(gradients, along) if g is not None)


@pytest.mark.parametrize("name", ALL)
def test_derivatives_of_a_long_row(name):
    """Along one direction: Jacobians of 5000 messages are too large to be taken by differences."""
    run, values = setting(name, [LONG])
    rng = np.random.default_rng(5)
    along = [torch.from_numpy(rng.standard_normal(LONG)) / LONG**0.5 for _ in values]

    def value(*values):
        return run(*values)[0]

    def slope(*values):
        values = [v.requires_grad_() for v in values]
        return total(torch.autograd.grad(value(*values), values, create_graph=True), along)

    torch.testing.assert_close(slope(*values), difference(value, values, along), rtol=1e-6, atol=1e-8)
    found = slope(*values)
    second = torch.autograd.grad(found, values, allow_unused=True) if found.requires_grad else ()
    want = difference(slope, values, along)
    torch.testing.assert_close(torch.as_tensor(total(second, along), dtype=torch.float64), want, rtol=1e-5, atol=1e-7)


def test_what_a_sum_of_several_has():
    """tg.multi's results together: the derivatives of each, added."""
    own = tg.multi(mean=tg.mean(), prod=tg.prod(), lse=tg.logsumexp(), product=tg.max())
    kernel = kernel_of(own, ["m"])
    graph = tg.Graph.from_coo([0] * 6, [1, 1, 1, 2, 2, 3], num_src=1, num_dst=4)
    m = torch.tensor([0.5, 0.0, 2.0, -1.0, 3.0, 0.0], dtype=torch.float64, requires_grad=True)

    def run(m):
        return tuple(y[1:] for y in kernel(graph=graph, edge={"m": m}).values())

    assert torch.autograd.gradcheck(run, [m])
    assert torch.autograd.gradgradcheck(run, [m])
