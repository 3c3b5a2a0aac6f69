"""Derivatives through torch: against differences, against torch's own, and how autograd is used."""

import gc
import math

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
F = torch.nn.functional
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def kernel_of(edge_function, reducer=None, node_function=None):
    class Kernel(tg.MessagePassing):
        def __init__(self):
            if reducer is not None:
                self.reducer = reducer

        edge = edge_function
        if node_function is not None:
            node = node_function

    return Kernel()


def attention_edge(self, src, dst, edge):
    score = (src.k * dst.q).sum(dim=-1, keepdim=True) * 0.5
    return self.reducer(score, src.x)


def network_edge(self, src, dst, edge, W1, W2, b):
    hidden = torch.tanh(torch.cat([src.x, dst.x, edge.w.unsqueeze(-1)], -1) @ W1 + b)
    return hidden @ W2


def functions_edge(self, src, dst, edge):
    smooth = F.gelu(src.x) + F.gelu(dst.x, approximate="tanh") + F.softplus(src.x) + torch.sin(src.x) * torch.cos(dst.x)
    power = (src.x * src.x + 0.5) ** dst.x + (dst.x * dst.x + 0.5) ** 1.7
    return smooth + power + F.elu(dst.x) * torch.erf(src.x) + torch.log1p(dst.x * dst.x) * torch.expm1(src.x)


KERNELS = {
    "sum": (lambda self, src, dst, edge: edge.w.unsqueeze(-1) * src.x, tg.sum(), ["x", "w"]),
    "mean": (lambda self, src, dst, edge: edge.w.unsqueeze(-1) * src.x, tg.mean(empty=0), ["x", "w"]),
    "max": (lambda self, src, dst, edge: edge.w.unsqueeze(-1) * src.x, tg.max(empty=0), ["x", "w"]),
    "online_softmax": (
        lambda self, src, dst, edge: self.reducer(edge.w, src.v),
        tg.online_softmax(empty=0),
        ["v", "w"],
    ),
    "relu": (lambda self, src, dst, edge: tg.relu(edge.w.unsqueeze(-1) * (src.x - dst.x)), tg.sum(), ["x", "w"]),
    "functions": (functions_edge, tg.mean(empty=0), ["x"]),
    "attention": (attention_edge, tg.online_softmax(empty=0), ["k", "q", "x"]),
    "network": (network_edge, tg.sum(), ["x", "w", "W1", "W2", "b"]),
}


def inputs(graph, names, seed=3):
    rng = np.random.default_rng(seed)
    n = graph.num_src
    shapes = {
        "x": (n, 2),
        "k": (n, 2),
        "q": (n, 2),
        "v": (n,),
        "w": (graph.num_edges,),
        "W1": (5, 3),
        "W2": (3, 2),
        "b": (3,),
    }
    return [torch.tensor(rng.standard_normal(shapes[m]), dtype=torch.float64, requires_grad=True) for m in names]


def function(kernel, graph, names):
    def run(*values):
        given = dict(zip(names, values))
        fields = {m: given.pop(m) for m in ("x", "k", "q", "v") if m in given}
        edge = {"w": given.pop("w")} if "w" in given else {}
        return kernel(graph=graph, ndata=fields, edge=edge, **given)

    return run


SMALL = tg.Graph.from_coo([0, 1, 1, 2, 3, 0, 4, 4], [1, 1, 1, 0, 3, 2, 2, 2], num_src=6, num_dst=6)


@pytest.mark.parametrize("name", KERNELS)
def test_first_and_second_derivatives(name):
    edge, reducer, names = KERNELS[name]
    run = function(kernel_of(edge, reducer), SMALL, names)
    values = inputs(SMALL, names)
    assert gradcheck(run, values)
    assert gradgradcheck(run, values)


@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_with_a_hub(name, hub):
    edge, reducer, names = KERNELS[name]
    run = function(kernel_of(edge, reducer), hub, names)
    values = inputs(hub, names)
    if "w" in names:
        values[names.index("w")] = (values[names.index("w")].detach() * 0.05).requires_grad_(True)
    assert gradcheck(run, values, fast_mode=True, atol=1e-4)
    assert gradgradcheck(run, values, fast_mode=True, atol=1e-3, rtol=1e-3)


def test_third_derivative():
    kernel = kernel_of(lambda self, src, dst, edge: src.x * src.x * src.x)
    graph = tg.Graph.from_coo([0, 1], [0, 0], num_src=2)
    x = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = kernel(graph=graph, src={"x": x}).sum()
    for expected in ([12, 27], [12, 18], [6, 6]):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert y.tolist() == expected
        y = y.sum()


# ---- how autograd is used ----


WEIGHTED = kernel_of(lambda self, src, dst, edge: edge.w * src.x)
PAIR = tg.Graph.from_coo([0, 1], [1, 1], num_src=2)


def call(x, w):
    return WEIGHTED(graph=PAIR, src={"x": x}, edge={"w": w})


def test_no_node_without_a_need():
    assert call(torch.ones(2), torch.ones(2)).grad_fn is None
    with torch.no_grad():
        assert not call(torch.ones(2, requires_grad=True), torch.ones(2)).requires_grad


def test_inference_tensors():
    with torch.inference_mode():
        x = torch.ones(2)
        assert call(x, x).tolist() == [0, 2]
    assert call(x, torch.ones(2)).tolist() == [0, 2]


def test_only_needed_gradients():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2)
    (dx,) = torch.autograd.grad(call(x, w).sum(), x)
    assert dx.tolist() == [1, 1]


def test_saved_tensors_are_version_checked():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2)
    y = call(x, w)
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(()).expand(2),
        lambda: torch.ones(4)[::2],
        lambda: torch.ones(2, 3)[:, 1],
    ],
    ids=["expanded", "strided", "column"],
)
def test_cotangents_of_any_strides(make):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2)
    (dx,) = torch.autograd.grad(call(x, w), x, make())
    assert dx.tolist() == [1, 1]


def test_negated_views_are_read_right():
    x = torch.complex(torch.ones(2), torch.tensor([2.0, 3.0])).conj().imag
    assert x.is_neg()
    assert call(x, torch.ones(2)).tolist() == [0, -5]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t().contiguous().t(),
        lambda x: torch.stack([x, x], 2)[:, :, 1],
        lambda x: x.flip(0).flip(0),
    ],
)
def test_strided_fields(view):
    x = torch.arange(6.0).reshape(3, 2)
    graph = tg.Graph.regular(3, 2)
    kernel = kernel_of(lambda self, src, dst, edge: src.x)
    assert torch.equal(kernel(graph=graph, src={"x": view(x)}), kernel(graph=graph, src={"x": x}))


def test_numpy_beside_torch_is_constant():
    x = torch.ones(2, requires_grad=True)
    y = call(x, np.float32([2, 3]))
    y.sum().backward()
    assert isinstance(y, torch.Tensor) and x.grad.tolist() == [2, 3]


def test_one_tensor_as_both_ends():
    kernel = kernel_of(lambda self, src, dst, edge: src.x * dst.y)
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    kernel(graph=PAIR, src={"x": x}, dst={"y": x}).sum().backward()
    assert x.grad.tolist() == [3, 8]


def test_unused_param_has_no_gradient():
    kernel = kernel_of(lambda self, src, dst, edge, W: src.x)
    x, W = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    y = kernel(graph=PAIR, src={"x": x}, W=W)
    (dW,) = torch.autograd.grad(y.sum(), W, allow_unused=True)
    assert dW is None or not dW.any()


def test_broadcast_input_keeps_its_shape():
    kernel = kernel_of(lambda self, src, dst, edge: edge.w * src.x)
    w = torch.ones(2, 1, requires_grad=True)
    kernel(graph=PAIR, src={"x": torch.ones(2, 3)}, edge={"w": w}).sum().backward()
    assert w.grad.tolist() == [[3], [3]]


def test_clamp_passes_all_at_its_ends():
    x = torch.tensor([[-1.0, 1.0, 2.0], [-3.0, 0.0, 1.0]], requires_grad=True)
    kernel_of(lambda self, src, dst, edge: tg.clamp(edge.x, -1.0, 1.0))(graph=PAIR, edge={"x": x}).sum().backward()
    assert x.grad.tolist() == [[1, 1, 0], [0, 1, 1]]


def test_guarded_distance():
    def edge(self, src, dst, edge):
        d = ((src.p - dst.p) ** 2).sum(-1)
        return tg.where(d > 0, tg.sqrt(tg.where(d > 0, d, 1.0)), 0.0)

    p = torch.ones(2, 3, requires_grad=True)
    y = kernel_of(edge)(graph=PAIR, ndata={"p": p})
    y.sum().backward()
    assert y.tolist() == [0, 0] and p.grad.tolist() == [[0] * 3] * 2


def test_no_reference_is_kept():
    x = torch.ones(2, requires_grad=True)
    call(x, torch.ones(2)).sum().backward()
    gc.collect()
    before = sum(type(o) is torch.Tensor for o in gc.get_objects())
    for _ in range(20):
        call(x, torch.ones(2)).sum().backward()
    gc.collect()
    assert sum(type(o) is torch.Tensor for o in gc.get_objects()) <= before + 1


def test_training_loop_with_a_module():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(3, 1))
            layer = self

            class Linear(tg.MessagePassing):
                reducer = tg.mean(empty=0)

                def edge(self, src, dst, edge):
                    return src.x @ layer.weight

            self.kernel = Linear()

        def forward(self, graph, x):
            return self.kernel(graph=graph, ndata={"x": x})

    torch.manual_seed(0)
    graph, layer, x = tg.Graph.regular(8, 3), Layer(), torch.randn(8, 3)
    with torch.no_grad():
        layer.weight.fill_(1)
        target = layer(graph, x)
        layer.weight.zero_()
    optimizer = torch.optim.SGD(layer.parameters(), 0.5)
    losses = []
    for _ in range(100):
        optimizer.zero_grad()
        losses.append((layer(graph, x) - target).square().mean())
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 1e-3 * losses[0]
    assert layer.kernel.cache_info.misses == 1


ISLANDS = tg.Graph.from_coo([0, 0, 1], [1, 1, 0], num_src=3, num_dst=3)  # no edge meets node 2
ON_ISLANDS = {
    "a root": (lambda self, src, dst, edge, w: torch.sqrt(src.x), 0.0),
    "a quotient at the destination": (lambda self, src, dst, edge, w: 1 / dst.x, 0.0),
    "padding before a product": (lambda self, src, dst, edge, w: torch.relu(src.x @ w), math.nan),
    "padding after a sum": (lambda self, src, dst, edge, w: src.x @ w * torch.exp(dst.x[:, :1]), math.inf),
}


@pytest.mark.parametrize("edge_function, value", ON_ISLANDS.values(), ids=ON_ISLANDS)
def test_what_no_edge_meets_reaches_no_gradient(edge_function, value):
    class Kernel(tg.MessagePassing):
        edge = edge_function

    torch.manual_seed(0)
    w = torch.randn(32, 4, dtype=torch.float64)
    found = []
    for island in (value, 1.0):
        x = torch.rand(3, 32, dtype=torch.float64, generator=torch.manual_seed(1)) + 0.5
        x[2] = island
        inputs = x.requires_grad_(), w.clone().requires_grad_()
        first = torch.autograd.grad(
            Kernel()(graph=ISLANDS, ndata={"x": x}, w=inputs[1]).sum(), inputs, create_graph=True, allow_unused=True
        )
        first = [g for g in first if g is not None]
        second = torch.autograd.grad(sum((g * g).sum() for g in first if g.requires_grad), x, allow_unused=True)
        found.append([*first, *(g for g in second if g is not None)])
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs) and ours.isfinite().all()


def test_an_empty_rows_softmax_reaches_no_second_gradient():
    class Kernel(tg.MessagePassing):
        reducer = tg.online_softmax(empty=0)

        def edge(self, src, dst, edge):
            return self.reducer(dst.y, dst.y * src.x)

    y = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(Kernel()(graph=ISLANDS, src={"x": x}, dst={"y": y}).square().sum(), y, create_graph=True)
    second = torch.autograd.grad(g.square().sum(), (x, y))
    assert all(s.isfinite().all() for s in second) and second[1][2].tolist() == [0, 0]
