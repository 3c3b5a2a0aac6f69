"""Formulas: a kernel as text.

layer = tg.formula("out = relu(mean(src.x) @ W + b)")
y = layer(graph=graph, src={"x": x}, W=W, b=b)"""

from __future__ import annotations

from typing import Any

from . import _tiga, arrays
from .kernel import Kernel, check_call
from .programs import Program
from .trace import Arguments, Trace

__all__ = ["Formula", "formula"]


class Formula(Kernel):
    """A kernel that a formula's text defines; called like a MessagePassing object. Several results come as
    a dict."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._handle = _tiga.formula(text)
        self._traces: dict[Any, Trace] = {}

    def _prepare(
        self, args: Any, graph: Any, ndata: Any, src: Any, dst: Any, edge: Any, params: dict[str, Any]
    ) -> tuple[Trace, Arguments]:
        check_call("a formula", args, graph, ndata, src, dst)
        arguments = Arguments(ndata, src, dst, edge, params)
        if arrays.widens():
            arguments.values = arrays.widened(arguments.values)
        key = arguments.key()
        if key not in self._traces:
            self._traces[key] = self._type(arguments)
        self._record().count(self._traces[key])
        return self._traces[key], arguments

    def _type(self, arguments: Arguments) -> Trace:
        """The variant for these dtypes and feature shapes."""
        n = arguments.num_fields
        for k, (name, value) in enumerate(zip(arguments.names, arguments.values)):
            if arrays.is_array(value) or k < n:
                arrays.check(name, value, "field" if k < n else "param")
        positions = _positions(arguments)
        given = tuple(arrays.example(arguments.values[k]) for k in positions.values())
        program = Program(self._handle.typed(tuple(positions), given))
        sources = [positions[name] for name in program.input_names]
        keys = [e.name for e in program.results] if len(program.results) > 1 else None
        return Trace(program, arguments.framework(), sources, [], arguments.has_numbers(), keys)

    def __reduce__(self) -> Any:
        return Formula, (self.text,)

    def __repr__(self) -> str:
        return f"tg.formula({self.text!r})"


def _positions(arguments: Arguments) -> dict[str, int]:
    """Where the arguments are by name; a node's field is src.x and dst.x too."""
    positions = {name: k for k, name in enumerate(arguments.names)}
    for name, k in list(positions.items()):
        if name.startswith("node."):
            positions.update({f"src.{name[5:]}": k, f"dst.{name[5:]}": k})
    return positions


def formula(text: str) -> Formula:
    """The kernel that a formula's text defines: "out = sum(edge.weight * src.x) + dst.bias"."""
    return Formula(text)
