"""What every kernel object is: called on a graph with fields by role, run compiled or on the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import inspection, running
from .graph import Graph
from .trace import Arguments, Trace

__all__ = ["Kernel", "check_call"]


def _entry(name: str, run: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """A method that prepares a call's program and arguments and runs it."""

    def method(
        self: Kernel,
        *args: Any,
        graph: Any = None,
        ndata: Any = None,
        src: Any = None,
        dst: Any = None,
        edge: Any = None,
        **params: Any,
    ) -> Any:
        trace, arguments = self._prepare(args, graph, ndata, src, dst, edge, params)
        return run(trace, graph, trace.arrays(self, arguments.values))

    method.__name__, method.__qualname__, method.__doc__ = name, f"Kernel.{name}", doc
    return method


class Kernel(inspection.Inspectable):
    """A kernel object; a subclass says how a call's arguments become a program."""

    __call__ = _entry(
        "__call__",
        running.run,
        """Runs the kernel on a graph. Fields are dicts of arrays, one row for each source (src=),
        destination (dst=), edge (edge=) or node (ndata=, where sources and destinations are one set).""",
    )
    __call__._torchdynamo_disable = True  # type: ignore[attr-defined]

    reference = _entry(
        "reference",
        running.reference,
        "As a call, but on the interpreter: slow, obvious, the meaning. No gradients.",
    )

    def _prepare(
        self, args: Any, graph: Any, ndata: Any, src: Any, dst: Any, edge: Any, params: dict[str, Any]
    ) -> tuple[Trace, Arguments]:
        raise TypeError(f"{type(self).__name__} is no kernel by itself (subclass tg.MessagePassing)")


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
