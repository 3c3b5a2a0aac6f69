"""What is refused, by which exception, and what the message says: one row each."""

import numpy as np
import pytest
import tiga as tg
from tiga import later

torch = pytest.importorskip("torch")

ONES = np.ones(3, np.float32)
RING = tg.Graph.from_coo([0, 1, 2], [1, 2, 0])
BIPARTITE = tg.Graph.from_coo([0, 1], [3, 1], num_src=2, num_dst=4)


def make(edge_function=None, reducer=None, node_function=None):
    class Kernel(tg.MessagePassing):
        edge = edge_function or (lambda self, src, dst, edge: src.x)

    if reducer is not None:
        Kernel.reducer = reducer
    if node_function is not None:
        Kernel.node = node_function
    return Kernel()


def call(edge_function, graph=RING, src=None, **kwargs):
    return make(edge_function)(graph=graph, src={"x": ONES} if src is None else src, **kwargs)


def staged(function):
    """A call whose edge() applies function to a value of shape (edges, 3)."""
    return lambda: make(lambda self, src, dst, edge: function(src.x))(
        graph=RING, src={"x": np.ones((3, 3), np.float32)}
    )


CSR, COO, PAIR = tg.Graph.from_csr, tg.Graph.from_coo, tg.Graph.from_edge_index
i64 = np.int64

GRAPHS = [
    ("rank of row_ptr", lambda: CSR(np.zeros((2, 2), i64), [0]), TypeError, ["row_ptr", "rank 2", "int32 or int64"]),
    ("dtype of row_ptr", lambda: CSR([0.0, 1.0], [0]), TypeError, ["row_ptr", "float64", "int32 or int64"]),
    (
        "dtype of col_idx",
        lambda: CSR([0, 1], torch.tensor([0], dtype=torch.int16)),
        TypeError,
        ["col_idx", "int16", "int32 or int64"],
    ),
    ("rank of col_idx", lambda: CSR([0, 1], [[0]]), TypeError, ["col_idx", "rank 2", "int32 or int64"]),
    ("bool indices", lambda: COO(np.array([True]), [0]), TypeError, ["src", "bool", "int32 or int64"]),
    (
        "byte-swapped indices",
        lambda: COO(np.array([0], ">i4"), [0]),
        TypeError,
        ["src", "byte-swapped", "int32 or int64"],
    ),
    ("row_ptr empty", lambda: CSR([], []), ValueError, ["row_ptr"]),
    ("row_ptr not from 0", lambda: CSR([1, 2], [0, 0]), ValueError, ["row_ptr", "1", "0"]),
    ("row_ptr falling", lambda: CSR([0, 3, 1], [0, 0, 0]), ValueError, ["row_ptr", "3", "1", "2"]),
    ("row_ptr short", lambda: CSR([0, 1], [0, 0]), ValueError, ["row_ptr", "1", "2"]),
    ("column too large", lambda: CSR([0, 2], [0, 5], num_src=3), ValueError, ["col_idx", "1", "5", "3"]),
    ("column negative", lambda: CSR([0, 2], [0, -1], num_src=7), ValueError, ["col_idx", "1", "-1", "7"]),
    ("edge 0->5 of 3", lambda: COO([0], [5], num_src=3, num_dst=3), ValueError, ["dst", "0", "5", "3"]),
    ("edge -1->0", lambda: COO([-1], [0], num_src=3, num_dst=3), ValueError, ["src", "0", "-1", "3"]),
    ("source 4 of 3", lambda: COO([0, 4], [0, 1], num_src=3, num_dst=9), ValueError, ["src", "1", "4", "3"]),
    ("lengths", lambda: COO([0, 1], [0]), ValueError, ["(2,)", "(1,)"]),
    ("[E, 2]", lambda: PAIR(np.zeros((5, 2), i64)), ValueError, ["(5, 2)", "[2, E]", "transposed?"]),
    ("[3, E]", lambda: PAIR(np.zeros((3, 5), i64)), ValueError, ["(3, 5)", "[2, E]"]),
    ("rank of edge_index", lambda: PAIR(np.zeros(4, i64)), TypeError, ["edge_index", "rank 1", "int32 or int64"]),
    (
        "num_nodes and size",
        lambda: PAIR(np.zeros((2, 1), i64), num_nodes=1, size=(1, 1)),
        TypeError,
        ["num_nodes", "size"],
    ),
    ("negative count", lambda: COO([], [], num_src=-2), ValueError, ["num_src", "-2"]),
    ("validate", lambda: CSR([0], [], validate="all"), ValueError, ["validate", "basic", "full"]),
    ("device of regular", lambda: tg.Graph.regular(3, 1, device="cuda"), TypeError, ["cuda", "cpu"]),
    ("constructor", lambda: tg.Graph(), TypeError, ["from_csr"]),
    (
        "meta indices",
        lambda: COO(torch.zeros(1, dtype=torch.int64, device="meta"), [0]),
        TypeError,
        ["src", "meta", "cpu"],
    ),
]

CALLS = [
    (
        "rows of a src field",
        lambda: call(None, src={"x": np.ones(4, np.float32)}),
        ValueError,
        ["src field 'x'", "4 rows", "3 sources"],
    ),
    (
        "rows of an edge field",
        lambda: make(lambda self, src, dst, edge: edge.w)(graph=RING, edge={"w": np.ones(5)}),
        ValueError,
        ["edge field 'w'", "5 rows", "3 edges"],
    ),
    (
        "rows of a dst field",
        lambda: make(lambda self, src, dst, edge: dst.y)(graph=BIPARTITE, dst={"y": np.ones(2)}),
        ValueError,
        ["dst field 'y'", "2 rows", "4 destinations"],
    ),
    (
        "rows of ndata",
        lambda: make()(graph=RING, ndata={"x": np.ones(2)}),
        ValueError,
        ["node field 'x'", "2 rows", "3 nodes"],
    ),
    ("no rows at all", lambda: call(None, src={"x": np.array(1, np.float32)}), ValueError, ["src.x", "one row"]),
    (
        "field not passed",
        lambda: call(lambda self, src, dst, edge: src.y),
        AttributeError,
        ["src.y", "not passed", "x"],
    ),
    (
        "field misspelt",
        lambda: make(lambda self, src, dst, edge: edge.weight)(graph=RING, edge={"wieght": ONES}),
        AttributeError,
        ["edge.weight", "wieght", "did you mean 'wieght'?"],
    ),
    (
        "param misspelt",
        lambda: call(lambda self, src, dst, edge, scale: src.x, scael=2.0),
        TypeError,
        ["scael", "did you mean 'scale'?"],
    ),
    (
        "shapes of a node field at both ends",
        lambda: make(lambda self, src, dst, edge: src.x * dst.y)(
            graph=RING, ndata={"x": np.ones((3, 2), "f"), "y": np.ones((3, 5), "f")}
        ),
        ValueError,
        ["src.x", "(2,)", "dst.y", "(5,)"],
    ),
    (
        "shapes of a choice's branches",
        lambda: make(lambda self, src, dst, edge: tg.where(src.x[:, 0] > 0, src.x, edge.w))(
            graph=RING, src={"x": np.ones((3, 2), "f")}, edge={"w": np.ones((3, 5), "f")}
        ),
        ValueError,
        ["where", "src.x of dtype float32 and shape (2,)", "edge.w of dtype float32 and shape (5,)"],
    ),
    (
        "a formula's field misspelt",
        lambda: tg.formula("out = sum(edge.weight * src.x)")(graph=RING, src={"x": ONES}, edge={"wieght": ONES}),
        AttributeError,
        ["edge.weight", "did you mean 'edge.wieght'?"],
    ),
    (
        "a formula's function misspelt",
        lambda: tg.formula("out = sum(sigmiod(src.x))")(graph=RING, src={"x": ONES}),
        AttributeError,
        ["sigmiod", "did you mean 'sigmoid'?"],
    ),
    ("edge field not passed", lambda: call(lambda self, src, dst, edge: edge.w), AttributeError, ["edge.w", "nothing"]),
    ("kwarg of no UDF", lambda: call(None, dt=0.1, dx=2), TypeError, ["dt", "dx"]),
    ("ndata with src", lambda: make()(graph=RING, ndata={"x": ONES}, src={}), TypeError, ["ndata", "src"]),
    ("ndata with dst", lambda: make()(graph=RING, ndata={"x": ONES}, dst={}), TypeError, ["ndata", "dst"]),
    (
        "ndata, bipartite",
        lambda: make()(graph=BIPARTITE, ndata={"x": ONES}),
        TypeError,
        ["ndata", "2 sources", "4 destinations"],
    ),
    ("positional", lambda: make()(RING, src={"x": ONES}), TypeError, ["keywords", "Graph"]),
    ("no graph", lambda: make()(src={"x": ONES}), TypeError, ["graph"]),
    ("graph of another kind", lambda: make()(graph=3, src={"x": ONES}), TypeError, ["graph", "3", "tg.Graph"]),
    ("a list as field", lambda: call(None, src={"x": [1.0, 2.0, 3.0]}), TypeError, ["src.x", "list", "numpy.ndarray"]),
    (
        "a dict as param",
        lambda: call(lambda self, src, dst, edge, p: src.x, p={}),
        TypeError,
        ["p", "dict", "hashable"],
    ),
    (
        "feature shapes",
        lambda: make(lambda self, src, dst, edge: edge.w * src.x)(
            graph=RING, src={"x": np.ones((3, 2), "f")}, edge={"w": np.ones((3, 5), "f")}
        ),
        ValueError,
        ["mul", "edge values", "(5,)", "(2,)", "edge.w", "src.x"],
    ),
    (
        "float kinds",
        lambda: make(lambda self, src, dst, edge: edge.w * src.x)(
            graph=RING, src={"x": np.ones(3, "f")}, edge={"w": np.ones(3, "d")}
        ),
        TypeError,
        ["float32", "float64", "edge.w", "src.x"],
    ),
    ("device", lambda: call(None, src={"x": torch.ones(3, device="meta")}), TypeError, ["src.x", "meta", "cpu"]),
    ("sparse", lambda: call(None, src={"x": torch.eye(3).to_sparse()}), TypeError, ["src.x", "sparse", "to_dense"]),
    ("byte-swapped", lambda: call(None, src={"x": np.ones(3, ">f4")}), TypeError, ["src.x", ">f4", "byte-swapped"]),
    ("object dtype", lambda: call(None, src={"x": np.array([1, None, 2])}), TypeError, ["src.x", "object"]),
    ("int8", lambda: call(None, src={"x": np.ones(3, np.int8)}), TypeError, ["src.x", "int8"]),
    ("float8", lambda: call(None, src={"x": torch.ones(3).to(torch.float8_e5m2)}), TypeError, ["src.x", "float8_e5m2"]),
    ("complex", lambda: call(None, src={"x": np.ones(3, np.complex64)}), NotImplementedError, ["src.x", "complex64"]),
    (
        "torch beside tg.Tensor",
        lambda: make(lambda self, src, dst, edge: src.x * dst.y)(
            graph=RING, src={"x": torch.ones(3)}, dst={"y": tg.from_numpy(ONES)}
        ),
        TypeError,
        ["torch", "tg.Tensor"],
    ),
    ("no edge()", lambda: tg.MessagePassing()(graph=RING), TypeError, ["edge(self, src, dst, edge)"]),
    ("edge() returns None", lambda: call(lambda self, src, dst, edge: None), TypeError, ["None", "return"]),
    (
        "edge() returns a tuple",
        lambda: call(lambda self, src, dst, edge: (src.x, src.x)),
        TypeError,
        ["self.reducer(...)"],
    ),
    (
        "node() returns None",
        lambda: make(None, None, lambda self, dst, aggregate: None)(graph=RING, src={"x": ONES}),
        TypeError,
        ["node()", "None"],
    ),
    ("setting a field", lambda: call(lambda self, src, dst, edge: setattr(src, "x", 1)), TypeError, ["src.x"]),
    (
        "setting an attribute",
        lambda: call(lambda self, src, dst, edge: setattr(self, "y", src.x)),
        TypeError,
        ["self.y"],
    ),
    (
        "a tensor made inside",
        lambda: call(lambda self, src, dst, edge: src.x * torch.rand(1)),
        TypeError,
        ["made inside", "param"],
    ),
    (
        "a name that is none",
        lambda: make(lambda self, src, dst, edge: src["a b"])(graph=RING, src={"a b": ONES}),
        ValueError,
        ["a b"],
    ),
]

STAGED = [
    ("truth value", lambda x: 1 if x > 0 else 2, TypeError, ["truth value", "tg.where"]),
    ("and", lambda x: (x > 0) and (x < 1), TypeError, ["truth value", "&"]),
    ("int()", lambda x: int(x), TypeError, ["int()", "tg.int64"]),
    ("float()", lambda x: float(x), TypeError, ["float()", "tg.float64"]),
    ("iteration", lambda x: list(x), TypeError, ["iteration", "x[:, k]"]),
    ("in", lambda x: 3 in x, TypeError, ["in", "tg.any"]),
    ("len()", lambda x: len(x), TypeError, ["len()", "shape"]),
    ("item assignment", lambda x: x.__setitem__(0, 1), TypeError, ["item assignment", "tg.where"]),
    ("range()", lambda x: range(x), TypeError, ["index", "int param"]),
    ("numpy()", lambda x: x.numpy(), TypeError, ["numpy()"]),
    ("np.asarray", lambda x: np.asarray(x), TypeError, ["array"]),
    ("the number of rows", lambda x: x * x.shape[0], TypeError, ["_Rows"]),
    ("the range of rows", lambda x: range(x.shape[0]), TypeError, ["number of rows", "-1"]),
    ("axis 0 sliced", lambda x: x[1:2], ValueError, ["slice", "axis 0"]),
    ("unknown attribute", lambda x: x.nonsense, AttributeError, ["nonsense"]),
    ("misspelt attribute", lambda x: x.sigmiod(), AttributeError, ["sigmiod", "did you mean 'sigmoid'?"]),
    ("axis 0 reduced", lambda x: x.sum(0), ValueError, ["sum", "axis 0", "edge axis", "(3,)"]),
    ("axis 0 moved", lambda x: x.transpose(0, 1), ValueError, ["transpose", "axis 0"]),
    ("axis 0 permuted", lambda x: x.permute(1, 0), ValueError, ["permute", "axis 0"]),
    ("axis 0 reshaped", lambda x: x.reshape(3, 3), ValueError, ["reshape", "row axis", "-1"]),
    ("axis 0 flattened", lambda x: x.flatten(), ValueError, ["flatten", "axis 0"]),
    ("axis 0 indexed", lambda x: x[0], ValueError, ["index", "axis 0"]),
    ("axis 0 joined", lambda x: tg.cat([x, x]), ValueError, ["cat", "axis 0"]),
    ("axis out of range", lambda x: x.sum(5), ValueError, ["sum", "5", "(3,)"]),
    ("sum() without axis", lambda x: x.sum(), ValueError, ["sum", "axis", "(3,)"]),
    ("index out of range", lambda x: x[:, 7], IndexError, ["7", "3"]),
    ("reshape to another size", lambda x: x.reshape(-1, 2, 2), ValueError, ["reshape", "(3,)"]),
    ("both synonyms", lambda x: x.sum(dim=1, axis=1), TypeError, ["dim", "axis"]),
    ("matmul of unequal extents", lambda x: x @ x.unsqueeze(-1).expand(-1, 3, 2)[:, :2], ValueError, ["matmul"]),
    ("bits of floats", lambda x: x & x, TypeError, ["and", "float32"]),
    ("where of floats", lambda x: tg.where(x, x, x), TypeError, ["where", "bool"]),
    ("round to decimals", lambda x: x.round(decimals=2), NotImplementedError, ["round", "decimals=2"]),
    ("gelu of another kind", lambda x: tg.gelu(x, approximate="x"), ValueError, ["gelu", "'x'", "tanh"]),
    ("torch function", lambda x: torch.special.erfcx(x), NotImplementedError, ["torch.", "erfcx"]),
    ("numpy function", lambda x: np.sinh(x), NotImplementedError, ["numpy.sinh"]),
    ("ufunc method", lambda x: np.add.reduce(x), NotImplementedError, ["numpy.add.reduce"]),
    ("array index", lambda x: x[:, np.array([0])], NotImplementedError, ["index"]),
    ("strings", lambda x: x + "a", TypeError, ["str"]),
    ("unknown dtype", lambda x: x.to("int8"), TypeError, ["int8"]),
    ("a later dtype", lambda x: x.to(torch.complex64), NotImplementedError, ["complex64"]),
]

softmax = tg.online_softmax()
REDUCERS = [
    ("a factory", lambda: make(None, tg.sum)(graph=RING, src={"x": ONES}), TypeError, ["sum", "sum()"]),
    ("a class", lambda: make(None, tg.Reducer)(graph=RING, src={"x": ONES}), TypeError, ["Reducer", "instance"]),
    ("a text", lambda: make(None, "sum")(graph=RING, src={"x": ONES}), TypeError, ["'sum'", "tg.sum()"]),
    ("no message", lambda: call(lambda self, src, dst, edge: self.reducer()), TypeError, ["tg.sum()", "self.reducer("]),
    (
        "two messages to sum",
        lambda: call(lambda self, src, dst, edge: self.reducer(src.x, src.x)),
        TypeError,
        ["tg.sum()", "2"],
    ),
    (
        "one message to softmax",
        lambda: make(None, softmax)(graph=RING, src={"x": ONES}),
        TypeError,
        ["online_softmax", "score, value"],
    ),
    (
        "threshold 0",
        lambda: tg.online_softmax(block_prune_threshold=0),
        ValueError,
        ["block_prune_threshold", "(0, 1]"],
    ),
    (
        "threshold 2",
        lambda: tg.online_softmax(block_prune_threshold=2),
        ValueError,
        ["block_prune_threshold", "(0, 1]"],
    ),
    (
        "threshold NaN",
        lambda: tg.online_softmax(block_prune_threshold=float("nan")),
        ValueError,
        ["block_prune_threshold", "(0, 1]"],
    ),
    (
        "threshold that is no number",
        lambda: tg.online_softmax(block_prune_threshold="much"),
        TypeError,
        ["block_prune_threshold", "'much'", "number"],
    ),
    (
        "threshold among several",
        lambda: make(
            lambda self, src, dst, edge: self.reducer(a=(src.x, src.x)),
            tg.multi(a=tg.online_softmax(block_prune_threshold=1)),
        )(graph=RING, src={"x": ONES}),
        NotImplementedError,
        ["block_prune_threshold", "streaming"],
    ),
    (
        "threshold on a CSR",
        lambda: make(
            lambda self, src, dst, edge: self.reducer(src.x, src.x), tg.online_softmax(block_prune_threshold=0.5)
        )(graph=RING, src={"x": ONES}),
        NotImplementedError,
        ["block_prune_threshold", "streaming"],
    ),
    ("identity and empty", lambda: tg.sum(identity=1, empty=2), TypeError, ["identity", "empty"]),
    ("identity of mean", lambda: tg.mean(identity=1), TypeError, ["identity", "empty"]),
    ("a function without a value", lambda: tg.exp(1.0), TypeError, ["tg.exp", "staged"]),
]

kernel = make()
INSPECTION = [
    ("ir before a call", lambda: make().ir("domain"), RuntimeError, ["not been called"]),
    ("code before a call", lambda: make().code("llvm"), RuntimeError, ["not been called"]),
    ("explain before a call", lambda: make().explain(), RuntimeError, ["not been called"]),
    (
        "unknown stage",
        lambda: (kernel(graph=RING, src={"x": ONES}), kernel.ir("ast")),
        KeyError,
        ["ast", "domain", "task"],
    ),
    (
        "unknown code",
        lambda: (kernel(graph=RING, src={"x": ONES}), kernel.code("ptx")),
        KeyError,
        ["ptx", "llvm", "asm"],
    ),
    (
        "direction",
        lambda: (kernel(graph=RING, src={"x": ONES}), kernel.cost(RING, "up")),
        ValueError,
        ["up", "forward"],
    ),
    ("torch by tg.autograd", lambda: tg.autograd.grad(torch.ones(1), torch.ones(1)), TypeError, ["torch.autograd"]),
    ("a formula that is none", lambda: tg.formula("out = = src.x"), SyntaxError, ["1"]),
    ("a formula's missing field", lambda: tg.formula("out = sum(src.x)")(graph=RING), AttributeError, ["src", "x"]),
]

TABLE, WIDE = np.ones((4, 2), np.float32), np.broadcast_to(np.float32(1), 1 << 38)
a, b = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([3.0], requires_grad=True)
RUNS = [
    (
        "index at run time",
        lambda: make(lambda self, src, dst, edge, t: t[edge.kind])(graph=RING, edge={"kind": np.array([0, 1, 9])}, t=TABLE),
        IndexError,
        ["edge.kind", "at 2", "9", "4 rows"],
    ),
    ("gradient of an unreachable input", lambda: tg.autograd.grad((a * a).sum(), b), ValueError, ["allow_unused"]),
    ("gradient of several numbers", lambda: tg.autograd.grad(a * a, a), ValueError, ["grad_output", "(2,)"]),
    (
        "a result beyond memory",
        lambda: make(lambda self, src, dst, edge, w: src.x[:, None] * w)(graph=RING, src={"x": ONES}, w=WIDE),
        MemoryError,
        ["result 'out'", str(3 << 40), "bytes"],
    ),
]

ROWS = RUNS + GRAPHS + CALLS + [(n, staged(f), e, m) for n, f, e, m in STAGED] + REDUCERS + INSPECTION


@pytest.mark.parametrize("attempt, exception, words", [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_refusal(attempt, exception, words):
    with pytest.raises(exception) as caught:
        attempt()
    assert type(caught.value) is exception
    missing = [w for w in words if w not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


def test_unused_fields_may_be_anything():
    out = call(None, src={"x": ONES, "name": "ring", "z": np.ones(7, np.int8)})
    assert out.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [np.float64, bool, np.int8])
def test_empty_index_arrays_of_any_dtype_pass(dtype):
    graph = COO(np.empty(0, dtype), np.empty(0, dtype), num_src=2, num_dst=2)
    assert (graph.num_src, graph.num_dst, graph.num_edges) == (2, 2, 0)


def test_arguments_are_left_as_they_were():
    x = np.arange(4, dtype=np.float32)
    with pytest.raises(ValueError):
        call(None, src={"x": x})
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("owner", later.NAMES)
def test_what_is_not_built_is_refused_by_name(owner):
    holder = {"tg": tg, "Graph": tg.Graph, "Tensor": tg.ones(2), "tg.interop.torch": tg.interop.torch}[owner]
    for name in " ".join(later.NAMES[owner]).split():
        if name in dir(holder):
            continue
        with pytest.raises(NotImplementedError, match=name):
            getattr(holder, name)()
    with pytest.raises(NotImplementedError, match="Graph.radius"):
        tg.Graph.radius([[0.0]], cutoff=1.0)
    with pytest.raises(AttributeError, match="nonsense"):
        tg.nonsense  # noqa: B018


def test_staged_values_say_what_is_not_built():
    class Sorts(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x.sort(-1)

    with pytest.raises(NotImplementedError, match="sorting"):
        Sorts()(graph=tg.Graph.regular(2, 1), src={"x": np.ones((2, 2), np.float32)})
