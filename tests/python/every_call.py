"""One round through all that the extension does: what test_references.py counts objects over, and `make memcheck` runs
under valgrind (`python every_call.py ROUNDS`)."""

import pickle
import sys

import numpy as np
import tiga as tg

try:
    import torch
except ImportError:
    torch = None


class Weighted(tg.MessagePassing):
    def edge(self, src, dst, edge, k=1.0):
        return edge.w * src.x * k

    def node(self, dst, aggregate):
        return tg.relu(aggregate) + dst.b


class Own(tg.Reducer):
    def identity(self):
        return 0.0, 0.0

    def lift(self, m):
        return m, m * m

    def combine(self, a, b):
        return a[0] + b[0], a[1] + b[1] * 0.5

    def finalize(self, state):
        return state[0] - state[1]


class Folded(tg.MessagePassing):
    reducer = Own()

    def edge(self, src, dst, edge):
        return src.x


class Raises(tg.MessagePassing):
    def edge(self, src, dst, edge):
        raise LookupError("the user's own")


WEIGHTED, FOLDED, FORMULA = Weighted(), Folded(), tg.formula("out = sum(edge.w * src.x)")
GRAPH = tg.Graph.from_coo([0, 1, 2, 1], [1, 2, 0, 0], num_src=3, num_dst=3)
X, W, B = np.arange(3.0), np.ones(4), np.full(3, 0.5)


def refused(attempt):
    try:
        attempt()
    except (TypeError, ValueError, AttributeError, IndexError, KeyError, LookupError, SyntaxError, NotImplementedError):
        return
    raise AssertionError("not refused")


def graphs():
    for graph in (tg.Graph.from_csr([0, 2, 3], [0, 1, 1]), tg.Graph.regular(4, 2), GRAPH.transpose(), GRAPH.sorted()):
        graph.to_coo(), graph.to_csr(), graph.in_degree(), graph.explain(), repr(graph), graph == GRAPH
    assert pickle.loads(pickle.dumps(GRAPH)) == GRAPH
    tg.Graph.cat([GRAPH, GRAPH]).add_self_loops().has_self_loops
    refused(lambda: tg.Graph.from_csr([0, 2], [0, 7], num_src=3))
    refused(lambda: tg.Graph.from_coo([0.5], [0]))


def numpy_calls():
    given = {"graph": GRAPH, "src": {"x": X}, "dst": {"b": B}, "edge": {"w": W}}
    WEIGHTED(**given), WEIGHTED(**given, k=np.float32(2)), WEIGHTED.reference(**given), WEIGHTED.cost(GRAPH)
    WEIGHTED.explain(), WEIGHTED.ir("kernel"), WEIGHTED.cache_info, WEIGHTED.schedules, WEIGHTED.diagnostics
    FOLDED(graph=GRAPH, src={"x": X[::-1]}), FOLDED.reducer.mlir(message_dtypes=("float64",))
    FORMULA(graph=GRAPH, src={"x": X}, edge={"w": np.broadcast_to(2.0, 4)})
    refused(lambda: WEIGHTED(**(given | {"src": {"x": X[:2]}})))
    refused(lambda: WEIGHTED(**(given | {"src": {"x": X.astype(">f8")}})))
    refused(lambda: WEIGHTED(**(given | {"src": {"x": [1.0]}})))
    refused(lambda: FORMULA(graph=GRAPH, src={"y": X}))
    refused(lambda: tg.formula("out = = 1"))
    refused(lambda: Raises()(graph=GRAPH, src={"x": X}))


def tensors():
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x).sum() + tg.exp(x).max()
    (g,) = (tg.autograd.grad(y, x),)
    g.numpy(), y.item(), (x + 1).tolist(), repr(g)
    refused(lambda: x @ tg.ones(2))


def torch_calls():
    x, w, b = (torch.from_numpy(a).clone().requires_grad_() for a in (X, W, B))
    given = {"graph": GRAPH, "src": {"x": x}, "dst": {"b": b}, "edge": {"w": w}}
    out = WEIGHTED(**given)
    first = torch.autograd.grad(out.sum(), (x, w, b), create_graph=True)
    torch.autograd.grad(first[0].sum(), w)
    negated = torch.complex(x.detach(), x.detach()).conj().imag  # a view whose memory holds the negated values
    assert negated.is_neg()
    np.testing.assert_array_equal(FORMULA(graph=GRAPH, src={"x": negated}, edge={"w": w.detach()}), -FORMULA(
        graph=GRAPH, src={"x": x.detach()}, edge={"w": w.detach()}))
    WEIGHTED(**(given | {"src": {"x": x.detach().half()}, "edge": {"w": w.detach().half()}, "dst": {"b": b.detach().half()}}))
    refused(lambda: WEIGHTED(**(given | {"src": {"x": torch.ones(3, device="meta")}})))


def one_round():
    graphs()
    numpy_calls()
    tensors()
    if torch is not None:
        torch_calls()


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        one_round()
