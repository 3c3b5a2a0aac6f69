"""Every elementwise operation and library function, in every face, dtype and shape, against torch in float64.

The rows come from the operation table (src/ir/op.def) and from the library's table (src/vocab/lib_elem.c), so that a new
row is tested as soon as torch, torch.nn.functional or REFERENCE below has a function of its name. Many rows go through one
program, each with its own inputs; a row's forms (tg.exp(x), x.exp(), torch.exp(x), np.exp(x)) go through the same one."""

import functools
import operator
import re

import numpy as np
import pytest
import tiga as tg
from conftest import ROOT
from tiga import _tiga
from tiga.functions import OPERATORS
from tiga.interop import vocabulary
from tiga.multi import Aggregates

torch = pytest.importorskip("torch")
F = torch.nn.functional


# ---- the rows ----


class Row:
    def __init__(self, name, least, most, domain, signature=""):
        self.name, self.least, self.most, self.domain, self.signature = name, least, most, domain, signature

    def __repr__(self):
        return self.name


def table():
    text = (ROOT / "src/ir/op.def").read_text()
    own = re.compile(r"^ELEM\((\w+),\s*(\d), (S_\w+),.*?(any|pos|nz),\s*\d+\)", re.M | re.S)
    rows = [Row(n, int(a), int(a), domain, s) for n, a, s, domain in own.findall(text)]
    assert len(rows) == len(re.findall(r"^ELEM\(", text, re.M))
    library = (ROOT / "src/vocab/lib_elem.c").read_text()
    entries = re.findall(r'^    \{"(\w+)", \w+, (\d), (\d), false\},', library, re.M)
    names = {r.name for r in rows} - {"pow"}  # pow is the library's, over the table's
    rows = [r for r in rows if r.name != "pow"]
    return rows + [Row(n, int(a), int(b), DOMAINS.get(n, "nz")) for n, a, b in entries if n not in names]


DOMAINS = {"rsqrt": "pos", "pow": "pos"}
REFERENCE = {
    "neg": torch.neg,
    "fma": lambda x, y, z: x * y + z,
    "max": torch.maximum,
    "min": torch.minimum,
    "floordiv": functools.partial(torch.div, rounding_mode="floor"),
    "mod": torch.remainder,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "not": torch.bitwise_not,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "clamp": lambda x, low, high=None: torch.clamp(x, low, high),
    "leaky_relu": lambda x, slope=0.01: torch.where(x > 0, x, x * slope),
    "elu": lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.expm1(torch.where(x > 0, 0, x))),
    "silu": lambda x: x * torch.sigmoid(x),
    "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "sqrt": torch.sqrt,
    "imag": torch.zeros_like,
    "real": torch.clone,
    "conj": torch.clone,
}
ROWS = [r for r in table() if r.name != "order"]  # a key to sort by, of no user's: tests/test_ops.c has it
BITS = {"and", "or", "xor", "not"}
OF_INTEGERS = {"add", "mul", "sub", "neg", "abs", "sign", "max", "min", "floordiv", "mod", "where", "square", "relu", "clamp",
               "clamp_min", "clamp_max", "conj", "real", "imag"}  # fmt: skip
TESTS = {"lt", "le", "gt", "ge", "eq", "ne", "isnan", "isfinite"}
SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "lt": "<", "le": "<=", "gt": ">",
           "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^", "pow": "**", "neg": "-", "not": "~"}  # fmt: skip
PYTHONS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "<": "lt", "<=": "le", ">": "gt",
           ">=": "ge", "==": "eq", "!=": "ne", "&": "and_", "|": "or_", "^": "xor", "**": "pow", "~": "invert"}  # fmt: skip


def reference(row):
    found = REFERENCE.get(row.name) or getattr(torch, row.name, None) or getattr(F, row.name, None)
    assert found, f"torch has no {row.name}: what is the value of this row? (REFERENCE)"
    return found


def test_the_table_is_whole():
    """A row of either table is a row here; every name that the builder knows is one, or takes axes or shapes."""
    others = set(re.findall(r'^    \{"(\w+)", \w+, \d+, \d+, (?:true|false)\},', (ROOT / "src/vocab/lib.c").read_text(), re.M))
    names = {r.name for r in ROWS} | others | {"order"}
    assert set(_tiga.operations()) == names
    for row in ROWS:
        reference(row)


# ---- operands ----

RNG = np.random.default_rng(11)
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
DTYPES = [*FLOATS, torch.int64, torch.int32, torch.bool]
TIGA_DTYPES = {torch.bool: tg.bool_, torch.int32: tg.int32, torch.int64: tg.int64, torch.float16: tg.float16,
               torch.bfloat16: tg.bfloat16, torch.float32: tg.float32, torch.float64: tg.float64}  # fmt: skip
ROUNDING = {torch.float64: 1e-13, torch.float32: 4e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
N = 3


def operand(row, k, dtype, shape):
    if dtype == torch.bool or (row.name == "where" and k == 0):
        divides = k == 1 and row.domain == "nz"
        return torch.from_numpy(np.asarray(RNG.random(shape) < 0.5) | divides)
    if not dtype.is_floating_point:
        values = RNG.integers(-9, 9, shape)
        divides = k == 1 and row.domain == "nz"
        return torch.from_numpy(np.where(values == 0, 3, values) if divides else abs(values)).to(dtype)
    values = RNG.uniform(0.25, 1.9, shape)
    if row.domain != "pos":
        values *= RNG.choice([-1.0, 1.0], shape)
    return torch.from_numpy(np.asarray(values)).to(dtype)


def shapes_of(shape, count):
    """One shape for all operands, or a pair: for the first, and for the others."""
    pair = shape if shape and isinstance(shape[0], tuple) else (shape, shape)
    return [pair[k > 0] for k in range(count)]


def operands(row, dtype, shape, count, rows=N):
    return [operand(row, k, dtype, (rows, *s)) for k, s in enumerate(shapes_of(shape, count))]


def takes(row, dtype):
    return row.name not in BITS or not dtype.is_floating_point


def aligned(values):
    """Rows first, feature shapes aligned right: what broadcasting per row means."""
    rank = max(v.ndim for v in values)
    return [v.reshape(v.shape[0], *(1,) * (rank - v.ndim), *v.shape[1:]) for v in values]


KEPT = {"where", "conj", "real", "imag", "clamp", "clamp_min", "clamp_max"}  # of whatever dtype


def exact(row, k, v):
    """An operand as the reference takes it: in float64, or whole where the row is one of whole numbers."""
    if v.is_floating_point():
        return v.double()
    if row.name in BITS | KEPT:
        return v.long() if "clamp" in row.name else v
    return v.long() if row.name in OF_INTEGERS | TESTS - {"isnan", "isfinite"} else v.double()


def wanted(row, given):
    """The exact value, and the dtype by the contract's rules."""
    dtype = given[-1].dtype
    value = reference(row)(*[exact(row, k, v) for k, v in enumerate(aligned(given))])
    if row.name in TESTS:
        return value, torch.bool
    if dtype.is_floating_point or row.name in BITS | KEPT:
        return value, dtype
    if row.name not in OF_INTEGERS and (row.name, len(given)) != ("leaky_relu", 2):
        return value, torch.float32
    return value, torch.int64 if dtype == torch.bool else dtype


def check(what, got, row, given):
    value, dtype = wanted(row, given)
    got = torch.from_numpy(got) if isinstance(got, np.ndarray) else got
    assert got.dtype == dtype, f"{what}: {row} of {given[-1].dtype} is {got.dtype}, expected {dtype}"
    assert got.shape == value.shape, f"{what}: {row}: shape {tuple(got.shape)}, expected {tuple(value.shape)}"
    near = ROUNDING.get(dtype, 0)
    torch.testing.assert_close(got.double(), value.double(), rtol=near, atol=near / 4, equal_nan=True,
                               msg=lambda said: f"{what}: {row} of {given[-1].dtype}: {said}")  # fmt: skip


# ---- faces ----


def forms(row, count):
    """How Python spells a row: functions of lists of operands, by name."""
    found = {}
    symbol, attribute = SYMBOLS.get(row.name), getattr(tg, row.name, None)
    if symbol and count == (1 if row.name in ("neg", "not") else 2):
        found[symbol] = operator.neg if row.name == "neg" else getattr(operator, PYTHONS[symbol])
    folds = row.name in ("max", "min")
    if attribute and not folds:
        found[f"tg.{row.name}"] = attribute
        found[f"x.{row.name}"] = lambda x, *rest: _method(x, row.name, rest)
    for module in (torch, F, np):
        for name in {row.name, *(n for n, o in OPERATORS.items() if o == row.name)}:
            function = getattr(module, name, None)
            if function and name in vocabulary.TABLE and not folds and not name.startswith("logical"):
                found[f"{module.__name__}.{name}"] = function
    return found


def _method(x, name, rest):
    found = getattr(x, name)
    if name == "where":
        return rest[0].where(x, rest[1])
    return found(*rest) if callable(found) else found


def program_of(rows, dtype, shape, counts, n=N):
    """Names of inputs and arrays for a program of all rows."""
    given = {}
    for row in rows:
        for count in counts(row):
            for k, v in enumerate(operands(row, dtype, shape, count, n)):
                given[f"{row.name}_{count}_{k}"] = v
    return given


def own(row, count, given):
    return [given[f"{row.name}_{count}_{k}"] for k in range(count)]


def all_counts(row):
    return range(max(row.least, 2) if row.name == "clamp" else row.least, row.most + 1)


def graph_of(n):
    return tg.Graph.from_coo(np.arange(n), np.arange(n), num_src=n, num_dst=n)


SHAPES = [(), (1,), (7,), (16,), (3, 5), (2, 0), (2, 1, 2, 1, 1, 2, 1, 1), ((3, 1), (5,)), ((), (4,)), ((2, 1, 3), (4, 1)),
          ((7,), (1,)), ((0,), (1,))]  # fmt: skip
name_of = lambda x: str(x).replace("torch.", "")  # noqa: E731


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_formula(dtype, shape):
    rows = [r for r in ROWS if takes(r, dtype)]
    for n in (N, 0) if shape in [(), (7,)] else (N,):
        given = program_of(rows, dtype, shape, all_counts, n)
        lines = []
        for row in rows:
            for count in all_counts(row):
                args = [f"node.{row.name}_{count}_{k}" for k in range(count)]
                symbol = SYMBOLS.get(row.name)
                unary = row.name in ("neg", "not")
                text = f"{symbol}{args[0]}" if unary else f" {symbol} ".join(args) if symbol else f"{row.name}({', '.join(args)})"
                lines.append(f"out_{row.name}_{count} = {text}")
                if row.name not in BITS:
                    lines.append(f"called_{row.name}_{count} = {row.name}({', '.join(args)})")
        outs = tg.formula("\n".join(lines))(graph=graph_of(n), ndata=given)
        for row in rows:
            for count in all_counts(row):
                for prefix in ("out", "called")[: 1 + (row.name not in BITS)]:
                    check("formula", outs[f"{prefix}_{row.name}_{count}"], row, own(row, count, given))


class Everything(tg.MessagePassing):
    """All rows in all their forms, on the nodes."""

    reducer = tg.sum()

    def __init__(self, rows):
        self.rows = tuple(rows)

    def edge(self, src, dst, edge):
        return 1.0

    def node(self, dst, aggregate):
        results = {}
        for row in self.rows:
            for count in all_counts(row):
                seen = {}
                args = [getattr(dst, f"{row.name}_{count}_{k}") for k in range(count)]
                for name, form in forms(row, count).items():
                    value = form(*args)
                    if value._id not in seen:  # equal values are one value: most forms are
                        seen[value._id] = results[f"{row.name}_{count}_{len(seen)}"] = value
        return Aggregates(results)


def check_everything(what, outs, rows, given):
    for row in rows:
        for count in all_counts(row):
            for k in range(9):
                if f"{row.name}_{count}_{k}" in outs:
                    check(what, outs[f"{row.name}_{count}_{k}"], row, own(row, count, given))


@pytest.mark.parametrize("framework", ["numpy", "torch"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_staged(dtype, shape, framework):
    rows = [r for r in ROWS if takes(r, dtype) and any(forms(r, c) for c in all_counts(r))]
    given = program_of(rows, dtype, shape, all_counts)
    if framework == "numpy" and dtype == torch.bfloat16:
        pytest.skip("NumPy has no bfloat16 of its own")
    fields = {n: v.numpy() for n, v in given.items()} if framework == "numpy" else given
    outs = Everything(rows)(graph=graph_of(N), dst=fields)
    assert all(isinstance(v, np.ndarray if framework == "numpy" else torch.Tensor) for v in outs.values())
    check_everything(framework, outs, rows, given)


class OnEdges(tg.MessagePassing):
    """All rows on the edges, one of which enters each node."""

    def __init__(self, rows):
        self.rows = tuple(rows)
        self.reducer = tg.multi(**{f"{r.name}_{c}": tg.sum() for r in rows for c in all_counts(r)})

    def edge(self, src, dst, edge):
        fields = [src, dst, edge]
        messages = {}
        for row in self.rows:
            for count in all_counts(row):
                args = [getattr(fields[k % 3], f"{row.name}_{count}_{k}") for k in range(count)]
                messages[f"{row.name}_{count}"] = next(iter(forms(row, count).values()))(*args)
        return self.reducer(**messages)


def on_edges(rows, given):
    roles = [{n: v for n, v in given.items() if int(n[-1]) % 3 == k} for k in range(3)]
    return OnEdges(rows)(graph=graph_of(N), src=roles[0], dst=roles[1], edge=roles[2])


def in_python(rows):
    return [r for r in rows if any(forms(r, c) for c in all_counts(r))]


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 0), ((3, 1), (5,))], ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
def test_on_edges(dtype, shape):
    rows = [r for r in in_python(ROWS) if r.name not in BITS | TESTS]
    given = program_of(rows, dtype, shape, all_counts)
    outs = on_edges(rows, given)
    for row in rows:
        for count in all_counts(row):
            check("edges", outs[f"{row.name}_{count}"], row, own(row, count, given))


def as_tensor(v):
    return tg.from_torch(v) if v.dtype == torch.bfloat16 else tg.from_numpy(v.numpy())


@pytest.mark.parametrize("shape", [(7,), ((3, 1), (5,)), (2, 0)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_tensors(dtype, shape):
    for row in [r for r in in_python(ROWS) if takes(r, dtype)]:
        for count in all_counts(row):
            given = aligned(operands(row, dtype, shape, count))
            for name, form in forms(row, count).items():
                got = form(*map(as_tensor, given))
                assert isinstance(got, tg.Tensor), name
                check(name, got.to_torch(), row, given)


# ---- derivatives ----


def loss_of(outs, seed):
    """A number that tells outputs apart."""
    rng = np.random.default_rng(seed)
    return sum((v * torch.from_numpy(np.asarray(rng.uniform(0.5, 1.5, v.shape)))).sum() for _, v in sorted(outs.items()))


def derivatives(outs, given):
    """First and second derivatives by every operand, zeros where there is none."""
    names = list(given)
    inputs = [given[n] for n in names]
    first = torch.autograd.grad(loss_of(outs, 1), inputs, create_graph=True, allow_unused=True)
    first = [torch.zeros_like(x) if g is None else g for g, x in zip(first, inputs)]
    slope = loss_of(dict(zip(names, first)), 2)
    second = torch.autograd.grad(slope, inputs, allow_unused=True) if slope.requires_grad else [None] * len(inputs)
    return {n: (g.detach(), torch.zeros_like(x) if h is None else h) for n, g, h, x in zip(names, first, second, inputs)}


def expected_outs(rows, given):
    """Keeps torch's graph even where a row has no slope, as floor."""
    outs = {}
    for row in rows:
        for count in all_counts(row):
            args = aligned(own(row, count, given))
            value = reference(row)(*args)
            outs[f"{row.name}_{count}"] = value if value.grad_fn is not None else value.detach() + 0 * args[-1].sum()
    return outs


def as_formula(rows, given):
    lines = [f"{r.name}_{c} = {r.name}({', '.join(f'node.{r.name}_{c}_{k}' for k in range(c))})"
             for r in rows for c in all_counts(r)]  # fmt: skip
    outs = tg.formula("\n".join(lines))(graph=graph_of(N), ndata=given)
    return outs if isinstance(outs, dict) else {f"{rows[0].name}_{rows[0].most}": outs}


SMOOTH = [r for r in ROWS if r.name not in BITS | TESTS]
BLOCKS = [SMOOTH[k : k + 8] for k in range(0, len(SMOOTH), 8)]


@pytest.mark.parametrize("face", [on_edges, as_formula], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(), (4,), (2, 0), ((3, 1), (5,))], ids=str)
@pytest.mark.parametrize("block", range(len(BLOCKS)))
def test_derivatives(block, shape, face):
    rows = BLOCKS[block] if face is as_formula else in_python(BLOCKS[block])
    ours = program_of(rows, torch.float64, shape, all_counts)
    floats = {n: v for n, v in ours.items() if v.dtype == torch.float64}
    theirs = {n: v.clone().requires_grad_(n in floats) for n, v in ours.items()}
    ours = {n: v.requires_grad_(n in floats) for n, v in ours.items()}
    got = derivatives(face(rows, ours), {n: ours[n] for n in floats})
    want = derivatives(expected_outs(rows, theirs), {n: theirs[n] for n in floats})
    for name in floats:
        for order in range(2):
            torch.testing.assert_close(got[name][order], want[name][order], rtol=1e-9, atol=1e-9,
                                       msg=lambda said: f"derivative {order + 1} by {name}: {said}")  # fmt: skip


@pytest.mark.parametrize("shape", [(4,), ((3, 1), (5,))], ids=str)
def test_derivatives_of_tensors(shape):
    for row in in_python(SMOOTH):
        for count in all_counts(row):
            given = aligned(operands(row, torch.float64, shape, count))
            floats = [k for k, v in enumerate(given) if v.dtype == torch.float64]
            names = {f"{row.name}_{count}_{k}": given[k].clone().requires_grad_() for k in floats}
            value = reference(row)(*[names.get(f"{row.name}_{count}_{k}", given[k]) for k in range(count)])
            if value.grad_fn is None:
                value = value.detach() + 0 * next(iter(names.values())).sum()
            want = derivatives({"out": value}, names)
            args = [as_tensor(v).requires_grad_(k in floats) for k, v in enumerate(given)]
            got = _tensor_derivatives(next(iter(forms(row, count).values()))(*args), [args[k] for k in floats])
            for k, (first, second) in zip(floats, got):
                for order, g in enumerate((first, second)):
                    torch.testing.assert_close(g, want[f"{row.name}_{count}_{k}"][order], rtol=1e-9, atol=1e-9,
                                               msg=lambda said: f"derivative {order + 1} of {row} by {k}: {said}")  # fmt: skip


def _weights(shapes, seed):
    rng = np.random.default_rng(seed)
    return [tg.from_numpy(np.asarray(rng.uniform(0.5, 1.5, s))) for s in shapes]


def _tensor_derivatives(out, inputs):
    first = tg.autograd.grad(out, inputs, grad_output=_weights([out.shape], 1)[0], allow_unused=True)
    first = [tg.zeros_like(x) if g is None else g for g, x in zip(first, inputs)]
    slope = sum((g * w).sum() for g, w in zip(first, _weights([x.shape for x in inputs], 2)))
    second = tg.autograd.grad(slope, inputs, allow_unused=True)
    return [(g.to_torch(), torch.zeros(x.shape, dtype=torch.float64) if h is None else h.to_torch())
            for g, h, x in zip(first, second, inputs)]  # fmt: skip


# ---- refusals ----


def staged(function):
    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return function(src.a, src.b, src.d)

    fields = {"a": np.ones((N, 2), np.float32), "b": np.ones((N, 2), np.float32), "d": np.ones((N, 3), np.float64)}
    return Kernel()(graph=graph_of(N), src=fields)


@pytest.mark.parametrize("row", [r for r in ROWS if r.most > 1], ids=repr)
def test_operands_that_do_not_meet(row):
    """Floats of two kinds, and shapes that do not broadcast: refused with the names of both operands, in either face."""
    count = row.most
    a, d = ["node.a"] * (count - 1), "node.d"
    if row.name == "where":
        a[0] = "node.a > 0"
    text = f"out = {row.name}({', '.join([*a, d])})"
    fields = {"a": np.ones((N, 2), np.float32), "d": np.ones((N, 2), np.float64)}
    if row.name in BITS:
        text = f"out = node.a {SYMBOLS[row.name]} node.d"
    with pytest.raises(TypeError, match="float32 and float64 do not meet|float64 and float32 do not meet") as error:
        tg.formula(text)(graph=graph_of(N), ndata=fields)
    assert "node.a" in str(error.value) and "node.d" in str(error.value)
    fields["d"] = np.ones((N, 3), np.float32)
    with pytest.raises(ValueError, match="do not broadcast") as error:
        tg.formula(text)(graph=graph_of(N), ndata=fields)
    assert all(said in str(error.value) for said in ("node.a", "node.d", "(2,)", "(3,)"))
    for form in forms(row, count).values():
        args = lambda a, d: [a > 0 if row.name == "where" and k == 0 else a for k in range(count - 1)] + [d]  # noqa: B023, E731
        with pytest.raises(TypeError, match="do not meet"):
            staged(lambda a, b, d: form(*args(a, d[:, :2])))  # noqa: B023
        with pytest.raises(ValueError, match="do not broadcast"):
            staged(lambda a, b, d: form(*args(a, d.to(tg.float32))))  # noqa: B023


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_what_a_row_does_not_take(row):
    """Another number of operands, and bits of floats: refused by the row's name."""
    few, many = ", ".join(["node.a"] * (row.least - 1)), ", ".join(["node.a"] * (row.most + 2))
    for args in (few, many):
        if row.name in BITS or (row.name in ("add", "mul") and args == many) or (row.name in ("max", "min") and args == few):
            continue  # those of a symbol alone; those of any number; one operand is a fold
        with pytest.raises(ValueError, match=f"{row.name}: "):
            tg.formula(f"out = {row.name}({args})")(graph=graph_of(N), ndata={"a": np.ones(N, np.float32)})
    if row.name in BITS:
        args = ["node.a"] * row.least
        text = f"~{args[0]}" if row.name == "not" else f" {SYMBOLS[row.name]} ".join(args)
        for dtype in (np.float16, np.float32, np.float64):
            with pytest.raises(TypeError, match=f"{row.name}: not defined for"):
                tg.formula(f"out = {text}")(graph=graph_of(N), ndata={"a": np.ones(N, dtype)})


# ---- corners ----

CORNERS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, 1e18, -1e18, 1e-30, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_division_at_its_corners(dtype):
    """// and % as NumPy, signs of zeros included; % where the quotient is not beyond 2^46."""
    x, y = (v.ravel().astype(dtype) for v in np.meshgrid(CORNERS, CORNERS))
    with np.errstate(all="ignore"):
        quotient, rest, ratio = x // y, x % y, np.abs(x / y)
        tensors = tg.from_numpy(x) // tg.from_numpy(y), tg.from_numpy(x) % tg.from_numpy(y)
    outs = tg.formula("q = node.x // node.y; r = node.x % node.y")(graph=graph_of(len(x)), ndata={"x": x, "y": y})
    exact = ~(ratio > 2.0**46) | np.isinf(x) | (y == 0)
    for q, r in [(outs["q"], outs["r"]), [t.numpy() for t in tensors]]:
        for got, want, where in [(q, quotient, slice(None)), (r, rest, exact)]:
            np.testing.assert_array_equal(got[where], want[where])
            number = ~np.isnan(want[where])
            np.testing.assert_array_equal(np.signbit(got[where])[number], np.signbit(want[where])[number])


@pytest.mark.parametrize("name", "sum prod mean max min any all logsumexp norm".split())
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.bool_])
def test_a_fold_over_no_axis(name, dtype):
    """axis=() folds each element by itself: the value's shape stays, its dtype is the fold's."""
    if name == "norm":
        reference = np.abs
    elif name == "logsumexp":
        reference = lambda x: x.astype(np.float64 if dtype == np.float64 else np.float32)  # noqa: E731
    else:
        reference = functools.partial(getattr(np, name), axis=())
    x = (np.arange(6).reshape(2, 3) - (dtype != np.bool_) * 2).astype(dtype)
    fold = getattr(tg, name)
    for keep in (False, True):
        for got in (fold(tg.tensor(x), axis=(), keepdims=keep).numpy(), fold(tg.tensor(x), dim=[], keepdim=keep).numpy()):
            assert got.shape == x.shape
            np.testing.assert_allclose(got.astype(np.float64), reference(x).astype(np.float64), rtol=1e-6)

    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return fold(src.x, axis=()).to(tg.float64)

    staged = Kernel()(graph=graph_of(2), src={"x": x})
    np.testing.assert_allclose(staged, reference(x).astype(np.float64), rtol=1e-6)
