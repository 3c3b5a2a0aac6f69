"""Relations: constructors, order, equality, copies."""

import copy
import pickle

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")

MAKERS = {
    "list": lambda a, dtype: a,
    "numpy": lambda a, dtype: np.array(a, dtype),
    "torch": lambda a, dtype: torch.tensor(a, dtype=getattr(torch, dtype)),
    "strided": lambda a, dtype: np.repeat(np.array(a, dtype), 2)[::2],
    "reversed": lambda a, dtype: np.array(a, dtype)[::-1].copy()[::-1],
    "tiga": lambda a, dtype: tg.from_numpy(np.array(a, dtype)),
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("kind", MAKERS)
def test_constructors_agree(kind, dtype):
    def make(a):
        return MAKERS[kind](a, dtype)

    coo = tg.Graph.from_coo(make([2, 0, 1]), make([0, 0, 2]), num_src=3, num_dst=3)
    csr = tg.Graph.from_csr(make([0, 2, 2, 3]), make([2, 0, 1]), num_src=3)
    assert coo == csr and hash(coo) == hash(csr)
    src, dst = csr.to_coo()
    assert (src.tolist(), dst.tolist()) == ([2, 0, 1], [0, 0, 2])


def test_edge_index():
    pair = torch.tensor([[0, 3], [1, 1]])
    graph = tg.Graph.from_edge_index(pair)
    assert (graph.num_src, graph.num_dst, graph.num_edges) == (4, 4, 2)
    assert tg.Graph.from_edge_index(pair, num_nodes=6).num_dst == 6
    assert tg.Graph.from_edge_index(pair.t().contiguous().t(), size=(4, 2)).num_dst == 2
    assert tg.Graph.from_edge_index([[], []]).num_src == 0


def test_default_counts():
    graph = tg.Graph.from_coo([0, 4], [2, 1])
    assert (graph.num_src, graph.num_dst) == (5, 3)
    assert repr(graph) == "Graph(num_src=5, num_dst=3, num_edges=2)"


def test_regular():
    src, dst = tg.Graph.regular(5, 3).to_coo()
    expected = [(i * 3 + k) % 5 for i in range(5) for k in range(3)]
    assert src.tolist() == expected and dst.tolist() == [i for i in range(5) for _ in range(3)]


def test_transpose():
    graph = tg.Graph.from_coo([0, 1, 1], [2, 0, 2], num_src=2)
    back = graph.transpose()
    assert (back.num_src, back.num_dst) == (3, 2)
    assert [a.tolist() for a in back.to_coo()] == [[2, 0, 2], [0, 1, 1]]
    assert back is graph.transpose() and back.transpose() == graph


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
@pytest.mark.parametrize(
    "graph",
    [
        tg.Graph.regular(7, 2),
        tg.Graph.from_coo([3, 0, 3], [1, 1, 0], num_src=9, num_dst=4),
        tg.Graph.from_coo([], [], num_src=3, num_dst=0),
    ],
    ids=repr,
)
def test_copies_are_equal(graph, clone):
    assert clone(graph) == graph


def test_differences():
    graph = tg.Graph.from_coo([0, 1], [1, 0])
    others = [
        tg.Graph.from_coo([1, 0], [0, 1]),
        tg.Graph.from_coo([0, 1], [1, 0], num_src=3),
        tg.Graph.from_coo([0, 1], [0, 1]),
        3,
    ]
    assert all(graph != other for other in others)


def test_immutable():
    graph = tg.Graph.regular(3, 1)
    with pytest.raises(AttributeError, match="immutable"):
        graph.num_src = 4
    assert graph.device == "cpu"


def test_later_writes_do_not_reach_the_graph():
    col = np.array([0, 1])
    graph = tg.Graph.from_csr([0, 1, 2], col)
    col[:] = 99
    assert graph.to_coo()[0].tolist() == [0, 1]


def test_full_validation_reports():
    graph = tg.Graph.from_csr([0, 2, 3], [1, 1, 1], num_src=2, validate="full")
    assert graph.findings and any("duplicate" in f for f in graph.findings)
    assert tg.Graph.from_csr([0, 2, 3], [1, 1, 1], num_src=2).findings == ()


def test_threads_may_share_a_graph():
    from concurrent.futures import ThreadPoolExecutor

    class Copy(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x

    graph, x = tg.Graph.regular(1000, 5), np.arange(1000, dtype=np.float32)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: Copy()(graph=graph.transpose(), src={"x": x}).tobytes(), range(32)))
    assert len(set(results)) == 1
