"""Reducers: how the messages that arrive at a destination combine.

    state = identity();  for each message in CSR order: state = combine(state, lift(m));  finalize(state)

A built-in is made by its factory, `tg.sum()`; one's own is a subclass of Reducer, whose functions are
captured on scalars and proven by structure. Every factory takes empty=, and deterministic=True, which adds and
multiplies strictly from the left."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import _tiga, dtypes, functions
from .errors import AlgebraWarning
from .staged import Stage, Value

__all__ = [
    "Reducer",
    "ReducerCall",
    "all_",
    "any_",
    "argmax",
    "argmin",
    "count",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "online_softmax",
    "prod",
    "quantile",
    "std",
    "sum",
    "var",
]


class ReducerCall:
    """Messages packed for a reducer: what `self.reducer(score, value)` gives and `edge` returns."""

    __slots__ = ("messages", "reducer")

    def __init__(self, reducer: Reducer, messages: tuple[Any, ...]) -> None:
        self.reducer = reducer
        self.messages = messages

    def __repr__(self) -> str:
        return f"ReducerCall({self.reducer!r}, {self.messages!r})"


class Reducer:
    """A reducer of one's own: define identity and combine, and lift and finalize where they are not the
    identity. State is a value or a tuple of values.

    associative and commutative are declarations; they are trusted. deterministic=True folds strictly from
    the left."""

    name = "custom"
    associative = False
    commutative = False
    deterministic = False

    def __init__(self, *, deterministic: bool = False) -> None:
        self.deterministic = deterministic

    def identity(self) -> Any:
        """The state of a row before its first message."""
        raise NotImplementedError(f"{type(self).__name__} defines no identity(self)")

    def lift(self, *messages: Any) -> Any:
        """One edge's messages as a state; by default themselves."""
        return messages[0] if len(messages) == 1 else messages

    def combine(self, left: Any, right: Any) -> Any:
        """Two states as one."""
        raise NotImplementedError(f"{type(self).__name__} defines no combine(self, left, right)")

    def finalize(self, state: Any) -> Any:
        """The result of a row's state; by default the state itself."""
        return state

    def __call__(self, *messages: Any) -> ReducerCall:
        """Packs an edge's messages: return this from edge()."""
        self._check(len(messages))
        return ReducerCall(self, messages)

    def _check(self, count: int) -> None:
        expected = self._message_names()
        if count == 0:
            raise TypeError(f"{self!r} needs a message: return self.reducer({', '.join(expected) or 'message'})")
        if expected and count != len(expected):
            one = "return the message itself" if len(expected) == 1 else f"return self.reducer({', '.join(expected)})"
            raise TypeError(
                f"{self!r} takes {len(expected)} message(s) ({', '.join(expected)}), but got {count}; {one}"
            )

    def _message_names(self) -> list[str]:
        """Empty where lift takes any number."""
        parameters = inspect.signature(self.lift).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            return []
        return [p.name for p in parameters]

    def _key(self) -> Any:
        """What a captured variant depends on: reducers with equal keys have one algebra."""
        state = tuple(
            (k, v if isinstance(v, _SIMPLE) else id(v)) for k, v in sorted(vars(self).items()) if k != "_made"
        )
        return type(self), self.name, self.associative, self.commutative, state

    def _native(self, count: int, codes: tuple[int, ...]) -> Any:
        """The core's reducer for messages of these dtypes."""
        made = self.__dict__.setdefault("_made", {})
        key = self._key(), codes
        if key not in made:
            made[key] = _capture(self, count, codes)
        return made[key]

    def mlir(self, message_dtypes: Sequence[Any] = (dtypes.float32,), symbol: str | None = None) -> str:
        """The verified op gf.reducer as text, for messages of these dtypes (or of one)."""
        given = message_dtypes if isinstance(message_dtypes, (tuple, list)) else (message_dtypes,)
        codes = tuple(dtypes.as_dtype(d).code for d in given)
        self._check(len(codes))
        return self._native(len(codes), codes).ir(symbol or self.name, codes)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "_made"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


_HALVES = (dtypes.float16.code, dtypes.bfloat16.code)
_SIMPLE = (int, float, str, bytes, bool, type(None), tuple, dtypes.DType)


# ---- capture of one's own ----


def _as_state(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _like(components: list[Any], example: Any) -> Any:
    """A state of the shape that the functions see: a value, or a tuple."""
    return tuple(components) if isinstance(example, (tuple, list)) else components[0]


class _Region:
    """One of the four functions while it is captured: scalars in, scalars out."""

    def __init__(self) -> None:
        self.stage = Stage(True)
        self.builder = self.stage.builder

    def inputs(self, prefix: str, codes: Sequence[int]) -> list[Value]:
        return [Value(self.stage, self.builder.input(f"{prefix}{k}", c, ())) for k, c in enumerate(codes)]

    def outputs(self, state: Any, what: str) -> list[int]:
        """Marks the results, and gives them."""
        if state is None:
            raise TypeError(f"{what}() returns None, expected a state (is a return missing?)")
        values = [self.stage.lift(v) for v in _as_state(state)]
        for k, v in enumerate(values):
            self.builder.out(f"out{k}", v)
        return values

    def state_code(self, value: int, number: int) -> int:
        """The dtype of a component that is lifted as this: halves are computed in float32, and a number is of
        the messages' dtype unless it is an integer among integers."""
        (_, _, code, _), weak = self.builder.type(value)
        kind = dtypes.BY_CODE[code]
        if weak and (kind.is_float or dtypes.BY_CODE[number].is_float):
            code = number if dtypes.BY_CODE[number].is_float else dtypes.float32.code
        return dtypes.float32.code if code in _HALVES else code


def _capture(reducer: Reducer, count: int, codes: tuple[int, ...]) -> Any:
    """identity and lift may return plain numbers: they are staged first."""
    lift, combine, finalize, identity = _Region(), _Region(), _Region(), _Region()
    start = reducer.identity()
    lifted = reducer.lift(*lift.inputs("m", codes))
    components = lift.outputs(lifted, "lift")
    if len(_as_state(start)) != len(_as_state(lifted)):
        raise ValueError(
            f"{reducer!r}: identity gives {len(_as_state(start))} component(s), but lift gives {len(_as_state(lifted))}"
        )
    identity.outputs(start, "identity")
    state = [lift.state_code(v, sorted(codes)[-1]) for v in components]
    left, right = combine.inputs("l", state), combine.inputs("r", state)
    combine.outputs(reducer.combine(_like(left, start), _like(right, start)), "combine")
    finalize.outputs(reducer.finalize(_like(finalize.inputs("s", state), start)), "finalize")
    flags = reducer.associative * 1 | reducer.commutative * 2 | reducer.deterministic * 4
    made = _tiga.reducer_custom(reducer.name, flags, identity.builder, lift.builder, combine.builder, finalize.builder)
    if made.doubt():
        warnings.warn(f"{reducer!r}: {made.doubt()}", AlgebraWarning, stacklevel=2)
    return made


# ---- built-ins ----


class Builtin(Reducer):
    """A reducer that the core knows by name."""

    associative = True
    commutative = True

    def __init__(
        self, name: str, messages: tuple[str, ...], shown: str, empty: float | None, deterministic: bool = False
    ) -> None:
        super().__init__(deterministic=bool(deterministic))
        self.name = name
        self._messages = list(messages)
        self._shown = shown
        self._empty = None if empty is None else float(empty)
        self._handle: Any = None
        self._cached_key: tuple[Any, ...] = (name, self._empty, self.deterministic)

    def _message_names(self) -> list[str]:
        return self._messages

    def _key(self) -> Any:
        return self._cached_key

    def _native(self, count: int, codes: tuple[int, ...]) -> Any:
        if self._handle is None:
            self._handle = _tiga.reducer_builtin(self.name, self.deterministic * 4, self._empty)
        return self._handle

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_handle": None}

    def __repr__(self) -> str:
        return self._shown


class OnlineSoftmax(Builtin):
    """The softmax(score)-weighted mean of value, and how it is accumulated."""

    def __init__(
        self, accumulation_dtype: Any, block_prune_threshold: float | None, empty: float | None, deterministic: bool
    ) -> None:
        super().__init__("online_softmax", ("score", "value"), "tg.online_softmax()", empty, deterministic)
        if not isinstance(block_prune_threshold, (float, int, np.floating, type(None))):
            raise TypeError(f"block_prune_threshold is {block_prune_threshold!r}, expected a number in (0, 1]")
        if block_prune_threshold is not None and not 0 < block_prune_threshold <= 1:
            raise ValueError(f"block_prune_threshold is {block_prune_threshold}, expected a number in (0, 1]")
        self.accumulation_dtype = None if accumulation_dtype is None else dtypes.as_dtype(accumulation_dtype)
        self.block_prune_threshold = block_prune_threshold
        self._cached_key += (self.accumulation_dtype, block_prune_threshold)


def _given(x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """True where a factory's name was called as a function of a value."""
    return bool(args) or x is not None or not kwargs.keys() <= {"identity", "empty", "deterministic"}


def sum(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The reducer that adds messages: tg.sum(identity=0), whose identity (or empty) is the value of a row
    without messages. Of a staged value, tg.sum(x, dim=-1): the sum over feature axes."""
    if _given(x, args, kwargs):
        return functions.sum(x, *args, **kwargs)
    if "identity" in kwargs and "empty" in kwargs:
        raise TypeError("sum: identity and empty are one thing, give one")
    empty = kwargs.get("identity", kwargs.get("empty"))
    return Builtin("sum", ("message",), "tg.sum()", empty, kwargs.get("deterministic", False))


def mean(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The reducer that averages messages: tg.mean(empty=NaN). Of a staged value, tg.mean(x, dim=-1): the
    mean over feature axes."""
    if _given(x, args, kwargs):
        return functions.mean(x, *args, **kwargs)
    return _builtin("mean", kwargs)


def max(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The reducer of the largest message: tg.max(empty=-inf); ties share the gradient evenly. Of a staged
    value, tg.max(x, dim=-1): the largest over feature axes."""
    if _given(x, args, kwargs):
        return functions.max(x, *args, **kwargs)
    return _builtin("max", kwargs)


def min(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The reducer of the smallest message: tg.min(empty=inf); ties share the gradient evenly. Of a staged
    value, tg.min(x, dim=-1): the smallest over feature axes."""
    if _given(x, args, kwargs):
        return functions.min(x, *args, **kwargs)
    return _builtin("min", kwargs)


def online_softmax(
    accumulation_dtype: Any = None,
    block_prune_threshold: float | None = None,
    *,
    empty: float | None = None,
    deterministic: bool = False,
) -> Reducer:
    """The softmax(score)-weighted mean of value, in one pass: return self.reducer(score, value). A score
    of -inf weighs nothing; a row without messages gives empty (NaN)."""
    return OnlineSoftmax(accumulation_dtype, block_prune_threshold, empty, deterministic)


def _builtin(name: str, kwargs: dict[str, Any]) -> Reducer:
    if "identity" in kwargs:
        raise TypeError(f"{name}: identity is sum's; the value of a row without messages is empty=")
    return Builtin(name, ("message",), f"tg.{name}()", kwargs.get("empty"), kwargs.get("deterministic", False))


def any_(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The reducer that tells whether some message is not 0: tg.any(empty=False). Of a staged value,
    tg.any(x, dim=-1): over feature axes."""
    if _given(x, args, kwargs):
        return functions.any(x, *args, **kwargs)
    return _builtin("any", kwargs)


def all_(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The reducer that tells whether no message is 0: tg.all(empty=True). Of a staged value,
    tg.all(x, dim=-1): over feature axes."""
    if _given(x, args, kwargs):
        return functions.all(x, *args, **kwargs)
    return _builtin("all", kwargs)


def logsumexp(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The reducer log(sum of exp of the messages), without overflow: tg.logsumexp(empty=-inf). Of a staged
    value, tg.logsumexp(x, dim=-1): over feature axes."""
    if _given(x, args, kwargs):
        return functions.logsumexp(x, *args, **kwargs)
    return _builtin("logsumexp", kwargs)


def count(*args: Any, empty: float | None = None, deterministic: bool = False) -> Reducer:
    """The reducer that counts messages, as int64, whatever they are: tg.count(empty=0)."""
    return _reducer_alone("count", args, empty, deterministic)


def argmax(*args: Any, empty: float | None = None, deterministic: bool = False) -> Reducer:
    """The reducer that gives the number of the edge with the largest message, in the order in which the graph
    was given; of ties the first; tg.argmax(empty=-1). A NaN is the largest."""
    return _reducer_alone("argmax", args, empty, deterministic)


def argmin(*args: Any, empty: float | None = None, deterministic: bool = False) -> Reducer:
    """The reducer that gives the number of the edge with the smallest message; of ties the first;
    tg.argmin(empty=-1). A NaN is the smallest."""
    return _reducer_alone("argmin", args, empty, deterministic)


def median(*args: Any, empty: float | None = None, deterministic: bool = False) -> Reducer:
    """The reducer that gives the middle message, of two the lower: tg.median(empty=NaN). Its gradient goes to the
    message chosen, of equal ones the first; a row with a NaN gives NaN."""
    return _reducer_alone("median", args, empty, deterministic)


def quantile(q: float, *args: Any, empty: float | None = None, deterministic: bool = False) -> Reducer:
    """The reducer that gives the message at position floor(q (n - 1)) of a row's n in rising order, exactly:
    tg.quantile(0.25, empty=NaN). Gradient and NaN as of tg.median."""
    if args or not isinstance(q, (int, float, np.floating, np.integer)):
        raise NotImplementedError("tg.quantile of a value is not built yet; the reducer is tg.quantile(0.25)")
    if not 0 <= q <= 1:
        raise ValueError(f"quantile: q is {q}, expected a number from 0 to 1")
    return Builtin(f"quantile({float(q)!r})", ("message",), f"tg.quantile({float(q)!r})", empty, deterministic)


def var(*args: Any, unbiased: bool = False, empty: float | None = None, deterministic: bool = False) -> Reducer:
    """The reducer of the messages' variance: tg.var(unbiased=False, empty=NaN). unbiased divides by one less
    than their number; of one message it is then NaN, with gradient 0."""
    return _reducer_alone("var", args, empty, deterministic, unbiased)


def std(*args: Any, unbiased: bool = False, empty: float | None = None, deterministic: bool = False) -> Reducer:
    """The reducer of the messages' standard deviation, the root of tg.var; its gradient where it is 0 is 0."""
    return _reducer_alone("std", args, empty, deterministic, unbiased)


def _reducer_alone(
    name: str, args: tuple[Any, ...], empty: float | None, deterministic: bool, unbiased: bool = False
) -> Reducer:
    """A built-in whose name is no function of a value."""
    if args:
        raise NotImplementedError(f"tg.{name} over feature axes is not built yet; the reducer is tg.{name}()")
    full = f"{name}_unbiased" if unbiased else name
    return Builtin(full, ("message",), f"tg.{name}({'unbiased=True' if unbiased else ''})", empty, deterministic)


def prod(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The reducer that multiplies messages: tg.prod(empty=1); of bool and int32 as int64. Of a staged value,
    tg.prod(x, dim=-1): the product over feature axes."""
    if _given(x, args, kwargs):
        return functions.prod(x, *args, **kwargs)
    return _builtin("prod", kwargs)


def check_reducer(reducer: Any) -> Reducer:
    """reducer itself where it is one; else what to write instead."""
    if isinstance(reducer, Reducer):
        return reducer
    name = getattr(reducer, "__name__", type(reducer).__name__)
    if callable(reducer):
        raise TypeError(f"reducer is the factory or class {name}, not an instance: write {name}()")
    return _refuse(reducer)


def _refuse(reducer: Any) -> NoReturn:
    raise TypeError(
        f"reducer is {reducer!r}; expected a reducer such as tg.sum(), or an instance of a tg.Reducer subclass"
    )
