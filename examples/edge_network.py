"""An edge network: what an edge sends is a small perceptron of both of its ends and of the edge's own gain. By
plain gradient descent it learns to give each node the sum of its distances to its neighbours, each times the
edge's gain; no edge's hidden layer is stored. edge_network.c is the same in C."""

import tiga as tg
import torch
from common import Stream

NETWORK = """
out  = sum(relu(cat(src.r - dst.r, edge.gain, axis=-1) @ W1 + b1) @ W2)
miss = sum((out - dst.goal) ** 2, axis=-1)
loss = mean(miss)
"""
N, DEGREE, HIDDEN, STEPS, RATE = 64, 6, 16, 300, 0.002


def main():
    numbers = Stream(3)

    def draw(*shape):
        return torch.from_numpy(2 * numbers.uniform(*shape) - 1)

    r, gain = draw(N, 2), draw(N * DEGREE, 1)
    w1, w2, b1 = draw(3, HIDDEN), draw(HIDDEN, 1), torch.zeros(HIDDEN)
    e = torch.arange(N * DEGREE)
    goal = (gain[:, 0] * (r[e % N] - r[e // DEGREE]).norm(dim=1)).view(N, DEGREE).sum(dim=1, keepdim=True)

    graph, network = tg.Graph.regular(N, DEGREE), tg.formula(NETWORK)
    params = [p.requires_grad_() for p in (w1, b1, w2)]
    optimizer = torch.optim.SGD(params, lr=RATE)
    for step in range(STEPS + 1):
        optimizer.zero_grad()
        fields = {"src": {"r": r}, "dst": {"r": r, "goal": goal}, "edge": {"gain": gain}}
        loss = network(graph=graph, **fields, W1=w1, b1=b1, W2=w2)["loss"]
        if step % 100 == 0:
            print(f"step {step:3}: loss {loss.item():.3f}")
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
