"""Functions of torch and NumPy on staged values, by name: torch.exp(src.x), np.maximum(a, b), W @ src.x."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from .. import dtypes
from .. import functions as tg
from ..operand import stage_of
from ..staged import Value


def _swapped(function: Callable[..., Value]) -> Callable[..., Value]:
    return lambda x, y: function(y, x)


def _unary(name: str) -> Callable[..., Value]:
    return lambda x: stage_of((x,), name).apply(name, (x,))


def _max_min(fold: Callable[..., Value], pair: Callable[..., Value]) -> Callable[..., Value]:
    """torch.max(x, y) is elementwise; torch.max(x, dim) would give indices too."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Value:
        if args and not isinstance(args[0], (int, tuple)) or "other" in kwargs:
            return pair(x, *args, **kwargs)
        return fold(x, *args, **kwargs)

    return call


def _clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Value:
    return tg.clamp(x, a_min if min is None else min, a_max if max is None else max)


def _norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, p: Any = None, **kwargs: Any) -> Value:
    return tg.norm(x, ord or p, dim, keepdim, **kwargs)


def _relu(x: Any, inplace: bool = False) -> Value:
    return tg.relu(x)


def _softmax(x: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Value:
    return tg.softmax(x if dtype is None else tg.cast(x, dtype), dim)


def _log_softmax(x: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Value:
    return tg.log_softmax(x if dtype is None else tg.cast(x, dtype), dim)


def _same(x: Any, **kwargs: Any) -> Any:
    return x


def _scaled(name: str) -> Callable[..., Any]:
    """add and sub, of alpha times y."""
    plain = tg.operator_function(name)
    return lambda x, y, *, alpha=1: plain(x, y if alpha == 1 else y * alpha)


def _divided(x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
    if rounding_mode == "floor":
        return tg.operator_function("floordiv")(x, y)
    quotient = tg.operator_function("div")(x, y)
    return quotient if rounding_mode is None else _truncated(quotient)


def _truncated(x: Any) -> Any:
    return tg.where(x < 0, tg.ceil(x), tg.floor(x))


def _truth(x: Any) -> Any:
    return x != 0 if getattr(x, "dtype", dtypes.bool_) is not dtypes.bool_ else x


def _logical(name: str) -> Callable[..., Any]:
    combine = tg.operator_function(name)
    return lambda x, y: combine(_truth(x), _truth(y))


def _moved(x: Any, source: Any, destination: Any) -> Any:
    """One axis to another place."""
    axes = list(range(x.ndim))
    axes.insert(destination % x.ndim, axes.pop(source % x.ndim))
    return tg.permute(x, axes)


def _along(x: Any, dim: int, item: Any) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (item,)]


def _flipped(x: Any, *dims: Any, axis: Any = None) -> Any:
    for d in tg.ints(dims or (axis,)):
        x = _along(x, d, slice(None, None, -1))
    return x


def _split(x: Any, size: Any, dim: int = 0) -> Any:
    """Pieces of a size, the last one shorter; or of the sizes given."""
    n = x.shape[dim]
    sizes = [size] * (n // size) + [n % size] * (n % size > 0) if isinstance(size, int) else list(size)
    starts = [builtins.sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(_along(x, dim, slice(start, start + k)) for start, k in zip(starts, sizes))


def _chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    return _split(x, -(-x.shape[dim] // chunks), dim)


def _rows(x: Any, index: Any, what: str, first: bool) -> Value:
    """Of a param: an axis that is not its first, or a flattened index, has no meaning here."""
    if not first:
        raise NotImplementedError(f"{what} of a staged value: along the first axis of a param alone (table[index])")
    return tg.getitem(x, index) if isinstance(x, Value) else tg.take(x, index)


def _take(x: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Value:
    return _rows(x, indices, "take", mode == "raise" and (axis == 0 or (axis is None and len(x.shape) == 1)))


def _embedding(input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None, *args: Any, **kw: Any) -> Value:
    if padding_idx is not None or max_norm is not None or kw.get("scale_grad_by_freq"):
        raise NotImplementedError("embedding: padding_idx, max_norm and scale_grad_by_freq are not built")
    return _rows(weight, input, "embedding", True)


_UNARY = {
    "absolute": "abs",
    "fabs": "abs",
    "negative": "neg",
    "invert": "not",
    "bitwise_not": "not",
    "rsqrt": "rsqrt",
}
_RENAMED: dict[str, Callable[..., Any]] = {
    "add": _scaled("add"),
    "sub": _scaled("sub"),
    "subtract": _scaled("sub"),
    "div": _divided,
    "divide": _divided,
    "true_divide": _divided,
    "trunc": _truncated,
    "fix": _truncated,
    "logical_not": lambda x: x == 0 if _truth(x) is not x else ~x,
    "logical_and": _logical("and"),
    "logical_or": _logical("or"),
    "logical_xor": _logical("xor"),
    "isinf": lambda x: tg.abs(x) == math.inf,
    "positive": _same,
    "clone": _same,
    "conjugate": tg.conj,
    "resolve_conj": tg.conj,
    "zeros_like": lambda x, **kwargs: tg.full_like(x, 0),
    "ones_like": lambda x, **kwargs: tg.full_like(x, 1),
    "full_like": lambda x, fill_value, **kwargs: tg.full_like(x, fill_value),
    "masked_fill": lambda x, mask, value: tg.where(mask, value, x),
    "type_as": tg.cast,
    "expand_as": lambda x, other: tg.broadcast_to(x, other.shape),
    "view_as": lambda x, other: tg.reshape(x, other.shape),
    "reshape_as": lambda x, other: tg.reshape(x, other.shape),
    "t": lambda x: x.T,
    "movedim": _moved,
    "moveaxis": _moved,
    "select": lambda x, dim, index: _along(x, dim, index),
    "narrow": lambda x, dim, start, length: _along(x, dim, slice(start, start + length)),
    "unbind": lambda x, dim=0: tuple(_along(x, dim, k) for k in range(x.shape[dim])),
    "flip": _flipped,
    "split": _split,
    "chunk": _chunk,
    "special_expit": tg.sigmoid,
    "log_sigmoid": lambda x: -tg.softplus(-x),
    "around": tg.round,
    "max": _max_min(tg.max, tg.maximum),
    "min": _max_min(tg.min, tg.minimum),
    "amax": tg.max,
    "amin": tg.min,
    "clip": _clip,
    "clamp_min": lambda x, min: tg.clamp(x, min),
    "clamp_max": lambda x, max: tg.clamp(x, None, max),
    "concat": tg.cat,
    "concatenate": tg.cat,
    "view": tg.reshape,
    "expand": tg.broadcast_to,
    "swapaxes": tg.transpose,
    "expand_dims": tg.unsqueeze,
    "power": tg.pow,
    "rint": tg.round,
    "special_erf": tg.erf,
    "special_expm1": tg.expm1,
    "special_log1p": tg.log1p,
    "rpow": lambda x, y: tg.pow(y, x),
    "vector_norm": _norm,
    "linalg_vector_norm": _norm,
    "linalg_norm": _norm,
    "norm": _norm,
    "relu": _relu,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "linear": tg.linear,
    "take": _take,
    "index_select": lambda x, dim, index: _rows(x, index, "index_select", dim == 0),
    "embedding": _embedding,
    "leaky_relu": lambda x, negative_slope=0.01, inplace=False: tg.leaky_relu(x, negative_slope),
    "elu": lambda x, alpha=1.0, inplace=False: tg.elu(x, alpha),
    "silu": lambda x, inplace=False: tg.silu(x),
}


def _table() -> dict[str, Callable[..., Any]]:
    table: dict[str, Callable[..., Any]] = {n: getattr(tg, n) for n in tg._METHODS}
    table.update({n: getattr(tg, n) for n in ("cat", "stack", "linear")})
    operators = {n: tg.operator_function(o) for n, o in tg.OPERATORS.items()}
    table.update(operators)
    table.update({f"r{n}": _swapped(f) for n, f in operators.items()})
    table.update({n: _unary(o) for n, o in _UNARY.items()})
    table.update(_RENAMED)
    return table


TABLE = _table()
TORCH_ALONE = {"split", "select", "chunk", "unbind", "narrow", "t"}  # NumPy's of these names are others
_IGNORED = {"out": None, "dtype": None, "casting": "same_kind", "order": "K", "subok": True, "where": True}


def call(name: str, shown: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function of that name on args; refused by the name shown where Tiga has none."""
    function = TABLE.get(name.strip("_"))
    if function is None or shown.startswith("numpy") and name in TORCH_ALONE:
        raise NotImplementedError(f"{shown} of a staged value or tg.Tensor: not an operation that Tiga has")
    given = {k: v for k, v in kwargs.items() if k not in _IGNORED or v is not _IGNORED[k]}
    if "dtype" in given:
        args = (tg.cast(args[0], given.pop("dtype")), *args[1:])
    return function(*args, **given)
