"""Node values fold to one value by any reducer: a product, a fold that no proof recognises, and what is derived
of them; as long as one row of all nodes, with the same bits on any number of threads."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck

LEAKY = "leaky.identity = 0.5\nleaky.lift(m) = m\nleaky.combine(a, b) = tanh(0.5 * a + b)\n"
STEPS = (
    "steps.identity = 1, 0\nsteps.lift(m) = m, 1 - m\n"
    "steps.combine(a, b) = a[0] * b[0], sin(a[1]) * b[0] + b[1]\nsteps.finalize(s) = s[1] - s[0]\n"
)
# (1 + x)(1 + y) - 1: associative, and no form that is proven
CIRCLE = "circle.identity = 0\ncircle.combine(a, b) = a + b + a * b\ncircle.associative = true\n"


def leaky(x):
    s = torch.full(x.shape[1:], 0.5, dtype=x.dtype)
    for m in x:
        s = torch.tanh(0.5 * s + m)
    return s


def steps(x):
    a, b = torch.ones(x.shape[1:], dtype=x.dtype), torch.zeros(x.shape[1:], dtype=x.dtype)
    for m in x:
        a, b = a * m, torch.sin(b) * m + 1 - m
    return b - a


def circle(x):
    return (1 + x).prod(0) - 1


FOLDS = {
    "prod": ("", lambda x: x.prod(0)),
    "leaky": (LEAKY, leaky),
    "steps": (STEPS, steps),
    "circle": (CIRCLE, circle),
}


def ring(n):
    """Node k takes from its two neighbours."""
    k = np.arange(n)
    return tg.Graph.from_coo(np.concatenate([(k - 1) % n, (k + 1) % n]), np.concatenate([k, k]), num_src=n, num_dst=n)


def nodes(n, *shape):
    x = np.random.default_rng(n + len(shape)).standard_normal((n, *shape)) / n
    return torch.from_numpy(x + 0.9).requires_grad_()


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 8)])
@pytest.mark.parametrize("n", [1, 2, 7, 600])
def test_values_and_gradients(name, shape, n):
    lines, meaning = FOLDS[name]
    kernel, x = tg.formula(f"{lines}y = {name}(node.x)"), nodes(n, *shape)
    y, want = kernel(graph=ring(n), ndata={"x": x}), meaning(x)
    assert torch.allclose(y, want, rtol=1e-12, atol=1e-13)
    weights = torch.arange(1.0, 1 + want.numel(), dtype=torch.float64).reshape(want.shape)
    (got,), (due,) = (torch.autograd.grad((v * weights).sum(), x) for v in (y, want))
    assert torch.allclose(got, due, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", FOLDS)
def test_no_nodes(name):
    lines, meaning = FOLDS[name]
    x = torch.zeros(0, 2, dtype=torch.float64, requires_grad=True)
    y = tg.formula(f"{lines}y = {name}(node.x)")(graph=ring(0), ndata={"x": x})
    assert torch.equal(y, meaning(x))
    assert torch.autograd.grad(y.sum(), x)[0].shape == (0, 2)


@pytest.mark.parametrize("name", FOLDS)
def test_second_derivatives(name):
    lines, _ = FOLDS[name]
    kernel, g = tg.formula(f"{lines}y = {name}(tanh(node.x * w))"), ring(5)
    x, w = nodes(5, 2), nodes(2)
    with torch.no_grad():
        x[1, 0] = 0
    for check in (gradcheck, gradgradcheck):
        assert check(lambda x, w: kernel(graph=g, ndata={"x": x}, w=w), (x, w))


def test_products_with_zeros():
    kernel, g = tg.formula("y = prod(node.x)"), ring(3)
    for values in ([0.0, 3, 4], [0, 0, 4], [0, 0, 0]):
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        y = kernel(graph=g, ndata={"x": x})
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        assert torch.equal(first, torch.autograd.grad(x.prod(), x)[0])
        assert gradgradcheck(lambda v: kernel(graph=g, ndata={"x": v}), x)


LAYERS = (
    LEAKY + "h = tanh(sum(edge.w * src(node.x @ W)))\nscale = leaky(h)\n"
    "z = mean(src(h * scale))\ny = prod(1 + z * v) + sum(h) / max(abs(h))"
)


def layers(src, dst, x, w, W, v):
    h = torch.tanh(torch.zeros(len(x), W.shape[1], dtype=x.dtype).index_add(0, dst, w * (x @ W)[src]))
    z = torch.zeros_like(h).index_add(0, dst, (h * leaky(h))[src]) / 2
    return (1 + z * v).prod(0) + h.sum(0) / h.abs().max(0).values


def test_between_layers():
    """A fold of what a layer gives scales the next one, whose product is folded: gradients to everything."""
    g = ring(9)
    src, dst = (torch.from_numpy(np.asarray(end)).long() for end in g.to_coo())
    x, w, W, v = nodes(9, 4), nodes(18, 1), nodes(4, 3), nodes(3)
    kernel = tg.formula(LAYERS)

    def run(x, w, W, v):
        return kernel(graph=g, ndata={"x": x}, edge={"w": w}, W=W, v=v)

    got, want = run(x, w, W, v), layers(src, dst, x, w, W, v)
    assert torch.allclose(got, want, rtol=1e-12)
    for a, b in zip(*(torch.autograd.grad(y.sum(), (x, w, W, v)) for y in (got, want))):
        assert torch.allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bits_are_the_interpreters(name, dtype):
    """A fold's grouping is its meaning: forward equals the interpreter bit for bit, past the parts of long rows."""
    lines, _ = FOLDS[name]
    kernel, g = tg.formula(f"{lines}y = {name}(node.x)"), ring(40000)
    x = nodes(40000, 5).detach().to(dtype)
    y, want = kernel(graph=g, ndata={"x": x}), kernel.reference(graph=g, ndata={"x": x})
    assert y.numpy().tobytes() == want.numpy().tobytes()


@pytest.mark.parametrize("name", FOLDS)
def test_threads_change_no_bit(name):
    lines, _ = FOLDS[name]
    g, x, w = ring(70000), nodes(70000, 3), nodes(3)
    kernel = tg.formula(f"{lines}y = {name}(node.x * w)")
    found = []
    try:
        for threads in (1, 2, 3, 8):
            tg.set_num_threads(threads)
            y = kernel(graph=g, ndata={"x": x}, w=w)
            found.append([v.detach().numpy().tobytes() for v in (y, *torch.autograd.grad(y.sum(), (x, w)))])
    finally:
        tg.set_num_threads(0)
    assert found[1:] == found[:1] * 3


def test_strict_folds_are_one_by_one():
    """Of 2^24 and then ones, a strict float32 sum stays; an associative one does not."""
    x = np.ones(40000, np.float32)
    x[0] = 2**24
    total = tg.formula("y = plus(node.x)\nplus.identity = 0\nplus.combine(a, b) = a + b\nplus.deterministic = true")
    assert total(graph=ring(40000), ndata={"x": x}) == 2**24
    assert tg.formula("y = sum(node.x)")(graph=ring(40000), ndata={"x": x}) > 2**24


@pytest.mark.parametrize("name", FOLDS)
def test_memory(name):
    """Neither states nor what a parameter's gradient sums is kept for every node."""
    lines, _ = FOLDS[name]
    kernel, n = tg.formula(f"{lines}y = {name}(node.x * w)"), 600
    w = nodes(4)
    kernel(graph=ring(n), ndata={"x": nodes(n, 4).detach()}, w=w)
    cost = kernel.cost(ring(n), direction="backward")
    assert cost.node_buffer_bytes <= 8 * 4 * 8  # what lies on `all`
    assert (cost.traversals, cost.edge_visits, cost.edge_buffer_bytes, cost.staging_bytes) == (0, 0, 0, 0)
    assert "V folded to one value" in kernel.explain()
