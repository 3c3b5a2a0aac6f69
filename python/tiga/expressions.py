"""Expressions: operations on tensors are noted, and run when a value is needed.

A tensor without a value holds a *node*: an operation on other tensors and numbers, or a part of a *call*, a
program on arrays (a kernel on a graph, a gradient). To get its value, the operations down to tensors that
have one become one program; programs are kept by the key that the core makes of them, so an expression of
the same form compiles once, whatever its numbers. A kernel call is an end of such a program: it runs by
itself, its operands before it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _tiga, dtypes, threads
from .graph import Graph
from .operand import Operand
from .programs import Program, program_of

MOST_OPERATIONS = 64  # of one program: an expression that grows beyond it gets its largest operand's value
_EXACT = {"pow", "power"}  # operations whose numbers decide what is computed

NOWHERE = Graph.regular(0, 0)  # where programs without a relation run


def empty(shape: tuple[int, ...], code: int) -> np.ndarray:
    """New memory for a result."""
    return np.empty(shape, dtypes.BY_CODE[code].numpy)


# ---- nodes ----


class Operation:
    """An operation of the vocabulary by name. size: how many are waiting below it and with it."""

    __slots__ = ("args", "ints", "name", "size")

    def __init__(self, name: str, args: tuple[Any, ...], ints: tuple[int, ...], size: int) -> None:
        self.name = name
        self.args = args
        self.ints = ints
        self.size = size


class Call:
    """A program on a graph and arrays, among them tensors; it runs once, for all of its parts. Where arguments are
    followed by gradients, it runs the forward half, whose residuals lie behind the results."""

    __slots__ = ("args", "followed", "graph", "program", "ran", "results", "size")

    def __init__(
        self, program: Program, graph: Graph, args: tuple[Any, ...], followed: tuple[int, ...] = ()
    ) -> None:
        self.program = program
        self.graph = graph
        self.args = args
        self.followed = followed
        self.size = within(args)
        self.ran = program
        self.results: tuple[Any, ...] | None = None

    def run(self) -> tuple[Any, ...]:
        """The results, and residuals."""
        if self.results is None:
            self.ran, args = self._runs()
            takes = self.ran.takes  # a gradient may do without a value that then need not be computed
            given = tuple([a.numpy() if isinstance(a, Operand) and k in takes else a for k, a in enumerate(args)])
            try:
                self.results = self.ran.run(self.graph, given, empty, threads.count(None))
            except IndexError as error:
                raise IndexError(_unnamed(str(error)) if self.graph is NOWHERE else str(error)) from None
        return self.results

    def _runs(self) -> tuple[Program, tuple[Any, ...]]:
        followed = self.followed  # which another thread's gradient may empty
        return (self.program.halves(followed).forward if followed else self.program), self.args


class Gradient(Call):
    """The gradient of all float results of a call with respect to some arguments: program is that of the whole
    derivative, which is what further gradients are taken of; where the call left residuals, the backward half runs."""

    __slots__ = ("of", "wrt")

    def __init__(self, program: Program, of: Call, cotangents: tuple[Any, ...], wrt: tuple[int, ...]) -> None:
        super().__init__(program, of.graph, of.args + cotangents)
        self.of: Call | None = of
        self.wrt = wrt

    def run(self) -> tuple[Any, ...]:
        """The gradients."""
        results = super().run()
        self.of = None  # residuals are kept no longer than they are needed
        return results

    def _runs(self) -> tuple[Program, tuple[Any, ...]]:
        of = self.of
        if of is None or not set(self.wrt) <= set(of.followed):
            return super()._runs()
        followed, forward = of.followed, of.program
        residuals = of.run()[len(forward.results) :] if forward.halves(followed).residuals else ()
        if not residuals:
            return super()._runs()
        return forward.backward(followed, self.wrt), self.args + residuals


def _unnamed(message: str) -> str:
    """Tensors have no names: those of an expression's program are its own."""
    return re.sub(r"for 'x\d+' of", "for a table of", re.sub(r"index 'x\d+'", "index", message))


class Part:
    """One result of a call."""

    __slots__ = ("call", "index")
    name = "part"

    def __init__(self, call: Call, index: int) -> None:
        self.call = call
        self.index = index

    @property
    def size(self) -> int:
        """As an operation's."""
        return self.call.size

    @property
    def args(self) -> tuple[Any, ...]:
        """What the call takes."""
        return self.call.args


def within(args: tuple[Any, ...]) -> int:
    """The size of a node with these operands, none of them too large."""
    while True:
        waiting = [(a._node, a) for a in args if isinstance(a, Operand) and a._data is None]
        nodes = {id(node): (node.size, a) for node, a in waiting if node is not None}
        size = 1 + sum([size for size, _ in nodes.values()])
        if size <= MOST_OPERATIONS:
            return size
        max(nodes.values(), key=lambda pair: pair[0])[1].numpy()


# ---- views: of memory where there is some, never copied ----


def _slice(x: np.ndarray, ints: tuple[int, ...]) -> np.ndarray:
    axis, start, stop, step = ints
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop if stop >= -x.shape[axis] else None, step),)]


VIEWS: dict[str, Callable[[np.ndarray, tuple[int, ...], tuple[int, ...]], np.ndarray]] = {
    "reshape": lambda x, ints, shape: x.reshape(shape),
    "flatten": lambda x, ints, shape: x.reshape(shape),
    "squeeze": lambda x, ints, shape: x.reshape(shape) if x.size == 0 else x.squeeze(ints[0]),
    "unsqueeze": lambda x, ints, shape: np.expand_dims(x, ints[0]),
    "permute": lambda x, ints, shape: x.transpose(ints),
    "transpose": lambda x, ints, shape: x.swapaxes(*ints),
    "index": lambda x, ints, shape: x[(slice(None),) * (ints[0] % x.ndim) + (ints[1], ...)],
    "slice": lambda x, ints, shape: _slice(x, ints),
    "broadcast_to": lambda x, ints, shape: np.broadcast_to(x, shape),
    "detach": lambda x, ints, shape: x,
}


# ---- types and programs ----


def kind_of(name: str, x: Any) -> tuple[Any, Any]:
    """What a program depends on: dtype and shape of a tensor, of a number its type alone where it can be given
    at run time."""
    if isinstance(x, Operand):
        return x._dtype.code, x._shape
    return type(x), x if name in _EXACT or isinstance(x, bool) else None


@functools.lru_cache(8192)
def infer(name: str, kinds: tuple[Any, ...], ints: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """(dtype code, shape) of an operation's result."""
    builder = _tiga.Builder(False)
    operands = tuple([_operand(builder, f"x{k}", kind) for k, kind in enumerate(kinds)])
    try:
        end, _ = builder.type(builder.apply(name, operands, ints))
    except (TypeError, ValueError, IndexError) as error:
        said = str(error).replace("a parameter of dtype", "a tensor of dtype").replace("feature shapes", "shapes")
        raise type(error)(said) from None
    return end[2], end[3]


def _operand(builder: Any, name: str, kind: tuple[Any, Any]) -> int:
    first, second = kind
    if type(first) is int:
        return builder.input(name, first, second)
    return builder.scalar(name, first is int) if second is None else builder.number(second)


def express(root: Any, above: Operation, is_leaf: Callable[[Any], bool]) -> tuple[Program, tuple[Any, ...]]:
    """The program of a tensor's node, above, and the operations down to its leaves; and the leaves: its inputs in
    order, tensors and numbers. Another thread may give a tensor on the way its value: then it has no node."""
    builder = _tiga.Builder(False)
    ids: dict[int, int] = {}
    leaves: list[Any] = []

    def take(x: Any, kind: tuple[Any, Any]) -> int:
        value = _operand(builder, f"x{len(leaves)}", kind)
        if type(kind[0]) is int or kind[1] is None:  # not a number that is part of the program
            leaves.append(x)
        return value

    todo = [root]
    while todo:
        t = todo[-1]
        node = above if t is root else t._node
        if id(t) in ids:
            todo.pop()
        elif t is not root and is_leaf(t):
            ids[id(todo.pop())] = take(t, (t._dtype.code, t._shape))
        elif node is not None:
            missing = [a for a in node.args if isinstance(a, Operand) and id(a) not in ids]
            todo.extend(reversed(missing))
            if not missing:
                args = [ids[id(a)] if isinstance(a, Operand) else take(a, kind_of(node.name, a)) for a in node.args]
                passed = node.name == "detach"
                ids[id(todo.pop())] = args[0] if passed else builder.apply(node.name, tuple(args), node.ints)
    builder.out("out", ids[id(root)])
    return program_of(builder), tuple(leaves)


def has_value(t: Any) -> bool:
    """The leaves of what is left to run."""
    return t._data is not None or type(t._node) is Part


def realize(t: Any) -> None:
    """Gives a tensor its value; what led to it is kept where a gradient may ask for it."""
    node = t._node
    if node is None:  # another thread was first
        return
    if isinstance(node, Part):
        data, t._program = node.call.run()[node.index], node.call.ran
    elif node.name in VIEWS:
        data = VIEWS[node.name](node.args[0].numpy(), node.ints, t._shape)
    else:
        t._program, leaves = express(t, node, has_value)
        (data,) = Call(t._program, NOWHERE, leaves).run()
    t._data = data
    if not t.requires_grad:
        t._node = None
