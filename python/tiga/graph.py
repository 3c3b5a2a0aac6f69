"""Relations: edges src -> dst, checked once, then immutable."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from . import _tiga
from .arrays import index_array

__all__ = ["Graph"]

Validate = Literal["basic", "full"]


class Graph:
    """Edges from sources to destinations. Made by `from_csr`, `from_coo`, `from_edge_index`, `from_scipy`,
    `regular` and `cat`; immutable, picklable, equal by value.

    An edge field has a row for each edge in the order in which the graph was given: the order of col_idx, of
    src and dst, of A.data. Indices are copied and checked in full at construction, so later writes to the arrays given cannot
    reach a kernel."""

    __slots__ = ("__weakref__", "_handle", "_rows", "_transposed", "num_dst", "num_edges", "num_src")

    num_src: int
    num_dst: int
    num_edges: int
    _handle: Any
    _rows: tuple[tuple[int, ...], ...]  # the leading axes of an array, by role
    _transposed: Graph | weakref.ref[Graph] | None  # of the two, the one that was there first holds the other

    def __init__(self) -> None:
        raise TypeError("make a graph by Graph.from_csr, from_coo, from_edge_index, from_scipy or regular")

    @classmethod
    def _wrap(cls, handle: Any) -> Graph:
        self = object.__new__(cls)
        num_src, num_dst, num_edges = handle.counts()
        for name, value in (
            ("_handle", handle),
            ("_rows", ((), (num_src,), (num_dst,), (num_edges,), (num_dst,))),
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

    @classmethod
    def from_scipy(cls, A: Any, *, validate: Validate = "basic") -> Graph:
        """A scipy.sparse matrix or array: its entry A[i, j] is an edge j -> i, explicit zeros and duplicates
        included. Of a CSR, CSC or COO edge e is the e-th stored entry, so that A.data is an edge field; other
        formats go by A.tocoo()."""
        if not hasattr(A, "tocoo") or not hasattr(A, "format"):
            raise TypeError(f"A: {type(A).__name__} given; a scipy.sparse matrix or array is expected")
        if len(A.shape) != 2:
            raise ValueError(f"A: shape {A.shape} given; expected [num_dst, num_src]")
        num_dst, num_src = A.shape
        if A.format == "csr":
            return cls.from_csr(A.indptr, A.indices, num_src=num_src, validate=validate)
        if A.format == "csc":
            src = np.repeat(np.arange(num_src), np.diff(A.indptr))
            return cls.from_coo(src, A.indices, num_src=num_src, num_dst=num_dst, validate=validate)
        A = A.tocoo()
        return cls.from_coo(A.col, A.row, num_src=num_src, num_dst=num_dst, validate=validate)

    @classmethod
    def cat(cls, graphs: Iterable[Graph]) -> Graph:
        """One graph of several side by side: nodes and edges of each come after those of the ones before, so
        fields of the result are the graphs' fields one after the other."""
        graphs = tuple(graphs)
        for k, graph in enumerate(graphs):
            if not isinstance(graph, Graph):
                raise TypeError(f"graphs[{k}]: {type(graph).__name__} given; a tg.Graph is expected")
        return cls._wrap(_tiga.graph_cat(tuple(graph._handle for graph in graphs)))

    @property
    def device(self) -> str:
        """Where the graph is: "cpu"."""
        return "cpu"

    @property
    def findings(self) -> tuple[str, ...]:
        """What validate="full" found: duplicates, self loops, unsorted rows, each with how many and which is
        the first."""
        return tuple(self._handle.findings().splitlines())

    @property
    def has_self_loops(self) -> bool:
        """True where an edge goes from a node to itself; False where num_src and num_dst differ."""
        return self._handle.self_loops() > 0

    def in_degree(self) -> np.ndarray:
        """The number of edges at each destination, int64."""
        return self._degrees()[0]

    def out_degree(self) -> np.ndarray:
        """The number of edges at each source, int64."""
        return self._degrees()[1]

    def _degrees(self) -> tuple[np.ndarray, np.ndarray]:
        into, out = np.empty(self.num_dst, np.int64), np.empty(self.num_src, np.int64)
        self._handle.degrees(into, out)
        return into, out

    def transpose(self) -> Graph:
        """The same edges, with the same numbers and their ends swapped: edge fields stay as they are."""
        known = self._transposed
        if isinstance(known, weakref.ref):
            known = known()
        if known is None:
            known = Graph._wrap(self._handle.transpose())
            object.__setattr__(known, "_transposed", weakref.ref(self))
            object.__setattr__(self, "_transposed", known)
        return known

    def add_self_loops(self) -> Graph:
        """One more edge i -> i for each node i, whether it has one or not, after the edges there are: an edge
        field gets num_dst rows more."""
        return Graph._wrap(self._handle.add_self_loops())

    def sorted(self) -> Graph:
        """The same edges numbered by destination, then source (equal ones as they were): an edge field w becomes
        w[graph.argsort()]."""
        return Graph._wrap(self._handle.sorted())

    def argsort(self) -> np.ndarray:
        """The numbers that the edges of `sorted()` have in this graph, int64."""
        order = np.empty(self.num_edges, np.int64)
        self._handle.order(order)
        return order

    def to_coo(self) -> tuple[np.ndarray, np.ndarray]:
        """(src, dst) in the caller's order, as new int64 arrays."""
        src, dst = np.empty(self.num_edges, np.int64), np.empty(self.num_edges, np.int64)
        self._handle.edges(src, dst)
        return src, dst

    def to_csr(self, *, edge_ids: bool = False) -> tuple[np.ndarray, ...]:
        """(row_ptr, col_idx) as new int64 arrays: the rows as they are folded, each in the order in which its
        edges were given. With edge_ids a third one, `edge`: col_idx[p] belongs to edge number edge[p], and w[edge]
        is the edge field w for Graph.from_csr(row_ptr, col_idx)."""
        row_ptr = np.empty(self.num_dst + 1, np.int64)
        col_idx, edges = np.empty(self.num_edges, np.int64), np.empty(self.num_edges, np.int64)
        self._handle.rows(row_ptr, col_idx, edges)
        return (row_ptr, col_idx, edges) if edge_ids else (row_ptr, col_idx)

    def to_scipy(self, data: Any = None) -> Any:
        """A scipy.sparse.coo_array of shape (num_dst, num_src), the entries in the caller's order, duplicates
        beside each other: data holds one number an edge, or they are all 1.0."""
        from scipy.sparse import coo_array

        src, dst = self.to_coo()
        data = np.ones(self.num_edges) if data is None else np.asarray(data)
        if data.shape != (self.num_edges,):
            raise ValueError(f"data has shape {data.shape}, but the graph has {self.num_edges} edges")
        return coo_array((data, (dst, src)), shape=(self.num_dst, self.num_src))

    def explain(self) -> str:
        """What is known of the graph and how it lies in memory: a line each, "name: value"."""
        return self._handle.explain()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Graph is immutable: {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self is other or self._handle.equal(other._handle)

    def __hash__(self) -> int:
        return hash((Graph, self.num_src, self.num_dst, self.num_edges))

    def __reduce__(self) -> Any:
        return _rebuild, (*self.to_coo(), self.num_src, self.num_dst, "full" if self.findings else "basic")

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: Any) -> Graph:
        return self

    def __repr__(self) -> str:
        return f"Graph(num_src={self.num_src}, num_dst={self.num_dst}, num_edges={self.num_edges})"


def _rebuild(src: np.ndarray, dst: np.ndarray, num_src: int, num_dst: int, validate: Validate) -> Graph:
    return Graph.from_coo(src, dst, num_src=num_src, num_dst=num_dst, validate=validate)


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
