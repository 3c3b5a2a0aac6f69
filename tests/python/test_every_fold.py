"""Every library function that takes axes, shapes or tables, in formulas and staged, in every dtype, against torch: values,
first and second derivatives. The names are those of the library's own table (src/vocab/lib.c)."""

import re

import numpy as np
import pytest
import tiga as tg
from conftest import ROOT
from test_every_op import DTYPES, N, ROUNDING, derivatives, graph_of, name_of
from tiga.multi import Aggregates

torch = pytest.importorskip("torch")

INDEX = torch.tensor([[1, 0], [2, 2], [0, 1]])  # of N nodes, into a table of 3 rows

# name -> cases: a formula, the same staged, and torch's over x (N, 3, 4), w (4, 2), t (3, 2) and the index i (N, 2)
CASES = {
    "cast": [("float32(x)", lambda x, w, t, i: x.to(tg.float32), lambda x, w, t, i: x.float())],
    "sum": [
        ("sum(x, axis=1)", lambda x, w, t, i: x.sum(1), lambda x, w, t, i: x.sum(1)),
        ("sum(x, axis=(1, -1), keepdims=true)", lambda x, w, t, i: x.sum((1, -1), keepdim=True),
         lambda x, w, t, i: x.sum((1, 2), keepdim=True)),
    ],
    "mean": [("mean(x, axis=-1)", lambda x, w, t, i: x.mean(-1), lambda x, w, t, i: as_float(x).mean(-1))],
    "var": [("var(x, axis=-1)", None, lambda x, w, t, i: as_float(x).var(-1, unbiased=False))],
    "std": [("std(x, axis=(1, 2))", None, lambda x, w, t, i: as_float(x).std((1, 2), unbiased=False))],
    "prod": [("prod(x, axis=-1)", lambda x, w, t, i: x.prod(-1), lambda x, w, t, i: x.prod(-1))],
    "max": [("max(x, axis=1)", lambda x, w, t, i: x.amax(1), lambda x, w, t, i: x.amax(1))],
    "min": [("min(x, axis=(1, 2))", lambda x, w, t, i: x.amin((1, 2)), lambda x, w, t, i: x.amin((1, 2)))],
    "any": [("any(x, axis=1)", lambda x, w, t, i: x.any(1), lambda x, w, t, i: (x != 0).any(1))],
    "all": [("all(x, axis=-1)", lambda x, w, t, i: x.all(-1), lambda x, w, t, i: (x != 0).all(-1))],
    "logsumexp": [("logsumexp(x, axis=-1)", lambda x, w, t, i: x.logsumexp(-1), lambda x, w, t, i: as_float(x).logsumexp(-1))],
    "softmax": [("softmax(x, axis=1)", lambda x, w, t, i: x.softmax(1), lambda x, w, t, i: as_float(x).softmax(1))],
    "log_softmax": [("log_softmax(x)", lambda x, w, t, i: x.log_softmax(-1), lambda x, w, t, i: as_float(x).log_softmax(-1))],
    "norm": [("norm(x, axis=-1)", lambda x, w, t, i: x.norm(dim=-1), lambda x, w, t, i: as_float(x).norm(dim=-1))],
    "reshape": [("reshape(x, -1, 2, 6)", lambda x, w, t, i: x.reshape(-1, 2, 6), lambda x, w, t, i: x.reshape(-1, 2, 6))],
    "broadcast_to": [("broadcast_to(x, -1, 2, 3, 4)", lambda x, w, t, i: tg.broadcast_to(x, -1, 2, 3, 4),
                      lambda x, w, t, i: x[:, None].expand(-1, 2, 3, 4))],
    "expand": [("expand(x[:, None], -1, 3, 5, 4)", lambda x, w, t, i: x[:, :, None].expand(-1, 3, 5, 4),
                lambda x, w, t, i: x[:, :, None].expand(-1, 3, 5, 4))],
    "permute": [("permute(x, 0, 2, 1)", lambda x, w, t, i: x.permute(0, 2, 1), lambda x, w, t, i: x.permute(0, 2, 1))],
    "transpose": [("transpose(x, 1, 2)", lambda x, w, t, i: x.transpose(1, 2), lambda x, w, t, i: x.transpose(1, 2))],
    "squeeze": [("squeeze(x[None], 1)", lambda x, w, t, i: x[:, None].squeeze(1), lambda x, w, t, i: x)],
    "unsqueeze": [("unsqueeze(x, -1)", lambda x, w, t, i: x.unsqueeze(-1), lambda x, w, t, i: x.unsqueeze(-1))],
    "flatten": [("flatten(x, 1)", lambda x, w, t, i: x.flatten(1), lambda x, w, t, i: x.flatten(1))],
    "slice": [("x[1:, ::-2]", lambda x, w, t, i: x[:, 1:, ::-2], lambda x, w, t, i: x.flip(2)[:, 1:, ::2])],
    "index": [("x[-1, 2]", lambda x, w, t, i: x[:, -1, 2], lambda x, w, t, i: x[:, -1, 2])],
    "take": [("t[i]", lambda x, w, t, i: t[i], lambda x, w, t, i: t[i])],
    "gather": [("gather(x, i)", lambda x, w, t, i: tg.gather(x, i),
                lambda x, w, t, i: torch.stack([x[k, i[k]] for k in range(N)]))],
    "cumsum": [("cumsum(x, axis=1)", lambda x, w, t, i: x.cumsum(1), lambda x, w, t, i: x.cumsum(1))],
    "cat": [("cat(x, x * 2, axis=-1)", lambda x, w, t, i: tg.cat([x, x * 2], -1), lambda x, w, t, i: torch.cat([x, x * 2], -1))],
    "stack": [("stack((x, x), 1)", lambda x, w, t, i: tg.stack([x, x], 1), lambda x, w, t, i: torch.stack([x, x], 1))],
    "matmul": [
        ("x @ w", lambda x, w, t, i: x @ w, lambda x, w, t, i: as_float(x) @ as_float(w)),
        ("matmul(x[0], w)", lambda x, w, t, i: x[:, 0] @ w, lambda x, w, t, i: as_float(x)[:, 0] @ as_float(w)),
        ("transpose(x, 1, 2) @ x", lambda x, w, t, i: x.transpose(1, 2) @ x,
         lambda x, w, t, i: as_float(x).transpose(1, 2) @ as_float(x)),
    ],
}  # fmt: skip
WIDENED = {"sum", "prod", "cumsum"}  # bool and int32 count in int64
FLOAT32 = {"mean", "var", "std", "logsumexp", "softmax", "log_softmax", "norm", "matmul"}  # of integers


def as_float(x):
    return x if x.is_floating_point() else x.double()


def test_every_name_of_the_table_is_here():
    assert set(CASES) == set(re.findall(r'^    \{"(\w+)", \w+, \d+, \d+, ', (ROOT / "src/vocab/lib.c").read_text(), re.M))


def given_of(dtype):
    rng = np.random.default_rng(4)
    shapes = {"x": (N, 3, 4), "w": (4, 2), "t": (3, 2)}
    if dtype == torch.bool:
        return {n: torch.from_numpy(rng.random(s) < 0.5) for n, s in shapes.items()}
    if not dtype.is_floating_point:
        return {n: torch.from_numpy(rng.integers(-3, 4, s)).to(dtype) for n, s in shapes.items()}
    return {n: torch.from_numpy(rng.standard_normal(s)).to(dtype) for n, s in shapes.items()}


class Staged(tg.MessagePassing):
    def edge(self, src, dst, edge):
        return 1.0

    def node(self, dst, aggregate, w, t):
        cases = [(n, k, case[1]) for n, cases in CASES.items() for k, case in enumerate(cases) if case[1]]
        return Aggregates({f"{n}_{k}": function(dst.x, w, t, dst.i) for n, k, function in cases})


def formula():
    lines = []
    for name, cases in CASES.items():
        for k, (text, _, _) in enumerate(cases):
            lines.append(f"{name}_{k} = " + re.sub(r"\b([xi])\b", r"node.\1", text))
    return tg.formula("\n".join(lines))


FACES = {
    "formula": lambda v: formula()(graph=graph_of(N), ndata={"x": v["x"], "i": INDEX}, w=v["w"], t=v["t"]),
    "staged": lambda v: Staged()(graph=graph_of(N), dst={"x": v["x"], "i": INDEX}, w=v["w"], t=v["t"]),
}


def expected_dtype(name, dtype):
    if name in ("any", "all"):
        return torch.bool
    if name == "cast" or (name in FLOAT32 and not dtype.is_floating_point):
        return torch.float32
    return torch.int64 if name in WIDENED and dtype in (torch.bool, torch.int32) else dtype


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_values(dtype, face):
    given = given_of(dtype)
    outs = FACES[face](given)
    exact = {n: v.double() if v.is_floating_point() else v for n, v in given.items()}
    assert len(outs) == sum(1 for cases in CASES.values() for case in cases if face == "formula" or case[1])
    for key, got in outs.items():
        name, k = key.rsplit("_", 1)
        want = CASES[name][int(k)][2](exact["x"], exact["w"], exact["t"], INDEX)
        joined = name == "cat" and dtype == torch.bool  # of bools and whole numbers
        assert got.dtype == (torch.int64 if joined else expected_dtype(name, dtype)), (key, got.dtype)
        near = ROUNDING.get(got.dtype, 0) * 4
        torch.testing.assert_close(got.double(), want.double(), rtol=near, atol=near, msg=lambda said: f"{key}: {said}")  # noqa: B023


@pytest.mark.parametrize("face", FACES)
def test_derivatives(face):
    """Each case's own, by all that it takes: what one does wrong is not hidden among the others."""
    for name, cases in CASES.items():
        for k in range(len(cases)):
            key = f"{name}_{k}"
            if name in ("any", "all", "cast") or (face == "staged" and cases[k][1] is None):
                continue
            pairs = []
            for outs in (FACES[face], lambda v: {key: CASES[name][k][2](v["x"], v["w"], v["t"], INDEX)}):  # noqa: B023
                given = {n: v.requires_grad_() for n, v in given_of(torch.float64).items()}
                pairs.append(derivatives({key: outs(given)[key]}, given))
            for by in "xwt":
                for order in range(2):
                    torch.testing.assert_close(pairs[0][by][order], pairs[1][by][order], rtol=1e-9, atol=1e-9,
                                               msg=lambda said: f"derivative {order + 1} of {key} by {by}: {said}")  # noqa: B023  # fmt: skip


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=name_of)
def test_no_nodes(dtype, face):
    given = given_of(dtype)
    args = {"x": given["x"][:0], "i": INDEX[:0]}
    kernel, role = (formula(), "ndata") if face == "formula" else (Staged(), "dst")
    for key, got in kernel(graph=graph_of(0), **{role: args}, w=given["w"], t=given["t"]).items():
        name, k = key.rsplit("_", 1)
        if name != "gather":
            want = CASES[name][int(k)][2](args["x"], given["w"], given["t"], args["i"])
            assert got.shape == want.shape, key
        assert got.shape[0] == 0 and got.dtype == expected_dtype(name, dtype)
