"""What the caller gave: which framework's array, and what of it decides the code that runs.

A *signature* is what a variant depends on: kind, dtype and shape of a tensor, the kind of a number, the
value of anything else. Two calls with equal signatures run the same code, so everything that a
signature holds is checked once, when a variant is made."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _tiga, dtypes

NUMPY, TORCH, TIGA, DLPACK, FLOAT, INT, STATIC = "numpy", "torch", "tiga", "dlpack", "float", "int", "static"

_kinds: dict[type, str] = {np.ndarray: NUMPY, float: FLOAT, int: INT, bool: STATIC, str: STATIC, type(None): STATIC}


def kind_of(value: Any) -> str:
    """NUMPY, TORCH, TIGA or DLPACK for arrays, FLOAT or INT for numbers, STATIC for anything else."""
    kind = _kinds.get(type(value))
    if kind is None:
        kind = _kinds[type(value)] = _classify(value)
    return kind


def _classify(value: Any) -> str:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        from .interop import torch as bridge

        bridge.register_dtypes()
        global _is_autocast
        _is_autocast = torch._C._is_any_autocast_enabled
        return TORCH
    if isinstance(value, np.ndarray):
        return STATIC if isinstance(value, np.ma.MaskedArray) else NUMPY
    if isinstance(value, np.generic):
        return {"f": FLOAT, "i": INT, "u": INT}.get(value.dtype.kind, STATIC)
    if isinstance(value, (float, int)):
        return FLOAT if isinstance(value, float) else INT
    if getattr(type(value), "_tiga_tensor", False):
        return TIGA
    return DLPACK if hasattr(type(value), "__dlpack__") else STATIC


def _no_autocast() -> bool:
    """Until torch's tensors are met."""
    return False


_is_autocast: Callable[[], bool] = _no_autocast  # torch's own, once its tensors are met


def widens() -> bool:
    """True under torch's autocast: float kinds that meet widen to the widest."""
    return _is_autocast() and sys.modules["torch"].is_autocast_enabled("cpu")


def widened(values: list[Any]) -> list[Any]:
    """values, torch's floats among them as the widest of their kinds."""
    torch = sys.modules["torch"]
    floats = [v.dtype for v in values if kind_of(v) == TORCH and v.is_floating_point()]
    wide = functools.reduce(torch.promote_types, floats, floats[0]) if floats else None
    return [v.to(wide) if kind_of(v) == TORCH and v.is_floating_point() else v for v in values]


def is_array(value: Any) -> bool:
    """True for what has a dtype and a shape."""
    return kind_of(value) in (NUMPY, TORCH, TIGA, DLPACK)


def described(values: list[Any]) -> list[Any]:
    """values, with a NumPy view of each object that shows its memory by __dlpack__ alone."""
    for value in values:
        if _kinds.get(type(value), DLPACK) is DLPACK:  # or of a type not met before
            return [np.from_dlpack(v) if kind_of(v) == DLPACK else v for v in values]
    return values


def plain(value: Any) -> Any:
    """value as a program takes it: an ndarray, a tensor, or a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def example(value: Any) -> Any:
    """Of a tg.Tensor, which may have no value yet, an array of its dtype and shape; else as plain."""
    if kind_of(value) == TIGA:
        return np.broadcast_to(np.zeros((), value.dtype.numpy), value.shape)
    return plain(value)


def signatures(values: list[Any], num_fields: int) -> tuple[Any, ...]:
    """Of each value; the first num_fields are fields (their rows do not count), the others whole."""
    return _tiga.signatures(values, num_fields, _kinds, _signature)


def _signature(value: Any, first_axis: int) -> tuple[Any, ...]:
    """Of a value whose type is neither torch's nor NumPy's, or met for the first time."""
    kind = kind_of(value)
    if kind in (TORCH, NUMPY):
        return signatures([value], first_axis)[0]
    if kind in (FLOAT, INT):
        return (kind,)
    if kind == STATIC:
        return kind, _exact(value)
    return kind, value.dtype, tuple(value.shape[first_axis:]), len(value.shape) < first_axis


def _exact(value: Any) -> Any:
    """What tells values apart that Python holds equal and a trace does not: 1, 1.0 and True, 0.0 and -0.0."""
    kind = type(value)
    if kind is tuple:
        return kind, tuple(map(_exact, value))
    return kind, value.hex() if kind is float else value


def check(name: str, value: Any, what: str) -> None:
    """Refuses arrays that no kernel takes: by kind, dtype, device, layout, rank."""
    if not is_array(value):
        raise TypeError(
            f"{name}: {type(value).__name__} given; a {what} is a torch.Tensor, a numpy.ndarray, "
            "a tg.Tensor or an object with __dlpack__"
        )
    if kind_of(value) == TORCH:
        _check_torch(name, value)
    if dtypes.lookup(value.dtype) is None:
        dtypes.refuse(name, value.dtype)
    if what == "field" and len(value.shape) == 0:
        raise ValueError(f"{name}: a number given; a field has one row for each source, destination or edge")
    if len(value.shape) > 8 + (what == "field"):
        raise ValueError(f"{name}: rank {len(value.shape)} is more than Tiga has")


def _check_torch(name: str, value: Any) -> None:
    if not value.is_cpu:
        raise TypeError(f"{name}: device {value.device}, but Tiga runs on cpu (use {name.rpartition('.')[2]}.cpu())")
    if str(value.layout) != "torch.strided":
        raise TypeError(f"{name}: layout {value.layout}, but only strided tensors can be read (use .to_dense())")


def dtype_of(value: Any) -> dtypes.DType:
    """The DType of an array that `check` accepted."""
    return dtypes.as_dtype(value.dtype)


# ---- index arrays ----


def index_array(value: Any, name: str, rank: int = 1) -> Any:
    """value as an int32 or int64 array of the given rank on the CPU; lists are converted."""
    if kind_of(value) in (STATIC, FLOAT, INT):
        value = np.asarray(value)
    elif kind_of(value) != TORCH:
        value = np.asarray(*described([value]))
    else:
        _check_torch(name, value)
        value = value.detach()
    if len(value.shape) != rank:
        raise _index_error(name, value, rank)
    if dtypes.name_of(value.dtype) not in ("int32", "int64") or not _is_native(value.dtype):
        if 0 not in value.shape:
            raise _index_error(name, value, rank)
        return np.empty(tuple(value.shape), np.int64)
    return value


def _is_native(dtype: Any) -> bool:
    return not isinstance(dtype, np.dtype) or dtype.isnative


def _index_error(name: str, value: Any, rank: int) -> TypeError:
    given = f"rank {len(value.shape)} and dtype {dtypes.name_of(value.dtype)}"
    swapped = "" if _is_native(value.dtype) else " (byte-swapped)"
    return TypeError(f"{name}: an array of {given}{swapped} given; expected rank {rank} and int32 or int64")
