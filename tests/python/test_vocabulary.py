"""Every operation on staged values against torch's, as method, as tg. function, as torch's and NumPy's own."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
F = torch.nn.functional

RING = tg.Graph.from_coo([0, 1, 2], [0, 1, 2])  # edge e is node e: results are what edge() returns
generator = torch.Generator().manual_seed(5)
A = torch.randn(3, 4, generator=generator, dtype=torch.float64)
B = torch.randn(3, 4, generator=generator, dtype=torch.float64)
C = torch.randn(3, 2, 5, generator=generator, dtype=torch.float64)
W = torch.randn(4, 5, generator=generator, dtype=torch.float64)
I = torch.tensor([[1, -2, 3, 7], [0, 5, -6, 2], [4, 4, 1, -9]])


def run(function):
    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return function(src.a, src.b, src.c, src.i)

    return Kernel()(graph=RING, src={"a": A, "b": B, "c": C, "i": I})


def same(ours, theirs):
    """ours of staged values, theirs of tensors."""
    expected = theirs(A, B, C, I)
    expected = expected.long() if expected.dtype == torch.bool else expected
    actual = run(lambda *v: (lambda r: r.to(tg.int64) if r.dtype is tg.dtypes.bool_ else r)(ours(*v)))
    torch.testing.assert_close(actual, expected)


BOTH = {
    "add": lambda a, b, c, i: a + b,
    "radd": lambda a, b, c, i: 2 + a,
    "sub": lambda a, b, c, i: a - b,
    "rsub": lambda a, b, c, i: 1.5 - a,
    "mul": lambda a, b, c, i: a * 3,
    "div": lambda a, b, c, i: a / b,
    "rdiv": lambda a, b, c, i: 1 / a,
    "floordiv": lambda a, b, c, i: a // b,
    "mod": lambda a, b, c, i: a % b,
    "int floordiv": lambda a, b, c, i: i // 3,
    "int mod": lambda a, b, c, i: i % 3,
    "int div": lambda a, b, c, i: i / 4,
    "neg": lambda a, b, c, i: -a,
    "abs": lambda a, b, c, i: abs(a),
    "pow2": lambda a, b, c, i: a**2,
    "pow-1": lambda a, b, c, i: a**-1,
    "pow.5": lambda a, b, c, i: abs(a) ** 0.5,
    "pow2.5": lambda a, b, c, i: abs(a) ** 2.5,
    "pow staged": lambda a, b, c, i: abs(a) ** b,
    "pow of negatives": lambda a, b, c, i: a**3.0 + a**65,
    "rpow": lambda a, b, c, i: 2**a,
    "round": lambda a, b, c, i: (a * 2).round(),
    "lt": lambda a, b, c, i: a < b,
    "ge": lambda a, b, c, i: a >= 0,
    "eq": lambda a, b, c, i: i == 4,
    "ne": lambda a, b, c, i: i != 4,
    "and": lambda a, b, c, i: (a > 0) & (b > 0),
    "or": lambda a, b, c, i: (a > 0) | (b > 0),
    "xor": lambda a, b, c, i: (a > 0) ^ (b > 0),
    "not": lambda a, b, c, i: ~(a > 0),
    "int and": lambda a, b, c, i: i & 3,
    "mask times": lambda a, b, c, i: (a > 0) * b,
    "exp": lambda a, b, c, i: a.exp(),
    "log": lambda a, b, c, i: abs(a).log(),
    "sqrt": lambda a, b, c, i: abs(a).sqrt(),
    "rsqrt": lambda a, b, c, i: abs(a).rsqrt(),
    "square": lambda a, b, c, i: a.square(),
    "reciprocal": lambda a, b, c, i: a.reciprocal(),
    "tanh": lambda a, b, c, i: a.tanh(),
    "expm1": lambda a, b, c, i: a.expm1(),
    "log1p": lambda a, b, c, i: abs(a).log1p(),
    "sin": lambda a, b, c, i: a.sin(),
    "cos": lambda a, b, c, i: a.cos(),
    "erf": lambda a, b, c, i: a.erf(),
    "sign": lambda a, b, c, i: a.sign(),
    "floor": lambda a, b, c, i: a.floor(),
    "ceil": lambda a, b, c, i: a.ceil(),
    "relu": lambda a, b, c, i: a.relu(),
    "sigmoid": lambda a, b, c, i: a.sigmoid(),
    "isnan": lambda a, b, c, i: (a / (a * 0)).isnan(),
    "maximum": lambda a, b, c, i: a.maximum(b),
    "minimum": lambda a, b, c, i: a.minimum(b),
    "clamp": lambda a, b, c, i: a.clamp(-0.5, 0.5),
    "clamp max": lambda a, b, c, i: a.clamp(max=0),
    "clip": lambda a, b, c, i: a.clip(min=0),
    "where": lambda a, b, c, i: a.where(a > 0, b),
    "to": lambda a, b, c, i: (a * 3).to(torch.int64),
    "float": lambda a, b, c, i: a.float(),
    "long": lambda a, b, c, i: (a * 3).long(),
    "sum": lambda a, b, c, i: a.sum(-1),
    "sum keepdim": lambda a, b, c, i: c.sum(dim=1, keepdim=True),
    "sum axes": lambda a, b, c, i: c.sum((1, 2)),
    "int sum": lambda a, b, c, i: i.sum(1),
    "mean": lambda a, b, c, i: c.mean(dim=(1, 2)),
    "prod": lambda a, b, c, i: a.prod(1),
    "amax": lambda a, b, c, i: a.amax(-1),
    "amin": lambda a, b, c, i: a.amin(-1, keepdim=True),
    "any": lambda a, b, c, i: (a > 1).any(1),
    "all": lambda a, b, c, i: (a > -1).all(1),
    "logsumexp": lambda a, b, c, i: a.logsumexp(-1),
    "softmax": lambda a, b, c, i: a.softmax(-1),
    "log_softmax": lambda a, b, c, i: c.log_softmax(1),
    "cumsum": lambda a, b, c, i: c.cumsum(-1) * c.cumsum(dim=1),
    "int cumsum": lambda a, b, c, i: i.int().cumsum(1),
    "norm": lambda a, b, c, i: a.norm(dim=-1),
    "norm 2": lambda a, b, c, i: a.norm(2, -1, True),
    "reshape": lambda a, b, c, i: c.reshape(-1, 5, 2),
    "view": lambda a, b, c, i: c.view(-1, 10),
    "flatten": lambda a, b, c, i: c.flatten(1),
    "permute": lambda a, b, c, i: c.permute(0, 2, 1),
    "transpose": lambda a, b, c, i: c.transpose(1, 2),
    "mT": lambda a, b, c, i: c.mT,
    "squeeze": lambda a, b, c, i: a.unsqueeze(1).squeeze(1),
    "unsqueeze": lambda a, b, c, i: a.unsqueeze(-1),
    "squeeze all": lambda a, b, c, i: a[:, None, :, None].squeeze(),
    "expand": lambda a, b, c, i: a.unsqueeze(1).expand(-1, 3, -1),
    "index": lambda a, b, c, i: a[:, 2],
    "index -1": lambda a, b, c, i: c[..., -1],
    "slice": lambda a, b, c, i: a[:, 1:3],
    "step": lambda a, b, c, i: c[:, :, ::2],
    "slice to": lambda a, b, c, i: c[:, :1, -3:],
    "none": lambda a, b, c, i: a[:, None],
    "param matmul": lambda a, b, c, i: a @ W,
    "matmul": lambda a, b, c, i: (c @ c.mT).flatten(1),
    "matmul vector": lambda a, b, c, i: (a.unsqueeze(1) @ b.unsqueeze(-1)).flatten(1),
    "tensor left": lambda a, b, c, i: W[:, :3] @ a.unsqueeze(-1)[:, :3],
    "tensor times": lambda a, b, c, i: W[:, 0] * a,
    "tensor minus": lambda a, b, c, i: W[:, 0] - a,
    "tensor over": lambda a, b, c, i: W[:, 0] / a,
    "tensor less": lambda a, b, c, i: W[:, 0] < a,
    "shape": lambda a, b, c, i: c.reshape(c.shape[0], c.shape[1] * c.shape[2]),
    "size": lambda a, b, c, i: a * a.size(1) + a.dim(),
}


@pytest.mark.parametrize("name", BOTH)
def test_methods_and_operators(name):
    same(BOTH[name], BOTH[name])


TORCH = {
    "exp": lambda a, b, c, i: torch.exp(a),
    "cat": lambda a, b, c, i: torch.cat([a, b], -1),
    "stack": lambda a, b, c, i: torch.stack((a, b), dim=1),
    "where": lambda a, b, c, i: torch.where(a > 0, a, b),
    "maximum": lambda a, b, c, i: torch.maximum(a, b),
    "max of two": lambda a, b, c, i: torch.max(a, b),
    "amax": lambda a, b, c, i: torch.amax(a, dim=1),
    "sum": lambda a, b, c, i: torch.sum(a, dim=-1),
    "matmul": lambda a, b, c, i: torch.matmul(a, W),
    "left": lambda a, b, c, i: torch.matmul(W.mT, a.unsqueeze(-1)),
    "leaky_relu": lambda a, b, c, i: F.leaky_relu(a, 0.2),
    "elu": lambda a, b, c, i: F.elu(a),
    "silu": lambda a, b, c, i: F.silu(a),
    "softplus": lambda a, b, c, i: F.softplus(a),
    "gelu": lambda a, b, c, i: F.gelu(a),
    "gelu tanh": lambda a, b, c, i: F.gelu(a, approximate="tanh"),
    "erf": lambda a, b, c, i: torch.special.erf(a) + torch.erf(b),
    "sin cos": lambda a, b, c, i: torch.sin(a) * torch.cos(b),
    "log1p expm1": lambda a, b, c, i: torch.log1p(torch.exp(a)) + torch.special.expm1(b),
    "pow of tensors": lambda a, b, c, i: torch.pow(torch.abs(a), b) + torch.pow(2.5, a),
    "parameter to a power": lambda a, b, c, i: torch.abs(W[:, 0]) ** a + torch.abs(a) ** W[:, 0],
    "round": lambda a, b, c, i: torch.round(a * 3),
    "relu": lambda a, b, c, i: F.relu(a),
    "softmax": lambda a, b, c, i: F.softmax(a, dim=-1),
    "log_softmax": lambda a, b, c, i: F.log_softmax(a, -1),
    "linear": lambda a, b, c, i: F.linear(a, W.mT, W[0]),
    "clamp": lambda a, b, c, i: torch.clamp(a, min=0),
    "clamp_min": lambda a, b, c, i: torch.clamp_min(a, 0.5),
    "norm": lambda a, b, c, i: torch.norm(a, dim=-1),
    "linalg": lambda a, b, c, i: torch.linalg.norm(a, dim=1),
    "vector_norm": lambda a, b, c, i: torch.linalg.vector_norm(a, dim=1, keepdim=True),
    "isfinite": lambda a, b, c, i: torch.isfinite(a / 0),
    "flatten": lambda a, b, c, i: torch.flatten(c, 1),
    "unsqueeze": lambda a, b, c, i: torch.unsqueeze(a, 1),
    "permute": lambda a, b, c, i: torch.permute(c, (0, 2, 1)),
    "abs": lambda a, b, c, i: torch.abs(a),
    "cumsum": lambda a, b, c, i: torch.cumsum(a, dim=-1),
    "add": lambda a, b, c, i: torch.add(a, b),
    "mul": lambda a, b, c, i: W[:, 0].mul(a),
    "logical": lambda a, b, c, i: torch.logical_and(a > 0, b > 0),
    "any": lambda a, b, c, i: torch.any(a > 1, dim=1),
    "pow": lambda a, b, c, i: torch.pow(a, 3),
    "sigmoid": lambda a, b, c, i: torch.sigmoid(a),
}


@pytest.mark.parametrize("name", TORCH)
def test_torch_functions(name):
    same(TORCH[name], TORCH[name])


w = W.numpy()
NUMPY = {
    "exp": lambda a, b, c, i: np.exp(a),
    "maximum": lambda a, b, c, i: np.maximum(a, 0.0),
    "where": lambda a, b, c, i: np.where(a > 0, a, b),
    "sum": lambda a, b, c, i: np.sum(a, axis=-1),
    "concatenate": lambda a, b, c, i: np.concatenate([a, b], axis=1),
    "stack": lambda a, b, c, i: np.stack([a, b], axis=1),
    "left operator": lambda a, b, c, i: w[:, 0] * a,
    "left matmul": lambda a, b, c, i: np.matmul(w.T, a[:, :, None]),
    "left minus": lambda a, b, c, i: w[:, 0] - a,
    "clip": lambda a, b, c, i: np.clip(a, -1.0, 1.0),
    "isnan": lambda a, b, c, i: np.isnan(a),
    "sqrt": lambda a, b, c, i: np.sqrt(np.abs(a)),
    "power": lambda a, b, c, i: np.power(a, 2),
    "power of arrays": lambda a, b, c, i: np.power(np.abs(a), b),
    "round": lambda a, b, c, i: np.round(a * 3) + np.rint(b),
    "sin": lambda a, b, c, i: np.sin(a) - np.cos(b),
    "expm1": lambda a, b, c, i: np.expm1(a) + np.log1p(np.abs(b)),
    "expand_dims": lambda a, b, c, i: np.expand_dims(a, 1),
    "reshape": lambda a, b, c, i: np.reshape(c, (-1, 10)),
    "transpose": lambda a, b, c, i: np.transpose(c, (0, 2, 1)),
    "norm": lambda a, b, c, i: np.linalg.norm(a, axis=1),
    "max": lambda a, b, c, i: np.max(a, axis=1),
    "cumsum": lambda a, b, c, i: np.cumsum(c, axis=1),
    "greater": lambda a, b, c, i: np.greater(a, b),
    "negative": lambda a, b, c, i: np.negative(a),
}


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_functions(name):
    function = NUMPY[name]
    same(
        function, lambda a, b, c, i: torch.from_numpy(np.asarray(function(a.numpy(), b.numpy(), c.numpy(), i.numpy())))
    )


TIGA = {
    "exp": (lambda a, b, c, i: tg.exp(a), lambda a, b, c, i: a.exp()),
    "where": (lambda a, b, c, i: tg.where(a > 0, a, 0), lambda a, b, c, i: a.clamp(min=0)),
    "sum": (lambda a, b, c, i: tg.sum(a, dim=-1), lambda a, b, c, i: a.sum(-1)),
    "mean": (lambda a, b, c, i: tg.mean(a, axis=1, keepdims=True), lambda a, b, c, i: a.mean(1, True)),
    "max": (lambda a, b, c, i: tg.max(a, -1), lambda a, b, c, i: a.amax(-1)),
    "max method": (lambda a, b, c, i: a.max(dim=-1), lambda a, b, c, i: a.amax(-1)),
    "min": (lambda a, b, c, i: tg.min(a, -1), lambda a, b, c, i: a.amin(-1)),
    "prod": (lambda a, b, c, i: tg.prod(a, -1), lambda a, b, c, i: a.prod(-1)),
    "any": (lambda a, b, c, i: tg.any(a > 1, -1), lambda a, b, c, i: (a > 1).any(-1)),
    "logsumexp": (lambda a, b, c, i: tg.logsumexp(a, -1), lambda a, b, c, i: a.logsumexp(-1)),
    "cumsum": (lambda a, b, c, i: tg.cumsum(a, -1, reverse=True), lambda a, b, c, i: a.flip(1).cumsum(1).flip(1)),
    "cat": (lambda a, b, c, i: tg.cat([a, b], axis=-1), lambda a, b, c, i: torch.cat([a, b], -1)),
    "negative step": (lambda a, b, c, i: a[:, ::-1], lambda a, b, c, i: a.flip(1)),
    "negative stop": (lambda a, b, c, i: a[:, 2:0:-1], lambda a, b, c, i: a[:, 1:3].flip(1)),
    "empty slice": (lambda a, b, c, i: a[:, 3:1], lambda a, b, c, i: a[:, 3:1]),
    "cast": (lambda a, b, c, i: a.to("float32"), lambda a, b, c, i: a.float()),
    "astype": (lambda a, b, c, i: a.astype(np.float32), lambda a, b, c, i: a.float()),
    "number matters not": (lambda a, b, c, i: i * 2 + True, lambda a, b, c, i: i * 2 + 1),
}


@pytest.mark.parametrize("name", TIGA)
def test_tiga_functions(name):
    same(*TIGA[name])


def test_infinities_and_nan():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 0.0], dtype=torch.float64)
    graph = tg.Graph.from_coo(torch.arange(5), torch.arange(5))

    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            x = src.x
            return tg.stack(
                [tg.relu(x), tg.maximum(x, 0.0), tg.minimum(x, 0.0), tg.sign(x), tg.exp(x), x * 0, tg.clamp(x, -1, 1)],
                -1,
            )

    out = Kernel()(graph=graph, src={"x": x})
    expected = torch.stack([x.relu(), x.clamp(min=0), x.clamp(max=0), x.sign(), x.exp(), x * 0, x.clamp(-1, 1)], -1)
    torch.testing.assert_close(out, torch.where(x[:, None].isnan(), x[:, None], expected), equal_nan=True)


def test_every_public_name_has_a_docstring():
    public = [getattr(tg, n) for n in dir(tg) if not n.startswith("_")]
    assert [o for o in public if callable(o) and not (o.__doc__ or "").strip()] == []


def test_repr_of_a_staged_value():
    seen = []
    run(lambda a, b, c, i: (seen.append(repr(c)), a)[1])
    assert seen == ["<staged float64 @ edges [2, 5]>"]
