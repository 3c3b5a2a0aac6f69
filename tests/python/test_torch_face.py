"""What a torch user expects around a kernel: transforms, autocast, hooks, modules, workers."""

import copy
import io
import pickle

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
GRAPH = tg.Graph.from_coo([0, 1, 2, 2, 0], [1, 2, 0, 2, 0], num_src=3, num_dst=3)
GENERATOR = torch.Generator().manual_seed(0)


class Layer(tg.MessagePassing):
    reducer = tg.mean()

    def edge(self, src, dst, edge, W):
        return tg.tanh(src.x @ W) * edge.w.unsqueeze(-1)

    def node(self, dst, aggregate):
        return aggregate + dst.x


def layer(x, w, W):
    return Layer()(graph=GRAPH, ndata={"x": x}, edge={"w": w}, W=W)


def dense(x, w, W):
    src, dst = map(torch.from_numpy, GRAPH.to_coo())
    m = torch.tanh(x[src] @ W) * w.unsqueeze(-1)
    rows = torch.zeros_like(x).index_add(0, dst, m) / torch.tensor(GRAPH_DEGREE).unsqueeze(-1)
    return rows + x


GRAPH_DEGREE = np.bincount(GRAPH.to_coo()[1]).astype(np.float64)


def random(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


X, E_W, W = random(3, 2), random(5), random(2, 2)
BATCHED = {"x": (random(4, 3, 2), E_W, W), "w": (X, random(4, 5), W), "W": (X, E_W, random(4, 2, 2))}

# ---- transforms ----


@pytest.mark.parametrize("which", [*BATCHED, "all", "last axis"])
def test_vmap(which):
    if which == "all":
        args, dims = tuple(BATCHED[n][k] for k, n in enumerate(BATCHED)), (0, 0, 0)
    elif which == "last axis":
        args, dims = (BATCHED["x"][0].movedim(0, -1), E_W, W), (2, None, None)
    else:
        args, dims = BATCHED[which], tuple(0 if n == which else None for n in BATCHED)
    got, want = (torch.func.vmap(f, in_dims=dims)(*args) for f in (layer, dense))
    torch.testing.assert_close(got, want)


TRANSFORMS = {
    "grad": lambda f: torch.func.grad(lambda x, w, W: (f(x, w, W) ** 2).sum(), argnums=(0, 1, 2))(X, E_W, W),
    "grad of grad": lambda f: torch.func.grad(
        lambda w: torch.func.grad(lambda x: (f(x, w, W) ** 3).sum())(X).square().sum()
    )(E_W),
    "vjp": lambda f: torch.func.vjp(lambda x: f(x, E_W, W), X)[1](torch.ones_like(X)),
    "jacrev": lambda f: torch.func.jacrev(lambda W: f(X, E_W, W))(W),
    "gradients of a batch": lambda f: torch.func.vmap(torch.func.grad(lambda x: f(x, E_W, W).sum()))(BATCHED["x"][0]),
    "batched twice": lambda f: torch.func.vmap(torch.func.vmap(lambda x: f(x, E_W, W)))(
        BATCHED["x"][0].reshape(2, 2, 3, 2)
    ),
    "vectorized jacobian": lambda f: torch.autograd.functional.jacobian(
        lambda W: f(X, E_W, W), W.clone(), vectorize=True
    ),
    "hessian": lambda f: torch.autograd.functional.hessian(lambda W: f(X, E_W, W).square().sum(), W.clone()),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    got, want = TRANSFORMS[name](layer), TRANSFORMS[name](dense)
    torch.testing.assert_close(got, want)


def test_an_empty_batch():
    assert torch.func.vmap(lambda x: layer(x, E_W, W))(torch.ones(0, 3, 2, dtype=torch.float64)).shape == (0, 3, 2)


def test_a_batch_inside_a_recorded_call():
    x = BATCHED["x"][0].clone().requires_grad_(True)
    torch.func.vmap(lambda x: layer(x, E_W, W))(x).square().sum().backward()
    want = torch.autograd.grad(torch.stack([dense(a, E_W, W) for a in x]).square().sum(), x)[0]
    torch.testing.assert_close(x.grad, want)


def test_forward_mode_is_refused_by_name():
    with pytest.raises(NotImplementedError, match="jvp"):
        torch.func.jvp(lambda x: layer(x, E_W, W), (X,), (torch.ones_like(X),))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(X, torch.ones_like(X))
        with pytest.raises(NotImplementedError, match="forward_ad"):
            layer(dual, E_W, W)
        assert layer(X, E_W, W).shape == (3, 2)


# ---- modes ----


def test_no_grad_and_inference_mode():
    w = E_W.clone().requires_grad_(True)
    with torch.no_grad():
        assert not layer(X, w, W).requires_grad
    with torch.inference_mode():
        y = layer(X, w, W)
        assert y.is_inference() and not y.requires_grad
    assert layer(X, w, W).requires_grad
    torch.testing.assert_close(y.clone(), layer(X, w, W).detach())


def test_autocast_widens_float_kinds():
    with pytest.raises(TypeError, match="float32"):
        layer(X.float(), E_W, W)
    args = [X.float().requires_grad_(True), E_W.clone().requires_grad_(True), W.float().requires_grad_(True)]
    with torch.autocast("cpu"):
        y = layer(*args)
    assert y.dtype == torch.float64
    torch.testing.assert_close(y, dense(args[0].double(), args[1], args[2].double()), rtol=1e-6, atol=1e-6)
    y.sum().backward()
    assert [a.grad.dtype for a in args] == [a.dtype for a in args]
    with pytest.raises(TypeError, match="float32"):
        layer(X.float(), E_W, W)


def test_autocast_widens_in_a_formula():
    formula = tg.formula("out = sum(edge.w * src.x)")
    x = X.float().requires_grad_(True)
    with torch.autocast("cpu"):
        y = formula(graph=GRAPH, src={"x": x}, edge={"w": E_W.unsqueeze(-1)})
    y.sum().backward()
    assert y.dtype == torch.float64 and x.grad.dtype == torch.float32
    with pytest.raises(TypeError, match="float32"):
        formula(graph=GRAPH, src={"x": x}, edge={"w": E_W.unsqueeze(-1)})


def test_autocast_widens_scores_and_values():
    class Attention(tg.MessagePassing):
        reducer = tg.online_softmax()

        def edge(self, src, dst, edge):
            return self.reducer(edge.w, src.x)

    with torch.autocast("cpu"):
        assert Attention()(graph=GRAPH, src={"x": X[:, 0].float()}, edge={"w": E_W}).dtype == torch.float64


# ---- autograd's manners ----


def test_hooks():
    x, seen = X.clone().requires_grad_(True), []
    x.register_hook(lambda g: g * 2)
    y = layer(x, E_W, W)
    y.register_hook(seen.append)
    y.retain_grad()
    y.sum().backward()
    plain = X.clone().requires_grad_(True)
    torch.testing.assert_close(x.grad, torch.autograd.grad(dense(plain, E_W, W).sum(), plain)[0] * 2)
    assert len(seen) == 1 and y.grad.shape == y.shape


def test_saved_tensor_hooks_see_every_input():
    packed = []
    w = E_W.clone().requires_grad_(True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
        y = layer(X, w, W)
    y.sum().backward()
    assert w.grad is not None and packed


def test_double_backward_needs_retain_graph():
    w = E_W.clone().requires_grad_(True)
    y = layer(X, w, W).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_checkpointed():
    w = E_W.clone().requires_grad_(True)
    y = torch.utils.checkpoint.checkpoint(layer, X, w, W, use_reentrant=False)
    y.sum().backward()
    torch.testing.assert_close(w.grad, torch.autograd.grad(dense(X, w, W).sum(), w)[0])


# ---- modules ----


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2, bias=False) for _ in range(2))
        self.kernel = Layer()

    def forward(self, x, w):
        for linear in self.layers:
            x = self.kernel(graph=GRAPH, ndata={"x": x}, edge={"w": w}, W=linear.weight.T)
        return x


@pytest.fixture
def network():
    torch.manual_seed(0)
    return Network().double()


def test_a_module_trains(network):
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = (network(X, E_W) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize(
    "clone",
    [
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: torch.load(save(m), weights_only=False),
    ],
)
def test_a_module_copies(network, clone):
    want = network(X, E_W)
    other = clone(network)
    assert torch.equal(other(X, E_W), want) and other.kernel is not network.kernel
    assert other.kernel.cache_info == tg.CacheInfo(hits=1, misses=1) and len(list(network.parameters())) == 2
    other.load_state_dict(network.state_dict())


def save(module):
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return file


def test_functional_call_with_stacked_parameters(network):
    models = [copy.deepcopy(network) for _ in range(3)]
    for k, m in enumerate(models):
        with torch.no_grad():
            for p in m.parameters():
                p.mul_(1 + k)
    params, buffers = torch.func.stack_module_state(models)
    run = torch.func.vmap(lambda p, b: torch.func.functional_call(network, (p, b), (X, E_W)))
    torch.testing.assert_close(run(params, buffers), torch.stack([m(X, E_W) for m in models]))


# ---- workers ----


class Samples(torch.utils.data.Dataset):
    """Runs a kernel for each sample, in a worker's process."""

    def __len__(self):
        return 6

    def __getitem__(self, k):
        return layer(X * k, E_W, W)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_data_loader_workers(start):
    loader = torch.utils.data.DataLoader(Samples(), batch_size=2, num_workers=2, multiprocessing_context=start)
    want = torch.stack([layer(X * k, E_W, W) for k in range(6)])
    torch.testing.assert_close(torch.cat(list(loader)), want)


def in_a_process(kernel, graph, x, queue):
    y = kernel(graph=graph, ndata={"x": x}, edge={"w": E_W}, W=W)
    y.sum().backward()
    queue.put((y.detach().numpy(), x.grad.numpy()))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_torch_multiprocessing(start):
    context = torch.multiprocessing.get_context(start)
    queue, kernel = context.SimpleQueue(), Layer()
    x = X.clone().requires_grad_(True)
    y = kernel(graph=GRAPH, ndata={"x": x}, edge={"w": E_W}, W=W)
    process = context.Process(target=in_a_process, args=(kernel, GRAPH, X.clone().requires_grad_(True), queue))
    process.start()
    got, grad = queue.get()
    process.join()
    assert process.exitcode == 0
    np.testing.assert_array_equal(got, y.detach().numpy())
    np.testing.assert_array_equal(grad, torch.autograd.grad(y.sum(), x)[0].numpy())
