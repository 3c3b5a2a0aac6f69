"""One, two, three and eight threads give the same bits, forward and backward, whatever the reducer."""

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
from algebras import ALGEBRAS, kernel_of, positive, smooth

HUB, TAIL, NODES = 100_000, 30_000, 2000


def power_law():
    """A hub that 100,000 edges enter, and rows whose lengths fall as a power of their number."""
    rng = np.random.default_rng(11)
    dst = np.concatenate([np.full(HUB, 5), (NODES * rng.random(TAIL) ** 3).astype(np.int64)])
    order = rng.permutation(len(dst))
    return tg.Graph.from_coo(rng.integers(0, NODES, len(dst)), dst[order], num_src=NODES, num_dst=NODES)


GRAPH = power_law()
SCORED = {"online_softmax": tg.online_softmax(empty=0)}
BUILTINS = {
    "sum": tg.sum(),
    "strict sum": tg.sum(deterministic=True),
    "prod": tg.prod(),
    "strict prod": tg.prod(deterministic=True),
    "mean": tg.mean(),
    "max": tg.max(),
    "min": tg.min(),
    "logsumexp": tg.logsumexp(),
    "var": tg.var(),
    "std": tg.std(unbiased=True),
    "median": tg.median(),
    "quantile": tg.quantile(0.9),
    "any": tg.any(),
    "all": tg.all(),
    "count": tg.count(),
    "argmax": tg.argmax(),
    "argmin": tg.argmin(),
    "multi": tg.multi(mean=tg.mean(), max=tg.max(), var=tg.var(), prod=tg.prod()),
}


def gates(rng, shape):
    """Products of 100,000 that stay in range, with a zero here and there."""
    return [np.exp(1e-3 * rng.standard_normal(shape)) * (rng.random(shape) > 1e-5)]


def bits(y):
    return [bits(v) for v in y.values()] if isinstance(y, dict) else y.detach().numpy().tobytes()


def on_threads(run):
    """What run gives on each number of threads."""
    found = []
    try:
        for threads in (1, 2, 3, 8):
            tg.set_num_threads(threads)
            found.append(run())
    finally:
        tg.set_num_threads(0)
    return found


def check(kernel, role, values):
    def run():
        leaves = {name: v.clone().requires_grad_(v.is_floating_point()) for name, v in values.items()}
        y = kernel(graph=GRAPH, **{role: leaves})
        live = [v for v in (y.values() if isinstance(y, dict) else [y]) if v.requires_grad]
        cot = [torch.linspace(-1, 1, v.numel(), dtype=v.dtype).reshape(v.shape) for v in live]
        grads = torch.autograd.grad(live, list(leaves.values()), cot) if live else ()
        return bits(y), [g.numpy().tobytes() for g in grads]

    first, *others = on_threads(run)
    assert all(o == first for o in others)


NAMES = [*BUILTINS, *SCORED, *ALGEBRAS]
SLOW = ["median", "quantile", "quaternion product", "matrix product", "automaton"]
WHAT = [(name, feature) for feature in [(), (3,), (40,)] for name in NAMES if feature != (40,) or name not in SLOW]


@pytest.mark.parametrize("name, feature", WHAT, ids=str)
def test_same_bits_on_any_number_of_threads(name, feature):
    if name in ALGEBRAS:
        a = ALGEBRAS[name]
        kernel, fields, draw = a.kernel(), a.fields, a.draw
    elif name in SCORED:
        kernel, fields, draw = kernel_of(SCORED[name], ["score", "value"]), ["score", "value"], smooth(2)
    else:
        kernel, fields, draw = kernel_of(BUILTINS[name], ["m"]), ["m"], gates if "pro" in name else smooth(1)
    rng = np.random.default_rng(2)
    drawn = draw(rng, (GRAPH.num_edges, *feature))
    values = {f: torch.from_numpy(np.asarray(v)) for f, v in zip(fields, drawn)}
    values = {f: v.float() if v.is_floating_point() else v for f, v in values.items()}
    check(kernel, "edge", values)


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "logsumexp", "var", "median", "online_softmax", "matrix product"]
)
def test_and_of_sources(name):
    """Gradients that many edges bring to a source."""
    if name == "matrix product":
        kernel, fields, draw = ALGEBRAS[name].kernel(), ALGEBRAS[name].fields, ALGEBRAS[name].draw
    else:
        scored = name in SCORED
        fields = ["score", "value"] if scored else ["m"]
        kernel, draw = kernel_of(SCORED[name] if scored else BUILTINS[name], fields), positive(len(fields))

    class OfSources(type(kernel)):
        def edge(self, src, dst, edge):
            return self.reducer(*[getattr(src, f) for f in fields])

    drawn = draw(np.random.default_rng(2), (NODES, 4))
    values = {f: torch.from_numpy(v).float() ** (1e-3 if name == "prod" else 1) for f, v in zip(fields, drawn)}
    check(OfSources(), "src", values)
