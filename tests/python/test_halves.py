"""float16 and bfloat16: float32 inside, rounded when stored, gradients in the input's dtype."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")

GRAPH = tg.Graph.from_coo([0, 2, 1, 0, 1, 2, 2], [0, 0, 1, 2, 2, 1, 0], num_src=3, num_dst=4)
HALVES = [torch.float16, torch.bfloat16]
RNG = np.random.default_rng(3)


def given(dtype, *shape):
    return torch.from_numpy(RNG.standard_normal(shape).astype(np.float32)).to(dtype)


class Weighted(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return src.x * edge.w


class Attention(tg.MessagePassing):
    reducer = tg.online_softmax()

    def edge(self, src, dst, edge):
        score = (src.k * dst.q).sum(-1, keepdim=True) * 0.5
        return self.reducer(score, src.v)


def run(kernel, graph=GRAPH, **roles):
    return kernel(graph=graph, **roles)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_result_is_rounded_once(dtype):
    x, w = given(dtype, 3, 17), given(dtype, 7, 1)
    out = run(Weighted(), src={"x": x}, dst={}, edge={"w": w})
    wide = run(Weighted(), src={"x": x.float()}, dst={}, edge={"w": w.float()})
    assert out.dtype is dtype
    assert torch.equal(out, wide.to(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_gradients_have_the_inputs_dtype(dtype):
    fields = {n: given(dtype, 3, 8).requires_grad_() for n in "kv"}
    q = given(dtype, 4, 8).requires_grad_()
    wide = {n: f.detach().float().requires_grad_() for n, f in fields.items()}
    wide_q = q.detach().float().requires_grad_()
    out = run(Attention(), src=fields, dst={"q": q})
    same = run(Attention(), src=wide, dst={"q": wide_q})
    assert torch.equal(out[:3], same[:3].to(dtype)) and torch.isnan(out[3]).all()
    cot = given(dtype, 4, 8)
    out[:3].backward(cot[:3])
    same[:3].backward(cot[:3].float())
    for half, single in [*zip(fields.values(), wide.values()), (q, wide_q)]:
        assert half.grad.dtype is dtype
        torch.testing.assert_close(half.grad, single.grad.to(dtype), rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_strides_and_second_derivatives(dtype):
    x = given(dtype, 17, 3).t().requires_grad_()  # transposed
    w = given(dtype, 1, 1).expand(7, 1).requires_grad_()  # strides of 0
    out = run(Weighted(), src={"x": x}, dst={}, edge={"w": w})
    (first,) = torch.autograd.grad((out * out).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), w)
    assert first.dtype is dtype and second.dtype is dtype
    xs, ws = x.detach().double().requires_grad_(), w.detach().double().requires_grad_()
    wide = run(Weighted(), src={"x": xs}, dst={}, edge={"w": ws})
    (one,) = torch.autograd.grad((wide * wide).sum(), xs, create_graph=True)
    (two,) = torch.autograd.grad(one.sum(), ws)
    torch.testing.assert_close(second.double(), two, rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("reducer", ["sum", "mean", "max", "min", "var", "std", "logsumexp", "median", "argmax", "prod"])
def test_reducers_compute_in_float32(dtype, reducer):
    ring = tg.Graph.from_coo(np.arange(5000), np.zeros(5000, int), num_src=5000, num_dst=1)
    x = given(dtype, 5000) * 0.1 + 1

    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x

    kernel = Kernel()
    kernel.reducer = getattr(tg, reducer)()
    out, wide = (run(kernel, ring, src={"x": v}, dst={}) for v in (x, x.float()))
    assert out.dtype is (torch.int64 if reducer == "argmax" else dtype) and torch.equal(out, wide.to(out.dtype))


def test_many_ones():
    ones = torch.ones(5000, dtype=torch.bfloat16)
    for n, total in ((512, 512), (5000, 4992)):
        ring = tg.Graph.from_coo(np.arange(n), np.zeros(n, int), num_src=n, num_dst=1)
        assert run(Weighted(), ring, src={"x": ones[:n]}, dst={}, edge={"w": ones[:n]}).item() == total


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_vocabulary_keeps_the_dtype(dtype):
    seen = []

    class Kernel(tg.MessagePassing):
        reducer = tg.mean()

        def edge(self, src, dst, edge):
            x = src.x
            values = [x * 0.1 + 2, x / edge.n, torch.exp(x), x.softmax(-1), x @ x, torch.cat([x, x], -1), x.sum(-1)]
            values += [tg.where(edge.n > 1, x, 0.0), tg.sigmoid(x), x**2, x.to(tg.float32).to(x.dtype), x.mean(-1)]
            seen.extend(v.dtype.name for v in values)
            assert (x.float() + 1.0).dtype is tg.float32 and (x > 0).dtype is tg.bool_
            return x

    out = run(Kernel(), src={"x": given(dtype, 3, 4)}, dst={}, edge={"n": torch.arange(1, 8)})
    assert set(seen) == {str(dtype).rpartition(".")[2]} and out.dtype is dtype


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_tables_and_running_sums(dtype):
    class Kernel(tg.MessagePassing):
        reducer = tg.sum()

        def edge(self, src, dst, edge, table):
            return (table[edge.k] * src.x).cumsum(-1)

    table, x = given(dtype, 5, 6).requires_grad_(), given(dtype, 3, 6)
    wide = table.detach().float().requires_grad_()
    k = torch.tensor([0, 4, 2, 2, 1, 0, 3])
    out = run(Kernel(), src={"x": x}, dst={}, edge={"k": k}, table=table)
    same = run(Kernel(), src={"x": x.float()}, dst={}, edge={"k": k}, table=wide)
    assert out.dtype is dtype and torch.equal(out, same.to(dtype))
    out.sum().backward()
    same.sum().backward()
    assert table.grad.dtype is dtype and torch.equal(table.grad, wide.grad.to(dtype))


def test_numbers_and_integers_do_not_widen_and_are_not_rounded():
    class Kernel(tg.MessagePassing):
        reducer = tg.sum()

        def edge(self, src, dst, edge, scale):
            return src.x * scale / edge.n

    one = tg.Graph.from_coo([0], [0])
    x, n = torch.tensor([60000.0], dtype=torch.float16), torch.tensor([70001])
    out = run(Kernel(), one, src={"x": x}, dst={}, edge={"n": n}, scale=1e6)
    assert out.dtype is torch.float16 and out.item() == float("inf")
    out = run(Kernel(), one, src={"x": x}, dst={}, edge={"n": n}, scale=70001.0)
    assert out.item() == 60000


@pytest.mark.parametrize(
    ("half", "other"), [(torch.float16, torch.float32), (torch.bfloat16, torch.float16), (torch.bfloat16, torch.float64)]
)
def test_float_kinds_do_not_mix(half, other):
    with pytest.raises(TypeError, match="do not meet") as error:
        run(Weighted(), src={"x": given(half, 3)}, dst={}, edge={"w": given(other, 7)})
    for dtype in (half, other):
        assert str(dtype).rpartition(".")[2] in str(error.value)


def test_casts_round():
    class Kernel(tg.MessagePassing):
        reducer = tg.sum()

        def edge(self, src, dst, edge):
            return src.x.to(tg.float16).to(tg.float32) - src.x.to(torch.bfloat16).float()

    x = given(torch.float32, 3)
    out = run(Kernel(), tg.Graph.from_coo([0, 1, 2], [0, 1, 2]), src={"x": x}, dst={})
    assert torch.equal(out, x.half().float() - x.bfloat16().float())


def test_custom_reducer():
    class Moments(tg.Reducer):
        def identity(self):
            return 0.0, 0.0

        def lift(self, m):
            return m, m * m

        def combine(self, a, b):
            return a[0] + b[0], a[1] + b[1]

        def finalize(self, s):
            return s[1] - s[0] * s[0]

    assert "bf16" in Moments().mlir((torch.bfloat16,)).partition("lift")[2]

    class Kernel(tg.MessagePassing):
        reducer = Moments()

        def edge(self, src, dst, edge):
            return src.x

    x = given(torch.bfloat16, 3, 5)
    out, wide = (run(Kernel(), src={"x": v}, dst={}) for v in (x, x.float()))
    assert out.dtype is torch.bfloat16 and torch.equal(out, wide.bfloat16())


def test_reducer_without_a_proof():
    class Folded(tg.Reducer):
        def identity(self):
            return 0.25

        def lift(self, m):
            return m

        def combine(self, a, b):
            return a * 0.9 + tg.tanh(b)

        def finalize(self, s):
            return s + 1

    class Kernel(tg.MessagePassing):
        reducer = Folded()

        def edge(self, src, dst, edge):
            return src.x

    x = given(torch.bfloat16, 3, 5).requires_grad_()
    wide = x.detach().float().requires_grad_()
    out, same = (run(Kernel(), src={"x": v}, dst={}) for v in (x, wide))
    assert out.dtype is torch.bfloat16 and torch.equal(out, same.bfloat16())
    out.sum().backward()
    same.sum().backward()
    assert torch.equal(x.grad, wide.grad.bfloat16())


def test_numpy_float16():
    x, w = RNG.standard_normal((3, 5)).astype(np.float16), RNG.standard_normal((7, 1)).astype(np.float16)
    kernel = Weighted()
    out = run(kernel, src={"x": x[:, ::-1]}, dst={}, edge={"w": w})
    wide = run(kernel, src={"x": x[:, ::-1].astype(np.float32)}, dst={}, edge={"w": w.astype(np.float32)})
    assert out.dtype == np.float16
    np.testing.assert_array_equal(out, wide.astype(np.float16))
    with pytest.raises(TypeError, match="byte-swapped"):
        run(kernel, src={"x": x.astype(">f2")}, dst={}, edge={"w": w})
    assert tg.formula("out = sum(src.x) * s")(graph=GRAPH, src={"x": x}, s=0.1).dtype == np.float16


def test_numpy_bfloat16():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x, w = RNG.standard_normal((3, 5)).astype(bfloat16), RNG.standard_normal((7, 1)).astype(bfloat16)
    out = run(Weighted(), src={"x": x[:, ::-1]}, dst={}, edge={"w": w})
    same = {"x": torch.from_numpy(x.astype(np.float32)).flip(1).bfloat16()}
    want = run(Weighted(), src=same, dst={}, edge={"w": torch.from_numpy(w.astype(np.float32)).bfloat16()})
    assert out.dtype == bfloat16 and tg.bfloat16 is not None
    np.testing.assert_array_equal(out.astype(np.float32), want.float().numpy())
    tensor = tg.from_torch(same["x"])
    assert tensor.dtype is tg.bfloat16 and torch.equal(tg.from_numpy(x).to_torch(), same["x"].flip(1))
    assert run(Weighted(), src={"x": tensor}, dst={}, edge={"w": tg.from_numpy(w)}).dtype is tg.bfloat16


def test_tensor_float16():
    x = tg.from_torch(given(torch.float16, 3))
    assert x.dtype is tg.float16 and x.to_torch().dtype is torch.float16
    assert tg.from_dlpack(given(torch.float16, 3)).dtype is tg.float16


def test_cost_counts_two_bytes():
    ring = tg.Graph.regular(1000, 8)
    costs = []
    for dtype in (torch.float32, torch.bfloat16):
        kernel = Weighted()
        run(kernel, ring, src={"x": given(dtype, 1000, 32)}, dst={}, edge={"w": given(dtype, 8000, 1)})
        costs.append(kernel.cost(ring))
    wide, half = costs
    index = 8000 * 4 + 1001 * 8
    assert (half.bytes_read - index) * 2 == wide.bytes_read - index
    assert half.bytes_written * 2 == wide.bytes_written


def test_formula_casts_round():
    x = given(torch.float32, 3)
    one = tg.Graph.from_coo([0, 1, 2], [0, 1, 2])
    out = tg.formula("out = float32(bfloat16(node.x)) + 0 * sum(src(node.x))")(graph=one, ndata={"x": x})
    assert torch.equal(out, x.bfloat16().float())
    half = tg.formula("out = float16(sum(src(node.x)))")(graph=one, ndata={"x": x})
    assert half.dtype is torch.float16 and torch.equal(half, x.half())


def test_deferred_tensors():
    x = RNG.standard_normal((4, 5)).astype(np.float16)
    t = tg.from_numpy(x, requires_grad=True)
    y = (t * 0.5 + 1).sum(axis=1)
    assert y.dtype is tg.float16
    np.testing.assert_array_equal(y.numpy(), (x.astype(np.float32) * 0.5 + 1).sum(1).astype(np.float16))
    grad = tg.autograd.grad((t * t).sum(), t)
    assert grad.dtype is tg.float16
    np.testing.assert_array_equal(grad.numpy(), 2 * x)
    assert tg.zeros(2, dtype=tg.float16).numpy().dtype == np.float16


def test_autocast_widens():
    with torch.autocast("cpu", torch.bfloat16):
        out = run(Weighted(), src={"x": given(torch.bfloat16, 3)}, dst={}, edge={"w": given(torch.float32, 7)})
    assert out.dtype is torch.float32
