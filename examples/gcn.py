"""A two-layer graph convolution network (Kipf and Welling, ICLR 2017) over sums along edges.

    h      = relu(A (X W1) + b1)
    logits = A (h W2) + b2

A is the adjacency with self loops, edge j -> i weighted by 1 / sqrt(degree of i * degree of j). X is
sparse, so X W1 is a sum along edges as well: from words to the papers that have them. Who computes
those sums is an argument: Tiga (TigaSum) or torch alone (TorchSum).
"""

from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np
import tiga as tg
import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Task:
    """Nodes to classify: edges src -> dst, entries of a sparse feature matrix, labels, node numbers."""

    name: str
    src: np.ndarray
    dst: np.ndarray
    feature_row: np.ndarray
    feature_column: np.ndarray
    feature_value: np.ndarray
    labels: np.ndarray
    train: np.ndarray
    test: np.ndarray

    @property
    def num_nodes(self):
        return len(self.labels)

    @property
    def num_features(self):
        return int(self.feature_column.max()) + 1

    @property
    def num_classes(self):
        return int(self.labels.max()) + 1


def normalised(task):
    """The edges of A and their weights."""
    node = np.arange(task.num_nodes)
    src, dst = np.concatenate([task.src, node]), np.concatenate([task.dst, node])
    degree = np.bincount(dst, minlength=task.num_nodes)
    return src, dst, (degree[src] * degree[dst]).astype(np.float32) ** -0.5


class WeightedSum(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.weight * src.x


class TigaSum:
    """(x, weight) -> out: row i of out is the sum of weight[e] * x[j] over the edges e = (j -> i)."""

    def __init__(self, src, dst, num_src, num_dst):
        self.graph = tg.Graph.from_coo(src, dst, num_src=num_src, num_dst=num_dst)
        self.kernel = WeightedSum()

    def __call__(self, x, weight):
        return self.kernel(graph=self.graph, src={"x": x}, dst={}, edge={"weight": weight})


class TorchSum:
    """The same in torch: gathers a row for each edge, then adds the rows up."""

    def __init__(self, src, dst, num_src, num_dst):
        self.src, self.dst, self.num_dst = torch.from_numpy(src), torch.from_numpy(dst), num_dst

    def __call__(self, x, weight):
        messages = x.index_select(0, self.src) * weight[:, None]
        return x.new_zeros(self.num_dst, x.shape[1]).index_add(0, self.dst, messages)


class GCN(nn.Module):
    def __init__(self, task, sum_along, hidden=16, dropout=0.5):
        super().__init__()
        n, num_features = task.num_nodes, task.num_features
        src, dst, weight = normalised(task)
        self.spread = sum_along(src, dst, n, n)
        self.of_words = sum_along(task.feature_column, task.feature_row, num_features, n)
        self.adjacency, self.words = torch.from_numpy(weight), torch.from_numpy(task.feature_value)
        self.dropout = dropout
        self.first = nn.Linear(num_features, hidden, bias=False)
        self.second = nn.Linear(hidden, task.num_classes, bias=False)
        self.bias1 = nn.Parameter(torch.zeros(hidden))
        self.bias2 = nn.Parameter(torch.zeros(task.num_classes))
        for layer in (self.first, self.second):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self):
        words = F.dropout(self.words, self.dropout, self.training)
        h = self.of_words(self.first.weight.T.contiguous(), words)
        h = F.relu(self.spread(h, self.adjacency) + self.bias1)
        h = F.dropout(h, self.dropout, self.training)
        return self.spread(self.second(h), self.adjacency) + self.bias2


@dataclass
class Report:
    loss: float  # of the last training step
    accuracy: float  # on the test nodes, in percent
    first_ms: float  # the first step, compilation included
    step_ms: float  # median of the later ones


def fit(task, sum_along, seed=0, epochs=200, progress=lambda steps: steps):
    """Trains from this seed; progress wraps the iterable of steps."""
    torch.manual_seed(seed)
    model = GCN(task, sum_along)
    rest = [p for p in model.parameters() if p is not model.first.weight]
    optimizer = torch.optim.Adam(
        [{"params": [model.first.weight], "weight_decay": 5e-4}, {"params": rest}], lr=0.01
    )
    labels, train, test = map(torch.from_numpy, (task.labels, task.train, task.test))
    times = []
    for _ in progress(range(epochs)):
        start = perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(model()[train], labels[train])
        loss.backward()
        optimizer.step()
        times.append((perf_counter() - start) * 1e3)
    model.eval()
    with torch.no_grad():
        right = model()[test].argmax(dim=1) == labels[test]
    return Report(loss.item(), 100 * right.float().mean().item(), times[0], median(times[1:]))
