"""Running a trace: NumPy in, arrays out at once; torch in, part of torch's autograd."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays, dtypes, threads
from .graph import Graph

_numpy = [d.numpy for d in dtypes.BY_CODE]


def empty_numpy(shape: tuple[int, ...], code: int) -> np.ndarray:
    """New memory for a result."""
    return np.empty(shape, _numpy[code])


def run(trace: Any, graph: Graph, inputs: tuple[Any, ...]) -> Any:
    """The results of a trace: one array, or a dict of several."""
    if trace.framework == arrays.TORCH:
        from .interop import torch as bridge

        return _shape(trace, bridge.run(trace.program, graph, inputs))
    outs = trace.program.run(graph, inputs, empty_numpy, threads.count(None))
    return _shape(trace, _wrap(trace.framework, outs))


def reference(trace: Any, graph: Graph, inputs: tuple[Any, ...]) -> Any:
    """The same on the interpreter, without gradients."""
    if trace.framework == arrays.TORCH:
        from .interop import torch as bridge

        outs = trace.program.reference(graph, bridge.detach(inputs), bridge.empty)
    else:
        outs = _wrap(trace.framework, trace.program.reference(graph, inputs, empty_numpy))
    return _shape(trace, outs)


def _wrap(framework: str, outs: tuple[Any, ...]) -> tuple[Any, ...]:
    if framework != arrays.TIGA:
        return outs
    from .tensors import from_numpy

    return tuple(map(from_numpy, outs))


def _shape(trace: Any, outs: tuple[Any, ...]) -> Any:
    return outs[0] if trace.keys is None else dict(zip(trace.keys, outs))
