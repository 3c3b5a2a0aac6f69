"""Staged values: what `edge`, `node` and reducer functions compute with while they are captured.

A Stage grows one program; a Value names a value in it and stands for every edge (node) at once. Its
operations are those of functions.py, as methods and as operators (operand.py)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _tiga, arrays, dtypes
from .operand import Operand, stage_of
from .programs import ALL

__all__ = ["ROWS", "IntParam", "Stage", "Value", "ints", "stage_of"]


class _Rows:
    """The number of edges or nodes, in shapes: known at run time alone, so it is no number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "rows"

    def __index__(self) -> int:
        raise TypeError(
            "the number of rows is not known while a function is traced (in reshape write -1, or x.shape[0])"
        )


ROWS = _Rows()
PLACES = ("parameter", "sources", "destinations", "edges", "nodes")


class Stage:
    """One capture: the builder, and how a tensor, or a number read from a place, becomes a parameter."""

    is_tracing = True

    def __init__(
        self,
        homogeneous: bool,
        tensor: Callable[[Any], str] | None = None,
        scalar: Callable[[Any], int] | None = None,
    ) -> None:
        self.builder = _tiga.Builder(homogeneous)
        self._tensor = tensor
        self._scalar = scalar
        self._names: dict[int, str] = {}  # of inputs, for messages
        self._widens = arrays.widens()

    def lift(self, x: Any) -> int:
        """The builder's value for a staged value, a number, or a tensor that the capture knows."""
        if isinstance(x, Value):
            if x._stage is not self:
                raise TypeError("a staged value of another call is used here; values do not outlive their call")
            return x._id
        if self._scalar is not None and hasattr(x, "getter"):
            return self._scalar(x)
        kind = arrays.kind_of(x)
        if kind in (arrays.FLOAT, arrays.INT) or isinstance(x, (bool, np.bool_)):
            return self.builder.number(x.item() if isinstance(x, np.generic) else x)
        if arrays.is_array(x):
            return self.tensor(x)._id
        raise TypeError(f"a staged value does not meet {type(x).__name__}: use numbers, tensors and staged values")

    def apply(self, name: str, args: tuple[Any, ...], ints: tuple[int, ...] = ()) -> Value:
        """An operation of the builder by name."""
        operands = self.widened(tuple(map(self.lift, args)))
        try:
            return Value(self, self.builder.apply(name, operands, ints))
        except (TypeError, ValueError) as error:
            named = [self._names[i] for i in operands if i in self._names and self._names[i] not in str(error)]
            raise type(error)(f"{error} [{', '.join(named)}]" if named else str(error)) from None

    def widened(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """values as they meet: under autocast floats of several kinds become the widest."""
        if not self._widens:
            return values
        types = [self.builder.type(v) for v in values]
        kinds = [dtypes.BY_CODE[end[2]] for end, _ in types]
        floats = [k.is_float and not weak for k, (_, weak) in zip(kinds, types)]
        wide = dtypes.widest({k for k, is_float in zip(kinds, floats) if is_float})
        return tuple(
            self.builder.apply("cast", (v,), (wide.code,)) if is_float and k is not wide else v
            for v, k, is_float in zip(values, kinds, floats)
        )

    def value(self, x: Any) -> Value:
        """What lift takes, as a staged value."""
        return Value(self, self.lift(x))

    def call(self, value: int, name: str) -> Value:
        """A Value that messages call by name."""
        self._names[value] = name
        return Value(self, value)

    def tensor(self, x: Any) -> Value:
        """A whole tensor as a parameter."""
        if self._tensor is None:
            raise TypeError("a reducer's functions compute with numbers and messages; pass tensors through edge()")
        return self.input(self._tensor(x), x, 0)

    def input(self, name: str, x: Any, first_axis: int) -> Value:
        """The input of that name, with x's dtype and feature shape."""
        arrays.check(name, x, "field" if first_axis else "param")
        shape = tuple(x.shape[first_axis:])
        return self.call(self.builder.input(name, arrays.dtype_of(x).code, shape), name)


class Value(Operand):
    """A staged value. Axis 0 is the edge (node) axis, `rows` in shape; feature axes follow. Parameters
    have feature axes only."""

    __slots__ = ("_end", "_id", "_stage")

    def __init__(self, stage: Stage, value: int) -> None:
        self._stage = stage
        self._id = value
        self._end: Any = None

    def _type(self) -> Any:
        if self._end is None:
            self._end = self._stage.builder.type(self._id)[0]
        return self._end

    @property
    def shape(self) -> tuple[Any, ...]:
        """(rows, *feature shape); of a parameter its whole shape."""
        _, role, _, feature = self._type()
        return feature if role == ALL else (ROWS, *feature)

    @property
    def dtype(self) -> dtypes.DType:
        """The element type."""
        return dtypes.BY_CODE[self._type()[2]]

    @property
    def place(self) -> str:
        """Where it lives: "edges", "nodes", "sources", "destinations", or "parameter"."""
        return PLACES[self._type()[1]]

    def __repr__(self) -> str:
        return f"<staged {self.dtype.name} @ {self.place} {list(self._type()[3])}>"

    # ---- refused: what needs the numbers themselves ----

    def _refuse(self, what: str, instead: str) -> Any:
        raise TypeError(f"{what} of a staged value ({self!r}): it stands for every edge or node at once; {instead}")

    def __bool__(self) -> Any:
        return self._refuse(
            "truth value", "write tg.where(condition, a, b) instead of if, & | ~ instead of and, or, not"
        )

    def __int__(self) -> Any:
        return self._refuse("int()", "write x.to(tg.int64), or pass the number as an int param")

    def __float__(self) -> Any:
        return self._refuse("float()", "write x.to(tg.float64)")

    def __complex__(self) -> Any:
        return self._refuse("complex()", "write x.to(dtype)")

    def __index__(self) -> Any:
        return self._refuse("use as an index", "pass the number as an int param")

    def __iter__(self) -> Any:
        return self._refuse("iteration", "index a feature axis: x[:, k] for k in range(x.shape[1])")

    def __len__(self) -> Any:
        return self._refuse("len()", "feature extents are in x.shape[1:]")

    def __contains__(self, item: Any) -> Any:
        return self._refuse("in", "write tg.any(x == item, dim=-1)")

    def __setitem__(self, index: Any, value: Any) -> Any:
        return self._refuse("item assignment", "write tg.where(mask, value, x) or tg.cat of the parts")

    def item(self) -> Any:
        """Refused: a staged value has no number yet."""
        return self._refuse("item()", "compute with it as it is")

    def tolist(self) -> Any:
        """Refused, as item."""
        return self._refuse("tolist()", "compute with it as it is")

    def numpy(self) -> Any:
        """Refused, as item."""
        return self._refuse("numpy()", "compute with it as it is")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._refuse("conversion to an array", "call tg. functions on it")


class IntParam(Value):
    """An int given as a param: a run-time scalar until its value is needed for a shape, an axis, an
    exponent or a range; then the variant is for that value alone."""

    __slots__ = ("_fixed", "_value")

    def __init__(self, stage: Stage, value: int, number: int, fixed: Callable[[], None]) -> None:
        super().__init__(stage, value)
        self._value = number
        self._fixed = fixed

    def __index__(self) -> int:
        self._fixed()
        return self._value

    __int__ = __index__


def ints(values: Any) -> tuple[int, ...]:
    """(2, 3) of 2, 3 or of (2, 3) or [2, 3]: axes and extents, int params and rows among them."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    return tuple(-1 if v is ROWS else operator.index(v) for v in values)
