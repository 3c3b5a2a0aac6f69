"""What is named but not built yet: refused by name, with NotImplementedError, where Python would say that there is
no such attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

# By owner: names, and what they would be.
NAMES = {
    "tg": {
        "nn": "tg.nn.trace; edge() may call a torch module that self holds",
        "jit program": "capture of programs and loops around kernels",
        "linear_solve nonlinear_solve": "solvers",
        "execution": "switches of execution; TIGA_FAST_MATH=1 is there",
        "complex64 complex128": "this dtype",
        "sort argsort topk histogram": "sorting",
        "cumprod cummax cummin associative_scan": "scans",
        "max_with_indices min_with_indices xor_sum reduce": "this fold over axes",
        "segment_sum scatter_rows": "rows by index",
    },
    "Graph": {
        "radius knn": "relations of points; make the edges and use from_coo",
        "dense triangular packed": "dense relations; from_coo takes every pair",
        "halo": "distributed relations",
    },
    "Tensor": {
        "sort argsort topk histogram": "sorting",
        "cumprod cummax cummin": "scans",
        "argmax argmin var std": "this operation",
        "backward grad": "gradients that tensors keep; tg.autograd.grad gives them",
        "checkpoint": "checkpoints by hand; tg.autograd.grad takes checkpoint=",
    },
    "tg.interop.torch": {"register_message_passing": "kernels as operators of torch.library"},
}


def message(owner: str, name: str) -> str | None:
    """What to say of a name that an owner does not have; None where it is no name of Tiga's."""
    for names, what in NAMES.get(owner, {}).items():
        if name in names.split():
            return f"{owner}.{name} is not built yet: {what}"
    return None


def attribute(owner: str, module: str) -> Callable[[str], Any]:
    """A module's __getattr__."""

    def get(name: str) -> NoReturn:
        said = message(owner, name)
        raise NotImplementedError(said) if said else AttributeError(f"module {module!r} has no attribute {name!r}")

    return get


def add_methods(cls: type, owner: str) -> None:
    """Gives a class the methods that it does not have, to be refused when they are called."""
    for names in NAMES[owner]:
        for name in names.split():
            if not hasattr(cls, name):
                setattr(cls, name, staticmethod(_refusal(owner, name)))


def _refusal(owner: str, name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(message(owner, name))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = message(owner, name)
    return refuse
