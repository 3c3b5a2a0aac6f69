"""Layers that are more than a product: relu of differences, attention, an edge network; forward and a training step.

Peers: the same in torch's eager operations, that compiled by torch.compile, and torch-geometric's
MessagePassing."""

import problems
import tiga as tg
import torch
from peers import geometric, geometric_softmax, only, scatter_softmax, scatter_sum
from workload import Workload, step


# ---- relu(w * (x_j - x_i)), summed ----


class ReluDifference(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return torch.relu(edge.w * (src.x - dst.x))


def relu_tiga(problem, kernel, x, w):
    return kernel(graph=problem.graph, ndata={"x": x}, edge={"w": w})


def relu_eager(problem, x, w):
    gathered = x.index_select(0, problem.src) - x.index_select(0, problem.dst)
    return scatter_sum(torch.relu(w[:, None] * gathered), problem.dst, problem.nodes)


if geometric:

    class GeometricRelu(geometric.MessagePassing):
        def __init__(self):
            super().__init__(aggr="sum")

        def forward(self, x, edge_index, w):
            return self.propagate(edge_index, x=x, w=w)

        def message(self, x_i, x_j, w):
            return torch.relu(w[:, None] * (x_j - x_i))

    class GeometricAttention(geometric.MessagePassing):
        def __init__(self):
            super().__init__(aggr="sum", node_dim=0)

        def forward(self, q, k, v, edge_index):
            return self.propagate(edge_index, q=q, k=k, v=v)

        def message(self, q_i, k_j, v_j, index, size_i):
            score = (q_i * k_j).sum(-1, keepdim=True) / k_j.shape[-1] ** 0.5
            return geometric_softmax(score, index, num_nodes=size_i) * v_j


def relu(problem, features):
    x, w = problem.normal(features), problem.normal(rows="edges")
    kernel, edge_index = ReluDifference(), problem.edge_index()
    sides = {
        "torch eager": lambda x, w: lambda: relu_eager(problem, x, w),
        "torch.compile": lambda x, w: compiled(lambda: relu_eager(problem, x, w)),
        "torch-geometric": geometric and (lambda x, w: lambda layer=GeometricRelu(): layer(x, edge_index, w)),
    }
    yield from both(
        "relu message", features, lambda x, w: lambda: relu_tiga(problem, kernel, x, w), sides, x, w
    )


# ---- softmax attention, scores by dot product ----


class Attention(tg.MessagePassing):
    reducer = tg.online_softmax()

    def edge(self, src, dst, edge):
        score = (dst.q * src.k).sum(-1, keepdim=True) / src.k.shape[-1] ** 0.5
        return self.reducer(score, src.v)


def attention_eager(problem, q, k, v):
    score = (q.index_select(0, problem.dst) * k.index_select(0, problem.src)).sum(-1, keepdim=True)
    weight = scatter_softmax(score / k.shape[-1] ** 0.5, problem.dst, problem.nodes)
    return scatter_sum(weight * v.index_select(0, problem.src), problem.dst, problem.nodes)


def attention(problem, heads, width):
    q, k, v = (problem.normal(heads, width) for _ in range(3))
    kernel, edge_index = Attention(), problem.edge_index()

    def ours(q, k, v):
        return lambda: kernel(graph=problem.graph, ndata={"q": q, "k": k, "v": v})

    sides = {
        "torch eager": lambda q, k, v: lambda: attention_eager(problem, q, k, v),
        "torch-geometric": geometric
        and (lambda q, k, v: lambda layer=GeometricAttention(): layer(q, k, v, edge_index)),
    }
    yield from both("attention", f"{heads}x{width}", ours, sides, q, k, v)


# ---- a two-layer network on [x_j, x_i, e] ----


class EdgeNetwork(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge, w1, b1, w2, b2):
        inputs = torch.cat([src.x, dst.x, edge.e], -1)
        return torch.relu(torch.relu(inputs @ w1 + b1) @ w2 + b2)


def network_eager(problem, x, e, w1, b1, w2, b2):
    inputs = torch.cat([x.index_select(0, problem.src), x.index_select(0, problem.dst), e], -1)
    message = torch.relu(torch.relu(inputs @ w1 + b1) @ w2 + b2)
    return scatter_sum(message, problem.dst, problem.nodes)


def edge_network(problem):
    x, e = problem.normal(8), problem.normal(3, rows="edges")
    params = [torch.from_numpy(problem.rng.standard_normal(s, "f4") * 0.3) for s in ((19, 16), 16, (16, 8), 8)]
    kernel = EdgeNetwork()

    def ours(x, e, w1, b1, w2, b2):
        return lambda: kernel(graph=problem.graph, ndata={"x": x}, edge={"e": e}, w1=w1, b1=b1, w2=w2, b2=b2)

    sides = {"torch eager": lambda *inputs: lambda: network_eager(problem, *inputs)}
    yield from both("edge network", "19-16-8", ours, sides, x, e, *params)


# ---- both directions ----


def compiled(work):
    return torch.compile(work, dynamic=False)


def both(name, features, ours, sides, *inputs):
    """The forward pass, and forward and backward with gradients for every input."""
    sides = {peer: side for peer, side in sides.items() if side}
    yield Workload(name, features, ours(*inputs), {p: s(*inputs) for p, s in sides.items()})
    yield Workload(
        f"{name}, forward and backward",
        features,
        step(ours, *inputs),
        {p: step(s, *inputs) for p, s in sides.items()},
        tolerance=1e-3,
    )


def workloads(quick):
    nodes = 8192 if quick else 131072
    yield from relu(problems.regular(nodes), 64)
    for heads, width in ((4, 16), (1, 64)):
        yield from attention(problems.regular(nodes // 4, 32), heads, width)
    yield from edge_network(problems.regular(nodes))
