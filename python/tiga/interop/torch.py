"""torch tensors in, torch tensors out, differentiable to every order.

One autograd.Function serves every program. Its forward runs the program; its backward runs the program of
the gradient. Where the backward pass itself is recorded (create_graph), that program goes through the same
Function, so derivatives of any order are programs. A plain first derivative runs in two halves: the
forward half also gives node-sized residuals, the backward half takes them. Under torch.func's transforms
another Function takes its place (transforms.py)."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from .. import _tiga, dtypes, later, pages, threads
from ..graph import Graph
from ..programs import Program, rows
from ..tensors import from_torch, to_torch

__all__ = ["from_torch", "to_torch"]

_dtypes = [getattr(torch, d.name) for d in dtypes.BY_CODE]

Tensors = tuple[Any, ...]
_is_legacy = torch._C._functorch.is_legacy_batchedtensor
_is_transformed = torch._C._are_functorch_transforms_active
_is_grad_enabled = torch.is_grad_enabled


def register_dtypes() -> None:
    """Tells the extension torch's dtypes."""
    for code, dtype in enumerate(_dtypes):
        _tiga.register_dtype(dtype, code)


def empty(shape: tuple[int, ...], code: int) -> torch.Tensor:
    """New memory for a result."""
    new = torch.empty(shape, dtype=_dtypes[code])
    if new.nbytes >= pages.LARGE:
        pages.ask_for_huge(new.data_ptr(), new.nbytes)
    return new


def detach(arrays: Tensors) -> Tensors:
    """What a kernel may read: no lazily negated views."""
    return tuple(a.detach().resolve_neg() if isinstance(a, torch.Tensor) else a for a in arrays)


def count() -> int:
    """Threads of a call."""
    return threads.count(torch)


def run(program: Program, graph: Graph, arrays: Tensors) -> Tensors:
    """The program's results, recorded by autograd if some input requires it."""
    if _is_transformed() or forward_ad._current_level >= 0:
        return _transformed(program, graph, arrays)
    if _is_grad_enabled() and program.float_results:
        for a in arrays:
            if isinstance(a, torch.Tensor) and a.requires_grad:
                return _Apply.apply(program, graph, True, *arrays)
    return _run(program, graph, arrays)


def _transformed(program: Program, graph: Graph, arrays: Tensors) -> Tensors:
    from . import transforms

    transforms.refuse_forward_mode(arrays)
    batched = any(map(is_batched, arrays))
    return transforms.run_batched(program, graph, arrays) if batched else transforms.run(program, graph, arrays)


def is_batched(a: Any) -> bool:
    """One of the batches of torch.autograd.grad(is_grads_batched=True), which are older than torch.func."""
    return isinstance(a, torch.Tensor) and _is_legacy(a)


def _run(program: Program, graph: Graph, arrays: Tensors) -> Tensors:
    return program.run(graph, arrays, empty, threads.count(torch))


class _Apply(torch.autograd.Function):
    """program on a graph. halves: whether a first derivative runs as two halves."""

    @staticmethod
    def forward(ctx: Any, program: Program, graph: Graph, halves: bool, *arrays: Any) -> Tensors:
        ctx.program, ctx.graph, ctx.halves = program, graph, halves
        ctx.set_materialize_grads(False)
        ctx.wrt = tuple(k for k, need in enumerate(ctx.needs_input_grad[3:]) if need)
        outs, residuals = _forward(ctx, arrays)
        save(ctx, arrays, residuals)
        ctx.mark_non_differentiable(*(o for o in outs if not o.is_floating_point()))
        return outs

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Tensors:
        used = tuple(k for k, c in enumerate(cotangents) if c is not None)
        if not used:
            return (None,) * (3 + ctx.count)
        arrays, residuals = saved(ctx)
        if _is_transformed() or any(map(is_batched, cotangents)):
            grads = _transformed(ctx.program.grad(used, ctx.wrt), ctx.graph, arrays + _given(cotangents, used))
        elif torch.is_grad_enabled() or not ctx.halves:
            grads = _gradient(ctx, used, arrays + _given(cotangents, used))
        else:
            backward = ctx.program.halves(ctx.wrt).backward
            grads = _run(backward, ctx.graph, arrays + _every(ctx, cotangents) + residuals)
        spread = dict(zip(ctx.wrt, grads))
        return (None, None, None, *(spread.get(k) for k in range(ctx.count)))


def _given(cotangents: Tensors, used: tuple[int, ...]) -> Tensors:
    return tuple(cotangents[k] for k in used)


def _forward(ctx: Any, arrays: Tensors) -> tuple[Tensors, Tensors]:
    if not ctx.halves:
        return _run(ctx.program, ctx.graph, arrays), ()
    outs = _run(ctx.program.halves(ctx.wrt).forward, ctx.graph, arrays)
    count = len(ctx.program.results)
    return outs[:count], outs[count:]


def save(ctx: Any, arrays: Tensors, residuals: Tensors) -> None:
    """Tensors by save_for_backward, which checks their version; numbers and ndarrays beside it."""
    ctx.count = len(arrays)
    ctx.rest = tuple(None if isinstance(a, torch.Tensor) else a for a in arrays)
    ctx.save_for_backward(*(a for a in arrays if isinstance(a, torch.Tensor)), *residuals)


def saved(ctx: Any) -> tuple[Tensors, Tensors]:
    saved = iter(ctx.saved_tensors)
    arrays = tuple(next(saved) if r is None else r for r in ctx.rest)
    return arrays, tuple(saved)


def _every(ctx: Any, cotangents: Tensors) -> Tensors:
    """The cotangent of every float result; of one that was not used, zeros."""
    ends = [ctx.program.results[k] for k in ctx.program.float_results]
    given = [cotangents[k] for k in ctx.program.float_results]
    return tuple(
        torch.zeros(rows(ctx.graph, e.role) + e.shape, dtype=_dtypes[e.dtype]) if c is None else c
        for e, c in zip(ends, given)
    )


def _gradient(ctx: Any, used: tuple[int, ...], arrays: Tensors) -> Tensors:
    """By the gradient program, itself recorded where that is asked for."""
    gradient = ctx.program.grad(used, ctx.wrt)
    if torch.is_grad_enabled():
        return _Apply.apply(gradient, ctx.graph, False, *arrays)
    return _run(gradient, ctx.graph, arrays)


__getattr__ = later.attribute("tg.interop.torch", __name__)
