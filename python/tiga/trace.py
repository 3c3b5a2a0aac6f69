"""One capture of a kernel: its functions run once on staged values, and a program results.

A Trace says where each input of its program comes from: an argument of the call (by position), or a
place that a function reads (by getter)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import arrays, reducers
from .capture import Captures
from .errors import did_you_mean
from .multi import keys_of, map_values
from .programs import ALL, Program, program_of
from .staged import IntParam, Value

RESULT = "out"
_OWN = {"self", "src", "dst", "edge", "aggregate"}  # parameters of edge() and node() that are no params


class Arguments:
    """The arguments of one call, flat: "src.x", "edge.w", ... and params by their own names."""

    __slots__ = ("homogeneous", "names", "num_fields", "values")

    def __init__(self, ndata: Any, src: Any, dst: Any, edge: Any, params: dict[str, Any]) -> None:
        names: list[str] = []
        values: list[Any] = []
        for role, fields in (("node.", ndata), ("src.", src), ("dst.", dst), ("edge.", edge)):
            if fields:
                for name, value in fields.items():
                    names.append(role + name)
                    values.append(value)
        self.homogeneous = ndata is not None
        self.num_fields = len(names)
        if params:
            names.extend(params)
            values.extend(params.values())
        self.names = names
        self.values = arrays.described(values)

    def key(self) -> Any:
        """Equal for calls that one trace may serve."""
        n = self.num_fields
        return self.homogeneous, n, tuple(self.names), arrays.signatures(self.values, n)

    def refuse_unhashable(self) -> None:
        """Says which argument is neither an array nor something that a variant can be keyed by."""
        for k, (name, value) in enumerate(zip(self.names, self.values)):
            if arrays.kind_of(value) == arrays.STATIC and not _is_hashable(value):
                if k < self.num_fields:
                    arrays.check(name, value, "field")
                raise TypeError(f"param {name}: {type(value).__name__} is neither an array nor hashable (use a tuple)")

    def role(self, role: str) -> list[str]:
        """Names of the fields of a role."""
        return [n[len(role) + 1 :] for n in self.names[: self.num_fields] if n.startswith(role + ".")]

    def framework(self, held: Iterable[Any] = ()) -> str:
        """Whose arrays come out: torch's if any is torch's, then tg.Tensor, else NumPy's. held: what the kernel
        itself holds."""
        kinds = set(map(arrays.kind_of, (*self.values, *held)))
        if {arrays.TORCH, arrays.TIGA} <= kinds:
            raise TypeError("torch tensors beside tg.Tensor: give one kind (tg.from_torch, or x.to_torch())")
        return next((k for k in (arrays.TORCH, arrays.TIGA) if k in kinds), arrays.NUMPY)

    def has_numbers(self, held: Iterable[Any] = ()) -> bool:
        """Whether some value is a number, Python's or NumPy's."""
        return not {arrays.FLOAT, arrays.INT}.isdisjoint(map(arrays.kind_of, (*self.values, *held)))


class Fields:
    """src, dst or edge while a function is traced: the fields passed at the call, staged."""

    __role: str  # by names that no field has
    __names: Sequence[str]
    __stage: Any  # the staged value of a field, by name

    def __init__(self, role: str, names: Sequence[str], stage: Callable[[str], Value]) -> None:
        vars(self).update(_Fields__role=role, _Fields__names=names, _Fields__stage=stage)

    def __getattr__(self, name: str) -> Value:
        if name in self.__names:
            return self.__stage(name)
        passed = ", ".join(self.__names) or "nothing"
        raise AttributeError(
            f"{self.__role}.{name} is used, but not passed (passed as {self.__role} fields: {passed})"
            + did_you_mean(name, self.__names)
        )

    def __getitem__(self, name: str) -> Value:
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError(f"{self.__role}.{name} cannot be set: fields are what the call passes")

    def __contains__(self, name: object) -> bool:
        return name in self.__names

    def __dir__(self) -> list[str]:
        return list(self.__names)


class Trace:
    """A program, the source of each of its inputs, and the guards under which it holds. numbers: whether some
    input is one, which may be NumPy's. keys name its results in a dict; without keys the one result stands alone."""

    def __init__(
        self,
        program: Program,
        framework: str,
        sources: list[Any],
        guards: list[Any],
        numbers: bool,
        keys: Sequence[str] | None = None,
    ) -> None:
        self.program = program
        self.framework = framework
        self.keys = keys
        self._sources = sources
        self._guards = guards
        self._numbers = numbers

    def holds(self, kernel: Any, values: list[Any]) -> bool:
        """False where something that the functions read has changed."""
        try:
            return all(test(getter(kernel, values)) for getter, test in self._guards)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):  # what was read is no longer there
            return False

    def arrays(self, kernel: Any, values: list[Any]) -> tuple[Any, ...]:
        """The program's inputs, in order."""
        given = tuple([values[s] if type(s) is int else s(kernel) for s in self._sources])
        return tuple(map(arrays.plain, given)) if self._numbers else given


class Tracer:
    """Runs a kernel's functions on staged values, once."""

    def __init__(self, kernel: Any, arguments: Arguments, reducer: reducers.Reducer) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.reducer = reducer
        self.captures = Captures(kernel, arguments.homogeneous)
        self.stage = self.captures.stage
        self._position = {n: k for k, n in enumerate(arguments.names)}
        self._fixed: set[str] = set()  # int params whose value was needed
        self._params = {n: self._param(n) for n in arguments.names[arguments.num_fields :]}

    # ---- what the functions are given ----

    def _value(self, name: str) -> Any:
        return self.arguments.values[self._position[name]]

    def _param(self, name: str) -> Any:
        value = self._value(name)
        kind = arrays.kind_of(value)
        if kind == arrays.FLOAT:
            return Value(self.stage, self.stage.builder.scalar(name, False))
        if kind == arrays.INT:
            scalar = self.stage.builder.scalar(name, True)
            return IntParam(self.stage, scalar, int(value), lambda: self._fixed.add(name))
        return value if kind == arrays.STATIC else self.stage.input(name, value, 0)

    def _field(self, role: str, name: str) -> Value:
        """A field where it lives."""
        full = f"{role}.{name}"
        return self.stage.input(full, self._value(full), 1)

    def _fields(self, role: str, at: str | None) -> Fields:
        """A namespace; at names the end of the edges at which node fields are taken."""
        held = "node" if self.arguments.homogeneous and role != "edge" else role

        def stage(name: str) -> Value:
            v = self._field(held, name)
            return self.stage.call(getattr(self.stage.builder, at)(v._id), f"{role}.{name}") if at else v

        return Fields(role, self.arguments.role(held), stage)

    def _call(self, name: str, *given: Any) -> Any:
        """One of the kernel's functions, rebuilt, with the params that it takes."""
        bound = self.captures.attribute(name)
        accepted = _accepted(bound)
        params = {n: v for n, v in self._params.items() if accepted is None or n in accepted}
        return bound(*given, **params)

    # ---- the trace ----

    def run(self) -> Trace:
        self._check_names()
        message = self._call(
            "edge", self._fields("src", "at_src"), self._fields("dst", "at_dst"), self._fields("edge", None)
        )
        aggregate = map_values(self._reduce, self._reducer_call(message))
        result = aggregate
        if has_node(self.kernel):
            result = self._call("node", self._fields("dst", None), aggregate)
        keys = keys_of(result)
        for key in keys or [None]:
            name = self._result_name(key or RESULT)
            self.stage.builder.out(name, (result[key] if key else self._on_nodes(result))._id)
        return self._finish(program_of(self.stage.builder), keys)

    def _check_names(self) -> None:
        for name in self.arguments.names:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ValueError(f"field or param {name!r}: a name is a Python identifier")
        taken = [_accepted(getattr(self.kernel, f)) for f in ("edge", "node") if f == "edge" or has_node(self.kernel)]
        unknown = [n for n in self._params if all(t is not None and n not in t for t in taken)]
        if unknown:
            known = {n for t in taken if t is not None for n in t} - _OWN
            raise TypeError(
                f"{', '.join(unknown)}: neither edge() nor node() takes a param of this name"
                + did_you_mean(unknown[0], sorted(known))
            )

    def _result_name(self, name: str) -> str:
        while name in self._position or name in self.captures.hidden:
            name += "_"
        return name

    def _reduce(self, call: reducers.ReducerCall) -> Value:
        if getattr(call.reducer, "block_prune_threshold", None) is not None:
            raise NotImplementedError(
                "block_prune_threshold needs a relation with a streaming kernel; this one has none"
            )
        given = self.stage.widened(tuple(map(self.stage.lift, call.messages)))
        messages = [Value(self.stage, v) for v in given]
        wide = getattr(call.reducer, "accumulation_dtype", None)
        narrow = messages[-1].dtype
        if wide is not None:
            messages = [m.to(wide) for m in messages]
        native = call.reducer._native(len(messages), tuple(m.dtype.code for m in messages))
        v = Value(self.stage, self.stage.builder.reduce(native, tuple(m._id for m in messages)))
        return v if wide is None or v.dtype is narrow else v.to(narrow)

    def _reducer_call(self, message: Any) -> reducers.ReducerCall:
        if message is None:
            raise TypeError("edge() returns None, expected a message (is a return missing?)")
        if isinstance(message, reducers.ReducerCall):
            return message
        if isinstance(message, (tuple, list)):
            raise TypeError(f"edge() returns {len(message)} values; pack them: return self.reducer(...)")
        return self.reducer(message)

    def _on_nodes(self, result: Any) -> Value:
        """What node() returned; of a param or a number, every node's."""
        if result is None:
            raise TypeError("node() returns None, expected a value (is a return missing?)")
        v = Value(self.stage, self.stage.lift(result))
        if v._type()[1] != ALL:
            return v
        degree = Value(self.stage, self.stage.builder.reduce(reducers.sum()._native(1, ()), (self.stage.lift(1),)))
        return self.stage.apply("where", (degree == degree, v, degree.to(v.dtype)))

    def _finish(self, program: Program, keys: Sequence[str] | None) -> Trace:
        """Reads off where inputs come from, and the guards."""
        hidden = self.captures.hidden
        sources = [hidden.get(e.name) or self._position[e.name] for e in program.inputs]
        held = [getter(self.kernel) for getter in hidden.values()]
        guards = [(_of_kernel(g), test) for g, test in self.captures.guards()]
        guards += [(_of_argument(self._position[n]), _equals(self._value(n))) for n in sorted(self._fixed)]
        framework, numbers = self.arguments.framework(held), self.arguments.has_numbers(held)
        return Trace(program, framework, sources, guards, numbers, keys)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _of_kernel(getter: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda kernel, values: getter(kernel)


def _of_argument(k: int) -> Callable[[Any, Any], Any]:
    return lambda kernel, values: values[k]


def _equals(value: Any) -> Callable[[Any], bool]:
    return lambda now: now == value


def has_node(kernel: Any) -> bool:
    """False where node is the base class's, which returns the aggregate."""
    return not getattr(kernel.node, "_tiga_default", False)


def _accepted(function: Any) -> set[str] | None:
    """Names of the params that a function takes; None where it takes any."""
    kinds = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in kinds):
        return None
    return {p.name for p in kinds if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
