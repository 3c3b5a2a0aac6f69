"""Element types. NumPy's and torch's names for them are accepted wherever one of these is."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import numpy as np

__all__ = ["DType", "as_dtype", "bool_", "float32", "float64", "int32", "int64"]


class DType:
    """An element type: tg.float32 and its kind."""

    __slots__ = ("code", "name", "numpy")

    def __init__(self, name: str, code: int) -> None:
        self.name = name
        self.code = code
        self.numpy = np.dtype(name)

    @property
    def is_float(self) -> bool:
        """True for float32 and float64: what gradients flow through."""
        return self.numpy.kind == "f"

    def __repr__(self) -> str:
        return f"tiga.{self.name}"

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)


bool_ = DType("bool", 0)
int32 = DType("int32", 1)
int64 = DType("int64", 2)
float32 = DType("float32", 3)
float64 = DType("float64", 4)

BY_CODE = (bool_, int32, int64, float32, float64)
_known: dict[Any, DType] = {}
for _d in BY_CODE:
    _known.update({_d: _d, _d.name: _d, _d.numpy: _d, _d.numpy.type: _d})
_known[bool] = bool_

# Types that Tiga will have: refused as not built yet rather than as unknown.
LATER = ("float16", "bfloat16", "complex64", "complex128")


def _register_torch() -> None:
    torch = sys.modules["torch"]
    for d in BY_CODE:
        _known[getattr(torch, d.name)] = d


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
    except TypeError:  # not hashable, so no dtype
        return None
    return found


def widest(floats: set[DType]) -> DType:
    """The widest of float dtypes; of two of one width, the next wider one."""
    size = max((d.numpy.itemsize for d in floats), default=4)
    largest = {d for d in floats if d.numpy.itemsize == size}
    return largest.pop() if len(largest) == 1 else float32


def name_of(dtype: Any) -> str:
    """'float16' of torch.float16, np.dtype('float16') and 'float16' alike."""
    return str(dtype).rpartition(".")[2]


def refuse(what: str, dtype: Any) -> NoReturn:
    """Raises for a dtype that lookup does not know."""
    if name_of(dtype) in LATER:
        raise NotImplementedError(f"{what}: {name_of(dtype)} is not built yet (cast it to float32 or float64)")
    swapped = isinstance(dtype, np.dtype) and not dtype.isnative
    hint = (
        "byte-swapped; convert it to native byte order"
        if swapped
        else "one of bool, int32, int64, float32, float64 is needed"
    )
    raise TypeError(f"{what}: dtype {dtype} ({hint})")
