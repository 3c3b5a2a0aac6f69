"""tg.Tensor: an array in memory, the caller's or Tiga's, or an expression that has not run yet.

Operations give tensors at once and values when they are needed (expressions.py). Tensors are immutable, memory
that is borrowed is read when a value is needed, and views share it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import arrays, dtypes, expressions, functions
from .expressions import VIEWS, Call, Operation, Part, has_value
from .graph import Graph
from .inspection import text
from .operand import Operand
from .programs import Program, rows

__all__ = [
    "Tensor",
    "arange",
    "empty",
    "from_dlpack",
    "from_numpy",
    "from_torch",
    "full",
    "ones",
    "ones_like",
    "tensor",
    "to_numpy",
    "to_torch",
    "zeros",
    "zeros_like",
]


class Deferred:
    """The stage of tensors: operations are noted."""

    is_tracing = False

    def value(self, x: Any) -> Any:
        """A tensor as it is, an array as a tensor on its memory, a number as a Python number."""
        if isinstance(x, Tensor):
            return x
        kind = arrays.kind_of(x)
        if kind in (arrays.FLOAT, arrays.INT) or isinstance(x, (bool, np.bool_)):
            return x.item() if isinstance(x, np.generic) else x
        if kind == arrays.TORCH:
            raise TypeError("a torch tensor beside a tg.Tensor: give one kind (tg.from_torch, or x.to_torch())")
        if arrays.is_array(x):
            return from_numpy(*arrays.described([x]))
        raise TypeError(f"a tg.Tensor does not meet {type(x).__name__}: use numbers, NumPy arrays and tensors")

    def apply(self, name: str, args: tuple[Any, ...], ints: tuple[int, ...] = ()) -> Tensor:
        """The tensor that an operation of the core gives; its type is known at once."""
        operands = tuple([a if type(a) is Tensor else self.value(a) for a in args])
        code, shape = expressions.infer(name, tuple([expressions.kind_of(name, a) for a in operands]), ints)
        return _note(name, operands, ints, shape, dtypes.BY_CODE[code])


def _note(name: str, operands: tuple[Any, ...], ints: tuple[int, ...], shape: Any, dtype: dtypes.DType) -> Tensor:
    """The tensor of an operation; a view of a value is one at once."""
    node = Operation(name, operands, ints, expressions.within(operands))
    tensor = _make(None, None, shape, dtype, node, _is_tracked(operands) and name != "detach")
    if name in VIEWS and operands[0].has_value:
        expressions.realize(tensor)
    return tensor


def _is_tracked(args: tuple[Any, ...]) -> bool:
    for a in args:
        if isinstance(a, Tensor) and a.requires_grad:
            return True
    return False


def call(program: Program, graph: Graph, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """A program on tensors, deferred; arguments that do not fit are refused at once."""
    followed: tuple[int, ...] = ()
    if program.float_results and _is_tracked(args):
        followed = tuple(k for k in program.differentiable() if _is_tracked(args[k : k + 1]))
    made = Call(program, graph, args, followed)
    for end, a in zip(program.inputs, args):
        if hasattr(a, "shape") and tuple(a.shape) != rows(graph, end.role) + end.shape:
            made.run()
    return parts(made)


def parts(made: Call) -> tuple[Tensor, ...]:
    """The results of a call, deferred."""
    tracked = _is_tracked(made.args)
    return tuple(
        _make(None, None, rows(made.graph, e.role) + e.shape, dtypes.BY_CODE[e.dtype], Part(made, k), tracked)
        for k, e in enumerate(made.program.results)
    )


class Tensor(Operand):
    """An array: made by tg.tensor, tg.zeros, tg.from_torch and their kind, or by operations on others, which
    run together when a value is needed (numpy(), item(), print, to_torch, bool). requires_grad: tg.autograd
    follows it."""

    __slots__ = ("__weakref__", "_data", "_dtype", "_node", "_owner", "_program", "_shape", "requires_grad")
    _called = "tg.Tensor"
    _tiga_tensor = True
    _stage = Deferred()

    _data: np.ndarray | None  # the value, or None with a node that leads to it
    _dtype: dtypes.DType
    _node: Any
    _owner: Any  # the torch tensor whose memory _data is, or None
    _program: Program | None  # that gave the value
    _shape: tuple[int, ...]
    requires_grad: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("make a tensor by tg.tensor, tg.zeros, tg.from_numpy, tg.from_torch and their kind")

    @property
    def dtype(self) -> dtypes.DType:
        """The element type."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._shape

    @property
    def device(self) -> str:
        """Where the memory is: "cpu"."""
        return "cpu"

    @property
    def has_value(self) -> bool:
        """False while the tensor is an expression that has not run."""
        return self._data is not None

    def numel(self) -> int:
        """The number of elements."""
        return int(np.prod(self._shape, dtype=np.int64))

    def _meets(self, other: Any) -> bool:
        if isinstance(other, Operand):
            return isinstance(other, Tensor)
        return isinstance(other, (bool, np.bool_)) or arrays.kind_of(other) != arrays.STATIC

    # ---- values ----

    def numpy(self) -> np.ndarray:
        """The value, on the tensor's own memory."""
        if self._data is None:
            expressions.realize(self)
        return self._data  # type: ignore[return-value]

    def to_numpy(self, copy: bool = False) -> np.ndarray:
        """The value, on the tensor's own memory or copied."""
        return self.numpy().copy() if copy else self.numpy()

    def to_torch(self, copy: bool = False) -> Any:
        """A torch tensor on the same memory, or a copy; without autograd history. Memory that torch cannot hold
        (read-only, or with strides that are negative) is copied."""
        import torch

        data = self.numpy()
        if self._owner is not None:
            shared = self._owner.detach()
        else:
            odd = not data.flags.writeable or min(data.strides, default=0) < 0
            data = data.copy() if odd else data
            half = self.dtype is dtypes.bfloat16  # unknown to torch as NumPy's
            shared = torch.from_numpy(data.view(np.int16)).view(torch.bfloat16) if half else torch.from_numpy(data)
        return shared.clone() if copy else shared

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self.numpy().tolist()

    def item(self) -> Any:
        """The one element as a Python number."""
        return self.numpy().item()

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __complex__(self) -> complex:
        return complex(self.numpy())

    def __index__(self) -> int:
        return self.numpy().__index__()

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a tensor of rank 0")
        return self._shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        count = len(self)
        self.numpy()  # once, for all of its rows
        return (self[k] for k in range(count))

    def __contains__(self, item: Any) -> bool:
        return item in self.numpy()

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("a tg.Tensor is immutable: write tg.where(mask, value, x) or tg.cat of the parts")

    def __repr__(self) -> str:
        shown = np.array2string(self.numpy(), separator=", ", prefix="tiga.Tensor(")
        tracked = ", requires_grad=True" if self.requires_grad else ""
        return f"tiga.Tensor({shown}, shape={self._shape}, dtype={self._dtype.name}{tracked})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    # ---- other libraries ----

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype) if copy else np.asarray(self.numpy(), dtype=dtype)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.numpy().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # kDLCPU

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .interop import vocabulary

        if method == "__call__" and ufunc.__name__ in vocabulary.TABLE and kwargs.get("out") is None:
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return getattr(ufunc, method)(*_as_arrays(inputs), **{k: _as_arrays(v) for k, v in kwargs.items()})

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .interop import vocabulary

        if func.__name__ in vocabulary.TABLE.keys() - vocabulary.TORCH_ALONE:
            return vocabulary.call(func.__name__, f"numpy.{func.__name__}", args, kwargs)
        return func(*_as_arrays(args), **{k: _as_arrays(v) for k, v in kwargs.items()})

    def __reduce__(self) -> Any:
        return tensor, (np.array(self.numpy()), None, self.requires_grad)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return tensor(self, requires_grad=self.requires_grad)

    # ---- gradients ----

    def detach(self) -> Tensor:
        """The same values, which no gradient follows."""
        return _note("detach", (self,), (), self._shape, self._dtype)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Sets requires_grad; gives the tensor. What gradients flow to already, through operations, keeps it."""
        if requires_grad != self.requires_grad:
            if self.requires_grad and self._node is not None:
                raise ValueError("requires_grad_(False): an operation made this tensor (detach() gives one that stops)")
            self.numpy()
            self.requires_grad = _tracked(requires_grad, self._dtype)
        return self

    # ---- inspection ----

    def mlir(self) -> str:
        """The program that gives this tensor, as text."""
        return self._inspected().ir("domain")

    def code(self, kind: str) -> str:
        """The code of that program's kernels: "llvm", "llvm-opt" or "asm"."""
        return text(self._inspected(), kind)

    def explain(self) -> str:
        """How that program runs, a line each."""
        return self._inspected().explain()

    def _inspected(self) -> Any:
        program, node = self._program, self._node
        if program is None and isinstance(node, Part):
            program = node.call.program
        elif program is None and node is not None and node.name not in VIEWS:
            program, _ = expressions.express(self, node, has_value)
        if program is None:
            raise RuntimeError("no program gives this tensor: it is memory, or a view of it")
        return program.handle


def _as_arrays(x: Any) -> Any:
    """Every tensor in x as NumPy's array."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(_as_arrays, x))
    return x.numpy() if isinstance(x, Tensor) else x


def _make(
    data: np.ndarray | None, owner: Any, shape: tuple[int, ...], dtype: dtypes.DType, node: Any, tracked: bool
) -> Tensor:
    self = object.__new__(Tensor)
    self._data = data
    self._owner = owner
    self._program = None
    self._shape = shape
    self._dtype = dtype
    self._node = node
    self.requires_grad = tracked and dtype.is_float
    return self


def _on(data: np.ndarray, owner: Any = None, requires_grad: bool = False) -> Tensor:
    dtype = dtypes.as_dtype(data.dtype)
    return _make(data, owner, data.shape, dtype, None, _tracked(requires_grad, dtype))


def _tracked(requires_grad: bool, dtype: dtypes.DType) -> bool:
    if requires_grad and not dtype.is_float:
        raise TypeError(f"requires_grad of a tensor of dtype {dtype.name}: gradients flow through floats alone")
    return requires_grad


# ---- on memory that is there ----


def from_numpy(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    """A tg.Tensor on the memory of a NumPy array."""
    arrays.check("from_numpy", array, "param")
    return _on(np.asarray(array), None, requires_grad)


def from_dlpack(array: Any, requires_grad: bool = False) -> Tensor:
    """A tg.Tensor on the memory of an object with __dlpack__."""
    return from_numpy(np.from_dlpack(array), requires_grad)


def from_torch(tensor: Any, requires_grad: bool | None = None) -> Tensor:
    """A tg.Tensor on the memory of a torch tensor; requires_grad defaults to the tensor's own."""
    if arrays.kind_of(tensor) != arrays.TORCH:
        raise TypeError(f"from_torch: {type(tensor).__name__} given, expected a torch.Tensor")
    arrays.check("from_torch", tensor, "param")
    wanted = tensor.requires_grad if requires_grad is None else requires_grad
    return _on(_numpy_view(tensor.detach().resolve_neg()), tensor, wanted)


def _numpy_view(tensor: Any) -> np.ndarray:
    if dtypes.as_dtype(tensor.dtype) is not dtypes.bfloat16:
        return tensor.numpy()
    import torch

    return tensor.view(torch.int16).numpy().view(dtypes.bfloat16.numpy)


def to_numpy(tensor: Tensor, copy: bool = False) -> np.ndarray:
    """tensor.to_numpy(copy)."""
    return tensor.to_numpy(copy)


def to_torch(tensor: Tensor, copy: bool = False) -> Any:
    """tensor.to_torch(copy)."""
    return tensor.to_torch(copy)


# ---- new memory ----


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False, *, device: Any = "cpu") -> Tensor:
    """A copy of numbers, lists or arrays. Of Python numbers the dtype is float32, int64 or bool by content;
    an array keeps its own."""
    _check_device(device)
    if arrays.kind_of(data) == arrays.TORCH:
        data = from_torch(data, requires_grad=False)
    if isinstance(data, (list, tuple)):
        data = _plain(data)
    made = np.array(*arrays.described([data]), dtype=None if dtype is None else dtypes.as_dtype(dtype).numpy)
    if dtype is None and not arrays.is_array(data):
        made = made.astype(_by_content(made.dtype), copy=False)
    if dtypes.lookup(made.dtype) is None:
        dtypes.refuse("tensor", made.dtype)
    return _on(made, None, requires_grad)


def _plain(data: Any) -> Any:
    """Lists, with tensors in them as arrays."""
    if isinstance(data, (list, tuple)):
        return [_plain(x) for x in data]
    if not arrays.is_array(data):
        return data
    return np.asarray(data.detach() if arrays.kind_of(data) == arrays.TORCH else arrays.described([data])[0])


def _by_content(dtype: np.dtype) -> np.dtype:
    return {"f": np.dtype(np.float32), "i": np.dtype(np.int64), "u": np.dtype(np.int64)}.get(dtype.kind, dtype)


def _check_device(device: Any) -> None:
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise TypeError(f"device {device}: tensors are on cpu")


def _shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return tuple(int(n.__index__()) for n in given)


def empty(*shape: Any, dtype: Any = dtypes.float32, requires_grad: bool = False, device: Any = "cpu") -> Tensor:
    """A tensor whose values are whatever the memory held: empty(2, 3) or empty((2, 3))."""
    _check_device(device)
    return _on(np.empty(_shape(shape), dtypes.as_dtype(dtype).numpy), None, requires_grad)


def zeros(*shape: Any, dtype: Any = dtypes.float32, requires_grad: bool = False, device: Any = "cpu") -> Tensor:
    """A tensor of zeros: zeros(2, 3) or zeros((2, 3))."""
    return full(_shape(shape), 0, dtype=dtype, requires_grad=requires_grad, device=device)


def ones(*shape: Any, dtype: Any = dtypes.float32, requires_grad: bool = False, device: Any = "cpu") -> Tensor:
    """A tensor of ones: ones(2, 3) or ones((2, 3))."""
    return full(_shape(shape), 1, dtype=dtype, requires_grad=requires_grad, device=device)


def full(shape: Any, value: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = "cpu") -> Tensor:
    """A tensor of one number, whose kind gives the dtype."""
    _check_device(device)
    extents = _shape((shape,) if not isinstance(shape, (tuple, list)) else tuple(shape))
    kind = _by_content(np.asarray(value).dtype) if dtype is None else dtypes.as_dtype(dtype).numpy
    return _on(np.full(extents, value, kind), None, requires_grad)


def arange(
    start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None, requires_grad: bool = False, device: Any = "cpu"
) -> Tensor:
    """start, start + step, ... before stop; arange(n) counts from 0. int64, or float32 where a float is given."""
    _check_device(device)
    first, last = (0, start) if stop is None else (start, stop)
    made = np.arange(first, last, step)
    kind = _by_content(made.dtype) if dtype is None else dtypes.as_dtype(dtype).numpy
    return _on(made.astype(kind, copy=False), None, requires_grad)


def zeros_like(x: Any, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """zeros of x's shape and dtype; of a staged value, a staged value."""
    return _like(x, 0, dtype, requires_grad)


def ones_like(x: Any, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """ones of x's shape and dtype; of a staged value, a staged value."""
    return _like(x, 1, dtype, requires_grad)


def _like(x: Any, value: int, dtype: Any, requires_grad: bool) -> Any:
    if isinstance(x, Operand) and not isinstance(x, Tensor):
        made = functions.full_like(x, value)
        return made if dtype is None else functions.cast(made, dtype)
    return full(tuple(x.shape), value, dtype=dtype or x.dtype, requires_grad=requires_grad)
