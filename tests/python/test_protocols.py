"""torch's and NumPy's functions of staged values and of tensors: one table, tried name by name."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
F = torch.nn.functional
GRAPH = tg.Graph.from_coo([0, 1, 2], [0, 1, 2])
RNG = np.random.default_rng(2)
X, Y = RNG.uniform(0.1, 1.5, (2, 3, 4))

OF_ONE = {
    torch: """abs absolute neg negative positive sign exp expm1 log log1p sqrt rsqrt square reciprocal sin cos tanh erf
        floor ceil round trunc fix relu sigmoid isnan isfinite isinf logical_not clone zeros_like ones_like conj real""",
    F: "relu leaky_relu sigmoid silu gelu softplus elu tanh logsigmoid",
    np: """abs absolute fabs negative positive sign exp expm1 log log1p sqrt square reciprocal sin cos tanh floor ceil rint
        round around trunc isnan isfinite isinf logical_not conj conjugate real imag zeros_like ones_like""",
}
OF_TWO = {
    torch: """add sub subtract mul multiply div divide true_divide floor_divide remainder pow maximum minimum max min lt le
        gt ge eq ne less greater less_equal greater_equal not_equal logical_and logical_or logical_xor""",
    np: """add subtract multiply divide true_divide floor_divide mod remainder power maximum minimum less less_equal
        greater greater_equal equal not_equal logical_and logical_or logical_xor""",
}
FORMS = {
    "alpha": lambda x, y: torch.add(x, y, alpha=2) - torch.sub(x, y, alpha=3),
    "rsub": lambda x, y: torch.rsub(x, y),
    "rounded division": lambda x, y: torch.div(x, y, rounding_mode="floor") + torch.div(-x, y, rounding_mode="trunc"),
    "where": lambda x, y: torch.where(x > 0.5, x, 0.0),
    "bits": lambda x, y: torch.bitwise_and(x > 0.5, y > 0.5) ^ torch.bitwise_not(x > 1),
    "softmax": lambda x, y: torch.softmax(x, -1) + F.softmax(y, dim=1, dtype=torch.float64) + F.log_softmax(x, dim=1),
    "gelu": lambda x, y: F.gelu(x, approximate="tanh"),
    "sums": lambda x, y: torch.sum(x, -1, keepdim=True) + torch.mean(y, dim=1, keepdim=True) + torch.prod(x, 1, True),
    "sum in another dtype": lambda x, y: torch.sum(x, -1, dtype=torch.float32),
    "extrema": lambda x, y: torch.amax(x, (1,)) + torch.amin(y, dim=1) + torch.logsumexp(x, 1),
    "any": lambda x, y: torch.any(x > 1, dim=1) | torch.all(y > 0.5, 1),
    "norms": lambda x, y: torch.norm(x, p=2, dim=1) + torch.linalg.vector_norm(y, dim=1) + torch.linalg.norm(x, dim=1),
    "joins": lambda x, y: torch.cat((x, torch.concat((y, x), dim=-1)), 1) * torch.stack((x, y), -1).sum((1, 2), True)[:, 0],
    "shapes": lambda x, y: torch.flatten(torch.permute(torch.reshape(x, (-1, 2, 2)), (0, 2, 1)), 1) * y,
    "views": lambda x, y: torch.transpose(x.view(-1, 2, 2), 1, 2).reshape(-1, 4) + torch.squeeze(torch.unsqueeze(y, 1), 1),
    "moves": lambda x, y: torch.movedim(x.view(-1, 2, 2), 1, 2) + torch.movedim(y.view(-1, 2, 2), -1, 1),
    "expands": lambda x, y: x[:, :1].expand_as(y) + x.view_as(y).type_as(y) + x.unsqueeze(1).expand(-1, 3, -1).sum(1),
    "pieces": lambda x, y: torch.narrow(x, 1, 1, 2) * torch.chunk(y, 2, 1)[1] + torch.split(x, [2, 2], 1)[1],
    "more pieces": lambda x, y: torch.select(x, 1, 0) * torch.unbind(y, 1)[2] + torch.split(x, 3, -1)[1].sum(-1),
    "flip": lambda x, y: torch.flip(x, (1,)),
    "products": lambda x, y: torch.bmm(x.unsqueeze(1), y.unsqueeze(2)) + torch.matmul(x.unsqueeze(1), y.unsqueeze(2)),
    "clamps": lambda x, y: torch.clamp(x, 0.2, 0.5) + torch.clip(y, min=0.3) + torch.clamp_min(x, 0.4) + torch.clamp_max(y, 1),
    "powers": lambda x, y: torch.pow(x, 3) + torch.pow(2.0, y) + torch.square(x),
    "cumsum": lambda x, y: torch.cumsum(x, 1),
    "filled": lambda x, y: torch.full_like(x, 2.0) * x.masked_fill(y > 1, 0.0),
    "methods": lambda x, y: x.mul(y).add(1).sub(y, alpha=2).div(2).absolute().negative() + x.to(y),
    "logical methods": lambda x, y: (x > 0.5).logical_not() | x.logical_and(y),
    "numpy's clip and where": lambda x, y: np.clip(x, 0.2, 0.5) + np.where(x > 0.5, x, y),
    "numpy's folds": lambda x, y: np.sum(x, axis=1) + np.mean(y, axis=1) + np.prod(x, axis=1) + np.linalg.norm(x, axis=1),
    "numpy's extrema": lambda x, y: np.max(x, axis=1) + np.amin(y, axis=1) + np.any(x > 1, axis=1) + np.all(y > 0.2, axis=1),
    "numpy's joins": lambda x, y: np.concatenate([x, y], axis=1)[:, 2:6] + np.stack([x, y], axis=-1)[:, :, 1],
    "numpy's shapes": lambda x, y: np.squeeze(np.swapaxes(np.expand_dims(x, -1), 1, 2), 1) + np.reshape(y, (-1, 4)),
    "numpy's moves": lambda x, y: np.moveaxis(x[:, :, None], 1, 2)[:, 0] + np.transpose(y[:, :, None], (0, 2, 1))[:, 0],
    "numpy's products": lambda x, y: np.matmul(x[:, None], y[..., None])[:, 0] + np.cumsum(x, axis=1),
    "numpy's like": lambda x, y: np.full_like(x, 2.0) + np.flip(y, 1),
}


def cases():
    for module, names in OF_ONE.items():
        for name in names.split():
            yield pytest.param(lambda x, y, f=getattr(module, name): f(x), module is np, id=f"{module.__name__}.{name}")
    for module, names in OF_TWO.items():
        for name in names.split():
            yield pytest.param(getattr(module, name), module is np, id=f"{module.__name__}.{name}")
    for name, form in FORMS.items():
        yield pytest.param(form, name.startswith("numpy"), id=name)


def staged(function, x, y):
    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return function(src.x, src.y).to(tg.float64)

    return Kernel()(graph=GRAPH, src={"x": x, "y": y})


@pytest.mark.parametrize("function, is_numpys", list(cases()))
def test_function(function, is_numpys):
    x, y = (X, Y) if is_numpys else (torch.from_numpy(X), torch.from_numpy(Y))
    want = np.asarray(function(x, y)).astype(np.float64)
    for got in (staged(function, x, y), function(tg.from_numpy(X), tg.from_numpy(Y))):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, atol=1e-12)
    assert isinstance(function(tg.from_numpy(X), tg.from_numpy(Y)), tg.Tensor)


@pytest.mark.parametrize(
    "function, name",
    [
        (lambda x: torch.fft.fft(x), "torch.fft_fft"),
        (lambda x: torch.einsum("ij->i", x), "torch.einsum"),
        (lambda x: np.arctan2(x, x), "numpy.arctan2"),
        (lambda x: np.add.reduce(x), "numpy.add.reduce"),
    ],
)
def test_others_are_refused_by_name(function, name):
    with pytest.raises(NotImplementedError, match=name):
        staged(lambda x, y: function(x), X, Y)
    if name.startswith("torch"):
        with pytest.raises(NotImplementedError, match=name):
            function(tg.from_numpy(X))
    else:
        np.testing.assert_array_equal(function(tg.from_numpy(X)), function(X))


def test_numpy_adds_a_tensor_in_place():
    into = np.ones((3, 4))
    into += tg.from_numpy(X) * 2
    np.testing.assert_array_equal(into, 1 + X * 2)
    with pytest.raises(TypeError):
        staged(lambda x, y: np.add(x, y, out=(into,)), X, Y)


def test_names_that_differ_are_numpys():
    x = tg.from_numpy(X)
    assert [part.shape for part in np.split(x, 2, axis=1)] == [(3, 2), (3, 2)]
    with pytest.raises(NotImplementedError, match="numpy.split"):
        staged(lambda x, y: np.split(x, 2, axis=1)[0], X, Y)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        x.nonsense
