"""Relations: edges src -> dst, checked once, then immutable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from . import _tiga
from .arrays import index_array

__all__ = ["Graph"]

Validate = Literal["basic", "full"]


class Graph:
    """Edges from sources to destinations, in the caller's order. Made by `from_csr`, `from_coo`,
    `from_edge_index` and `regular`; immutable, picklable, equal by value.

    Indices are copied and checked in full at construction, so later writes to the arrays given cannot
    reach a kernel."""

    __slots__ = ("__weakref__", "_handle", "_transposed", "num_dst", "num_edges", "num_src")

    num_src: int
    num_dst: int
    num_edges: int
    _handle: Any
    _transposed: Graph | None

    def __init__(self) -> None:
        raise TypeError("make a graph by Graph.from_csr, from_coo, from_edge_index or regular")

    @classmethod
    def _wrap(cls, handle: Any) -> Graph:
        self = object.__new__(cls)
        num_src, num_dst, num_edges = handle.counts()
        for name, value in (
            ("_handle", handle),
            ("_transposed", None),
            ("num_src", num_src),
            ("num_dst", num_dst),
            ("num_edges", num_edges),
        ):
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def from_csr(cls, row_ptr: Any, col_idx: Any, *, num_src: int | None = None, validate: Validate = "basic") -> Graph:
        """Row i, col_idx[row_ptr[i]:row_ptr[i + 1]], holds the sources of destination i."""
        full = _is_full(validate)
        return cls._wrap(
            _tiga.graph_from_csr(
                index_array(row_ptr, "row_ptr"), index_array(col_idx, "col_idx"), _count(num_src, "num_src"), full
            )
        )

    @classmethod
    def from_coo(
        cls, src: Any, dst: Any, *, num_src: int | None = None, num_dst: int | None = None, validate: Validate = "basic"
    ) -> Graph:
        """Edge e goes from src[e] to dst[e]; the counts default to the largest index + 1."""
        full = _is_full(validate)
        src, dst = index_array(src, "src"), index_array(dst, "dst")
        if src.shape != dst.shape:
            raise ValueError(f"src has shape {tuple(src.shape)}, but dst has shape {tuple(dst.shape)}")
        return cls._wrap(_tiga.graph_from_coo(src, dst, _count(num_src, "num_src"), _count(num_dst, "num_dst"), full))

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Any,
        *,
        num_nodes: int | None = None,
        size: Sequence[int | None] | None = None,
        validate: Validate = "basic",
    ) -> Graph:
        """An array [2, E]: sources, then destinations. num_nodes for one node set (default: the largest
        index + 1), size=(num_src, num_dst) for two."""
        full = _is_full(validate)
        pair = index_array(edge_index, "edge_index", rank=2)
        if pair.shape[0] != 2:
            hint = " (transposed?)" if pair.shape[1] == 2 else ""
            raise ValueError(f"edge_index has shape {tuple(pair.shape)}, expected [2, E]{hint}")
        num_src, num_dst = _sizes(pair, num_nodes, size)
        return cls._wrap(_tiga.graph_from_edge_index(pair, num_src, num_dst, full))

    @classmethod
    def regular(cls, num_nodes: int, degree: int, *, device: Any = "cpu") -> Graph:
        """Destination i gathers from (i * degree + k) mod num_nodes for k in range(degree)."""
        if str(device).partition(":")[0] != "cpu":
            raise TypeError(f"device {device}: graphs are on cpu")
        return cls._wrap(_tiga.graph_regular(num_nodes, degree))

    @property
    def device(self) -> str:
        """Where the graph is: "cpu"."""
        return "cpu"

    @property
    def findings(self) -> tuple[str, ...]:
        """What validate="full" found: duplicates, self loops, unsorted rows."""
        return tuple(self._handle.findings().splitlines())

    def transpose(self) -> Graph:
        """The same edges, with the same numbers and their ends swapped."""
        known = self._transposed
        if known is None:
            known = Graph._wrap(self._handle.transpose())
            object.__setattr__(self, "_transposed", known)
        return known

    def to_coo(self) -> tuple[np.ndarray, np.ndarray]:
        """(src, dst) in the caller's order, as new int64 arrays."""
        src, dst = np.empty(self.num_edges, np.int64), np.empty(self.num_edges, np.int64)
        self._handle.edges(src, dst)
        return src, dst

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Graph is immutable: {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self is other or self._handle.equal(other._handle)

    def __hash__(self) -> int:
        return hash((Graph, self.num_src, self.num_dst, self.num_edges))

    def __reduce__(self) -> Any:
        return _rebuild, (*self.to_coo(), self.num_src, self.num_dst)

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: Any) -> Graph:
        return self

    def __repr__(self) -> str:
        return f"Graph(num_src={self.num_src}, num_dst={self.num_dst}, num_edges={self.num_edges})"


def _rebuild(src: np.ndarray, dst: np.ndarray, num_src: int, num_dst: int) -> Graph:
    return Graph.from_coo(src, dst, num_src=num_src, num_dst=num_dst)


def _is_full(validate: str) -> bool:
    if validate not in ("basic", "full"):
        raise ValueError(f'validate is {validate!r}, expected "basic" or "full"')
    return validate == "full"


def _count(n: int | None, name: str) -> int:
    """-1 lets the core take it from the indices."""
    if n is None:
        return -1
    if n < 0:
        raise ValueError(f"{name} is {n}, but a number of nodes is 0 or more")
    return n


def _sizes(pair: Any, num_nodes: int | None, size: Sequence[int | None] | None) -> tuple[int, int]:
    if size is not None:
        if num_nodes is not None:
            raise TypeError("give num_nodes (one node set) or size=(num_src, num_dst), not both")
        return _count(size[0], "size[0]"), _count(size[1], "size[1]")
    if num_nodes is None:
        num_nodes = int(pair.max()) + 1 if 0 not in pair.shape else 0
    return _count(num_nodes, "num_nodes"), num_nodes
