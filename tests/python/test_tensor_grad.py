"""tg.autograd: gradients of tensors against torch's and against differences, again and again."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((2, 3, 4))
W_ = RNG.standard_normal((4, 2))
RING = tg.Graph.from_coo([0, 1, 2, 0], [1, 2, 0, 0])


class Weighted(tg.MessagePassing):
    def edge(self, src, dst, edge):
        return edge.w * src.x * dst.x

    def node(self, dst, aggregate):
        return aggregate + dst.x


def kernel(x, w):
    return Weighted()(graph=RING, ndata={"x": x}, edge={"w": w})


FUNCTIONS = {
    "polynomial": lambda a, b, w: (a * a * b + b / (a * a + 1)).sum(),
    "matmul": lambda a, b, w: ((a @ w) ** 2).sum() + (a.T @ b).sum(),
    "functions": lambda a, b, w: (a.exp() * b.tanh() + (a * a + 1).sqrt() * b.sin()).sum(),
    "views": lambda a, b, w: (a[1:, ::2] * b.T[:2, 1:].reshape(2, 2)).sum() + a[-1, 0] * b[0].sum(),
    "broadcasts": lambda a, b, w: (a[:, None] * b[None] * w[:, 0]).sum(),
    "means": lambda a, b, w: ((a - a.mean(0, keepdim=True)) ** 2).mean() * b.mean(),
    "used twice": lambda a, b, w: (a * b).sum() * (a * b).sum() + (a * b).exp().sum(),
    "softmax": lambda a, b, w: (a.softmax(-1) * b).sum() + a.logsumexp(-1).sum(),
    "kernel": lambda a, b, w: (kernel(a * 2, W_EDGE(b)) @ w).tanh().sum(),
    "kernels": lambda a, b, w: (kernel(kernel(a, W_EDGE(b)).tanh(), W_EDGE(a)) * b).sum(),
}


def W_EDGE(b):
    """A scalar for each of the four edges, in the shape that features take."""
    return b.T[:, :1] * 0.5


def tensors():
    return [tg.tensor(x, requires_grad=True) for x in (A, B, W_)]


def torches():
    return [torch.tensor(x, requires_grad=True) for x in (A, B, W_)]


@pytest.mark.parametrize("checkpoint", ["auto", "save", "recompute"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_order(name, checkpoint):
    f, ours, theirs = FUNCTIONS[name], tensors(), torches()
    loss, want = f(*ours), f(*theirs)
    np.testing.assert_allclose(loss.item(), want.item(), rtol=1e-12)
    got = tg.autograd.grad(loss, ours, allow_unused=True, checkpoint=checkpoint)
    expected = torch.autograd.grad(want, theirs, allow_unused=True, create_graph=True)
    compare(got, expected)
    used = [(g, e) for g, e in zip(got, expected) if g is not None]
    again = tg.autograd.grad(sum((g * g).sum() for g, _ in used), ours, allow_unused=True, checkpoint=checkpoint)
    compare(again, torch.autograd.grad(sum((e * e).sum() for _, e in used), theirs, allow_unused=True))


def compare(got, want):
    for g, w in zip(got, want):
        assert (g is None) == (w is None)
        if g is not None:
            assert g.shape == tuple(w.shape) and g.dtype is tg.float64
            np.testing.assert_allclose(g.numpy(), w.detach().numpy(), rtol=1e-9, atol=1e-12)


# ---- what kernels leave for their gradients ----


class Attention(tg.MessagePassing):
    reducer = tg.online_softmax(empty=0)

    def edge(self, src, dst, edge):
        return self.reducer((src.x * dst.x).sum(-1, keepdim=True), edge.w * src.x)


def reduced_by(reducer):
    class Reduced(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return edge.w * src.x * dst.x

    Reduced.reducer = reducer
    return Reduced


LEAVING = {
    "attention": Attention,
    "max": reduced_by(tg.max(empty=0)),
    "logsumexp": reduced_by(tg.logsumexp(empty=0)),
    "std": reduced_by(tg.std(empty=0)),
    "prod": reduced_by(tg.prod()),
    "several": reduced_by(tg.multi(mean=tg.mean(empty=0), max=tg.max(empty=0))),
}


def gradients(kernel, graph, checkpoint, wrt="xw", run_first=True):
    rng = np.random.default_rng(7)
    x = tg.tensor(rng.standard_normal((graph.num_src, 6)), requires_grad=True)
    w = tg.tensor(rng.standard_normal((graph.num_edges, 1)), requires_grad=True)
    out = kernel()(graph=graph, ndata={"x": x}, edge={"w": w})
    parts = list(out.values()) if isinstance(out, dict) else [out]
    if run_first:
        for t in parts:
            t.numpy()
    loss = sum((t * t).sum() for t in parts)
    got = tg.autograd.grad(loss, [{"x": x, "w": w}[c] for c in wrt], checkpoint=checkpoint)
    return parts[0], got, (x, w)


@pytest.mark.parametrize("name", LEAVING)
@pytest.mark.parametrize("wrt", ["xw", "x", "w"])
def test_same_bits_from_residuals(name, wrt, hub):
    first, got, _ = gradients(LEAVING[name], hub, "save", wrt)
    _, again, _ = gradients(LEAVING[name], hub, "recompute", wrt, run_first=False)
    for g, a in zip(got, again):
        assert np.array_equal(g.numpy(), a.numpy(), equal_nan=True)
        assert ("res.0" in g.mlir()) == (name != "prod") and "res.0" not in a.mlir()  # a product's parts lie at edges
    assert ("res.0" in first.mlir()) == (name != "prod")


def test_residuals_are_node_sized():
    graph = tg.Graph.regular(50, 9)
    out, (g, _), _ = gradients(Attention, graph, "save")
    residuals = out._node.call.results[1:]
    assert residuals and all(r.shape[0] == 50 for r in residuals)
    kernel, fields = Attention(), {"x": tg.ones(50, 6, dtype=tg.float64, requires_grad=True)}
    kernel(graph=graph, ndata=fields, edge={"w": tg.ones(450, 1, dtype=tg.float64)})
    for direction in ("backward", "both"):
        assert kernel.cost(graph, direction).residual_bytes == sum(r.nbytes for r in residuals)
    assert kernel.cost(graph).residual_bytes == 0
    assert g.numpy().shape == (50, 6)


def test_nothing_to_leave():
    """Where a gradient takes nothing from the forward pass, it does not run that."""

    class Sum(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return tg.relu(src.x)

    x = tg.tensor(A[:, :2] @ W_[:2], requires_grad=True)
    out = Sum()(graph=RING, ndata={"x": x})
    g = tg.autograd.grad(out, x, grad_output=tg.ones(3, 2, dtype=tg.float64))
    degree = np.array([2, 1, 1])[:, None]  # how many edges leave a node
    assert np.array_equal(g.numpy(), degree * (x.numpy() > 0)) and not out.has_value
    assert out._node.call.results is None


def test_recomputing_leaves_nothing():
    out, (g, _), _ = gradients(Attention, RING, "recompute", run_first=False)
    g.numpy()
    assert len(out._node.call.run()) == 1


@pytest.mark.parametrize("name", LEAVING)
def test_second_order_after_residuals(name):
    def second(checkpoint):
        _, got, inputs = gradients(LEAVING[name], RING, checkpoint)
        for g in got:
            g.numpy()
        return tg.autograd.grad(sum((g * g).sum() for g in got), list(inputs), checkpoint=checkpoint)

    for s, r in zip(second("save"), second("recompute")):
        np.testing.assert_allclose(s.numpy(), r.numpy(), rtol=1e-12, atol=1e-12)


def test_some_of_several_results():
    x = tg.tensor(RNG.standard_normal((3, 2)), requires_grad=True)
    w = tg.ones(4, 1, dtype=tg.float64)

    def grad(checkpoint):
        out = LEAVING["several"]()(graph=RING, ndata={"x": x}, edge={"w": w})
        return tg.autograd.grad(out["max"].sum(), x, checkpoint=checkpoint).numpy()

    assert np.array_equal(grad("save"), grad("recompute"))


def test_a_deep_stack():
    def grad(checkpoint):
        x = tg.tensor(RNG_X, requires_grad=True)
        h = x
        for _ in range(40):
            h = Attention()(graph=RING, ndata={"x": h}, edge={"w": tg.ones(4, 1, dtype=tg.float64)}) + x * 0.5
        return tg.autograd.grad(h.sum(), x, checkpoint=checkpoint).numpy()

    assert np.array_equal(grad("save"), grad("recompute"))


RNG_X = np.random.default_rng(3).standard_normal((3, 4))


def test_value_and_grad_takes_checkpoint():
    f = lambda x: (kernel(x, tg.ones(4, 1, dtype=tg.float64)) ** 2).sum()  # noqa: E731
    values = [tg.autograd.value_and_grad(f, checkpoint=c)(tg.tensor(A))[1].numpy() for c in ("save", "recompute")]
    assert np.array_equal(*values)
    with pytest.raises(ValueError, match="checkpoint is 'never', expected one of auto, save, recompute"):
        tg.autograd.value_and_grad(f, checkpoint="never")


def test_formulas():
    layer = tg.formula("h = relu(sum(edge.w * src(node.x @ W)))\nout = mean(src(h))\nextra = h * 2")
    x, w, W = tg.tensor(A, requires_grad=True), tg.tensor(RNG.uniform(size=(4, 1))), tg.tensor(W_, requires_grad=True)
    result = layer(graph=RING, ndata={"x": x * 2}, edge={"w": w}, W=W)
    assert not result["out"].has_value
    got = tg.autograd.grad((result["out"] * result["extra"]).sum(), (x, W))
    src, dst = map(torch.from_numpy, RING.to_coo())
    tx, tW = torch.tensor(A, requires_grad=True), torch.tensor(W_, requires_grad=True)
    h = torch.relu(torch.zeros(3, 2).double().index_add(0, dst, w.to_torch() * (tx * 2 @ tW)[src]))
    out = torch.zeros(3, 2).double().index_add(0, dst, h[src]) / torch.bincount(dst).unsqueeze(-1)
    compare(got, torch.autograd.grad((out * h * 2).sum(), (tx, tW)))
    np.testing.assert_allclose(result["extra"].numpy(), (h * 2).detach().numpy())


def test_third_order():
    x = tg.tensor([0.5, -1.5], dtype=tg.float64, requires_grad=True)
    y = (x**5).sum()
    for want in (5 * x.numpy() ** 4, 20 * x.numpy() ** 3, 60 * x.numpy() ** 2):
        g = tg.autograd.grad(y, x)
        np.testing.assert_allclose(g.numpy(), want, rtol=1e-12)
        y = g.sum()


def test_intermediates_and_their_inputs():
    x = tg.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    z = (y * x).sum()
    dy, dx = tg.autograd.grad(z, (y, x))
    assert dy.tolist() == [2, 3] and dx.tolist() == [12, 27]
    y.numpy()
    dy, dx = tg.autograd.grad(z, (y, x))
    assert dy.tolist() == [2, 3] and dx.tolist() == [12, 27]
    assert tg.autograd.grad(z, z).item() == 1 and tg.autograd.grad(x, x, grad_output=x).tolist() == [2, 3]


def test_detach_stops():
    x = tg.tensor([2.0, 3.0], requires_grad=True)
    assert tg.autograd.grad((x * x.detach()).sum(), x).tolist() == [2, 3]
    y = (x * x).detach() * x
    assert not (x * x).detach().requires_grad and tg.autograd.grad(y.sum(), x).tolist() == [4, 9]
    x.numpy()[0] = 5
    assert x.detach().tolist() == [5, 3]


def test_cotangents():
    x = tg.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    assert tg.autograd.grad(y, x, grad_output=tg.tensor([1.0, -1.0])).tolist() == [4, -6]
    assert tg.autograd.grad(y, x, grad_output=np.float32([1, 0])).tolist() == [4, 0]
    assert tg.autograd.grad(y[:1], x).tolist() == [4, 0]
    weight = tg.tensor([1.0, 1.0], requires_grad=True)
    g = tg.autograd.grad(y, x, grad_output=weight)
    assert tg.autograd.grad(g.sum(), weight).tolist() == [4, 6]


def test_one_in_one_out():
    x, w = tg.tensor([2.0], requires_grad=True), tg.tensor([3.0], requires_grad=True)
    y = x * w
    assert isinstance(tg.autograd.grad(y, x), tg.Tensor) and isinstance(tg.autograd.grad(y, [x]), tuple)
    assert [g.item() for g in tg.autograd.grad(y, (x, w))] == [3, 2]


def test_value_and_grad():
    value, g = tg.autograd.value_and_grad(lambda x: (x * x).sum())(tg.tensor([1.0, 2.0]))
    assert value.item() == 5 and g.tolist() == [2, 4]
    value, (a, b) = tg.autograd.value_and_grad(lambda x, y: (x * y).sum())(tg.ones(2), tg.arange(2.0))
    assert a.tolist() == [0, 1] and b.tolist() == [1, 1]
    value, (a,) = tg.autograd.value_and_grad(lambda pair, k: pair[0].sum() * k)((tg.ones(2),), k=3.0)
    assert a.tolist() == [3, 3] and value.item() == 6
    inner = tg.autograd.value_and_grad(lambda x: (x * x * x).sum())
    _, second = tg.autograd.value_and_grad(lambda x: inner(x)[1].sum())(tg.tensor([2.0]))
    assert second.tolist() == [12]
    with pytest.raises(TypeError, match="tg.Tensor"):
        inner(np.ones(2))
    with pytest.raises(ValueError, match="grad_output"):
        tg.autograd.value_and_grad(lambda x: x)(tg.ones(2))


def test_joint_plan():
    x = tg.tensor([2.0, 3.0], requires_grad=True)
    plan = tg.autograd.joint_plan((x * x).sum(), x)
    value, dx = plan.run()
    assert value.has_value and dx.has_value and value.item() == 13 and dx.tolist() == [4, 6]
    assert "forward" in plan.explain() and "backward" in plan.explain()


def test_integers_get_nothing():
    x, i = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([1, 2])
    assert tg.autograd.grad((x * i).sum(), x).tolist() == [1, 2]
    assert tg.autograd.grad((x.floor() * x).sum(), x).tolist() == [1, 2]
    assert not (x > 0).requires_grad and not x.to(tg.int64).requires_grad
    assert tg.autograd.grad(x.floor().sum(), x).tolist() == [0, 0]


def test_long_histories():
    x = tg.tensor([1.0], dtype=tg.float64, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y * 1.0001 + 0.001
    np.testing.assert_allclose(tg.autograd.grad(y, x).numpy(), [1.0001**3000], rtol=1e-9)
    del y


def test_training():
    target = tg.tensor(RNG.standard_normal((3, 2)))
    w = tg.zeros(4, 2, dtype=tg.float64, requires_grad=True)
    step = tg.autograd.value_and_grad(lambda w: ((tg.tensor(A) @ w - target) ** 2).mean())
    losses = []
    for _ in range(60):
        loss, g = step(w)
        losses.append(loss.item())
        w = (w - 0.3 * g).detach().requires_grad_()
    assert losses[-1] < 0.05 * losses[0]


X = tg.tensor([1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize(
    "call, kind, parts",
    [
        (lambda: tg.autograd.grad(X.sum(), tg.ones(2, requires_grad=True)), ValueError, ["input 0", "not depend"]),
        (lambda: tg.autograd.grad(tg.ones(2).sum(), (tg.ones(3),)), ValueError, ["requires_grad"]),
        (lambda: tg.autograd.grad(X * 2, X), ValueError, ["(2,)", "grad_output"]),
        (lambda: tg.autograd.grad(X * 2, X, grad_output=tg.ones(3)), ValueError, ["(3,)", "(2,)"]),
        (lambda: tg.autograd.grad(X * 2, X, grad_output=np.ones(2)), TypeError, ["float64", "float32"]),
        (lambda: tg.autograd.grad(X * 2, X, grad_output=torch.ones(2)), TypeError, ["torch"]),
        (lambda: tg.autograd.grad(torch.ones(1), X), TypeError, ["torch.autograd"]),
        (lambda: tg.autograd.grad(X.sum(), (X, torch.ones(1))), TypeError, ["input 1", "torch.autograd"]),
        (lambda: tg.autograd.grad(X.sum(), np.ones(1)), TypeError, ["ndarray"]),
        (lambda: tg.autograd.grad((X > 1).sum(), X), TypeError, ["int64"]),
        (lambda: tg.autograd.grad(X.sum(), X, checkpoint="never"), ValueError, ["never", "recompute"]),
        (lambda: (X * 2).requires_grad_(False), ValueError, ["detach"]),
    ],
)
def test_refusals(call, kind, parts):
    with pytest.raises(kind) as error:
        call()
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_unused_is_none():
    other = tg.ones(2, requires_grad=True)
    dx, nothing = tg.autograd.grad(X.sum(), (X, other), allow_unused=True)
    assert dx.tolist() == [1, 1] and nothing is None
