"""NumPy in and out, tg.Tensor views, DLPack, formulas, inspection."""

import dataclasses
import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
RING = tg.Graph.from_coo([0, 1, 2], [1, 2, 0])


class Scaled(tg.MessagePassing):
    def edge(self, src, dst, edge, k):
        return src.x * k


X = np.float32([1, 2, 3])


def test_numpy_in_numpy_out():
    out = Scaled()(graph=RING, src={"x": X}, k=2.0)
    assert type(out) is np.ndarray and out.dtype == np.float32 and out.tolist() == [6, 2, 4]


@pytest.mark.parametrize(
    "view", [lambda a: np.repeat(a, 2)[::2], lambda a: a[::-1].copy()[::-1], lambda a: np.broadcast_to(a[:1], 3)]
)
def test_numpy_views(view):
    x = view(X)
    assert Scaled()(graph=RING, src={"x": x}, k=1.0).tolist() == x[[2, 0, 1]].tolist()


def test_unaligned_and_read_only():
    raw = np.zeros(13, np.uint8)
    x = raw[1:].view(np.float32)
    x[:] = X
    x.flags.writeable = False
    assert Scaled()(graph=RING, src={"x": x}, k=1.0).tolist() == [3, 1, 2]


@pytest.mark.parametrize("dtype", [bool, np.int32, np.int64])
def test_integers(dtype):
    class Count(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x

    out = Count()(graph=RING, src={"x": np.ones(3, dtype)})
    assert out.dtype == np.int64 and out.tolist() == [1, 1, 1]


class Shared:
    """Shows its memory by __dlpack__ alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    assert Scaled()(graph=RING, src={"x": Shared(X)}, k=2).tolist() == [6, 2, 4]
    assert tg.from_dlpack(Shared(X)).tolist() == [1, 2, 3]


def test_tensors_share_memory():
    t = torch.arange(6.0).reshape(2, 3).t()
    view = tg.from_torch(t)
    assert view.shape == (3, 2) and view.dtype is tg.float32 and view.device == "cpu"
    assert view.to_torch().data_ptr() == t.data_ptr() and view.to_torch().stride() == t.stride()
    assert tg.to_torch(view, copy=True).data_ptr() != t.data_ptr()
    assert view.to_numpy().ctypes.data == t.data_ptr()
    t[0, 0] = 42
    assert view.tolist()[0][0] == 42
    assert tg.from_torch(torch.ones(1), requires_grad=True).requires_grad


def test_numpy_tensors_share_memory():
    view = tg.from_numpy(X)
    assert view.to_numpy() is X and view.to_torch().data_ptr() == X.ctypes.data
    assert np.asarray(view).tolist() == [1, 2, 3] and len(view) == 3 and view.ndim == 1


def test_tensors_as_fields():
    out = Scaled()(graph=RING, src={"x": tg.from_numpy(X)}, k=2.0)
    assert isinstance(out, tg.Tensor) and out.tolist() == [6, 2, 4]


@pytest.mark.parametrize("make", [lambda x: x, torch.from_numpy, tg.from_numpy])
def test_reference_is_the_meaning(make):
    kernel = Scaled()
    given = {"graph": RING, "src": {"x": make(X)}, "k": 2.0}
    out, reference = kernel(**given), kernel.reference(**given)
    assert type(out) is type(reference) and out.tolist() == reference.tolist()


def test_complete_and_partial_node_results():
    class Both(tg.MessagePassing):
        reducer = tg.max(empty=-1)

        def edge(self, src, dst, edge):
            return src.x - dst.y

        def node(self, dst, aggregate, k):
            return tg.stack([aggregate, dst.y * k], -1)

    out = Both()(graph=RING, src={"x": X}, dst={"y": X}, k=2.0)
    assert out.tolist() == [[2, 2], [-1, 4], [-1, 6]]


# ---- reducers ----


def test_accumulation_dtype():
    class Softmax(tg.MessagePassing):
        reducer = tg.online_softmax(accumulation_dtype=tg.float64)

        def edge(self, src, dst, edge):
            return self.reducer(src.s, src.x)

    graph = tg.Graph.from_coo([0, 1, 2], [0, 0, 0], num_src=3)
    out = Softmax()(graph=graph, src={"s": np.float32([0, 1, 2]), "x": X})
    assert out.dtype == np.float32
    weights = np.exp([0.0, 1, 2])
    np.testing.assert_allclose(out, [weights @ X / weights.sum()], rtol=1e-6)


def test_heads_broadcast_from_the_right():
    class Heads(tg.MessagePassing):
        reducer = tg.online_softmax()

        def edge(self, src, dst, edge):
            return self.reducer(src.s.unsqueeze(-1), src.v)

    rng = np.random.default_rng(0)
    s, v = torch.tensor(rng.standard_normal((3, 2))), torch.tensor(rng.standard_normal((3, 2, 4)))
    graph = tg.Graph.from_coo([0, 1, 2], [0, 0, 0], num_src=3)
    out = Heads()(graph=graph, src={"s": s, "v": v})
    torch.testing.assert_close(out[0], (torch.softmax(s, 0)[..., None] * v).sum(0))


class MeanByHand(tg.Reducer):
    name = "user_mean"
    associative = True
    commutative = True

    def identity(self):
        return 0.0, 0.0

    def lift(self, value):
        return value, 1.0

    def combine(self, left, right):
        return left[0] + right[0], left[1] + right[1]

    def finalize(self, state):
        return state[0] / state[1]


def test_a_mean_by_hand():
    class Kernel(tg.MessagePassing):
        reducer = MeanByHand()

        def edge(self, src, dst, edge):
            return self.reducer(src.x)

    graph = tg.Graph.from_coo([0, 1, 1], [0, 0, 1], num_src=2)
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = Kernel()(graph=graph, src={"x": x})
    y.sum().backward()
    assert y.tolist() == [2.5, 4] and x.grad.tolist() == [0.5, 1.5]


def test_reducer_text():
    text = MeanByHand().mlir(message_dtypes=(tg.float32,), symbol="mine")
    assert "gf.reducer" in text and "mine" in text and "componentwise-additive" in text
    assert "f64" in tg.mean().mlir(message_dtypes=(np.float64,))
    assert "stable-weighted" in tg.online_softmax().mlir(message_dtypes=(tg.float32, tg.float32))


# ---- formulas ----


def test_formula():
    layer = tg.formula("out = sum(edge.weight * src.x) + dst.bias")
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = layer(graph=RING, src={"x": x}, edge={"weight": torch.tensor([1.0, 2.0, 3.0])}, dst={"bias": torch.ones(3)})
    assert y.tolist() == [10, 2, 5]
    y.sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    assert layer.explain().splitlines()[-1] == "variant cache: hits=0, misses=1"


@pytest.mark.parametrize("text", ["out = sum(src.x * dst.x)", "out = sum(src(node.x) * dst(node.x))"])
def test_ndata_binds_both_ends_of_a_formula(text):
    assert tg.formula(text)(graph=RING, ndata={"x": X}).tolist() == [3, 2, 6]


def test_formula_with_params_layers_and_results():
    layer = tg.formula("h = relu(sum(src(node.x @ W)) + b)\nout = mean(src(h))\nextra = h * 2")
    rng = np.random.default_rng(0)
    x, W, b = (torch.tensor(rng.standard_normal(s), requires_grad=True) for s in [(3, 4), (4, 2), (2,)])
    result = layer(graph=RING, ndata={"x": x}, W=W, b=b)
    h = torch.relu((x @ W)[[2, 0, 1]] + b)
    torch.testing.assert_close(result["out"], h[[2, 0, 1]])
    torch.testing.assert_close(result["extra"], h * 2)
    assert torch.autograd.gradcheck(
        lambda *v: tuple(layer(graph=RING, ndata={"x": v[0]}, W=v[1], b=v[2]).values()), (x, W, b)
    )
    only = torch.autograd.grad(layer(graph=RING, ndata={"x": x}, W=W, b=b)["extra"].sum(), b)[0]
    torch.testing.assert_close(only, torch.autograd.grad((h * 2).sum(), b)[0])


# ---- inspection ----


def test_inspection():
    kernel = Scaled()
    for k in (1.0, 2.0):
        kernel(graph=RING, src={"x": X}, k=k)
    kernel(graph=RING, src={"x": X.astype(np.float64)}, k=1.0)
    assert kernel.cache_info == tg.CacheInfo(hits=1, misses=2)
    assert kernel.explain().splitlines()[-1] == "variant cache: hits=1, misses=2"
    assert len(kernel.variants) == 2 and kernel.last_variant == kernel.variants[1]
    for stage in ("domain", "iter", "kernel", "task"):
        assert "func.func" in kernel.ir(stage)
    for kind in ("llvm", "llvm-opt", "asm"):
        assert kernel.code(kind) == kernel.last_variant.artifacts[kind]
    assert set(kernel.last_variant.artifacts) == {"domain", "iter", "kernel", "task", "llvm", "llvm-opt", "asm"}
    assert any(f.disposition == "accepted" for f in kernel.diagnostics)
    (schedule,) = kernel.schedules
    assert (
        schedule.operation == "traverse r by dst"
        and schedule.roles[-1] == "out"
        and "gf_mp.reduce" in schedule.instructions
    )
    with pytest.raises(AttributeError):
        schedule.kind = "other"


def test_cost():
    kernel = Scaled()
    kernel(graph=RING, src={"x": X}, k=1.0)
    forward, backward = kernel.cost(RING), kernel.cost(RING, direction="backward")
    assert forward.traversals == 1 and forward.edge_visits == 3 and forward.edge_buffer_bytes == 0
    residual = 3 * 4  # the sum of x in each row, from which the backward half takes k's gradient
    both = backward + forward
    assert kernel.cost(RING, "both") == dataclasses.replace(both, bytes_written=both.bytes_written + residual)
