"""Running a trace: NumPy in, arrays out at once; torch in, part of torch's autograd; tg.Tensor in, deferred."""

from __future__ import annotations

from typing import Any

from . import arrays, tensors, threads
from .expressions import empty
from .graph import Graph


_torch: Any = None  # tiga.interop.torch, which imports torch, once a call needs it


def _bridge() -> Any:
    global _torch
    if _torch is None:
        from .interop import torch

        _torch = torch
    return _torch


def run(trace: Any, graph: Graph, inputs: tuple[Any, ...]) -> Any:
    """The results of a trace: one array, or a dict of several."""
    if trace.framework == arrays.TORCH:
        return _shape(trace, _bridge().run(trace.program, graph, inputs))
    if trace.framework == arrays.TIGA:
        return _shape(trace, tensors.call(trace.program, graph, inputs))
    return _shape(trace, trace.program.run(graph, inputs, empty, threads.count(None)))


def reference(trace: Any, graph: Graph, inputs: tuple[Any, ...]) -> Any:
    """The same on the interpreter, without gradients."""
    if trace.framework == arrays.TORCH:
        outs = trace.program.reference(graph, _bridge().detach(inputs), _bridge().empty)
    elif trace.framework == arrays.TIGA:
        given = tuple(x.numpy() if isinstance(x, tensors.Tensor) else x for x in inputs)
        outs = tuple(map(tensors.from_numpy, trace.program.reference(graph, given, empty)))
    else:
        outs = trace.program.reference(graph, inputs, empty)
    return _shape(trace, outs)


def _shape(trace: Any, outs: tuple[Any, ...]) -> Any:
    return outs[0] if trace.keys is None else dict(zip(trace.keys, outs))
