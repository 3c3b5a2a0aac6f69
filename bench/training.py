"""A training step of a two-layer GCN against torch-geometric's GCNConv, on a random graph."""

import problems
import tiga as tg
import torch
from peers import geometric, scatter_sum
from workload import Workload


class Aggregate(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.norm * src.h


class Net(torch.nn.Module):
    """aggregate(h, norm) is the only part that differs between the sides."""

    def __init__(self, aggregate, inputs, hidden, classes):
        super().__init__()
        self.aggregate = aggregate
        torch.manual_seed(0)
        self.first = torch.nn.Linear(inputs, hidden, bias=False)
        self.last = torch.nn.Linear(hidden, classes, bias=False)

    def forward(self, x):
        h = torch.relu(self.aggregate(self.first(x)))
        return self.aggregate(self.last(h))


def trained(net, x, labels):
    """One step of Adam; gives the loss before it."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

    def work():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return work


class Geometric(torch.nn.Module):
    def __init__(self, edge_index, norm, inputs, hidden, classes):
        super().__init__()
        torch.manual_seed(0)
        self.first = geometric.GCNConv(inputs, hidden, bias=False, normalize=False)
        self.last = geometric.GCNConv(hidden, classes, bias=False, normalize=False)
        plain = Net(None, inputs, hidden, classes)
        self.first.lin.weight.data.copy_(plain.first.weight.data)
        self.last.lin.weight.data.copy_(plain.last.weight.data)
        self.edge_index, self.norm = edge_index, norm

    def forward(self, x):
        h = torch.relu(self.first(x, self.edge_index, self.norm))
        return self.last(h, self.edge_index, self.norm)


def workloads(quick):
    problem = problems.regular(20_000 if quick else 200_000, 15)
    sizes = (64, 16, 7)
    x, labels = problem.normal(sizes[0]), torch.randint(0, sizes[2], (problem.nodes,))
    norm, kernel = torch.full((problem.edges,), 1 / 15), Aggregate()

    def ours(h):
        return kernel(graph=problem.graph, ndata={"h": h}, edge={"norm": norm})

    def eager(h):
        return scatter_sum(norm[:, None] * h.index_select(0, problem.src), problem.dst, problem.nodes)

    peers = {"torch eager": trained(Net(eager, *sizes), x, labels)}
    if geometric:
        peers["torch-geometric"] = trained(Geometric(problem.edge_index(), norm, *sizes), x, labels)
    name = f"GCN step, {problem.nodes} nodes"
    yield Workload(name, f"{sizes[0]}-{sizes[1]}-{sizes[2]}", trained(Net(ours, *sizes), x, labels), peers, tolerance=1e-2)
