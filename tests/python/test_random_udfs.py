"""Random edge and node functions against torch's eager operations, values and gradients.

A case is Python text that both run: on staged values, and on gathered torch tensors. TIGA_RANDOM_UDFS is
how many cases run (default 60), TIGA_RANDOM_UDF the only one; a failure prints the text of its case."""

import os
import random

import pytest
import tiga as tg

torch = pytest.importorskip("torch")

CASES = int(os.environ.get("TIGA_RANDOM_UDFS", "60"))
ONLY = os.environ.get("TIGA_RANDOM_UDF")
BLOCK = 20  # cases a test

UNARY = [
    "torch.tanh({})",
    "torch.sigmoid({})",
    "torch.exp(-abs({}))",
    "torch.sin({})",
    "torch.cos({})",
    "torch.erf({})",
    "torch.relu({})",
    "torch.nn.functional.leaky_relu({}, 0.2)",
    "torch.nn.functional.elu({})",
    "torch.nn.functional.silu({})",
    "torch.nn.functional.softplus({})",
    "torch.nn.functional.gelu({})",
    "torch.sqrt(1 + {}.square())",
    "torch.log1p(abs({}))",
    "torch.expm1({}.clamp(-2, 2))",
    "(1 + {} ** 2).rsqrt()",
    "torch.log(abs({}) + 0.5)",
    "(-{})",
    "(({} * 3).round() * 0.25)",
    "({} ** 3)",
    "((abs({}) + 0.5) ** 1.5)",
    "(1.5 - {})",
    "(2 / (1 + abs({})))",
    "{}.clamp(max=0.75)",
    "{}.sign()",
]
BINARY = [
    "({} + {})",
    "({} - {})",
    "({} * {})",
    "({} / (1.5 + {}.square()))",
    "torch.maximum({}, {})",
    "torch.minimum({}, {})",
    "torch.where({0} > {1}, {0}, 0.5 * {1})",
    "({0} * ({1} > 0))",
    "torch.where(({0} > 0) & ~({1} < -0.5), {1}, {0})",
]
FOLD = [
    "{}.sum({a}, keepdim=True)",
    "{}.mean({a}, keepdim=True)",
    "{}.amax({a}, keepdim=True)",
    "{}.amin({a}, keepdim=True)",
    "{}.logsumexp({a}, keepdim=True)",
    "{}.prod({a}, keepdim=True)",
    "(0.1 + {}.square().sum({a}, keepdim=True)).sqrt()",
]
ALONG = ["{}.softmax({a})", "{}.log_softmax({a})", "{}.cumsum({a})"]


def broadcast(p, q):
    """The common feature shape of two that fit."""
    return tuple(torch.broadcast_shapes(p, q))


class Writer:
    """Writes an expression: text and feature shape, over leaves whose shapes are () or (..., F)."""

    def __init__(self, rng, leaves):
        self.rng, self.leaves = rng, leaves

    def leaf(self):
        return self.rng.choice(self.leaves)

    def expression(self, depth):
        if depth == 0 or self.rng.random() < 0.1:
            return self.leaf()
        kind = self.rng.choices(
            (
                self.unary,
                self.binary,
                self.fold,
                self.along,
                self.reshaped,
                self.product,
                self.joined,
                self.sliced,
                self.looked_up,
            ),
            (5, 7, 1.5, 1, 1, 1.5, 1, 1, 1),
        )[0]
        return kind(depth - 1)

    def unary(self, depth):
        text, shape = self.expression(depth)
        return self.rng.choice(UNARY).format(text), shape

    def binary(self, depth):
        (x, p), (y, q) = self.expression(depth), self.expression(depth)
        try:
            shape = broadcast(p, q)
        except RuntimeError:
            return self.unary(depth)
        rank = max(len(p), len(q))
        return self.rng.choice(BINARY).format(aligned(x, p, rank), aligned(y, q, rank)), shape

    def fold(self, depth):
        text, shape = self.expression(depth)
        if not shape:
            return text, shape
        axis = self.rng.randrange(len(shape))
        folded = self.rng.choice(FOLD).format(text, a=axis - len(shape))
        return folded, (*shape[:axis], 1, *shape[axis + 1 :])

    def along(self, depth):
        text, shape = self.expression(depth)
        if not shape:
            return text, shape
        return self.rng.choice(ALONG).format(text, a=-self.rng.randint(1, len(shape))), shape

    def reshaped(self, depth):
        text, shape = self.expression(depth)
        if len(shape) == 2 and self.rng.random() < 0.5:
            return f"{text}.transpose(1, 2)", shape[::-1]
        if len(shape) == 2:
            return f"{text}.flatten(1)", (shape[0] * shape[1],)
        return f"{text}.unsqueeze(-1)", (*shape, 1)

    def product(self, depth):
        text, shape = self.expression(depth)
        if len(shape) == 1 and shape[0] in (1, 3, 4):
            return f"({text} @ p.m{shape[0]})", (3,)
        if len(shape) == 2:
            return f"({text} @ {text}.transpose(1, 2))", (shape[0], shape[0])
        return text, shape

    def joined(self, depth):
        (x, p), (y, q) = self.expression(depth), self.expression(depth)
        if p and len(p) == len(q) and p[:-1] == q[:-1] and p[-1] + q[-1] <= 12:
            return f"torch.cat([{x}, {y}], -1)", (*p[:-1], p[-1] + q[-1])
        if p == q and len(p) < 3:
            return f"torch.stack([{x}, {y}], 1)", (2, *p)
        return x, p

    def looked_up(self, depth):
        """Rows of a table by what was a float: scalars by any value, rows of three by a scalar."""
        text, shape = self.expression(depth)
        index = f"(abs({text}).clamp(max=99) * 3).to(torch.int64) % 4"
        return (f"p.t[{index}]", shape) if shape else (f"p.m4[{index}]", (3,))

    def sliced(self, depth):
        text, shape = self.expression(depth)
        if not shape or shape[-1] < 2:
            return text, shape
        first, step = self.rng.randrange(shape[-1]), self.rng.randint(1, 2)
        count = len(range(first, shape[-1], step))
        return f"{text}[..., {first}::{step}]", (*shape[:-1], count)


def aligned(text, shape, rank):
    """Torch lines up rows with features where ranks differ: give it the axes that broadcasting by row means."""
    if not shape and rank:
        return f"{text}[:, {', '.join(['None'] * rank)}]"
    if len(shape) == rank:
        return text
    return f"{text}[:, {', '.join(['None'] * (rank - len(shape)))}]"


class Fields:
    """Attributes by name."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def reduce_in_torch(how, message, dst, num_dst):
    index = dst.reshape(-1, *[1] * (message.dim() - 1)).expand_as(message)
    zeros = message.new_zeros(num_dst, *message.shape[1:])
    if how == "softmax":
        score = message.flatten(1).sum(1) if message.dim() > 1 else message
        top = score.new_full((num_dst,), -torch.inf).scatter_reduce(0, dst, score.detach(), "amax")
        weight = torch.exp(score - top[dst])
        total = weight.new_zeros(num_dst).index_add(0, dst, weight)
        weight = (weight / total[dst]).reshape(-1, *[1] * (message.dim() - 1))
        return zeros.index_add(0, dst, weight * message)
    if how in ("sum", "mean"):
        total = zeros.index_add(0, dst, message)
        degree = torch.bincount(dst, minlength=num_dst).clamp(min=1)
        return total if how == "sum" else total / degree.reshape(-1, *[1] * (message.dim() - 1))
    return zeros.scatter_reduce(0, index, message, "amax" if how == "max" else "amin", include_self=False)


REDUCERS = {
    "sum": lambda: tg.sum(),
    "mean": lambda: tg.mean(empty=0),
    "max": lambda: tg.max(empty=0),
    "min": lambda: tg.min(empty=0),
    "softmax": lambda: tg.online_softmax(empty=0),
}


class Case:
    """One edge function, one reducer, one node function, one graph, their data."""

    def __init__(self, seed):
        self.seed, rng = seed, random.Random(seed)
        torch.manual_seed(seed)
        self.num_src, self.num_dst, edges = rng.randint(1, 9), rng.randint(1, 9), rng.choice((0, 1, 5, 17, 40))
        self.src = torch.randint(0, self.num_src, (edges,))
        self.dst = torch.randint(0, self.num_dst, (edges,))
        width = rng.choice((1, 3, 4))
        rows = {"src": self.num_src, "dst": self.num_dst, "edge": edges}
        shapes = {"src.x": (width,), "src.h": (2, 3), "dst.y": (width,), "edge.w": (), "edge.e": (3,)}
        self.data = {name: torch.randn(rows[name.split(".")[0]], *s) for name, s in shapes.items()}
        self.data |= {f"p.m{k}": torch.randn(k, 3) for k in (1, 3, 4)} | {"p.t": torch.randn(4)}
        leaves = [(name, s) for name, s in shapes.items()]
        self.message, shape = Writer(rng, leaves).expression(rng.randint(1, 5))
        self.how = rng.choice(list(REDUCERS))
        out, _ = Writer(rng, [("out", shape), ("dst.y", (width,))]).expression(rng.randint(0, 2))
        self.node = out if "out" in out else "out"

    def text(self):
        return f"case {self.seed}: {self.how} of {self.message}; node {self.node}; {self.num_src} sources, {self.dst}"

    def fields(self, dtype):
        return {name: x.to(dtype).requires_grad_() for name, x in self.data.items()}

    def of(self, fields, role):
        return {name.split(".")[1]: x for name, x in fields.items() if name.startswith(role + ".")}

    def in_torch(self, fields):
        src = Fields(**{k: x[self.src] for k, x in self.of(fields, "src").items()})
        at_dst = Fields(**{k: x[self.dst] for k, x in self.of(fields, "dst").items()})
        own, edge = Fields(**self.of(fields, "dst")), Fields(**self.of(fields, "edge"))
        names = {"torch": torch, "src": src, "dst": at_dst, "edge": edge, "p": Fields(**self.of(fields, "p"))}
        message = eval(self.message, names)
        out = reduce_in_torch(self.how, message, self.dst, self.num_dst)
        return eval(self.node, names | {"dst": own, "out": out})

    def in_tiga(self, fields):
        case, how = self, self.how

        class Kernel(tg.MessagePassing):
            reducer = REDUCERS[how]()

            def edge(self, src, dst, edge, m1, m3, m4, t):
                p = Fields(m1=m1, m3=m3, m4=m4, t=t)
                message = eval(case.message, {"torch": torch, "src": src, "dst": dst, "edge": edge, "p": p})
                if how != "softmax":
                    return message
                score = message.flatten(1).sum(1) if message.dim() > 1 else message
                return self.reducer(score.reshape(-1, *[1] * (message.dim() - 1)), message)

            def node(self, dst, aggregate, m1, m3, m4, t):
                p = Fields(m1=m1, m3=m3, m4=m4, t=t)
                return eval(case.node, {"torch": torch, "dst": dst, "out": aggregate, "p": p})

        graph = tg.Graph.from_coo(self.src, self.dst, num_src=self.num_src, num_dst=self.num_dst)
        roles = {role: self.of(fields, role) for role in ("src", "dst", "edge")}
        return Kernel()(graph=graph, **roles, **self.of(fields, "p"))


def gradients(total, fields):
    """Of a number, with a graph of their own; zeros where it does not depend."""
    inputs = list(fields.values())
    if not total.requires_grad:
        return {n: torch.zeros_like(x) for n, x in fields.items()}
    found = torch.autograd.grad(total, inputs, create_graph=True, allow_unused=True)
    return {n: torch.zeros_like(x) if g is None else g for (n, x), g in zip(fields.items(), found, strict=True)}


def same_gradients(ours, theirs, fields, their_fields, order):
    """Derivatives up to an order, each weighted by the same random cotangents."""
    found, wanted = gradients(ours, fields), gradients(theirs, their_fields)
    for name in found:
        message = lambda m, name=name: f"order {order}, {name}: {m}"  # noqa: E731
        torch.testing.assert_close(found[name], wanted[name], msg=message)
    if order == 2:
        return
    weights = {name: torch.randn_like(g) for name, g in wanted.items()}
    totals = [sum((g[name] * w).sum() for name, w in weights.items()) for g in (found, wanted)]
    same_gradients(*totals, fields, their_fields, order + 1)


def check(case):
    ours, theirs = case.fields(torch.float64), case.fields(torch.float64)
    out, expected = case.in_tiga(ours), case.in_torch(theirs)
    torch.testing.assert_close(out, expected)
    single = case.in_tiga(case.fields(torch.float32))
    size = expected.abs().max().item() + 1 if expected.numel() else 1
    steps = [word for word in (".round()", ".sign()", "where", "int64") if word in case.text()]
    if size < 1e4 and not steps:
        worst = (case.in_torch(case.fields(torch.float32)).double() - expected).nan_to_num(0, 0, 0).abs()
        slack = 10 * worst.max().item() if worst.numel() else 0  # where torch's own float32 is no better
        torch.testing.assert_close(single.double(), expected, atol=2e-3 * size + slack, rtol=2e-3)
    cotangent = torch.randn_like(expected)
    same_gradients((out * cotangent).sum(), (expected * cotangent).sum(), ours, theirs, 1)


@pytest.mark.parametrize("block", range(-(-CASES // BLOCK)))
def test_random_udfs(block):
    for seed in range(block * BLOCK, min((block + 1) * BLOCK, CASES)):
        if ONLY and seed != int(ONLY):
            continue
        case = Case(seed)
        try:
            check(case)
        except Exception as error:
            raise AssertionError(case.text()) from error
