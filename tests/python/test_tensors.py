"""tg.Tensor: values, views, deferred expressions that compile once, other libraries' functions."""

import concurrent.futures
import copy
import pickle
import re

import numpy as np
import pytest
import tiga as tg
from conftest import ROOT
from tiga import programs

RNG = np.random.default_rng(3)
A = RNG.standard_normal((3, 4)).astype(np.float32)
B = RNG.standard_normal((3, 4)).astype(np.float32)
V = RNG.standard_normal(4).astype(np.float32)
I = RNG.integers(-5, 6, (3, 4))
STACK = RNG.standard_normal((2, 3, 4)).astype(np.float32)

# ---- each is one function of tensors and of NumPy's arrays alike ----

SAME = {
    "arithmetic": lambda a, b, v: (a + b * 2 - v) / (b * b + 1.5),
    "reflected": lambda a, b, v: 2 - a + 1 / (b * b + 1) + (3 + a) * 0.5,
    "floor division": lambda a, b, v: a // 0.75 + a % 0.75,
    "powers": lambda a, b, v: a**2 + (b * b) ** 0.5 + 2**v,
    "negation": lambda a, b, v: -a + +b + abs(a),
    "comparisons": lambda a, b, v: ((a < b) & (a != v)) | ~(b >= 0),
    "sums": lambda a, b, v: a.sum(axis=0) + b.sum(axis=(0, 1)) + v.sum(),
    "sums kept": lambda a, b, v: a.sum(axis=1, keepdims=True) * b.mean(axis=-1, keepdims=True),
    "extrema": lambda a, b, v: a.max(axis=0) - b.min(axis=0) + a.max(),
    "any and all": lambda a, b, v: (a > 0).any(axis=0) | (b > 0).all(axis=0),
    "prod": lambda a, b, v: a.prod(axis=1),
    "transpose": lambda a, b, v: a.T @ b,
    "matmul": lambda a, b, v: a @ b.T @ a @ v,
    "reshape": lambda a, b, v: a.reshape(2, 6) + b.reshape(-1)[:6],
    "slices": lambda a, b, v: a[1:, ::2] + b[:2, -2:],
    "backwards": lambda a, b, v: a[::-1, ::-3] * 2,
    "indices": lambda a, b, v: a[1] * b[-1, 2] + v[0],
    "new axes": lambda a, b, v: a[:, None] * b[None, ..., None, :],
    "swapaxes": lambda a, b, v: a.swapaxes(0, 1) * 2,
    "views of expressions": lambda a, b, v: (a + b).T[1:3] * (a * b)[0, 0],
    "rounding": lambda a, b, v: np.floor(a * 3) + np.ceil(b * 3) + np.rint(a * 10),
    "numpy's functions": lambda a, b, v: np.exp(a) + np.maximum(a, b) * np.where(a > 0, a, b) - np.tanh(v),
    "numpy's reductions": lambda a, b, v: np.sum(a, axis=0) + np.max(b, axis=0, keepdims=False),
    "numpy's shapes": lambda a, b, v: np.concatenate([a, b], axis=1).reshape(-1) * 2 + np.stack([a, b]).sum(),
    "numpy on the left": lambda a, b, v: V * a + np.float64(2) * b + np.ones((3, 1), np.float32) / (v * v + 1),
}


@pytest.mark.parametrize("name", SAME)
def test_as_numpy(name):
    want = SAME[name](A, B, V)
    got = SAME[name](tg.from_numpy(A), tg.from_numpy(B), tg.from_numpy(V))
    assert isinstance(got, tg.Tensor) and got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=2e-5)
    if want.dtype in (np.float32, np.bool_):
        assert got.numpy().dtype == want.dtype


@pytest.mark.parametrize("make", [lambda x: tg.from_numpy(x), lambda x: tg.from_numpy(x) * 1])
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[1],
        lambda x: x[:, ::2],
        lambda x: x[::-1],
        lambda x: x.reshape(4, 3),
        lambda x: x.unsqueeze(1),
        lambda x: x[None].squeeze(0),
        lambda x: x.flatten(),
        lambda x: x.broadcast_to(2, 3, 4),
        lambda x: x.detach(),
        lambda x: next(iter(x)),
        lambda x: x.permute(1, 0)[2:],
    ],
)
def test_views_are_views(view, make):
    x = make(A)
    v = view(x)
    assert np.shares_memory(v.numpy(), x.numpy())
    assert v.shape == v.numpy().shape


@pytest.mark.parametrize("count", [1, 2, 32, 33, 64, 65, 1100])
def test_joins_of_any_number(count):
    rows = [np.full(2, k, np.float32) for k in range(count)]
    tensors = [tg.from_numpy(r) for r in rows]
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(tg.stack(tensors, axis).numpy(), np.stack(rows, axis))
    np.testing.assert_array_equal(tg.cat(tensors, -1).numpy(), np.concatenate(rows, -1))
    lazy = tg.cat([t + 1 for t in tensors])
    np.testing.assert_array_equal(lazy.numpy(), np.concatenate(rows) + 1)


def test_batched_matmul():
    x, w = tg.from_numpy(STACK), tg.from_numpy(STACK).transpose(-1, -2)
    np.testing.assert_allclose((x @ w).numpy(), STACK @ STACK.transpose(0, 2, 1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((x @ V).numpy(), STACK @ V, rtol=1e-5, atol=1e-5)


def test_integers_and_bools():
    i = tg.tensor(I)
    assert (i + 1).dtype is tg.int64 and (i * 2.5).dtype is tg.float32 and (i / 2).dtype is tg.float32
    assert (i + True).dtype is tg.int64 and (i > 0).dtype is tg.bool_ and (i > 0).sum().item() == (I > 0).sum()
    assert (i // 2).tolist() == (I // 2).tolist() and (i % 3).tolist() == (I % 3).tolist()
    assert (tg.tensor([1, 2], dtype=tg.int32) + i[0, :2]).dtype is tg.int64
    assert (i.to(tg.float64) * 1).numpy().dtype == np.float64 and (i & 3).tolist() == (I & 3).tolist()


# ---- made of what ----


@pytest.mark.parametrize(
    "data, dtype",
    [
        (1.5, "float32"),
        ([1, 2], "int64"),
        ([1.0, 2], "float32"),
        ([[True], [False]], "bool"),
        ([], "float32"),
        (np.float64([1]), "float64"),
        (np.int32([1]), "int32"),
        (np.float64(2), "float32"),
        ([np.float32(1), 2], "float32"),
    ],
)
def test_dtypes_by_content(data, dtype):
    t = tg.tensor(data)
    assert t.dtype.name == dtype and t.shape == np.shape(data) and np.array_equal(t.numpy(), data)


def test_tensor_copies_and_from_numpy_borrows():
    x = A.copy()
    copied, borrowed = tg.tensor(x), tg.from_numpy(x)
    doubled = borrowed * 2
    x[0, 0] = 42
    assert copied.numpy()[0, 0] == A[0, 0] and borrowed.numpy()[0, 0] == 42 and doubled[0, 0].item() == 84
    assert tg.tensor([copied[0], [1, 2, 3, 4]]).shape == (2, 4)


def test_makers():
    assert tg.zeros(2, 3).numpy().tolist() == [[0] * 3] * 2 and tg.ones((2,), dtype=tg.int32).dtype is tg.int32
    assert tg.empty(0, 3).shape == (0, 3) and tg.full((2, 2), 7).tolist() == [[7, 7], [7, 7]]
    assert tg.full(3, 1.5).dtype is tg.float32 and tg.full((), True).dtype is tg.bool_
    assert tg.arange(4).tolist() == [0, 1, 2, 3] and tg.arange(4).dtype is tg.int64
    assert tg.arange(1, 2, 0.25).dtype is tg.float32 and tg.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert tg.zeros_like(tg.tensor(A) + 1).shape == (3, 4) and tg.ones_like(I).dtype is tg.int64
    with pytest.raises(TypeError, match="cuda"):
        tg.zeros(2, device="cuda")
    with pytest.raises(TypeError, match="tg.tensor"):
        tg.Tensor([1.0])
    with pytest.raises(TypeError, match="floats alone"):
        tg.tensor([1, 2], requires_grad=True)


def test_rank_0_and_empty():
    x = tg.tensor(2.0)
    assert (x * 3).item() == 6 and float(x) == 2 and int(x + 1) == 3 and bool(x) and x.shape == ()
    assert [10, 20, 30][tg.tensor(1) + 1] == 30 and f"{x:.2f}" == "2.00"
    with pytest.raises(TypeError, match="rank 0"):
        len(x)
    nothing = tg.zeros(0, 3)
    assert (nothing + 1).numpy().shape == (0, 3) and nothing.sum().item() == 0 and nothing.sum(axis=0).tolist() == [0] * 3
    assert (nothing @ tg.ones(3, 2)).numpy().shape == (0, 2) and list(nothing) == []
    assert (nothing.T @ nothing).tolist() == [[0] * 3] * 3
    with pytest.raises(ValueError, match="max"):
        nothing.max()


# ---- when it runs ----


def test_runs_when_a_value_is_needed():
    x = tg.from_numpy(A)
    y = (x * 2).exp().sum()
    assert not y.has_value and y.shape == () and y.dtype is tg.float32
    value = y.item()
    assert y.has_value and y.item() == value
    np.testing.assert_allclose(value, np.exp(A * 2).sum(), rtol=1e-5)


def test_one_form_compiles_once(monkeypatch):
    monkeypatch.setattr(programs, "_kept", {})
    def form(x, k):
        return tg.relu(x * k + 1).sum(axis=0)

    programs._kept.clear()  # full, it would not grow
    form(tg.from_numpy(A), 1.0).numpy()
    before = len(programs._kept)
    for k in (2.0, -3.5, 1e9):
        np.testing.assert_allclose(form(tg.from_numpy(B), k).numpy(), np.maximum(B * k + 1, 0).sum(0), rtol=1e-5)
    assert len(programs._kept) == before
    assert (tg.from_numpy(A) ** 2).tolist() == (tg.from_numpy(A) * tg.from_numpy(A)).tolist()
    x = tg.from_numpy(A)
    assert (x * x).tolist() == (x**2).tolist()
    before = len(programs._kept)
    form(tg.from_numpy(A[:2]), 1.0).numpy()
    assert len(programs._kept) == before + 1


def test_kept_programs_are_bounded(monkeypatch):
    monkeypatch.setattr(programs, "_kept", {})
    monkeypatch.setattr(programs, "_MOST_KEPT", 3)
    for n in [*range(1, 6), *range(1, 6)]:
        assert (tg.ones(n) * 2).sum().item() == 2 * n and len(programs._kept) <= 3


def test_long_loops_stay_small(monkeypatch):
    monkeypatch.setattr(programs, "_kept", {})
    x = tg.zeros(3)
    before = len(programs._kept)
    for _ in range(1000):
        x = x + 1
    assert x.tolist() == [1000] * 3 and len(programs._kept) <= before + 2
    for _ in range(50):
        x = x + x
    assert x.tolist() == [1000 * 2.0**50] * 3


def test_many_threads_ask_for_one_value():
    for _ in range(20):
        x = tg.from_numpy(A)
        for _ in range(10):
            x = (x * 0.5 + 1).tanh()
        ends = [x + k for k in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            values = list(pool.map(lambda t: (t * 1.0).numpy() + x.numpy(), ends))
        assert all(np.array_equal(v, values[0] + k) or np.allclose(v, values[0] + k) for k, v in enumerate(values))


def test_what_ran_lets_go_of_its_operands():
    x = tg.from_numpy(A)
    y = x * 2 + 1
    y.numpy()
    assert y._node is None


def test_kernels_are_deferred_and_feed_each_other():
    class Sum(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x * edge.w

    ring = tg.Graph.from_coo([0, 1, 2], [1, 2, 0])
    w = tg.tensor([1.0, 2.0, 3.0])
    h = tg.tensor([1.0, 2.0, 3.0])
    for _ in range(100):
        h = tg.tanh(Sum()(graph=ring, src={"x": h}, edge={"w": w}) * 0.5)
    want = np.float32([1, 2, 3])
    for _ in range(100):
        want = np.tanh((want * [1, 2, 3])[[2, 0, 1]] * np.float32(0.5))
    assert h.shape == (3,)
    np.testing.assert_allclose(h.numpy(), want, rtol=1e-4, atol=1e-6)


def test_a_deferred_kernel_can_be_inspected():
    class Sum(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x

    kernel, ring = Sum(), tg.Graph.from_coo([0, 1], [1, 0])
    out = kernel(graph=ring, src={"x": tg.ones(2)})
    assert not out.has_value and any(f.stage == "tensors" for f in kernel.diagnostics)
    assert kernel.schedules[0].operation == "traverse r by dst" and kernel.cost(ring).edge_visits == 2
    assert "gf_mp.reduce" in kernel.last_variant.artifacts["domain"] and "gf_mp.reduce" in out.mlir()
    kernel(graph=ring, src={"x": np.ones(2, np.float32)})
    assert all(f.stage != "tensors" for f in kernel.diagnostics)


def test_kernels_refuse_at_the_call():
    class Sum(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x * edge.w

    ring = tg.Graph.from_coo([0, 1, 2], [1, 2, 0])
    with pytest.raises(ValueError, match="5 rows"):
        Sum()(graph=ring, src={"x": tg.zeros(3) + 1}, edge={"w": tg.zeros(5)})


def test_a_kernel_that_holds_a_tensor():
    class Held(tg.MessagePassing):
        def __init__(self):
            self.scale = tg.tensor([2.0, 3.0], requires_grad=True)

        def edge(self, src, dst, edge):
            return src.x * self.scale

    ring = tg.Graph.from_coo([0, 1], [1, 0])
    kernel = Held()
    out = kernel(graph=ring, src={"x": A[:2, :2]})
    assert isinstance(out, tg.Tensor)
    np.testing.assert_allclose(out.numpy(), A[[1, 0], :2] * [2, 3], rtol=1e-6)
    got = tg.autograd.grad(out.sum(), kernel.scale)
    np.testing.assert_allclose(got.numpy(), A[:2, :2].sum(0), rtol=1e-6)


# ---- manners ----


def test_repr_and_iteration():
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    shown = repr(x + 1)
    assert "[2., 3.]" in shown and "shape=(2, 2)" in shown and "float32" in shown and "requires_grad" in shown
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2 and 3.0 in x and 5.0 not in x
    a, b = x
    assert b.tolist() == [3, 4] and x.tolist() == [[1, 2], [3, 4]] and x.numel() == 4


def test_comparisons_as_numpy():
    x = tg.tensor([1.0, 2.0])
    assert (x == x).tolist() == [True, True] and (x == [1.0]) is False and (x != None) is True  # noqa: E711
    assert (x == np.float32([1, 3])).tolist() == [True, False]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x == x)
    assert len({x, x}) == 1
    with pytest.raises(TypeError):
        _ = x < "1"
    with pytest.raises(TypeError):
        _ = x + [1.0, 2.0]


@pytest.mark.parametrize(
    "wrong, kind, parts",
    [
        (lambda x: x + tg.ones(3), ValueError, ["(2,)", "(3,)", "tensor"]),
        (lambda x: x + tg.ones(2, dtype=tg.float64), TypeError, ["float32", "float64"]),
        (lambda x: x.sum(axis=1), ValueError, ["axis 1"]),
        (lambda x: x[2], IndexError, ["index 2", "tensor of"]),
        (lambda x: x[0, 0], IndexError, ["indices"]),
        (lambda x: x[True], NotImplementedError, ["bool"]),
        (lambda x: x[[0]], NotImplementedError, ["list"]),
        (lambda x: x.reshape(3), ValueError, ["reshape"]),
        (lambda x: x @ tg.ones(3), ValueError, ["matmul", "3"]),
        (lambda x: x & 1, TypeError, ["and"]),
        (lambda x: x.__setitem__(0, 1.0), TypeError, ["immutable", "where"]),
        (lambda x: tg.exp([1.0]), TypeError, ["tg.tensor"]),
    ],
)
def test_refused_at_the_operation(wrong, kind, parts):
    with pytest.raises(kind) as error:
        wrong(tg.tensor([1.0, 2.0]))
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_numpy_gets_arrays_for_the_rest():
    x = tg.tensor([3.0, 1.0, 2.0])
    assert np.allclose(x, x + 0) and np.sort(x).tolist() == [1, 2, 3] and np.linalg.norm(np.asarray(x)) > 0
    assert np.asarray(x, dtype=np.float64).dtype == np.float64 and np.array(x).tolist() == [3, 1, 2]
    np.testing.assert_allclose(x, [3, 1, 2])


def test_dlpack_out():
    x = tg.tensor([1.0, 2.0]) * 2
    assert np.from_dlpack(x).tolist() == [2, 4] and np.shares_memory(np.from_dlpack(x), x.numpy())
    assert tg.from_dlpack(x).tolist() == [2, 4]


def test_pickle_and_deepcopy():
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), pickle.loads(pickle.dumps(x * 1))):
        assert y.tolist() == [1, 2] and y.requires_grad and not np.shares_memory(y.numpy(), x.numpy())


def test_strange_memory():
    raw = np.zeros(13, np.uint8)
    odd = raw[1:].view(np.float32)
    odd[:] = [1, 2, 3]
    odd.flags.writeable = False
    assert (tg.from_numpy(odd) * 2).tolist() == [2, 4, 6]
    assert (tg.from_numpy(np.broadcast_to(np.float32(2), (3, 2))) + A[:, :2]).shape == (3, 2)
    with pytest.raises(TypeError, match="byte-swapped"):
        tg.from_numpy(np.float32([1]).astype(">f4"))


def test_special_values():
    x = tg.tensor([float("nan"), float("inf"), -0.0, 0.0])
    assert np.array_equal((x + 0.0).numpy(), x.numpy(), equal_nan=True) and np.signbit((x * 1).numpy()[2])
    assert np.isnan(x.max().item()) and tg.isfinite(x).tolist() == [False, False, True, True]


def test_inspection():
    y = tg.tensor([[1.0, 2.0]]) @ tg.tensor([[1.0], [2.0]])
    for _ in range(2):
        assert '"gf_tensor.matmul"' in y.mlir() and "lowering:" in y.explain() and "define" in y.code("llvm")
        y.numpy()
    with pytest.raises(KeyError, match="llvm-opt"):
        y.code("ptx")
    for x in (tg.ones(2), tg.ones(2)[1:], (tg.ones(2) + 1)[1:]):
        with pytest.raises(RuntimeError, match="memory"):
            x.mlir()


# ---- torch ----


def test_torch_and_back():
    torch = pytest.importorskip("torch")
    t = torch.arange(6.0).reshape(2, 3)
    x = tg.from_torch(t)
    assert np.shares_memory(x.T.numpy(), t.numpy()) and (x * 2).to_torch().tolist() == (t * 2).tolist()
    assert torch.from_dlpack(x + 1).tolist() == (t + 1).tolist() and torch.sqrt(x).tolist() == t.sqrt().tolist()
    assert x[:, ::-1].to_torch().tolist() == t.flip(1).tolist()
    assert tg.tensor(t).to_torch().data_ptr() != t.data_ptr()
    for refused in (lambda: x + t, lambda: t + x, lambda: torch.add(t, x), lambda: tg.where(x > 0, x, t)):
        with pytest.raises(TypeError, match="torch tensor beside"):
            refused()


def test_the_documentation_runs():
    text = (ROOT / "docs" / "tensors.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    scope = {}
    for block in blocks:
        exec(block, scope)
    assert len(blocks) == 2 and scope["dx"].shape == (2, 3) and scope["loss"].item() < 1
