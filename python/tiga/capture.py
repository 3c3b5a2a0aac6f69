"""What a function reads besides its arguments: attributes of self, closure cells, globals, defaults.

Before a trace, the functions are rebuilt with staged values where those places hold tensors, so that
`self.weight @ src.x` and `W.T @ src.x` see parameters. Everything else that is read is remembered as a
*guard*: numbers and texts by value, other objects by identity, tensors by dtype and shape. A call whose
guards do not hold is traced again.

A *getter* takes the kernel and gives what is at a place now: hidden parameters are read anew each call."""

from __future__ import annotations

import dis
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import arrays
from .reducers import Reducer
from .staged import Stage

Getter = Callable[[Any], Any]

_BY_VALUE = (int, str, bytes, bool, type(None))
_LIBRARIES = ("torch", "numpy", "tiga", "math", "builtins")
_MAX_DEPTH = 5


def _kernel_itself(kernel: Any) -> Any:
    return kernel


class Captures:
    """The places that one trace reads, its guards and its hidden parameters."""

    def __init__(self, kernel: Any, homogeneous: bool) -> None:
        self.kernel = kernel
        self.stage = Stage(homogeneous, self._find, self._scalar)
        self.hidden: dict[str, Getter] = {}  # input name -> where its tensor is
        self._guards: dict[Any, tuple[Getter, Any]] = {}
        self._names: dict[int, str] = {}  # id of a tensor -> input name
        self._scalars: dict[str, str] = {}  # path of a number -> input name
        self._keep: list[Any] = []  # so that ids stay theirs
        self._roots: list[tuple[str, Getter, Any]] = []
        self._rebuilt: dict[int, Any] = {}
        self._shadow: Any = None

    # ---- places ----

    def read(self, path: str, getter: Getter, value: Any) -> Any:
        """What the trace sees of a value at a place."""
        if arrays.is_array(value) and not _is_number(value):
            return self.stage.input(self._hide(path, getter, value), value, 0)
        if isinstance(value, types.FunctionType) and not _is_library(value):
            self._guard(path, getter, value)
            return self.rebuild(value, getter)
        if not isinstance(value, types.ModuleType):
            self._guard(path, getter, value)
            if type(value) in _NUMBERS:
                return _NUMBERS[type(value)](value, path, getter)
            if not isinstance(value, (*_BY_VALUE, float)):
                self._roots.append((path, getter, value))
        return value

    def _hide(self, path: str, getter: Getter, tensor: Any) -> str:
        """The input name of the tensor at a place: one place's, if several hold the same tensor."""
        if id(tensor) not in self._names:
            name = self._new_name(path)
            self._names[id(tensor)] = name
            self.hidden[name] = getter
            self._keep.append(tensor)
            self._guards[name] = (getter, None)
        return self._names[id(tensor)]

    def _scalar(self, number: Any) -> int:
        """A number read from a place, where it meets a staged value: given at run time, so that another value finds
        the code of this one."""
        name = self._scalars.get(number.path)
        if name is None:
            name = self._scalars[number.path] = self._new_name(number.path)
            self.hidden[name] = number.getter
        return self.stage.builder.scalar(name, isinstance(number, int))

    def _new_name(self, path: str) -> str:
        name = re.sub(r"[^\w.]", "_", path)
        while name in self.hidden:
            name += "_"
        return name

    def _guard(self, path: str, getter: Getter, value: Any) -> None:
        self._guards.setdefault(path, (getter, value))

    def guards(self) -> list[tuple[Getter, Callable[[Any], bool]]]:
        """(getter, test) of every place read."""
        return [(getter, _test(getter(self.kernel))) for getter, _ in self._guards.values()]

    # ---- functions ----

    def rebuild(self, function: types.FunctionType, getter: Getter) -> types.FunctionType:
        """function with what it captured as the trace shall see it. getter gives the function."""
        if id(function) not in self._rebuilt:
            self._rebuilt[id(function)] = function  # where it refers to itself
            self._rebuilt[id(function)] = self._rebuild(function, getter)
        return self._rebuilt[id(function)]

    def _rebuild(self, function: types.FunctionType, getter: Getter) -> types.FunctionType:
        code, scope = function.__code__, dict(function.__globals__)
        at = _attribute(getter, "__globals__")
        for name in sorted(set(_global_names(code)) & scope.keys()):
            scope[name] = self.read(f"global.{name}", _item(at, name), scope[name])
        cells = tuple(self._cell(i, name, cell, getter) for i, (name, cell) in enumerate(_cells(function)))
        new = types.FunctionType(code, scope, function.__name__, self._defaults(function, getter), cells)
        new.__kwdefaults__ = self._keyword_defaults(function, getter)
        new.__qualname__ = function.__qualname__
        new.__dict__.update(function.__dict__)
        return new

    def _cell(self, i: int, name: str, cell: types.CellType, getter: Getter) -> types.CellType:
        if name == "__class__" or not _is_assigned(cell):
            return cell
        place = _attribute(_item(_attribute(getter, "__closure__"), i), "cell_contents")
        return types.CellType(self.read(f"closure.{name}", place, cell.cell_contents))

    def _defaults(self, function: types.FunctionType, getter: Getter) -> Any:
        given = function.__defaults__ or ()
        count = function.__code__.co_argcount
        names = function.__code__.co_varnames[count - len(given) : count]
        at = _attribute(getter, "__defaults__")
        return tuple(
            self.read(f"default.{name}", _item(at, i), value)
            for i, (name, value) in enumerate(zip(names, given, strict=True))
        )

    def _keyword_defaults(self, function: types.FunctionType, getter: Getter) -> Any:
        at = _attribute(getter, "__kwdefaults__")
        given = function.__kwdefaults__ or {}
        return {name: self.read(f"default.{name}", _item(at, name), value) for name, value in given.items()}

    # ---- self ----

    def shadow(self) -> Any:
        """An object that reads like the kernel, its tensors staged."""
        if self._shadow is None:
            cls: Any = type(self.kernel)
            self._shadow = object.__new__(type(cls)(cls.__name__, (_Shadow, cls), {"__module__": cls.__module__}))
            object.__setattr__(self._shadow, "_captures", self)
        return self._shadow

    def attribute(self, name: str) -> Any:
        """self.name as the trace sees it."""
        value = getattr(self.kernel, name)
        place = _attribute(_kernel_itself, name)
        if isinstance(value, types.MethodType) and value.__self__ is self.kernel:
            function: Any = value.__func__
            return types.MethodType(self.rebuild(function, _attribute(place, "__func__")), self.shadow())
        if isinstance(getattr(type(self.kernel), name, None), property):
            return getattr(type(self.kernel), name).fget(self.shadow())
        return self.read(f"self.{name}", place, value)

    # ---- tensors met without having been read from a known place: self.linear.weight ----

    def _find(self, tensor: Any) -> str:
        if id(tensor) not in self._names:
            roots = [("self", _kernel_itself, self.kernel), *self._roots]
            found = next((f for root in roots for f in _walk(root, tensor)), None)
            if found is None:
                raise TypeError(
                    f"a tensor of shape {tuple(tensor.shape)} made inside the function meets a staged value; "
                    "keep it in an attribute of self or pass it as a param, so that each call sees its value"
                )
            self._hide(*found, tensor)
        return self._names[id(tensor)]


def _attribute(getter: Getter, name: str) -> Getter:
    return lambda kernel: getattr(getter(kernel), name)


def _item(getter: Getter, key: Any) -> Getter:
    return lambda kernel: getter(kernel)[key]


def _cells(function: types.FunctionType) -> list[tuple[str, types.CellType]]:
    return list(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def _is_assigned(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return not hasattr(value, "shape")


def _is_library(function: types.FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] in _LIBRARIES


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Names that code, or code inside it, looks up in the globals."""
    yield from (i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _test(value: Any) -> Callable[[Any], bool]:
    expected = _snapshot(value)
    return lambda now: _snapshot(now) == expected


class _Same:
    """An object compared by identity, and kept so that the identity stays its own."""

    __slots__ = ("object",)
    __hash__ = object.__hash__

    def __init__(self, object: Any) -> None:
        self.object = object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.object is other.object


def _snapshot(value: Any) -> Any:
    """What must stay equal while a trace holds: numbers and texts (in lists, tuples and dicts too) by
    value, tensors by signature, reducers by algebra, other objects (of a module: its parts) by identity."""
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, value
    if kind is float:
        return kind, value.hex()  # -0.0 is not 0.0, NaN is NaN
    if kind in (tuple, list):
        return kind, [_snapshot(v) for v in value]
    if kind is dict:
        return kind, [(k, _snapshot(v)) for k, v in value.items()]
    if isinstance(value, Reducer):
        return Reducer, value._key()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.nn.Module):
        return [_Same(m) for m in value.modules()]
    if arrays.is_array(value) and not _is_number(value):
        return arrays.signatures([value], 0)
    return _Same(value)


def _walk(root: tuple[str, Getter, Any], tensor: Any, depth: int = 0) -> Iterator[tuple[str, Getter]]:
    """Where below root the tensor is: in attributes, lists, tuples and dicts."""
    path, getter, value = root
    if value is tensor:
        yield path, getter
    elif depth < _MAX_DEPTH:
        for child in _children(path, getter, value):
            yield from _walk(child, tensor, depth + 1)


def _children(path: str, getter: Getter, value: Any) -> Iterator[tuple[str, Getter, Any]]:
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield f"{path}.{i}", _item(getter, i), item
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}.{key}", _item(getter, key), item
    elif not isinstance(value, (type, types.ModuleType, types.FunctionType)) and not arrays.is_array(value):
        at = _attribute(getter, "__dict__")
        for name, item in list(getattr(value, "__dict__", {}).items()):
            hidden = name in ("_parameters", "_buffers", "_modules")  # nn.Module's own
            yield path if hidden else f"{path}.{name}", _item(at, name), item


class _Float(float):
    """A float that was read from a place: a float to Python, an input to the program."""

    def __new__(cls, value: float, path: str, getter: Getter) -> _Float:
        self = float.__new__(cls, value)
        self.path, self.getter = path, getter
        return self


class _Int(int):
    """An int that was read from a place, likewise."""

    def __new__(cls, value: int, path: str, getter: Getter) -> _Int:
        self = int.__new__(cls, value)
        self.path, self.getter = path, getter
        return self


_NUMBERS: dict[type, Any] = {float: _Float, int: _Int}


class _Shadow:
    """Stands in for a kernel while its functions are traced."""

    def __getattribute__(self, name: str) -> Any:
        captures = object.__getattribute__(self, "_captures")
        if name == "__class__":
            return type(captures.kernel)
        if name == "__dict__":
            return captures.kernel.__dict__
        return captures.attribute(name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError(f"self.{name} is set inside edge() or node(), which run once a variant and not once a call")
