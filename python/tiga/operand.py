"""What staged values and tensors have in common: operators, axes, and answers to torch's and NumPy's functions.

The operations themselves are those of functions.py, which adds them here as methods. Each goes to the
operand's stage, which grows a program (a staged value) or notes the operation for later (a tensor)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from . import dtypes, later
from .errors import did_you_mean


class Operand:
    """Something that the vocabulary computes with."""

    __slots__ = ()
    _called = "staged value"
    __hash__ = object.__hash__

    _stage: Any  # apply(name, operands, ints) -> an operand; value(x) -> x as an operand
    shape: Any
    dtype: dtypes.DType

    def _meets(self, other: Any) -> bool:
        """False where Python shall ask the other operand, or refuse."""
        return True

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def dim(self) -> int:
        """As ndim."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """shape, or the extent of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def __neg__(self) -> Any:
        return self._stage.apply("neg", (self,))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._stage.apply("abs", (self,))

    def __invert__(self) -> Any:
        return self._stage.apply("not", (self,))

    def __getattr__(self, name: str) -> Any:
        from .interop import vocabulary

        function = None if name.startswith("_") else vocabulary.TABLE.get(name)
        if function is None:
            said = later.message("Tensor", name)
            if said:
                raise NotImplementedError(said)
            hint = "" if name.startswith("_") else " (the operations are those of tg: tg.exp, tg.where, ...)"
            near = did_you_mean(name, [n for n in dir(type(self)) if not n.startswith("_")])
            raise AttributeError(f"a {self._called} has no attribute {name!r}{hint}{near}")
        return functools.partial(function, self)

    # ---- other libraries' functions ----

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from .interop import vocabulary

        return vocabulary.call(func.__name__, f"torch.{func.__name__}", args, kwargs or {})

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .interop import vocabulary

        what = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        return vocabulary.call(ufunc.__name__ if method == "__call__" else "", what, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .interop import vocabulary

        return vocabulary.call(func.__name__, f"numpy.{func.__name__}", args, kwargs)


def stage_of(args: Iterable[Any], what: str) -> Any:
    """The stage that the operands share: a staged value's, where there is one, for tensors follow."""
    found = None
    for x in args:
        if isinstance(x, Operand):
            found = x._stage
            if found.is_tracing:
                return found
    if found is None:
        raise TypeError(f"{what}: neither a staged value nor a tg.Tensor among the operands (tg.tensor makes one)")
    return found


def _operator(name: str, swap: bool = False) -> Callable[[Operand, Any], Any]:
    def method(self: Operand, other: Any) -> Any:
        if not self._meets(other):
            return NotImplemented
        return self._stage.apply(name, (other, self) if swap else (self, other))

    return method


for _python, _name in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floordiv",
    "mod": "mod",
    "matmul": "matmul",
    "and": "and",
    "or": "or",
    "xor": "xor",
}.items():
    setattr(Operand, f"__{_python}__", _operator(_name))
    setattr(Operand, f"__r{_python}__", _operator(_name, swap=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Operand, f"__{_name}__", _operator(_name))
