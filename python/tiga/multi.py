"""Several reducers in one call, by name: tg.multi(mean=tg.mean(), max=tg.max()).

Each becomes its own reduction in the same program; what can share a traversal of the graph does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from .reducers import Reducer, ReducerCall, check_reducer

__all__ = ["Aggregates", "Multi", "MultiCall", "keys_of", "map_values", "multi"]


class MultiCall(ReducerCall):
    """What `self.reducer(mean=a, max=b)` gives: a call for each reducer, by name."""

    __slots__ = ("calls",)

    def __init__(self, reducer: Multi, calls: dict[str, ReducerCall]) -> None:
        super().__init__(reducer, tuple(m for call in calls.values() for m in call.messages))
        self.calls = calls

    def __repr__(self) -> str:
        return f"MultiCall({self.calls!r})"


class Multi(Reducer):
    """Reducers by name. Return a message from edge() for all of them, or self.reducer(mean=a, max=b), a tuple
    for one that takes several messages. node() sees aggregate.mean; without node() the call gives a dict."""

    name = "multi"

    def __init__(self, reducers: Mapping[str, Reducer]) -> None:
        super().__init__()
        self.reducers = dict(reducers)

    def __call__(self, *messages: Any, **named: Any) -> MultiCall:
        """Packs an edge's messages, for every reducer or for each by name."""
        if messages and named:
            raise TypeError(f"{self!r}: messages for all and messages by name; give one or the other")
        if not messages and named.keys() != self.reducers.keys():
            given = ", ".join(named) or "none"
            raise TypeError(f"{self!r} takes a message for each of {', '.join(self.reducers)}, but got: {given}")
        calls = {}
        for name, reducer in self.reducers.items():
            own = messages or named[name]
            calls[name] = reducer(*own) if isinstance(own, (tuple, list)) else reducer(own)
        return MultiCall(self, calls)

    def _key(self) -> Any:
        return Multi, tuple((name, r._key()) for name, r in self.reducers.items())

    def mlir(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: each reducer prints itself."""
        first = next(iter(self.reducers))
        raise TypeError(f"{self!r} is {len(self.reducers)} reducers: print one, reducer.reducers[{first!r}].mlir()")

    def __repr__(self) -> str:
        return f"tg.multi({', '.join(f'{n}={r!r}' for n, r in self.reducers.items())})"


class Aggregates:
    """What node() sees of several reducers: aggregate.mean, or aggregate["mean"]."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        vars(self).update(_values=values)

    def __getattr__(self, name: str) -> Any:
        values = vars(self)["_values"]
        if name not in values:
            raise AttributeError(f"aggregate.{name}: the reducers are {', '.join(values)}")
        return values[name]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError(f"aggregate.{name} cannot be set: return what node() makes of it")

    def __dir__(self) -> list[str]:
        return list(vars(self)["_values"])


def multi(**reducers: Reducer) -> Multi:
    """Several reducers in one call, of one message or of one each: tg.multi(mean=tg.mean(), max=tg.max())."""
    if not reducers:
        raise TypeError("multi: no reducer given; write tg.multi(mean=tg.mean(), max=tg.max())")
    for name, reducer in reducers.items():
        if isinstance(check_reducer(reducer), Multi):
            raise TypeError(f"multi: {name} is a tg.multi itself; name its reducers here")
        if name.startswith("_") or not name.isidentifier():
            raise TypeError(f"multi: {name!r}: a reducer's name is a Python identifier that does not start with _")
    return Multi(reducers)


def map_values(function: Callable[[ReducerCall], Any], call: ReducerCall) -> Any:
    """function of a call, or of each of several calls: then Aggregates."""
    if not isinstance(call, MultiCall):
        return function(call)
    return Aggregates({name: function(one) for name, one in call.calls.items()})


def keys_of(result: Any) -> list[str] | None:
    """The names of Aggregates, in the order in which they were given; None for anything else."""
    return list(vars(result)["_values"]) if isinstance(result, Aggregates) else None
