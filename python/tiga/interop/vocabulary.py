"""Functions of torch and NumPy on staged values, by name: torch.exp(src.x), np.maximum(a, b), W @ src.x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def _softmax(x: Any, dim: Any = None, _stacklevel: int = 3) -> Value:
    return tg.softmax(x, dim)


def _log_softmax(x: Any, dim: Any = None, _stacklevel: int = 3) -> Value:
    return tg.log_softmax(x, dim)


_UNARY = {
    "absolute": "abs",
    "negative": "neg",
    "invert": "not",
    "bitwise_not": "not",
    "logical_not": "not",
    "rsqrt": "rsqrt",
}
_RENAMED: dict[str, Callable[..., Any]] = {
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
_IGNORED = {"out": None, "dtype": None, "casting": "same_kind", "order": "K", "subok": True, "where": True}


def call(name: str, shown: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function of that name on args; refused by the name shown where Tiga has none."""
    function = TABLE.get(name.strip("_"))
    if function is None:
        raise NotImplementedError(f"{shown} of a staged value: not an operation that Tiga has")
    return function(*args, **{k: v for k, v in kwargs.items() if k not in _IGNORED or v != _IGNORED[k]})
