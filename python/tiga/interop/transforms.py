"""Programs under torch.func's transforms (vmap, grad, vjp, and what is made of them) and batched gradients.

A transform hands out tensors without memory and asks a Function of the newer form what to do with them. This
one serves every program there: a batch is a loop over its members, a gradient is the gradient program
through the same Function."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch.autograd import forward_ad

from ..graph import Graph
from ..programs import Program, rows
from . import torch as bridge

Tensors = tuple[Any, ...]


def run(program: Program, graph: Graph, arrays: Tensors) -> Tensors:
    """The program's results, as the transforms that are active see them."""
    return Transformed.apply(program, graph, *arrays)


def run_batched(program: Program, graph: Graph, arrays: Tensors) -> Tensors:
    """As run, for the older kind of batch, of torch.autograd.grad(is_grads_batched=True)."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    if level > 1:
        raise NotImplementedError("batched gradients of batched gradients of a kernel: use torch.func.vmap")
    batched = [bridge.is_batched(a) for a in arrays]
    plain = [torch._remove_batch_dim(a, level, 0, 0) if b else a for a, b in zip(arrays, batched)]
    members = [
        bridge.run(program, graph, tuple(a[i] if b else a for a, b in zip(plain, batched)))
        for i in range(plain[batched.index(True)].shape[0])
    ]
    return tuple(torch._add_batch_dim(torch.stack(outs), 0, level) for outs in zip(*members))


def refuse_forward_mode(arrays: Tensors) -> None:
    """A program would drop the tangents of forward mode silently."""
    for a in arrays:
        if isinstance(a, torch.Tensor) and forward_ad.unpack_dual(a).tangent is not None:
            _no_forward_mode()


def _no_forward_mode() -> NoReturn:
    raise NotImplementedError(
        "forward-mode derivatives of a kernel (torch.func.jvp, torch.autograd.forward_ad) are not built yet; "
        "torch.func.vjp, torch.func.grad and torch.autograd.grad are there"
    )


class Transformed(torch.autograd.Function):
    """program on a graph, recorded by whatever transforms it."""

    @staticmethod
    def forward(program: Program, graph: Graph, *arrays: Any) -> Tensors:
        return program.run(graph, bridge.detach(arrays), bridge.empty, bridge.count())

    @staticmethod
    def setup_context(ctx: Any, inputs: Tensors, output: Tensors) -> None:
        ctx.program, ctx.graph, *arrays = inputs
        ctx.set_materialize_grads(False)
        bridge.save(ctx, tuple(arrays), ())
        ctx.mark_non_differentiable(*(o for o in output if not o.is_floating_point()))

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Tensors:
        used = tuple(k for k, c in enumerate(cotangents) if c is not None)
        wrt = tuple(k for k, need in enumerate(ctx.needs_input_grad[2:]) if need)
        if not used or not wrt:
            return (None,) * (2 + ctx.count)
        arrays, _ = bridge.saved(ctx)
        grads = run(ctx.program.grad(used, wrt), ctx.graph, arrays + tuple(cotangents[k] for k in used))
        spread = dict(zip(wrt, grads))
        return (None, None, *(spread.get(k) for k in range(ctx.count)))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> NoReturn:
        _no_forward_mode()

    @staticmethod
    def vmap(info: Any, in_dims: Tensors, program: Program, graph: Graph, *arrays: Any) -> tuple[Tensors, Tensors]:
        dims = in_dims[2:]
        members = [
            Transformed.apply(program, graph, *(a if d is None else a.select(d, i) for a, d in zip(arrays, dims)))
            for i in range(info.batch_size)
        ]
        if members:
            outs = tuple(map(torch.stack, zip(*members)))
        else:
            outs = tuple(bridge.empty((0, *rows(graph, e.role), *e.shape), e.dtype) for e in program.results)
        return outs, (0,) * len(outs)
