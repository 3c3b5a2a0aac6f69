"""Gradients of tg.Tensor: tg.autograd.grad, value_and_grad, joint_plan. torch tensors use torch.autograd.

The way from the inputs to the output is cut into blocks: expressions, each one program, and calls (of a
kernel, of a gradient). The sweep goes over them from the output on; a block's gradient is the program that
the core derives from its program, called like any other, so a gradient is a tensor that has not run yet and
is differentiable again. Where blocks end, cotangents add up; every other rule is the core's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import arrays, tensors
from .expressions import NOWHERE, VIEWS, Call, Gradient, Operation, Part, express
from .tensors import Tensor

__all__ = ["JointPlan", "grad", "joint_plan", "value_and_grad"]

_CHECKPOINTS = ("auto", "save", "recompute")


def grad(
    output: Any, inputs: Any, *, grad_output: Any = None, allow_unused: bool = False, checkpoint: str = "auto"
) -> Any:
    """The gradient of output, summed with the weights grad_output (a number's is 1), with respect to a tensor or
    to each of a tuple, which gives a tuple. Gradients are tensors: differentiable, and run when a value is
    needed. An input that output does not depend on is a ValueError, or gives None with allow_unused.

    checkpoint: "save" starts from the values of what ran already and from what kernels left for their gradients,
    one value a node each; "recompute" computes all of it again within the gradient, and lets a kernel that has not
    run yet leave nothing; "auto" leaves that to Tiga (today: as "save")."""
    several = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    _check(output, several, checkpoint)
    found = _Sweep(output, several, checkpoint == "recompute").run(_cotangent(output, grad_output))
    for k, (x, g) in enumerate(zip(several, found)):
        if g is None and not allow_unused:
            why = "the output does not depend on it" if x.requires_grad else "it does not have requires_grad=True"
            raise ValueError(f"input {k} of shape {x.shape}: {why} (allow_unused=True gives None)")
    return found if isinstance(inputs, (tuple, list)) else found[0]


def _check(output: Any, inputs: tuple[Any, ...], checkpoint: str) -> None:
    for what, x in (("output", output), *((f"input {k}", x) for k, x in enumerate(inputs))):
        if arrays.kind_of(x) == arrays.TORCH:
            raise TypeError(
                f"{what}: tg.autograd takes tg.Tensor; for torch tensors call torch.autograd.grad or .backward()"
            )
        if not isinstance(x, Tensor):
            raise TypeError(f"{what} is {type(x).__name__}, expected a tg.Tensor")
    if not output.dtype.is_float:
        raise TypeError(f"output has dtype {output.dtype.name}: gradients flow through floats alone")
    _check_checkpoint(checkpoint)


def _check_checkpoint(checkpoint: Any) -> None:
    if checkpoint not in _CHECKPOINTS:
        raise ValueError(f"checkpoint is {checkpoint!r}, expected one of {', '.join(_CHECKPOINTS)}")


def _cotangent(output: Tensor, given: Any) -> Tensor:
    if given is None:
        if output.numel() != 1:
            raise ValueError(f"output has shape {output.shape}: of more than one number give grad_output=")
        return tensors.ones_like(output)
    if arrays.kind_of(given) == arrays.TORCH:
        raise TypeError("grad_output is a torch tensor: give a tg.Tensor (tg.from_torch)")
    made = given if isinstance(given, Tensor) else tensors.tensor(given)
    if made.shape != output.shape:
        raise ValueError(f"grad_output has shape {made.shape}, but output has {output.shape}")
    if made.dtype is not output.dtype:
        raise TypeError(f"grad_output has dtype {made.dtype.name}, but output has {output.dtype.name}")
    return made


# ---- the sweep ----


class _Sweep:
    """From an output to inputs. Things are tensors and calls, by identity."""

    def __init__(self, output: Tensor, inputs: tuple[Tensor, ...], recompute: bool) -> None:
        self.output = output
        self.inputs = inputs
        self._wanted = {id(x) for x in inputs}
        self._recompute = recompute
        self._order = _ordered(output)
        self._leads: set[int] = set()  # ids of what an input leads to
        for thing in self._order:
            if id(thing) in self._wanted or any(id(below) in self._leads for below in _below(thing)):
                self._leads.add(id(thing))
        self._parts: dict[int, list[Tensor]] = {}  # of calls
        self._cotangents: dict[int, Tensor] = {}

    def run(self, cotangent: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of each input; None where the output does not depend on it."""
        for thing in self._order:
            if isinstance(thing, Tensor) and isinstance(thing._node, Part):
                self._parts.setdefault(id(thing._node.call), []).append(thing)
        self._cotangents[id(self.output)] = cotangent
        for thing in reversed(self._order):
            if not any(id(below) in self._leads for below in _below(thing)):
                continue
            if isinstance(thing, Call):
                self._through_call(thing)
            elif isinstance(thing._node, Operation) and id(thing) in self._cotangents:
                self._through_expression(thing)
        return tuple(self._cotangents.get(id(x)) if id(x) in self._leads else None for x in self.inputs)

    def _ends(self, t: Tensor) -> bool:
        """Where a block ends below: at inputs, calls, values and what is detached; a view is part of its reader."""
        node = t._node
        if id(t) in self._wanted or not isinstance(node, Operation) or node.name == "detach":
            return True
        return t.has_value and not (t.requires_grad and (self._recompute or node.name in VIEWS))

    def _through_expression(self, t: Tensor) -> None:
        program, leaves = express(t, t._node, self._ends)
        self._add(Call(program, NOWHERE, leaves), (0,), (self._cotangents[id(t)],))

    def _through_call(self, call: Call) -> None:
        given = {p._node.index: self._cotangents[id(p)] for p in self._parts[id(call)] if id(p) in self._cotangents}
        if given:
            used = tuple(sorted(given))
            if self._recompute and call.results is None:
                call.followed = ()
            self._add(call, used, tuple(given[k] for k in used))

    def _add(self, of: Call, used: tuple[int, ...], cotangents: tuple[Tensor, ...]) -> None:
        """Adds what a block's arguments get to their cotangents."""
        program, args = of.program, of.args
        floats = set(program.differentiable())
        wrt = tuple(k for k, a in enumerate(args) if k in floats and isinstance(a, Tensor) and id(a) in self._leads)
        if not wrt:
            return
        whole = program.grad(used, wrt)
        if of.followed and used == program.float_results and not self._recompute:
            made: Call = Gradient(whole, of, cotangents, wrt)
        else:
            made = Call(whole, of.graph, args + cotangents)
        for k, g in zip(wrt, tensors.parts(made)):
            before = self._cotangents.get(id(args[k]))
            self._cotangents[id(args[k])] = g if before is None else before + g


def _below(thing: Any) -> Iterable[Any]:
    """What a thing is made from, as far as gradients flow."""
    if isinstance(thing, Call):
        return [a for a in thing.args if isinstance(a, Tensor) and a.requires_grad]
    node = thing._node
    if node is None or not thing.requires_grad:
        return ()
    if isinstance(node, Part):
        return (node.call,)
    return [a for a in node.args if isinstance(a, Tensor) and a.requires_grad]


def _ordered(output: Tensor) -> list[Any]:
    """Everything that gradients may flow through, each after what it is made from."""
    order: list[Any] = []
    seen: set[int] = set()
    todo: list[tuple[Any, bool]] = [(output, False)]
    while todo:
        thing, done = todo.pop()
        if done:
            order.append(thing)
        elif id(thing) not in seen:
            seen.add(id(thing))
            todo.append((thing, True))
            todo.extend((below, False) for below in _below(thing))
    return order


# ---- of functions ----


def value_and_grad(fn: Callable[..., Any], *, checkpoint: str = "auto") -> Callable[..., Any]:
    """A function that gives (fn(*inputs), its gradient with respect to the inputs): one input in, one gradient
    out; several, or one tuple, give a tuple. fn gives one number; keyword arguments go to it as they are.
    checkpoint is grad's."""
    _check_checkpoint(checkpoint)

    def call(*inputs: Any, **kwargs: Any) -> tuple[Tensor, Any]:
        packed = len(inputs) == 1 and isinstance(inputs[0], (tuple, list))
        given = tuple(inputs[0]) if packed else inputs
        if not given:
            raise TypeError("value_and_grad: the function was called without an input")
        for k, x in enumerate(given):
            if not isinstance(x, Tensor):
                raise TypeError(f"value_and_grad: input {k} is {type(x).__name__}, expected a tg.Tensor")
        followed = tuple(x if x.requires_grad else _followed(x) for x in given)
        value = fn(followed, **kwargs) if packed else fn(*followed, **kwargs)
        if not isinstance(value, Tensor):
            raise TypeError(f"value_and_grad: the function gives {type(value).__name__}, expected a tg.Tensor")
        gradients = grad(value, followed, checkpoint=checkpoint)
        return value, gradients if packed or len(given) > 1 else gradients[0]

    return call


def _followed(x: Tensor) -> Tensor:
    return tensors.from_numpy(x.numpy(), requires_grad=True)


class JointPlan:
    """A value and its gradient, planned together: run() gives both."""

    def __init__(self, output: Tensor, inputs: Any, checkpoint: str) -> None:
        self._output = output
        self._inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        self._checkpoint = checkpoint
        self._gradients = grad(output, inputs, checkpoint=checkpoint)

    def run(self) -> tuple[Tensor, Any]:
        """(value, gradient), both with their values; of a tuple of inputs a tuple of gradients."""
        several = self._gradients if isinstance(self._gradients, tuple) else (self._gradients,)
        for t in (self._output, *several):
            t.numpy()
        return self._output, self._gradients

    def explain(self) -> str:
        """What runs, a line each."""
        shapes = ", ".join(str(list(x.shape)) for x in self._inputs)
        return "\n".join(["forward -> value", f"backward -> {shapes}", f"checkpoint: {self._checkpoint}"])


def joint_plan(output: Any, inputs: Any, *, checkpoint: str = "auto") -> JointPlan:
    """A plan whose run() gives output's value and its gradient with respect to a tensor or a tuple of them."""
    return JointPlan(output, inputs, checkpoint)
