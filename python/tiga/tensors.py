"""tg.Tensor: a view of the caller's memory, passed to kernels as a field; results are tg.Tensor again."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays, dtypes

__all__ = ["Tensor", "from_dlpack", "from_numpy", "from_torch", "to_numpy", "to_torch"]


class Tensor:
    """An array that borrows the memory of a NumPy array or a torch tensor."""

    __slots__ = ("__weakref__", "_owner", "_view", "requires_grad")
    _tiga_tensor = True

    def __init__(self, owner: Any, view: np.ndarray, requires_grad: bool = False) -> None:
        self._owner = owner
        self._view = view
        self.requires_grad = requires_grad

    @property
    def dtype(self) -> dtypes.DType:
        """The element type."""
        return dtypes.as_dtype(self._view.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._view.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._view.ndim

    @property
    def device(self) -> str:
        """Where the memory is: "cpu"."""
        return "cpu"

    def numpy(self) -> np.ndarray:
        """A NumPy view of the memory."""
        return self._view

    def to_numpy(self, copy: bool = False) -> np.ndarray:
        """A NumPy view of the memory, or a copy."""
        return self._view.copy() if copy else self._view

    def to_torch(self, copy: bool = False) -> Any:
        """A torch tensor on the same memory, or a copy."""
        return to_torch(self, copy)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._view.tolist()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self._view, dtype=dtype, copy=bool(copy))

    def __len__(self) -> int:
        return len(self._view)

    def __repr__(self) -> str:
        return f"tiga.Tensor({np.array2string(self._view, separator=', ', prefix='tiga.Tensor(')}, dtype={self.dtype.name})"


def from_numpy(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    """A tg.Tensor on the memory of a NumPy array."""
    arrays.check("from_numpy", array, "param")
    return Tensor(array, array, requires_grad)


def from_dlpack(array: Any) -> Tensor:
    """A tg.Tensor on the memory of an object with __dlpack__."""
    return from_numpy(np.from_dlpack(array))


def from_torch(tensor: Any, requires_grad: bool | None = None) -> Tensor:
    """A tg.Tensor on the memory of a torch tensor; requires_grad defaults to the tensor's own."""
    if arrays.kind_of(tensor) != arrays.TORCH:
        raise TypeError(f"from_torch: {type(tensor).__name__} given, expected a torch.Tensor")
    arrays.check("from_torch", tensor, "param")
    wanted = tensor.requires_grad if requires_grad is None else requires_grad
    return Tensor(tensor, tensor.detach().numpy(), wanted)


def to_numpy(tensor: Tensor, copy: bool = False) -> np.ndarray:
    """tensor.to_numpy(copy)."""
    return tensor.to_numpy(copy)


def to_torch(tensor: Tensor, copy: bool = False) -> Any:
    """A torch tensor on the memory of a tg.Tensor, or a copy; without autograd history."""
    import torch

    owner = tensor._owner
    shared = owner.detach() if arrays.kind_of(owner) == arrays.TORCH else torch.from_numpy(tensor._view)
    return shared.clone() if copy else shared
