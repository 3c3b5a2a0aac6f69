"""A two-layer graph convolution network (Kipf and Welling, ICLR 2017), all of it one formula: the twin of
gcn.c, with torch's autograd and Adam in place of a gradient program and a formula of Adam.

    gcn_formula.py                  Zachary's karate club: who follows whom, from two labelled members
    gcn_formula.py FILE.npz [SEEDS] a citation graph
"""

import sys

import citations
import karate
import tiga as tg
import torch
from common import Stream
from gcn import normalised

NETWORK = """
h     = relu(sum(edge.w * src(node.x @ W1)) + b1) * node.keep
out   = sum(edge.w * src(h @ W2)) + b2
nll   = -sum(log_softmax(out, axis=-1) * node.label, axis=-1)
loss  = sum(node.train * nll)
decay = 2.5e-4 * sum(W1 * W1, axis=(0, 1))
right = sum(node.test * (sum(out * node.label, axis=-1) == max(out, axis=-1)))
"""
HIDDEN, EPOCHS, DROPOUT = 16, 200, 0.5


def coins(stream, *shape):
    """Keeps each number with probability 1 - DROPOUT, scaled up."""
    return torch.from_numpy(stream.uniform(*shape) >= DROPOUT) / (1 - DROPOUT)


def glorot(stream, rows, cols):
    """Glorot and Bengio's uniform start."""
    bound = (6 / (rows + cols)) ** 0.5
    return torch.from_numpy(2 * stream.uniform(rows, cols) - 1).mul(bound).requires_grad_()


def share(nodes, members):
    """1 / (number of members) on those, 0 elsewhere."""
    of = torch.zeros(nodes)
    of[torch.from_numpy(members)] = 1 / len(members)
    return of


def train(task, seed):
    stream = Stream(seed)
    n, features, classes = task.num_nodes, task.num_features, task.num_classes
    w1, w2 = glorot(stream, features, HIDDEN), glorot(stream, HIDDEN, classes)
    b1, b2 = torch.zeros(HIDDEN, requires_grad=True), torch.zeros(classes, requires_grad=True)
    optimizer = torch.optim.Adam([w1, b1, w2, b2], lr=0.01)

    src, dst, weight = normalised(task)
    graph = tg.Graph.from_coo(src, dst, num_src=n, num_dst=n)
    place = torch.from_numpy(task.feature_row * features + task.feature_column)
    entry = torch.from_numpy(task.feature_value)
    x, label = torch.zeros(n, features), torch.nn.functional.one_hot(torch.from_numpy(task.labels), classes).float()
    network = tg.formula(NETWORK)

    def run(entries, keep):
        x.view(-1)[place] = entries
        fields = {"x": x, "keep": keep, "label": label, "train": share(n, task.train), "test": share(n, task.test)}
        return network(graph=graph, ndata=fields, edge={"w": torch.from_numpy(weight)}, W1=w1, b1=b1, W2=w2, b2=b2)

    for epoch in range(1, EPOCHS + 1):
        optimizer.zero_grad()
        result = run(entry * coins(stream, len(entry)), coins(stream, n, HIDDEN))
        (result["loss"] + result["decay"]).backward()
        optimizer.step()
        if epoch % 50 == 0:
            print(f"epoch {epoch:3}  loss {result['loss'].item():.3f}")
    with torch.no_grad():
        return 100 * run(entry, torch.ones(n, HIDDEN))["right"].item()


def main(path=None, seeds="1"):
    task = citations.load(path) if path else karate.load()
    accuracies = []
    for seed in range(int(seeds)):
        accuracies.append(train(task, seed))
        print(f"seed {seed}  accuracy {accuracies[-1]:.1f} %")
    print(f"mean    accuracy {sum(accuracies) / len(accuracies):.2f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
