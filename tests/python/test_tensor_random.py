"""Random expressions and their gradients against torch's, with values asked for here and there on the way."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
GRAPH = tg.Graph.from_coo([0, 1, 2, 0, 2], [1, 2, 0, 0, 1], num_src=3, num_dst=3)
SRC, DST = (torch.from_numpy(a) for a in GRAPH.to_coo())


class Spread(tg.MessagePassing):
    def edge(self, src, dst, edge):
        return src.x * 0.5 + src.x * dst.x


def spread(x):
    """A kernel on tensors, the same by hand on torch's."""
    if isinstance(x, tg.Tensor):
        return Spread()(graph=GRAPH, ndata={"x": x})
    return torch.zeros_like(x).index_add(0, DST, x[SRC] * 0.5 + x[SRC] * x[DST])


def pad_like(x, shape):
    """x in another shape, by broadcasting and slicing."""
    while x.ndim < len(shape):
        x = x.unsqueeze(0)
    while x.ndim > len(shape):
        x = x.sum(0)
    for axis, n in enumerate(shape):
        if x.shape[axis] != n:
            x = x.sum(axis, keepdim=True) * 0.25
    return x


ONE = [
    lambda x: x.tanh(),
    lambda x: (x * 0.25).exp(),
    lambda x: (x * x + 1).sqrt(),
    lambda x: x.sin() * 2 - 1,
    lambda x: 1 / (x * x + 1),
    lambda x: x.sigmoid() - x,
    lambda x: x.T if x.ndim == 2 else x.unsqueeze(0),
    lambda x: x.mean(0) if x.ndim else x + 1,
    lambda x: x.sum(-1, keepdim=True) if x.ndim else -x,
    lambda x: x[1:] if x.ndim and x.shape[0] > 1 else x * 3,
    lambda x: x.reshape(-1) if x.ndim > 1 else x.reshape(1, -1),
    lambda x: x.softmax(-1) if x.ndim else x,
    lambda x: x.detach() * x,
    lambda x: spread(x) if x.ndim and x.shape[0] == 3 else x.abs() + 0.5,
    lambda x: (x @ x.T) * 0.1 if x.ndim == 2 else x,
    lambda x: x.cumsum(-1) if x.ndim else x,
]
TWO = [
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x / (y * y + 1.5),
    lambda x, y: x.maximum(y) - y,
]


def walk(seed, leaves, observe):
    """A random expression of leaves; the same steps for the same seed."""
    rng = np.random.default_rng(seed)
    values = list(leaves)
    for _ in range(rng.integers(4, 25)):
        x, y = (values[k] for k in rng.integers(0, len(values), 2))
        k = rng.integers(0, len(ONE) + 2 * len(TWO))
        made = ONE[k](x) if k < len(ONE) else TWO[k % len(TWO)](x, pad_like(y, x.shape))
        values.append(made.clamp(-3.0, 3.0) if rng.integers(4) == 0 else made)
        if rng.integers(3) == 0:
            observe(made)
    return sum((v * v).mean() for v in values[-4:])


@pytest.mark.parametrize("checkpoint", ["save", "recompute"])
@pytest.mark.parametrize("first", range(0, 36, 12))
def test_as_torch(first, checkpoint):
    for seed in range(first, first + 12):
        rng = np.random.default_rng(1000 + seed)
        arrays = [rng.uniform(-1, 1, s) for s in ((3, 4), (3,), (), (2, 3))]
        ours = [tg.tensor(a, requires_grad=True) for a in arrays]
        theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
        got, want = walk(seed, ours, lambda t: t.numpy()), walk(seed, theirs, lambda t: None)
        np.testing.assert_allclose(got.item(), want.item(), rtol=1e-9, err_msg=f"seed {seed}")
        gradients = tg.autograd.grad(got, ours, allow_unused=True, checkpoint=checkpoint)
        expected = torch.autograd.grad(want, theirs, allow_unused=True, create_graph=True)
        compare(gradients, expected, seed)
        if seed % 4 == 0:
            second = sum((g * g).sum() for g in gradients if g is not None)
            target = sum((g * g).sum() for g in expected if g is not None)
            again = tg.autograd.grad(second, ours, allow_unused=True, checkpoint=checkpoint)
            compare(again, torch.autograd.grad(target, theirs, allow_unused=True), seed)


def compare(got, want, seed):
    for g, w in zip(got, want):
        assert g is not None or w is None or not w.any(), seed
        if g is not None:
            w = torch.zeros(g.shape) if w is None else w
            np.testing.assert_allclose(g.numpy(), w.detach().numpy(), rtol=1e-7, atol=1e-9, err_msg=f"seed {seed}")
