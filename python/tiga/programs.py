"""Typed programs with their ends: what a call runs, and the derivatives made from it.

A program takes the arrays of its inputs in order and gives those of its results in order. Its gradient
is a program again: inputs as before and one cotangent for each result differentiated, one result for each
input asked for."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import dtypes
from .graph import Graph

_BACKEND = os.environ.get("TIGA_TENSOR_BACKEND", "auto")
if _BACKEND not in ("auto", "native", "python-oracle"):
    raise ValueError(f"TIGA_TENSOR_BACKEND is {_BACKEND!r}, expected native, auto or python-oracle")
_ORACLE = _BACKEND == "python-oracle"  # everything on the interpreter

ALL, SRC, DST, EDGES, NODES = range(5)  # tg_role


class End(NamedTuple):
    """An input or result: its rows are counted by the role, shape is the feature shape."""

    name: str
    role: int
    dtype: int
    shape: tuple[int, ...]


Empty = Callable[[tuple[int, ...], int], Any]  # allocates (shape, dtype code)
Arrays = tuple[Any, ...]


def rows(graph: Graph, role: int) -> tuple[int, ...]:
    """The leading axes of an array with this role: none, or one."""
    return graph._rows[role]


def nbytes(graph: Graph, end: End) -> int:
    """The size of an array at this end."""
    return math.prod(rows(graph, end.role) + end.shape) * dtypes.BY_CODE[end.dtype].itemsize


class Program:
    """A tg_program whose dtypes and feature shapes are known. Immutable; derivatives are cached.

    inputs and results name those that it takes and gives, in order (default: all); a name in inputs that
    the core no longer needs is passed over."""

    def __init__(self, handle: Any, inputs: Sequence[str] | None = None, results: Sequence[str] | None = None) -> None:
        self.handle = handle
        needed = {e[0]: End(*e) for e in handle.inputs()}
        given = {e[0]: End(*e) for e in handle.results()}
        self.input_names = tuple(needed if inputs is None else inputs)
        self.inputs = tuple(needed[n] for n in self.input_names if n in needed)
        self.results = tuple(given[n] for n in (given if results is None else results))
        self.float_results = tuple(k for k, e in enumerate(self.results) if dtypes.BY_CODE[e.dtype].is_float)
        self.takes = tuple(k for k, n in enumerate(self.input_names) if n in needed)
        self._all = len(self.takes) == len(self.input_names)
        self._names = tuple(e.name for e in self.inputs + self.results)
        self._makes = tuple((e.role, e.shape, e.dtype) for e in self.results)
        self._grads: dict[Any, Program] = {}
        self._halves: dict[Any, Halves] = {}
        self._backward: dict[Any, Program] = {}

    def run(self, graph: Graph, arrays: Arrays, empty: Empty, count: int) -> Arrays:
        """Computes the results into new memory, on count threads (0: the default)."""
        return self._run(self.handle.reference if _ORACLE else self.handle.run, graph, arrays, empty, count)

    def reference(self, graph: Graph, arrays: Arrays, empty: Empty) -> Arrays:
        """The same on the interpreter."""
        return self._run(self.handle.reference, graph, arrays, empty, 0)

    def _run(self, run: Any, graph: Graph, arrays: Arrays, empty: Empty, count: int) -> Arrays:
        if not self._all:
            arrays = tuple([arrays[k] for k in self.takes])
        try:
            outs = tuple([empty(graph._rows[role] + shape, dtype) for role, shape, dtype in self._makes])
        except (MemoryError, RuntimeError):  # NumPy's, torch's
            raise self._too_large(graph) from None
        run(graph._handle, self._names, arrays + outs, count)
        return outs

    def _too_large(self, graph: Graph) -> MemoryError:
        """Names the largest result."""
        sizes = {e.name: nbytes(graph, e) for e in self.results}
        largest = max(self.results, key=lambda e: sizes[e.name])
        shape = rows(graph, largest.role) + largest.shape
        return MemoryError(f"out of memory: result '{largest.name}' of shape {shape} takes {sizes[largest.name]} bytes")

    # ---- derivatives ----

    def differentiable(self) -> tuple[int, ...]:
        """Numbers of the inputs of a float dtype."""
        return tuple(k for k, e in zip(self.takes, self.inputs) if dtypes.BY_CODE[e.dtype].is_float)

    def grad(self, outs: tuple[int, ...], wrt: tuple[int, ...]) -> Program:
        """The gradient of the results numbered in outs, whose cotangents are further inputs, with respect
        to the inputs numbered in wrt."""
        if (outs, wrt) not in self._grads:
            self._grads[outs, wrt] = self._derive(outs, wrt)
        return self._grads[outs, wrt]

    def _derive(self, outs: tuple[int, ...], wrt: tuple[int, ...]) -> Program:
        of = [self.results[k].name for k in outs]
        by = [self.input_names[k] for k in wrt]
        handle = self.handle.grad(" ".join(of), " ".join(by))
        cotangents = _added("cot", of, self.handle.inputs(), handle.inputs())
        gradients = _added("grad", by, self.handle.results(), handle.results())
        return Program(handle, (*self.input_names, *cotangents), gradients)

    def halves(self, wrt: tuple[int, ...]) -> Halves:
        """A first derivative with respect to wrt, in two halves."""
        if wrt not in self._halves:
            self._halves[wrt] = _split(self, self.grad(self.float_results, wrt))
        return self._halves[wrt]

    def backward(self, followed: tuple[int, ...], wrt: tuple[int, ...]) -> Program:
        """The backward half of halves(followed) with the gradients of wrt alone."""
        if (followed, wrt) not in self._backward:
            half = self.halves(followed).backward
            names = [half.results[followed.index(k)].name for k in wrt]
            self._backward[followed, wrt] = Program(half.handle, half.input_names, names)
        return self._backward[followed, wrt]


_MOST_KEPT = 512
_kept: dict[bytes, Program] = {}


def program_of(builder: Any) -> Program:
    """The program that a builder holds: one made before, where there is one like it."""
    key = builder.key()
    program = _kept.get(key)
    if program is None:
        if len(_kept) >= _MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        program = _kept[key] = Program(builder.program())
    return program


class Halves(NamedTuple):
    """forward takes the program's inputs and gives its results and then residuals; backward takes the
    inputs, the cotangents and the residuals, in this order."""

    forward: Program
    backward: Program
    residuals: tuple[End, ...]


def _split(program: Program, joint: Program) -> Halves:
    keep = [e.name for e in program.results]
    first, second = joint.handle.split(" ".join(keep))
    residuals = [e[0] for e in first.results() if e[0] not in keep]
    forward = Program(first, program.input_names, keep + residuals)
    backward = Program(second, (*joint.input_names, *residuals), [e.name for e in joint.results])
    return Halves(forward, backward, forward.results[len(keep) :])


def _added(kind: str, names: list[str], before: Any, after: Any) -> list[str]:
    """The ends that a derivative added for names: "cot.out", "grad2.src.x", ..."""
    old = {e[0] for e in before}
    new = {m[1]: e[0] for e in after if e[0] not in old and (m := re.fullmatch(rf"{kind}\d*\.(.*)", e[0]))}
    return [new[name] for name in names]
