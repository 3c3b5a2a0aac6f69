"""The vocabulary: operations on staged values and on tensors, each both tg.name(x) and x.name().

dim and axis, keepdim and keepdims are synonyms. Axis 0 of a value on edges or nodes is the row axis and
stays; features are axes 1 and up, or negative."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from . import arrays, dtypes
from .operand import Operand
from .staged import ROWS, Value, ints, stage_of

Axes = Any  # int, tuple of ints, or None


def _apply(name: str, *args: Any, ints: tuple[int, ...] = ()) -> Value:
    return stage_of(args, f"tg.{name}").apply(name, args, ints)


def _one(name: str, dim: Any, axis: Any, default: Any = None) -> Any:
    """dim or axis, whichever was given."""
    if dim is not None and axis is not None:
        raise TypeError(f"{name}: dim and axis are synonyms, give one")
    given = axis if dim is None else dim
    return default if given is None else given


# ---- elementwise ----


def exp(x: Any) -> Value:
    """e to the power x."""
    return _apply("exp", x)


def expm1(x: Any) -> Value:
    """exp(x) - 1, precise near 0."""
    return _apply("expm1", x)


def log(x: Any) -> Value:
    """Natural logarithm."""
    return _apply("log", x)


def log1p(x: Any) -> Value:
    """log(1 + x), precise near 0."""
    return _apply("log1p", x)


def sqrt(x: Any) -> Value:
    """Square root."""
    return _apply("sqrt", x)


def rsqrt(x: Any) -> Value:
    """1 / sqrt(x)."""
    return _apply("rsqrt", x)


def square(x: Any) -> Value:
    """x * x."""
    return _apply("square", x)


def reciprocal(x: Any) -> Value:
    """1 / x."""
    return _apply("reciprocal", x)


def sin(x: Any) -> Value:
    """Sine; precise for |x| up to 2^20 in float32, 2^47 in float64."""
    return _apply("sin", x)


def cos(x: Any) -> Value:
    """Cosine; precise where sin is."""
    return _apply("cos", x)


def tanh(x: Any) -> Value:
    """Hyperbolic tangent."""
    return _apply("tanh", x)


def erf(x: Any) -> Value:
    """The error function."""
    return _apply("erf", x)


def abs(x: Any) -> Value:
    """Magnitude; its gradient at 0 is 0."""
    return _apply("abs", x)


def sign(x: Any) -> Value:
    """-1, 0 or 1; NaN stays NaN."""
    return _apply("sign", x)


def neg(x: Any) -> Value:
    """-x."""
    return _apply("neg", x)


def floor(x: Any) -> Value:
    """The largest whole number not above x."""
    return _apply("floor", x)


def ceil(x: Any) -> Value:
    """The smallest whole number not below x."""
    return _apply("ceil", x)


def round(x: Any, decimals: int = 0) -> Value:
    """The nearest whole number, the even one of two."""
    if decimals != 0:
        raise NotImplementedError(f"round: decimals={decimals} is not built, only 0 (scale before and after)")
    return _apply("round", x)


def relu(x: Any) -> Value:
    """x where positive, else 0; the gradient at 0 is 0."""
    return _apply("relu", x)


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Value:
    """x where positive, else negative_slope * x."""
    return _apply("leaky_relu", x, negative_slope)


def sigmoid(x: Any) -> Value:
    """1 / (1 + exp(-x))."""
    return _apply("sigmoid", x)


def silu(x: Any) -> Value:
    """x * sigmoid(x)."""
    return _apply("silu", x)


def gelu(x: Any, approximate: str = "none") -> Value:
    """x times the normal distribution's share below x, by erf or, with approximate="tanh", by tanh."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate={approximate!r}, expected 'none' or 'tanh'")
    return _apply("gelu" if approximate == "none" else "gelu_tanh", x)


def softplus(x: Any) -> Value:
    """log(1 + exp(x)) without overflow."""
    return _apply("softplus", x)


def elu(x: Any, alpha: Any = 1.0) -> Value:
    """x where positive, else alpha * (exp(x) - 1)."""
    return _apply("elu", x, alpha)


def isnan(x: Any) -> Value:
    """True where x is NaN."""
    return _apply("isnan", x)


def isfinite(x: Any) -> Value:
    """True where x is neither NaN nor infinite."""
    return _apply("isfinite", x)


def maximum(x: Any, y: Any) -> Value:
    """The larger; NaN wins; ties share the gradient half and half."""
    return _apply("maximum", x, y)


def minimum(x: Any, y: Any) -> Value:
    """The smaller; NaN wins; ties share the gradient half and half."""
    return _apply("minimum", x, y)


def where(condition: Any, x: Any, y: Any) -> Value:
    """x where condition, else y; no gradient flows to the branch not taken."""
    return _apply("where", condition, x, y)


def clamp(x: Any, min: Any = None, max: Any = None) -> Value:
    """x held between min and max; either may be left out."""
    if min is None and max is None:
        raise ValueError("clamp: give min, max or both")
    v = x if min is None else _apply("clamp_min", x, min)
    return v if max is None else _apply("clamp_max", v, max)


def pow(x: Any, exponent: Any) -> Value:
    """x to a power, as C's pow; whole exponents up to 64 by products, +-0.5 by a root."""
    if hasattr(exponent, "_fixed") or isinstance(exponent, int):
        exponent = int(exponent)  # part of the program, as what a place holds is not
    return _apply("pow", x, float(exponent) if isinstance(exponent, float) else exponent)


def cast(x: Any, dtype: Any) -> Value:
    """x as another dtype, or as that of another operand; float to integer truncates toward zero,
    to float16 and bfloat16 rounds at once."""
    wanted = dtypes.as_dtype(dtype.dtype if arrays.is_array(dtype) or isinstance(dtype, Operand) else dtype)
    return _apply("cast", x, ints=(wanted.code,))


def full_like(x: Any, fill_value: Any) -> Value:
    """A number in x's shape and dtype."""
    return cast(where(x == x, fill_value, fill_value), x.dtype)


def conj(x: Any) -> Any:
    """The complex conjugate: of a real operand itself."""
    return stage_of((x,), "tg.conj").value(x)


def real(x: Any) -> Any:
    """The real part: of a real operand itself."""
    return stage_of((x,), "tg.real").value(x)


def imag(x: Any) -> Value:
    """The imaginary part: of a real operand 0."""
    return full_like(x, 0)


# ---- folds over feature axes ----


def _fold(name: str, x: Any, dim: Axes, axis: Axes, keepdim: Any, keepdims: Any) -> Value:
    axes = _one(name, dim, axis)
    keep = bool(keepdim) or bool(keepdims)
    if isinstance(axes, (tuple, list)) and not axes:  # no axis at all: each element by itself
        x, axes, keep = unsqueeze(x, -1), -1, False
    axes = () if axes is None else axes
    return _apply(name, x, ints=(int(keep), *ints((axes,) if not isinstance(axes, (tuple, list)) else axes)))


def sum(x: Any, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The sum over feature axes."""
    return _fold("sum", x, dim, axis, keepdim, keepdims)


def mean(x: Any, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The mean over feature axes."""
    return _fold("mean", x, dim, axis, keepdim, keepdims)


def prod(x: Any, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The product over feature axes; zero-safe derivatives."""
    return _fold("prod", x, dim, axis, keepdim, keepdims)


def max(x: Any, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The largest over feature axes (the value alone)."""
    return _fold("max", x, dim, axis, keepdim, keepdims)


def min(x: Any, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """The smallest over feature axes (the value alone)."""
    return _fold("min", x, dim, axis, keepdim, keepdims)


def any(x: Any, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """True where some element is not 0."""
    return _fold("any", x, dim, axis, keepdim, keepdims)


def all(x: Any, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """True where no element is 0."""
    return _fold("all", x, dim, axis, keepdim, keepdims)


def logsumexp(x: Any, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False) -> Value:
    """log(sum(exp(x))) without overflow."""
    return _fold("logsumexp", x, dim, axis, keepdim, keepdims)


def norm(
    x: Any, p: Any = 2, dim: Axes = None, keepdim: bool = False, *, axis: Axes = None, keepdims: bool = False
) -> Value:
    """Euclidean length over feature axes; its gradient at the origin is 0."""
    if p not in (2, None, "fro"):
        raise NotImplementedError(f"norm: p={p!r} is not built yet, only 2")
    return _fold("norm", x, dim, axis, keepdim, keepdims)


def softmax(x: Any, dim: Any = None, *, axis: Any = None) -> Value:
    """exp(x) over its sum along a feature axis."""
    return _apply("softmax", x, ints=ints((_one("softmax", dim, axis, -1),)))


def log_softmax(x: Any, dim: Any = None, *, axis: Any = None) -> Value:
    """The logarithm of softmax."""
    return _apply("log_softmax", x, ints=ints((_one("log_softmax", dim, axis, -1),)))


def cumsum(x: Any, dim: Any = None, *, axis: Any = None, reverse: bool = False) -> Value:
    """Running sums along a feature axis, from its end where reverse is set."""
    given = _one("cumsum", dim, axis)
    if given is None:
        raise ValueError("cumsum: name one feature axis (dim=-1)")
    return _apply("cumsum", x, ints=(*ints((given,)), int(reverse)))


# ---- shapes ----


def reshape(x: Any, *shape: Any) -> Value:
    """Another shape of as many elements; the row axis stays first, written -1."""
    return _apply("reshape", x, ints=ints(shape))


def broadcast_to(x: Any, *shape: Any) -> Value:
    """x repeated to a shape; -1 keeps an extent."""
    return _apply("broadcast_to", x, ints=ints(shape))


def permute(x: Any, *axes: Any) -> Value:
    """Axes in another order; the row axis, 0, stays first."""
    return _apply("permute", x, ints=ints(axes))


def transpose(x: Any, *axes: Any) -> Value:
    """Two axes exchanged; with every axis named (NumPy's way), as permute."""
    named = ints(axes)
    return _apply("transpose" if len(named) == 2 else "permute", x, ints=named)


def flatten(x: Any, start_dim: Any = 0, end_dim: Any = -1) -> Value:
    """Axes from start_dim on as one: flatten(1) of a value on edges."""
    if operator.index(end_dim) not in (-1, x.ndim - 1):
        raise NotImplementedError(f"flatten: end_dim={end_dim} is not built yet (use reshape)")
    return _apply("flatten", x, ints=ints((start_dim,)))


def squeeze(x: Any, dim: Axes = None, *, axis: Axes = None) -> Value:
    """Without an axis of extent 1; without dim: without all of them."""
    given = _one("squeeze", dim, axis, ())
    return _apply("squeeze", x, ints=ints(given if isinstance(given, (tuple, list)) else (given,)))


def unsqueeze(x: Any, dim: Any = None, *, axis: Any = None) -> Value:
    """With a new axis of extent 1."""
    return _apply("unsqueeze", x, ints=ints((_one("unsqueeze", dim, axis, -1),)))


def cat(tensors: Sequence[Any], dim: Any = None, *, axis: Any = None) -> Value:
    """Joined along a feature axis: cat([a, b], -1)."""
    along = ints((_one("cat", dim, axis, 0),))
    if len(tensors) > _MOST_JOINED:
        parts = range(0, len(tensors), _MOST_JOINED)
        return cat([_apply("cat", *tensors[k : k + _MOST_JOINED], ints=along) for k in parts], *along)
    return _apply("cat", *tensors, ints=along)


_MOST_JOINED = 32  # by one operation


def stack(tensors: Sequence[Any], dim: Any = None, *, axis: Any = None) -> Value:
    """Joined along a new feature axis: stack([a, b], -1)."""
    if len(tensors) > _MOST_JOINED:
        along = _one("stack", dim, axis, 0)
        return cat([stack([x], along) for x in tensors], along)
    return _apply("stack", *tensors, ints=ints((_one("stack", dim, axis, 0),)))


def matmul(x: Any, y: Any) -> Value:
    """The matrix product over feature shapes by NumPy's rule; either side may be a tensor."""
    return _apply("matmul", x, y)


def linear(x: Any, weight: Any, bias: Any = None) -> Value:
    """x @ weight.T + bias."""
    w = stage_of((x, weight, bias), "tg.linear").value(weight)
    y = _apply("matmul", x, transpose(w, 0, 1))
    return y if bias is None else _apply("add", y, bias)


# ---- indexing ----


def take(table: Any, index: Any) -> Value:
    """Rows of a param by a staged integer: table[index]; of a staged table, each element's own rows.

    An index outside the table, negative ones too, raises IndexError when the call runs."""
    return _apply("take", table, index)


def gather(table: Any, index: Any) -> Value:
    """As take."""
    return _apply("gather", table, index)


def getitem(x: Value, index: Any) -> Value:
    """x[:, 2], x[..., 1:3], x[:, None]: numbers, slices, None and ... over feature axes; table[edge.kind],
    table[edge.kind, :3]: rows of a param by a staged integer, which stands first."""
    items = list(index) if isinstance(index, tuple) else [index]
    named = len([i for i in items if i is not None and i is not Ellipsis])
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if dots:
        items[dots[0] : dots[0] + 1] = [slice(None)] * (x.ndim - named)
    axis = 0
    for item in items:
        x, axis = _index_axis(x, axis, item)
    return x


def _index_axis(x: Value, axis: int, item: Any) -> tuple[Value, int]:
    if item is None:
        return _apply("unsqueeze", x, ints=(axis,)), axis + 1
    if axis >= x.ndim:
        raise IndexError(f"too many indices for {x!r}")
    if isinstance(item, slice):
        whole = item == slice(None)
        return (x if whole else _slice(x, axis, item)), axis + 1
    if arrays.is_array(item) or (isinstance(item, Value) and not hasattr(item, "_fixed")):
        return _rows(x, axis, item)
    number = hasattr(item, "_fixed") if isinstance(item, Value) else hasattr(item, "__index__")
    if not number or isinstance(item, bool):
        raise NotImplementedError(f"indexing with {type(item).__name__}: use numbers, slices and staged integers")
    return _apply("index", x, ints=(axis, operator.index(item))), axis


def _rows(x: Value, axis: int, index: Any) -> tuple[Value, int]:
    """A table's rows; the axes of index come first, the row axis of edges or nodes before them."""
    if axis > 0 or (x.ndim and x.shape[0] is ROWS):
        raise NotImplementedError(
            "an index that is a tensor or a staged value stands first, in a param: table[index] "
            "(of each edge's own table: tg.take(x, index))"
        )
    rows = x._stage.value(index)
    return take(x, rows), rows.ndim


def _slice(x: Value, axis: int, item: slice) -> Value:
    n = x.shape[axis]
    if n is ROWS:
        return _apply("slice", x, ints=(axis, 0, 0, 1))  # refused by the core's own words
    start, stop, step = item.indices(n)
    return _apply("slice", x, ints=(axis, start, stop if stop >= 0 else -n - 1, step))


# ---- operators by the names that torch and NumPy give them ----

OPERATORS = {
    "add": "add",
    "sub": "sub",
    "subtract": "sub",
    "mul": "mul",
    "multiply": "mul",
    "div": "div",
    "divide": "div",
    "true_divide": "div",
    "truediv": "div",
    "floor_divide": "floordiv",
    "floordiv": "floordiv",
    "mod": "mod",
    "remainder": "mod",
    "mm": "matmul",
    "mv": "matmul",
    "bmm": "matmul",
    "and": "and",
    "bitwise_and": "and",
    "logical_and": "and",
    "or": "or",
    "bitwise_or": "or",
    "logical_or": "or",
    "xor": "xor",
    "bitwise_xor": "xor",
    "logical_xor": "xor",
    "lt": "lt",
    "less": "lt",
    "le": "le",
    "less_equal": "le",
    "gt": "gt",
    "greater": "gt",
    "ge": "ge",
    "greater_equal": "ge",
    "eq": "eq",
    "equal": "eq",
    "ne": "ne",
    "not_equal": "ne",
}


def operator_function(name: str) -> Callable[[Any, Any], Value]:
    """The builder's operation of two operands as a function."""

    def call(x: Any, y: Any) -> Value:
        return _apply(name, x, y)

    return call


# ---- as methods; those of torch's and NumPy's other names are in interop/vocabulary.py ----

_METHODS = """exp expm1 log log1p sqrt rsqrt square reciprocal sin cos tanh erf abs sign neg floor ceil round relu
leaky_relu sigmoid silu gelu softplus elu isnan isfinite conj real imag maximum minimum where clamp pow sum mean prod max min any all logsumexp norm
softmax log_softmax cumsum reshape broadcast_to permute transpose flatten squeeze unsqueeze matmul""".split()
for _name in _METHODS:
    setattr(Operand, _name, globals()[_name])
for _name in ("real", "imag"):
    setattr(Operand, _name, property(globals()[_name]))


def _where_method(self: Value, condition: Any, other: Any) -> Value:
    """self where condition, else other."""
    return where(condition, self, other)


def _matrix_transpose(self: Value) -> Value:
    """The last two axes exchanged."""
    return transpose(self, -2, -1)


def _reverse(self: Value) -> Value:
    """Every axis in reverse; of a matrix, its transpose."""
    return permute(self, *reversed(range(self.ndim)))


for _name, _method in {
    "to": cast,
    "astype": cast,
    "type": cast,
    "view": reshape,
    "expand": broadcast_to,
    "swapaxes": transpose,
    "clip": clamp,
    "where": _where_method,
    "amax": max,
    "amin": min,
    "take": take,
    "gather": gather,
    "__getitem__": getitem,
    "__pow__": pow,
    "__round__": round,
    "mT": property(_matrix_transpose),
    "T": property(_reverse),
    "t": _reverse,
    "__rpow__": lambda self, base: pow(base, self),
    "half": lambda self: cast(self, dtypes.float16),
    "bfloat16": lambda self: cast(self, dtypes.bfloat16),
    "float": lambda self: cast(self, dtypes.float32),
    "double": lambda self: cast(self, dtypes.float64),
    "long": lambda self: cast(self, dtypes.int64),
    "int": lambda self: cast(self, dtypes.int32),
    "bool": lambda self: cast(self, dtypes.bool_),
    "contiguous": lambda self: self,
}.items():
    setattr(Operand, _name, _method)
