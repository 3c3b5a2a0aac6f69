"""Softmax where scores are large, infinite or dead: values, and derivatives to second order."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
grad = torch.autograd.grad
inf, nan = float("inf"), float("nan")


class Softmax(tg.MessagePassing):
    reducer = tg.online_softmax(empty=0)

    def edge(self, src, dst, edge):
        return self.reducer(edge.s, edge.v)


class LogSumExp(tg.MessagePassing):
    reducer = tg.logsumexp(empty=0)

    def edge(self, src, dst, edge):
        return edge.s


def leaf(values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def one_row(n):
    return tg.Graph.from_coo([0] * n, [0] * n, num_src=1, num_dst=2)


def derivatives(f, s, v):
    """f's value, its gradients, and the gradients of a sum of those."""

    def slope(x):
        return torch.linspace(1, 2, x.numel(), dtype=x.dtype).reshape(x.shape)

    y = f(s, v)
    first = grad(y, [s, v], slope(y), create_graph=True)
    second = grad(sum((g * slope(g)).sum() for g in first), [s, v])
    return [y, *first, *second]


@pytest.mark.parametrize("height", [0, 1e3, -1e3, 1e4, -1e5, 1e5, 1e7])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 5000])
def test_large_scores_lose_nothing(height, n):
    """float32 against float64 of the very same scores: what is lost is rounding, not the scores' size."""
    rng = np.random.default_rng(n)
    s32 = leaf((height + rng.integers(-8, 8, n)).astype(np.float32), torch.float32)
    v32 = leaf(rng.standard_normal(n).astype(np.float32), torch.float32)
    s, v = (x.detach().double().requires_grad_() for x in (s32, v32))
    kernel, graph = Softmax(), one_row(n)
    found = derivatives(lambda s, v: kernel(graph=graph, edge={"s": s, "v": v})[0], s32, v32)
    wanted = derivatives(lambda s, v: torch.softmax(s, 0) @ v, s, v)
    for y, want in zip(found, wanted):
        torch.testing.assert_close(y.double(), want, rtol=2e-4, atol=2e-6)
    weights = grad(kernel(graph=graph, edge={"s": s32, "v": v32})[0], v32)[0]
    torch.testing.assert_close(weights.double(), torch.softmax(s, 0), rtol=3e-6, atol=1e-12)
    lse = LogSumExp()
    got = grad(lse(graph=graph, edge={"s": s32})[0], s32)[0]
    torch.testing.assert_close(got.double(), torch.softmax(s, 0), rtol=3e-6, atol=1e-12)


def test_heads_of_large_scores():
    """Scores (E, H, 1) against values (E, H, D), near 1e4."""
    rng = np.random.default_rng(0)
    graph = tg.Graph.from_coo(rng.integers(0, 4, 40), rng.integers(0, 3, 40), num_src=4, num_dst=4)
    s32 = leaf((1e4 + rng.integers(-3, 3, (40, 2, 1))).astype(np.float32), torch.float32)
    v32 = leaf(rng.standard_normal((40, 2, 5)).astype(np.float32), torch.float32)
    s, v = (x.detach().double().requires_grad_() for x in (s32, v32))
    found = derivatives(lambda s, v: Softmax()(graph=graph, edge={"s": s, "v": v}), s32, v32)
    wanted = derivatives(lambda s, v: Softmax()(graph=graph, edge={"s": s - 1e4, "v": v}), s, v)
    for y, want in zip(found, wanted):
        torch.testing.assert_close(y.double(), want, rtol=2e-4, atol=5e-6)


CASES = {
    "share of +inf": ([inf, 5, inf], [1, 100, 3], 2, [0.5, 0, 0.5]),
    "only +inf": ([inf], [7], 7, [1]),
    "+inf beside -inf": ([-inf, inf], [nan, 7], 7, [0, 1]),
    "a dead score of NaN": ([0, -inf], [1, nan], 1, [1, 0]),
    "a dead score of inf": ([-inf, 0, 0], [inf, 1, 3], 2, [0, 0.5, 0.5]),
    "all dead": ([-inf, -inf], [nan, inf], 0, [0, 0]),
    "far below": ([-1e5] * 4, [1, 2, 3, 4], 2.5, [0.25] * 4),
    "one far below": ([0, -1e300], [1, 2], 1, [1, 0]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", CASES)
def test_infinite_scores(case, dtype):
    scores, values, want, weights = CASES[case]
    s, v = leaf(scores, dtype), leaf(values, dtype)
    graph = one_row(len(scores))
    y, ds, dv, dds, ddv = derivatives(lambda s, v: Softmax()(graph=graph, edge={"s": s, "v": v}), s, v)
    assert y.tolist() == [want, 0]
    torch.testing.assert_close(dv, torch.tensor(weights, dtype=dtype))
    for g in (ds, dds, ddv):
        assert g.isfinite().all(), (ds, dds, ddv)
    fixed = s.isinf() | (s.max() == inf)
    assert not ds[fixed].any() and not dds[fixed].any()


def test_a_hub_of_infinite_scores():
    n = 40_000
    s, v = leaf(np.full(n, 1e4), torch.float32), leaf(np.arange(n) % 2, torch.float32)
    with torch.no_grad():
        s[::4] = -inf
        v[::4] = nan
    graph = one_row(n)
    y, ds, dv, dds, ddv = derivatives(lambda s, v: Softmax()(graph=graph, edge={"s": s, "v": v}), s, v)
    assert abs(y[0] - 2 / 3) < 1e-6 and not dv[::4].any() and not ds[::4].any()
    assert torch.stack([ds, dv, dds, ddv]).isfinite().all()
    torch.testing.assert_close(dv[1], torch.tensor(1 / 30_000), rtol=1e-6, atol=0)
