"""Relations from relations and from scipy, against lists of edges in NumPy."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import tiga as tg

# (num_src, num_dst, num_edges)
SIZES = [(0, 0, 0), (4, 0, 0), (0, 3, 0), (5, 5, 0), (1, 1, 6), (4, 4, 3), (3, 8, 20), (8, 3, 20), (6, 6, 60)]
KINDS = ["any", "hub", "by destination", "loops"]


def edges(size, kind):
    num_src, num_dst, n = size
    rng = np.random.default_rng(n + num_src)
    src, dst = (rng.integers(0, max(k, 1), n) for k in (num_src, num_dst))
    if kind == "hub":
        dst[::2] = num_dst // 2
    elif kind == "by destination":
        dst.sort()
    elif kind == "loops":
        src[::2] = np.minimum(dst, num_src - 1)[::2]
    return src, dst


@pytest.fixture(params=[(size, kind) for size in SIZES for kind in KINDS], ids=str)
def nasty(request):
    size, kind = request.param
    src, dst = edges(size, kind)
    return tg.Graph.from_coo(src, dst, num_src=size[0], num_dst=size[1]), src, dst


def same(graph, src, dst, num_src, num_dst):
    assert (graph.num_src, graph.num_dst, graph.num_edges) == (num_src, num_dst, len(src))
    for got, want in zip(graph.to_coo(), (src, dst), strict=True):
        assert got.dtype == np.int64 and np.array_equal(got, want)
    want = tg.Graph.from_coo(np.asarray(src, int), np.asarray(dst, int), num_src=num_src, num_dst=num_dst)
    assert graph == want and hash(graph) == hash(want) and not graph != want
    for clone in (copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))):
        assert clone(graph) == graph and hash(clone(graph)) == hash(graph)


def aggregate(graph, x, w):
    class Sum(tg.MessagePassing):
        reducer = tg.sum()

        def edge(self, src, dst, edge):
            return src.x * edge.w

    return Sum()(graph=graph, src={"x": x}, edge={"w": w})


def numbers(n, of=7):
    return (np.arange(n) % of).astype(np.float32)


def test_degrees(nasty):
    graph, src, dst = nasty
    for _ in range(2):
        into, out = graph.in_degree(), graph.out_degree()
        assert into.dtype == out.dtype == np.int64
        assert np.array_equal(into, np.bincount(dst, minlength=graph.num_dst))
        assert np.array_equal(out, np.bincount(src, minlength=graph.num_src))
        graph.transpose().to_csr()  # now rows by source are there


def test_transpose(nasty):
    graph, src, dst = nasty
    back = graph.transpose()
    same(back, dst, src, graph.num_dst, graph.num_src)
    assert graph.transpose() is back and back.transpose() is graph
    w = numbers(len(src))
    got = aggregate(back, numbers(graph.num_dst), w)  # edge fields stay as they are
    assert np.array_equal(got, np.bincount(src, numbers(graph.num_dst)[dst] * w, graph.num_src))


def test_a_transpose_outlives_its_graph():
    graph = tg.Graph.regular(4, 1)
    back, gone = graph.transpose(), weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None
    assert back.transpose() is back.transpose() == tg.Graph.regular(4, 1)


def test_sorted(nasty):
    graph, src, dst = nasty
    order = np.lexsort((src, dst))
    result = graph.sorted()
    assert graph.argsort().dtype == np.int64 and np.array_equal(graph.argsort(), order)
    same(result, src[order], dst[order], graph.num_src, graph.num_dst)
    assert result.sorted() == result and np.array_equal(result.argsort(), np.arange(len(src)))
    x, w = numbers(graph.num_src), numbers(len(src), 5)
    assert np.array_equal(aggregate(result, x, w[graph.argsort()]), aggregate(graph, x, w))


def test_self_loops(nasty):
    graph, src, dst = nasty
    n = graph.num_dst
    if graph.num_src != n:
        assert graph.has_self_loops is False
        with pytest.raises(ValueError, match=rf"one set of nodes.*{graph.num_src} sources and {n} destinations"):
            graph.add_self_loops()
        return
    assert graph.has_self_loops is bool((src == dst).any())
    more, nodes = graph.add_self_loops(), np.arange(n)
    same(more, np.append(src, nodes), np.append(dst, nodes), n, n)
    assert more.has_self_loops is (n > 0)
    x, w = numbers(n), numbers(len(src), 5)
    got = aggregate(more, x, np.append(w, np.ones(n, np.float32)))
    assert np.array_equal(got, aggregate(graph, x, w) + x)


def test_csr(nasty):
    graph, src, dst = nasty
    row_ptr, col_idx = graph.to_csr()
    order = np.argsort(dst, kind="stable")
    assert np.array_equal(row_ptr, np.append(0, np.cumsum(np.bincount(dst, minlength=graph.num_dst))))
    assert np.array_equal(col_idx, src[order]) and np.array_equal(graph.to_csr(edge_ids=True)[2], order)
    assert all(a.dtype == np.int64 for a in graph.to_csr(edge_ids=True))
    back = tg.Graph.from_csr(row_ptr, col_idx, num_src=graph.num_src)
    same(back, src[order], dst[order], graph.num_src, graph.num_dst)


def test_cat():
    for count in range(5):
        graphs, parts, counts = [], [], [0, 0]
        for k in range(count):
            size, kind = SIZES[(3 * count + 2 * k) % len(SIZES)], KINDS[k % 4]
            src, dst = edges(size, kind)
            graphs.append(tg.Graph.from_coo(src, dst, num_src=size[0], num_dst=size[1]))
            if k % 2:
                graphs[-1], src, dst, size = graphs[-1].transpose(), dst, src, (size[1], size[0])
            parts.append((src + counts[0], dst + counts[1]))
            counts = [counts[0] + size[0], counts[1] + size[1]]
        src, dst = (np.concatenate([p[i] for p in parts]) if parts else np.empty(0) for i in range(2))
        same(tg.Graph.cat(graphs), src, dst, *counts)
        same(tg.Graph.cat(iter(graphs)), src, dst, *counts)


def test_fields_of_cat_are_the_fields_one_after_the_other():
    a, b = tg.Graph.from_coo([2, 0, 1], [1, 1, 0], num_src=3), tg.Graph.regular(4, 2)
    x, w = [numbers(3), numbers(4, 3)], [numbers(3, 2), numbers(8, 5)]
    got = aggregate(tg.Graph.cat([a, b]), np.concatenate(x), np.concatenate(w))
    assert np.array_equal(got, np.concatenate([aggregate(a, x[0], w[0]), aggregate(b, x[1], w[1])]))


# ---- scipy ----


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_from_scipy(nasty, form, kind, index):
    sparse = pytest.importorskip("scipy.sparse")
    graph, src, dst = nasty
    data = numbers(len(src), 3)  # explicit zeros among them
    A = getattr(sparse, f"coo_{kind}")((data, (dst.astype(index), src.astype(index))), (graph.num_dst, graph.num_src))
    if form != "coo":
        by, other, rows = (dst, src, graph.num_dst) if form == "csr" else (src, dst, graph.num_src)
        order = np.random.default_rng(1).permutation(len(src))  # rows not sorted
        order = order[np.argsort(by[order], kind="stable")]
        ptr = np.append(0, np.cumsum(np.bincount(by, minlength=rows)))
        A = getattr(sparse, f"{form}_{kind}")((data[order], other[order].astype(index), ptr.astype(index)), A.shape)
        src, dst, data = src[order], dst[order], data[order]
    result = tg.Graph.from_scipy(A)
    same(result, src, dst, graph.num_src, graph.num_dst)
    x = numbers(graph.num_src)
    assert np.array_equal(aggregate(result, x, A.data), np.ravel(A @ x))  # A.data is an edge field


@pytest.mark.parametrize("form", ["lil", "dok", "dia", "bsr"])
def test_from_other_formats(form):
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[0, 2, 0, 0], [1, 0, 0, 3]])
    A = getattr(sparse, f"{form}_array")(dense)
    graph = tg.Graph.from_scipy(A)
    assert (graph.num_src, graph.num_dst) == (4, 2)
    assert {(0, 1), (1, 0), (3, 1)} <= set(zip(*(a.tolist() for a in graph.to_coo()), strict=True))


def test_from_scipy_does_not_see_later_writes():
    sparse = pytest.importorskip("scipy.sparse")
    A = sparse.csr_array(np.eye(3))
    graph = tg.Graph.from_scipy(A)
    A.indices[:] = 99
    assert graph.to_coo()[0].tolist() == [0, 1, 2]


def test_to_scipy(nasty):
    pytest.importorskip("scipy")
    graph, src, dst = nasty
    w = numbers(len(src), 3)
    for data, want in ((None, np.ones(len(src))), (w, w)):
        A = graph.to_scipy(data)
        assert A.shape == (graph.num_dst, graph.num_src) and A.nnz == graph.num_edges
        assert np.array_equal(A.data, want)
        assert tg.Graph.from_scipy(A) == graph
    x = numbers(graph.num_src)
    assert np.array_equal(aggregate(graph, x, w), np.ravel(graph.to_scipy(w) @ x))


# ---- in words ----


def test_explain():
    graph = tg.Graph.from_coo([1, 0, 2, 0, 0, 2], [0, 0, 2, 1, 1, 1], num_src=3, num_dst=4, validate="full")
    lines = dict(line.split(": ", 1) for line in graph.explain().splitlines())
    assert lines["relation"] == "3 sources, 4 destinations, 6 edges"
    assert lines["in-degree"] == "0 to 3, mean 1.5; 1 destinations have none"
    assert lines["rows"] == "sources do not ascend in row 0" and lines["indices"] == "32 bits"
    assert tg.Graph.regular(4, 2).explain().splitlines()[0] == "relation: 4 sources, 4 destinations, 8 edges"


def test_findings_say_how_many_and_which():
    graph = tg.Graph.from_coo([1, 0, 2, 0, 0, 2], [0, 0, 2, 1, 1, 1], num_src=3, num_dst=3, validate="full")
    want = ("1 duplicate edges (first: edge 4)", "2 self loops (first: edge 1)", "rows are not sorted (first: row 0)")
    assert graph.findings == want
    assert pickle.loads(pickle.dumps(graph)).findings == want
    assert graph.transpose().findings == graph.sorted().findings == ()
    assert tg.Graph.from_coo([0, 1], [1, 0], validate="full").findings == ()


# ---- refused ----


def broken_csr():
    sparse = pytest.importorskip("scipy.sparse")
    A = sparse.csr_array(np.eye(3))
    A.indices[1] = 7
    return tg.Graph.from_scipy(A)


def flat():
    return pytest.importorskip("scipy.sparse").coo_array(np.ones(3))


REFUSED = [
    (lambda: tg.Graph.from_scipy(np.eye(3)), TypeError, "A: ndarray given; a scipy.sparse matrix"),
    (lambda: tg.Graph.from_scipy(flat()), ValueError, r"A: shape \(3,\) given; expected \[num_dst, num_src\]"),
    (broken_csr, ValueError, r"col_idx: index 7 at position 1 .*num_src is 3"),
    (lambda: tg.Graph.cat([tg.Graph.regular(2, 1), 3]), TypeError, r"graphs\[1\]: int given; a tg.Graph"),
    (lambda: tg.Graph.regular(3, 1).to_scipy(np.ones(2)), ValueError, r"shape \(2,\), but the graph has 3 edges"),
    (lambda: tg.Graph.regular(-1, 1), ValueError, "num_nodes: -1 is negative"),
]


@pytest.mark.parametrize("call, error, message", REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["has_self_loops", "num_src", "num_dst", "num_edges", "device", "findings"])
def test_immutable(name):
    with pytest.raises(AttributeError):
        setattr(tg.Graph.regular(2, 1), name, 1)


@pytest.mark.parametrize("score, want", [(np.inf, np.inf), (-np.inf, -np.inf)])
def test_a_split_row_of_infinite_scores(score, want):
    n = 40000  # three parts
    graph = tg.Graph.from_coo(np.arange(n), np.zeros(n, int), num_src=n, num_dst=1)

    class Both(tg.MessagePassing):
        reducer = tg.multi(mean=tg.online_softmax(empty=-5), log=tg.logsumexp())

        def edge(self, src, dst, edge):
            return self.reducer(mean=(edge.s, edge.v), log=edge.s)

    values = np.arange(n, dtype=np.float64) % 2
    got = Both()(graph=graph, edge={"s": np.full(n, score), "v": values})
    assert got["log"][0] == want
    assert got["mean"][0] == (0.5 if score > 0 else -5)
