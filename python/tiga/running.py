"""Running a trace: NumPy in, arrays out at once; torch in, part of torch's autograd; tg.Tensor in, deferred."""

from __future__ import annotations

from typing import Any

from . import arrays, tensors, threads
from .expressions import empty
from .graph import Graph


def run(trace: Any, graph: Graph, inputs: tuple[Any, ...]) -> Any:
    """The results of a trace: one array, or a dict of several."""
    if trace.framework == arrays.TORCH:
        from .interop import torch as bridge

        return _shape(trace, bridge.run(trace.program, graph, inputs))
    if trace.framework == arrays.TIGA:
        return _shape(trace, tensors.call(trace.program, graph, inputs))
    return _shape(trace, trace.program.run(graph, inputs, empty, threads.count(None)))


def reference(trace: Any, graph: Graph, inputs: tuple[Any, ...]) -> Any:
    """The same on the interpreter, without gradients."""
    if trace.framework == arrays.TORCH:
        from .interop import torch as bridge

        outs = trace.program.reference(graph, bridge.detach(inputs), bridge.empty)
    elif trace.framework == arrays.TIGA:
        given = tuple(x.numpy() if isinstance(x, tensors.Tensor) else x for x in inputs)
        outs = tuple(map(tensors.from_numpy, trace.program.reference(graph, given, empty)))
    else:
        outs = trace.program.reference(graph, inputs, empty)
    return _shape(trace, outs)


def _shape(trace: Any, outs: tuple[Any, ...]) -> Any:
    return outs[0] if trace.keys is None else dict(zip(trace.keys, outs))
