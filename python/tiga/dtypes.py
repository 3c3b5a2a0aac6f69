"""Element types. NumPy's and torch's names for them are accepted wherever one of these is."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import numpy as np

from . import _tiga

__all__ = ["DType", "as_dtype", "bfloat16", "bool_", "float16", "float32", "float64", "int32", "int64"]


class DType:
    """An element type: tg.float32 and its kind."""

    __slots__ = ("_numpy", "code", "itemsize", "name")

    def __init__(self, name: str, code: int, itemsize: int) -> None:
        self.name = name
        self.code = code
        self.itemsize = itemsize
        self._numpy = np.dtype(name) if name != "bfloat16" else None

    @property
    def numpy(self) -> np.dtype:
        """What NumPy calls it; of bfloat16 what somebody brought, ml_dtypes' where that is installed."""
        if self._numpy is None:
            _import_bfloat16()
        return self._numpy

    @property
    def is_float(self) -> bool:
        """True for what gradients flow through."""
        return self.code >= 3

    def __repr__(self) -> str:
        return f"tiga.{self.name}"

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)


bool_ = DType("bool", 0, 1)
int32 = DType("int32", 1, 4)
int64 = DType("int64", 2, 8)
float32 = DType("float32", 3, 4)
float64 = DType("float64", 4, 8)
float16 = DType("float16", 5, 2)
bfloat16 = DType("bfloat16", 6, 2)

BY_CODE = (bool_, int32, int64, float32, float64, float16, bfloat16)
_known: dict[Any, DType] = {}
for _d in BY_CODE:
    _known.update({_d: _d, _d.name: _d})
    if _d is not bfloat16:
        _known.update({_d.numpy: _d, _d.numpy.type: _d})
_known[bool] = bool_

# Types that Tiga will have: refused as not built yet rather than as unknown.
LATER = ("complex64", "complex128")


def _register_torch() -> None:
    torch = sys.modules["torch"]
    for d in BY_CODE:
        _known[getattr(torch, d.name)] = d


def _is_bfloat16(dtype: Any) -> bool:
    named = getattr(dtype, "__name__", None) or getattr(dtype, "name", None)
    return named == "bfloat16" and np.dtype(dtype).isnative


def _register_bfloat16(dtype: np.dtype) -> None:
    """NumPy has no bfloat16 of its own: this is what somebody else brought."""
    bfloat16._numpy = dtype
    _known.update({dtype: bfloat16, dtype.type: bfloat16})
    _tiga.register_dtype(dtype, bfloat16.code)


def _import_bfloat16() -> None:
    try:
        from ml_dtypes import bfloat16 as brought
    except ImportError:
        raise TypeError("NumPy has no bfloat16 (cast to float32, or install ml_dtypes)") from None
    _register_bfloat16(np.dtype(brought))


def as_dtype(dtype: Any) -> DType:
    """The DType that a name, a NumPy or a torch dtype stands for."""
    return lookup(dtype) or refuse("dtype", dtype)


def lookup(dtype: Any) -> DType | None:
    """As as_dtype, but None for what Tiga does not compute with."""
    try:
        found = _known.get(dtype)
        if found is None and type(dtype).__module__ == "torch":
            _register_torch()
            found = _known.get(dtype)
        elif found is None and _is_bfloat16(dtype):
            _register_bfloat16(np.dtype(dtype))
            found = bfloat16
    except TypeError:  # not hashable, so no dtype
        return None
    return found


def widest(floats: set[DType]) -> DType:
    """The widest of float dtypes; of two of one width, the next wider one."""
    size = max((d.itemsize for d in floats), default=4)
    largest = {d for d in floats if d.itemsize == size}
    return largest.pop() if len(largest) == 1 else float32


def name_of(dtype: Any) -> str:
    """'int8' of torch.int8, np.dtype('int8') and 'int8' alike."""
    return str(dtype).rpartition(".")[2]


def refuse(what: str, dtype: Any) -> NoReturn:
    """Raises for a dtype that lookup does not know."""
    if name_of(dtype) in LATER:
        raise NotImplementedError(f"{what}: {name_of(dtype)} is not built yet (cast it to float32 or float64)")
    swapped = isinstance(dtype, np.dtype) and not dtype.isnative
    hint = (
        "byte-swapped; convert it to native byte order"
        if swapped
        else "one of bool, int32, int64, float16, bfloat16, float32, float64 is needed"
    )
    raise TypeError(f"{what}: dtype {dtype} ({hint})")
