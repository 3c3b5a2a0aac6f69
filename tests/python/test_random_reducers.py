"""Random rows, dtypes, shapes and reducers against float64: values and gradients.

A case is a graph of one kind, a reducer (built-in, several, or a user's), flags, a dtype and a feature shape.
The reference takes the very messages that were stored, as float64, row by row: torch for built-ins, the
literal fold for users' reducers. CI runs as many cases as TIGA_RANDOM_SECONDS holds; TIGA_RANDOM_REDUCERS is
how many at least (60, 2000 is the whole test), TIGA_RANDOM_REDUCER the only one."""

import os
import time

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")
from algebras import ALGEBRAS, literal

CASES = int(os.environ.get("TIGA_RANDOM_REDUCERS", "60"))
SECONDS = float(os.environ.get("TIGA_RANDOM_SECONDS", "0")) / 2
ONLY = os.environ.get("TIGA_RANDOM_REDUCER")
inf, nan = float("inf"), float("nan")

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
WHOLE = [torch.bool, torch.int32, torch.int64]
FEATURES = [(), (1,), (7,), (16,), (3, 5), (4, 64)]
CLOSE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-4, torch.float64: 1e-9}


# ---- the built-ins, of one row's messages in float64 ----


def chosen(order):
    """The message that an order picks: of equal ones the first; a NaN where there is one."""

    def pick(m):
        where = order(m.detach())
        return m.gather(0, where.unsqueeze(0))[0]

    return pick


def rank(q):
    def order(m):
        value = m.sort(dim=0).values[int(np.floor(q * (len(m) - 1)))]
        return (m == value).to(torch.int8).argmax(0)

    return order


def first_of(best):
    def number(m):
        return (m == getattr(m, best)(0, keepdim=True)).to(torch.int8).argmax(0)

    return number


def extreme(best):
    """Ties share the gradient evenly."""

    def of(m):
        wins = (m == getattr(m.detach(), best)(0, keepdim=True)).double()
        return (m * wins).sum(0) / wins.sum(0)

    return of


def moment(unbiased, rooted):
    def of(m):
        if unbiased and len(m) == 1:
            return m[0] * 0 + nan
        v = m.var(0, correction=int(unbiased))
        return torch.where(v > 0, v, 1.0).sqrt() * (v > 0) if rooted else v

    return of


INDEX, COUNT, TRUTH, SUM, MEAN, CHOICE = "index", "count", "truth", "sum", "mean", "choice"
# name: (how it is made, of float64 messages, without messages, what its dtype is)
BUILTINS = {
    "sum": (tg.sum, lambda m: m.sum(0), 0, SUM),
    "prod": (tg.prod, lambda m: m.prod(0), 1, SUM),
    "mean": (tg.mean, lambda m: m.mean(0), nan, MEAN),
    "max": (tg.max, extreme("amax"), -inf, CHOICE),
    "min": (tg.min, extreme("amin"), inf, CHOICE),
    "logsumexp": (tg.logsumexp, lambda m: m.logsumexp(0), -inf, MEAN),
    "var": (tg.var, moment(False, False), nan, MEAN),
    "std": (tg.std, moment(False, True), nan, MEAN),
    "unbiased var": (lambda **k: tg.var(unbiased=True, **k), moment(True, False), nan, MEAN),
    "unbiased std": (lambda **k: tg.std(unbiased=True, **k), moment(True, True), nan, MEAN),
    "median": (tg.median, chosen(rank(0.5)), nan, MEAN),
    "quantile": (lambda **k: tg.quantile(0.8, **k), chosen(rank(0.8)), nan, MEAN),
    "any": (tg.any, lambda m: (m != 0).any(0), False, TRUTH),
    "all": (tg.all, lambda m: (m != 0).all(0), True, TRUTH),
    "count": (tg.count, len, 0, COUNT),
    "argmax": (tg.argmax, first_of("amax"), -1, INDEX),
    "argmin": (tg.argmin, first_of("amin"), -1, INDEX),
    "online_softmax": (tg.online_softmax, lambda s, v: (s.softmax(0) * v).sum(0), nan, MEAN),
}
LEAST = {torch.bool: (False, True), torch.int32: (-(2**31), 2**31 - 1), torch.int64: (-(2**63), 2**63 - 1)}


def result_dtype(kind, dtype):
    if kind in (INDEX, COUNT):
        return torch.int64
    if kind == TRUTH:
        return torch.bool
    if dtype.is_floating_point or kind == CHOICE:
        return dtype
    return torch.int64 if kind == SUM else torch.float32


# ---- graphs ----

GRAPHS = [
    "no nodes",
    "no edges",
    "one node",
    "isolated",
    "loops",
    "duplicates",
    "hub",
    "chain",
    "two sets",
    "power law",
]


def draw_graph(rng):
    """src, dst, how many sources, how many destinations, and what was drawn."""
    kind = rng.choice(GRAPHS)
    n, e = int(rng.integers(2, 30)), int(rng.integers(1, 90))
    count = n, n
    src, dst = rng.integers(0, n, e), rng.integers(0, n, e)
    if kind in ("no nodes", "no edges"):
        src, dst, count = src[:0], dst[:0], (0, 0) if kind == "no nodes" else (n, n)
    elif kind == "one node":
        src, dst, count = src * 0, dst * 0, (1, 1)
    elif kind == "isolated":
        dst = dst // 3 * 3
    elif kind == "loops":
        src = dst = np.arange(n)
    elif kind == "duplicates":
        src, dst = np.repeat(src, 3), np.repeat(dst, 3)
    elif kind == "hub":
        e = int(rng.choice([100, 700, 20_000], p=[0.5, 0.45, 0.05]))
        src, dst = rng.integers(0, n, e), np.where(rng.random(e) < 0.9, 1, rng.integers(0, n, e))
    elif kind == "chain":
        src, dst = np.arange(n - 1), np.arange(1, n)
    elif kind == "two sets":
        count = int(rng.integers(1, 9)), int(rng.integers(1, 40))
        src, dst = rng.integers(0, count[0], e), rng.integers(0, count[1], e)
    else:
        dst = np.minimum((n * rng.random(4 * e) ** 4).astype(np.int64), n - 1)
        src = rng.integers(0, n, 4 * e)
    if rng.random() < 0.4:
        order = np.argsort(dst, kind="stable")
        src, dst = src[order], dst[order]
    return src, dst, count, str(kind)


# ---- a case ----


class Part:
    """One reducer of a case: its messages' fields by name, and what a row comes to."""

    def __init__(self, rng, dtype, feature, prefix, many):
        self.dtype, self.prefix = dtype, prefix
        names = [n for n in BUILTINS if not many or n not in ("median", "quantile")]
        names = [n for n in names if dtype.is_floating_point or n != "online_softmax"]
        own = [n for n, a in ALGEBRAS.items() if a.integer != dtype.is_floating_point and dtype is not torch.bool]
        # float32 and wider: what long folds lose in the messages of halves says nothing of the fold
        if own and dtype not in (torch.float16, torch.bfloat16) and rng.random() < 0.35:
            self.user(rng, str(rng.choice(own)), feature, many)
        else:
            self.builtin(rng, str(rng.choice(names)), feature)

    def builtin(self, rng, name, feature):
        make, self.of, self.empty, kind = BUILTINS[name]
        self.name, self.kind = name, kind
        self.out = result_dtype(kind, self.dtype)
        if kind == CHOICE and self.dtype in LEAST:
            self.empty = LEAST[self.dtype][name == "min"]
        given = {}
        if rng.random() < 0.5:
            self.empty = bool(rng.integers(2)) if self.out is torch.bool else int(rng.integers(-3, 4))
            given["identity" if name == "sum" and rng.random() < 0.5 else "empty"] = self.empty
        if rng.random() < 0.2:
            given["deterministic"] = True
        self.reducer = make(**given)
        self.text = f"{name}{given}"
        self.fields = ["score", "value"] if name == "online_softmax" else ["m"]
        self.shapes = [feature] * len(self.fields)
        if name == "online_softmax" and len(feature) == 2 and rng.random() < 0.7:
            self.shapes[0] = (feature[0], 1)
        self.draw = self.draw_builtin

    def draw_builtin(self, rng, shape):
        if self.dtype is torch.bool:
            return rng.random(shape) < rng.choice([0.1, 0.5, 0.9])
        if not self.dtype.is_floating_point or rng.random() < 0.3 and self.name in TIES:
            return rng.integers(-3, 4, shape)
        if self.name == "prod":
            return (
                np.exp(0.02 * rng.standard_normal(shape)) * rng.choice([-1, 1, 1], shape) * (rng.random(shape) < 0.97)
            )
        return rng.standard_normal(shape) + rng.choice([0, 3])

    def user(self, rng, name, feature, many):
        a = ALGEBRAS[name]
        self.name, self.kind = name, None
        flags = {"associative": bool(rng.random() < 0.7), "deterministic": bool(rng.random() < 0.3)}
        self.reducer = a.kernel(**flags).reducer
        self.of = lambda *m: literal(self.reducer, *m)
        self.out, self.empty = self.dtype, None
        self.text = f"{name}{flags}"
        self.fields, self.shapes = a.fields, [feature] * len(a.fields)
        self.whole = a.draw

    def messages(self, rng, edges):
        """float64 values of what is stored, by field."""
        if self.kind is None:
            return self.whole(rng, (edges, *self.shapes[0]))
        return [self.draw_builtin(rng, (edges, *s)) for s in self.shapes]

    def expected(self, values, groups, num_dst):
        """Row by row; values in float64 (int64)."""
        values = [v.double() for v in values] if self.kind == MEAN else values
        whole = values[0].shape[1:]
        for v in values[1:]:
            whole = torch.broadcast_shapes(whole, v.shape[1:])
        if self.kind == COUNT:
            whole = ()
        kind = torch.float64 if self.out.is_floating_point else self.out
        rows = []
        for i in range(num_dst):
            at = groups.get(i)
            if at is not None:
                y = torch.as_tensor(self.of(*[v[at] for v in values]))
                y = at[y] if self.kind == INDEX else y
            elif self.empty is None:
                y = self.of(*[v[:0] for v in values])
            else:
                y = torch.as_tensor(self.empty)
            rows.append(y.to(kind).expand(whole))
        return torch.stack(rows) if rows else torch.zeros((0, *whole), dtype=kind)


TIES = ["max", "min", "argmax", "argmin", "median", "quantile", "any", "all", "sum", "count"]


class Case:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        src, dst, count, kind = draw_graph(rng)
        self.graph = tg.Graph.from_coo(src, dst, num_src=count[0], num_dst=count[1])
        self.num_dst, self.src = count[1], torch.from_numpy(src)
        order = np.argsort(dst, kind="stable")
        ends = np.searchsorted(dst[order], np.arange(count[1] + 1))
        self.groups = {
            i: torch.from_numpy(order[ends[i] : ends[i + 1]]) for i in range(count[1]) if ends[i] < ends[i + 1]
        }
        dtype = (FLOATS + WHOLE)[rng.choice(7, p=[0.1, 0.1, 0.3, 0.2, 0.08, 0.11, 0.11])]
        feature = FEATURES[rng.integers(len(FEATURES) if len(src) < 2000 else 1)]
        many = int(rng.choice([1, 1, 1, 2, 4])) if len(src) < 2000 else 1
        self.several = many > 1 or rng.random() < 0.1
        self.parts = [Part(rng, dtype, feature, f"r{k}", self.several) for k in range(many)]
        self.of_sources = [rng.random() < 0.25 and kind != "hub" for _ in self.parts]
        self.rng, self.dtype = rng, dtype
        shown = ", ".join(p.text + (" of sources" if s else "") for p, s in zip(self.parts, self.of_sources))
        self.text = f"case {seed}: {shown}; {kind} of {count}, {len(src)} edges; {dtype}, feature {feature}"

    def kernel(self):
        case, parts = self, self.parts

        def messages(part, src, edge, of_source):
            role = src if of_source else edge
            own = [getattr(role, f"{part.prefix}_{f}") for f in part.fields]
            return own[0] if len(own) == 1 else tuple(own)

        class Kernel(tg.MessagePassing):
            reducer = tg.multi(**{p.prefix: p.reducer for p in parts}) if case.several else parts[0].reducer

            def edge(self, src, dst, edge):
                own = {p.prefix: messages(p, src, edge, s) for p, s in zip(parts, case.of_sources)}
                if case.several:
                    return self.reducer(**own)
                one = own["r0"]
                return self.reducer(*one) if isinstance(one, tuple) else one

        return Kernel()

    def fields(self):
        """(role, name, stored values): gradients are wanted where they are floats."""
        rows = {True: self.graph.num_src, False: self.graph.num_edges}
        for p, of_source in zip(self.parts, self.of_sources):
            for name, values in zip(p.fields, p.messages(self.rng, rows[of_source])):
                yield of_source, f"{p.prefix}_{name}", torch.from_numpy(np.asarray(values)).to(self.dtype)

    def check(self):
        wants = self.dtype.is_floating_point
        stored = list(self.fields())
        ours = {name: v.clone().requires_grad_(wants) for _, name, v in stored}
        wide = torch.float64 if wants else self.dtype
        theirs = {name: v.to(wide).requires_grad_(wants) for _, name, v in stored}
        roles = {role: {n: ours[n] for s, n, _ in stored if s == of} for role, of in (("src", True), ("edge", False))}
        kernel = self.kernel()
        out = kernel(graph=self.graph, **roles)
        out = out if self.several else {"r0": out}
        slack, total, expected = CLOSE[self.dtype if wants else torch.float32], [], []
        for p, of_source in zip(self.parts, self.of_sources):
            values = [theirs[f"{p.prefix}_{f}"] for f in p.fields]
            values = [v[self.src] for v in values] if of_source else values
            want, y = p.expected(values, self.groups, self.num_dst), out[p.prefix]
            assert y.dtype is p.out and y.shape == want.shape, (p.text, y.dtype, y.shape, want.shape)
            self.close(y, want, slack, p.text)
            if y.requires_grad:
                cot = torch.from_numpy(self.rng.standard_normal(y.shape)).to(y.dtype)
                live = torch.isfinite(want)
                total.append((y[live] * cot[live]).sum())
                expected.append((want[live] * cot[live].double()).sum())
        if total:
            self.check_gradients(sum(t.double() for t in total), sum(expected), ours, theirs, slack)
        same = kernel.reference(graph=self.graph, **roles)
        for p in self.parts:
            y = out[p.prefix].detach()
            self.close(
                same[p.prefix] if self.several else same,
                y.double() if y.is_floating_point() else y,
                slack,
                "interpreted",
            )

    def check_gradients(self, total, expected, ours, theirs, slack):
        found = torch.autograd.grad(total, list(ours.values()), allow_unused=True)
        wanted = [None] * len(ours)
        if expected.requires_grad:
            wanted = torch.autograd.grad(expected, list(theirs.values()), allow_unused=True)
        for (name, x), g, w in zip(ours.items(), found, wanted):
            g = torch.zeros_like(x) if g is None else g
            assert g.dtype is x.dtype, name
            self.close(g, torch.zeros_like(x).double() if w is None else w, slack, f"gradient of {name}")

    def close(self, found, want, slack, what):
        """Relative to the largest: a sum of many loses as many bits as they have."""
        if not want.is_floating_point():
            assert torch.equal(found, want), what
            return
        finite = want[torch.isfinite(want)].abs()
        size = 1 + (finite.max().item() if len(finite) else 0)
        torch.testing.assert_close(
            found.double(), want.detach(), rtol=slack, atol=slack * size, equal_nan=True, msg=lambda m: f"{what}: {m}"
        )


def test_random_reducers():
    started = time.monotonic()
    for seed in [int(ONLY)] if ONLY else range(10**6):
        if not ONLY and seed >= CASES and time.monotonic() - started >= SECONDS:
            break
        case = Case(seed)
        try:
            case.check()
        except Exception as error:
            raise AssertionError(case.text) from error
