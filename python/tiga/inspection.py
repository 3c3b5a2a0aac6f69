"""What a kernel object did: its variants, the cache, the IR and the code, findings and schedules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import arrays
from .graph import Graph
from .programs import nbytes

__all__ = ["AnalysisFinding", "CacheInfo", "Cost", "MachineSchedule", "Variant"]


@dataclass(frozen=True)
class CacheInfo:
    """Calls of this object that found their variant, and those that were its first of one."""

    hits: int
    misses: int


@dataclass(frozen=True)
class AnalysisFinding:
    """What a stage found out: disposition is "accepted", "remark", "unknown" or "refused"."""

    stage: str
    disposition: str
    message: str


@dataclass(frozen=True)
class MachineSchedule:
    """How one kernel of a variant runs."""

    operation: str
    kind: str
    resources: Mapping[str, Any] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cost:
    """Exact counts of a call on a graph."""

    traversals: int
    edge_visits: int
    flops: int
    bytes_read: int
    bytes_written: int
    staging_bytes: int
    edge_buffer_bytes: int
    node_buffer_bytes: int
    residual_bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, f) + getattr(other, f) for f in Cost.__dataclass_fields__))


class Artifacts(Mapping[str, str]):
    """Texts of a variant by kind, made when asked for."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __getitem__(self, kind: str) -> str:
        return text(self._handle, kind)

    def __iter__(self) -> Any:
        return iter(STAGES + KINDS)

    def __len__(self) -> int:
        return len(STAGES + KINDS)


@dataclass(frozen=True)
class Variant:
    """One compiled form of a kernel: for these inputs and results (name, role, dtype, feature shape)."""

    inputs: tuple[Any, ...]
    results: tuple[Any, ...]
    artifacts: Mapping[str, str]


STAGES = ("domain", "iter", "kernel", "task")
KINDS = ("llvm", "llvm-opt", "asm")


def text(handle: Any, what: str) -> str:
    """The IR at a stage, or code of a kind; KeyError lists what there is."""
    if what in STAGES:
        return handle.ir(what)
    if what in KINDS:
        return handle.code(what)
    raise KeyError(f"{what!r}: IR stages are {', '.join(STAGES)}; kinds of code are {', '.join(KINDS)}")


_MOST_VARIANTS = 256  # shown: the newest, where a number that is read changes with every call


class Record:
    """What one kernel object has run. Copies and pickles of the object start anew."""

    def __init__(self, owner: int = 0) -> None:
        self.owner = owner  # id of the object: a shallow copy takes the record along
        self.hits = 0
        self.misses = 0
        self.traces: dict[int, Any] = {}
        self.last: Any = None

    def count(self, trace: Any) -> None:
        """Notes that the object runs trace."""
        self.last = trace
        if id(trace) in self.traces:
            self.hits += 1
        else:
            self.misses += 1
            self.traces[id(trace)] = trace
            if len(self.traces) > _MOST_VARIANTS:
                del self.traces[next(iter(self.traces))]

    def __reduce__(self) -> Any:
        return Record, ()

    def __deepcopy__(self, memo: Any) -> Record:
        return Record()


class Inspectable:
    """A kernel object that can say what it did."""

    def _record(self) -> Record:
        record = self.__dict__.get("_tiga_record")
        if record is None or record.owner != id(self):
            record = self.__dict__["_tiga_record"] = Record(id(self))
        return record

    def _last(self) -> Any:
        if self._record().last is None:
            raise RuntimeError(f"{type(self).__name__} has not been called yet: there is nothing to show")
        return self._record().last

    def explain(self) -> str:
        """What the last call ran and why, a line each; the last line counts this object's variants."""
        lines = self._last().program.handle.explain().splitlines()
        record = self._record()
        kept = [line for line in lines if not line.startswith("variant cache:")]
        if self._last().framework == arrays.TIGA:
            kept.append("remark: [tensors] deferred; runs by itself, after the expressions of its operands")
        return "\n".join([*kept, f"variant cache: hits={record.hits}, misses={record.misses}"])

    def ir(self, stage: str) -> str:
        """The IR of the last call at a stage: "domain", "iter", "kernel" or "task"."""
        return _one_of(self._last().program.handle, stage, STAGES, "IR stages")

    def code(self, kind: str) -> str:
        """The code of the last call's kernels: "llvm", "llvm-opt" or "asm"."""
        return _one_of(self._last().program.handle, kind, KINDS, "kinds of code")

    @property
    def cache_info(self) -> CacheInfo:
        """Hits and misses of this object's variants."""
        return CacheInfo(self._record().hits, self._record().misses)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Every variant that this object ran."""
        return tuple(map(_variant, self._record().traces.values()))

    @property
    def last_variant(self) -> Variant:
        """The variant of the last call."""
        return _variant(self._last())

    @property
    def diagnostics(self) -> tuple[AnalysisFinding, ...]:
        """The findings of explain(), as records."""
        found = re.findall(r"^([\w-]+): \[([\w-]+)\] (.*)$", self.explain(), re.MULTILINE)
        return tuple(AnalysisFinding(stage, disposition, message) for disposition, stage, message in found)

    @property
    def schedules(self) -> tuple[MachineSchedule, ...]:
        """How each kernel of the last call runs."""
        return schedules(self.ir("kernel"))

    def cost(self, graph: Graph, direction: str = "forward") -> Cost:
        """Counts of the last call's variant on a graph: direction "forward", "backward" or "both"."""
        if direction not in ("forward", "backward", "both"):
            raise ValueError(f'direction is {direction!r}, expected "forward", "backward" or "both"')
        program = self._last().program
        if direction == "forward":
            return Cost(*program.handle.cost(graph._handle))
        halves = program.halves(program.differentiable())
        cost = Cost(*halves.backward.handle.cost(graph._handle), sum(nbytes(graph, e) for e in halves.residuals))
        return cost if direction == "backward" else cost + Cost(*halves.forward.handle.cost(graph._handle))


def _one_of(handle: Any, what: str, known: tuple[str, ...], named: str) -> str:
    if what not in known:
        raise KeyError(f"{what!r}: {named} are {', '.join(known)}")
    return text(handle, what)


def _variant(trace: Any) -> Variant:
    return Variant(trace.program.inputs, trace.program.results, Artifacts(trace.program.handle))


_TRAVERSE = re.compile(r'"gf_iter.traverse"\([^)]*\) <\{(.*?)\}> \(\{(.*?)\n\s*\}\)', re.DOTALL)


def schedules(kernel_ir: str) -> tuple[MachineSchedule, ...]:
    """The schedules that IR at stage "kernel" shows: one for each traversal."""
    return tuple(_schedule(*m.groups()) for m in _TRAVERSE.finditer(kernel_ir))


def _schedule(attributes: str, body: str) -> MachineSchedule:
    found = re.search(r"map = @(\w+)::@(\w+)", attributes)
    phases = re.search(r"phases = array<i64: ([\d, ]*)>", attributes)
    return MachineSchedule(
        operation=f"traverse {found[1]} by {found[2]}" if found else "rows",
        kind=_words("name", attributes)[0],
        resources={"phases": 1 + max(map(int, phases[1].split(",")), default=0) if phases else 1},
        roles=tuple(_words("inputs", attributes) + _words("results", attributes)),
        instructions=tuple(re.findall(r'"(gf_\w+\.\w+)"', body)),
    )


def _words(key: str, attributes: str) -> list[str]:
    """Texts of an attribute: name = "narrow", inputs = ["src.x", "edge.w"]."""
    found = re.search(rf"(?<!\w){key} = (\[.*?\]|\"[^\"]*\")", attributes)
    return re.findall(r'"([^"]*)"', found[1]) if found else []
