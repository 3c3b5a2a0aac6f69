"""Gradients of tg.Tensor; torch tensors use torch.autograd."""

from __future__ import annotations

from typing import Any

from . import arrays

__all__ = ["grad"]


def grad(
    output: Any, inputs: Any, *, grad_output: Any = None, allow_unused: bool = False, checkpoint: str = "auto"
) -> Any:
    """The gradient of a tg.Tensor with respect to others."""
    several = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    if any(arrays.kind_of(t) == arrays.TORCH for t in (output, *several)):
        raise TypeError("tg.autograd.grad takes tg.Tensor; for torch tensors call torch.autograd.grad or .backward()")
    raise NotImplementedError("gradients of tg.Tensor are not built yet (torch tensors have torch.autograd)")
