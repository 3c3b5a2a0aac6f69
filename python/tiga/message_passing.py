"""Message passing: subclass MessagePassing, say what an edge sends, call it on a graph."""

from __future__ import annotations

import types
from typing import Any

from . import arrays
from .graph import Graph
from .kernel import Kernel, check_call
from .reducers import Reducer, check_reducer
from .reducers import sum as sum_reducer
from .trace import Arguments, Trace, Tracer

__all__ = ["MessagePassing"]

_MOST_TRACES = 16  # of one signature: a number that changes with every call keeps the newest


class MessagePassing(Kernel):
    """A message passing kernel.

        class WeightedSum(tg.MessagePassing):
            reducer = tg.sum()                       # how messages combine

            def edge(self, src, dst, edge):          # what each edge sends
                return edge.weight * src.x

            def node(self, dst, aggregate):          # optional
                return aggregate + dst.bias

        out = WeightedSum()(graph=graph, src={"x": x}, dst={"bias": b}, edge={"weight": w})

    edge and node run once a variant, on staged values; further keyword arguments of the call go to those
    that name them. `reducer` may also be set in __init__."""

    reducer: Reducer = sum_reducer()
    _traces: dict[Any, list[Trace]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._traces = {}

    def edge(self, src: Any, dst: Any, edge: Any, **params: Any) -> Any:
        """The message of one edge; to be defined by the subclass."""
        raise TypeError(f"{type(self).__name__} defines no edge(self, src, dst, edge)")

    def node(self, dst: Any, aggregate: Any, **params: Any) -> Any:
        """The result of one node; by default the aggregate."""
        return aggregate

    node._tiga_default = True  # type: ignore[attr-defined]

    def _prepare(
        self, args: Any, graph: Any, ndata: Any, src: Any, dst: Any, edge: Any, params: dict[str, Any]
    ) -> tuple[Trace, Arguments]:
        if args or not isinstance(graph, Graph) or ndata is not None:
            check_call(type(self).__name__, args, graph, ndata, src, dst)
        arguments = Arguments(ndata, src, dst, edge, params)
        reducer = self.reducer if isinstance(self.reducer, Reducer) else check_reducer(self.reducer)
        key = arguments.key(), reducer._key(), _code(self.edge), _code(self.node), arrays.widens()
        return self._lookup(key, arguments, reducer), arguments

    def _lookup(self, key: Any, arguments: Arguments, reducer: Reducer) -> Trace:
        """The trace of a call like this one, made where there is none."""
        try:
            known = self._traces.setdefault(key, [])
        except TypeError:
            arguments.refuse_unhashable()
            raise
        trace = next((t for t in known if t.holds(self, arguments.values)), None)
        if trace is None:
            trace = Tracer(self, arguments, reducer).run()
            known.insert(0, trace)
            del known[_MOST_TRACES:]
        self._record().count(trace)
        return trace


def _code(function: Any) -> Any:
    """What a redefinition changes."""
    if isinstance(function, types.MethodType):
        function = function.__func__
    return getattr(function, "__code__", function)
