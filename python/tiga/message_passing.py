"""Message passing: subclass MessagePassing, say what an edge sends, call it on a graph."""

from __future__ import annotations

import types
from typing import Any

from . import execution, inspection
from .graph import Graph
from .reducers import Reducer, check_reducer
from .reducers import sum as sum_reducer
from .trace import Arguments, Trace, Tracer

__all__ = ["MessagePassing"]

_MOST_TRACES = 16  # of one signature: a number that changes with every call keeps the newest


class MessagePassing(inspection.Inspectable):
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

    def __call__(
        self,
        *args: Any,
        graph: Any = None,
        ndata: Any = None,
        src: Any = None,
        dst: Any = None,
        edge: Any = None,
        **params: Any,
    ) -> Any:
        """Runs the kernel on a graph. Fields are dicts of arrays, one row for each source (src=),
        destination (dst=), edge (edge=) or node (ndata=, where sources and destinations are one set)."""
        trace, arguments = self._prepare(args, graph, ndata, src, dst, edge, params)
        return execution.run(trace, graph, trace.arrays(self, arguments.values))

    __call__._torchdynamo_disable = True  # type: ignore[attr-defined]

    def reference(
        self,
        *args: Any,
        graph: Any = None,
        ndata: Any = None,
        src: Any = None,
        dst: Any = None,
        edge: Any = None,
        **params: Any,
    ) -> Any:
        """As a call, but on the interpreter: slow, obvious, the meaning. No gradients."""
        trace, arguments = self._prepare(args, graph, ndata, src, dst, edge, params)
        return execution.reference(trace, graph, trace.arrays(self, arguments.values))

    def _prepare(
        self, args: Any, graph: Any, ndata: Any, src: Any, dst: Any, edge: Any, params: dict[str, Any]
    ) -> tuple[Trace, Arguments]:
        if args or not isinstance(graph, Graph) or ndata is not None:
            check_call(type(self).__name__, args, graph, ndata, src, dst)
        arguments = Arguments(ndata, src, dst, edge, params)
        reducer = self.reducer if isinstance(self.reducer, Reducer) else check_reducer(self.reducer)
        key = arguments.key(), reducer._key(), _code(self.edge), _code(self.node)
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


def check_call(what: str, args: Any, graph: Any, ndata: Any, src: Any, dst: Any) -> None:
    """Refuses a call of the wrong form."""
    if args:
        given = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"{what} is called with keywords alone (graph=, src=, dst=, edge=), but got: {given}")
    if not isinstance(graph, Graph):
        raise TypeError(f"{what}: graph= is {graph!r}, expected a tg.Graph")
    if ndata is None:
        return
    if src is not None or dst is not None:
        both = "src" if src is not None else "dst"
        raise TypeError(f"{what}: ndata with {both}: ndata binds every field to both ends, give one or the other")
    if graph.num_src != graph.num_dst:
        raise TypeError(
            f"{what}: ndata on a bipartite relation ({graph.num_src} sources, {graph.num_dst} destinations); give src= and dst="
        )
