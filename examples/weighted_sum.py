"""A weighted sum with a bias over three nodes and five edges, and its gradients.

    out[i] = bias[i] + sum over edges e = (j -> i) of weight[e] * x[j]

weighted_sum.c is the same in C.
"""

import tiga as tg
import torch


class WeightedSum(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return edge.weight * src.x

    def node(self, dst, aggregate):
        return aggregate + dst.bias


def print_row(name, values):
    print(f"{name:4}", *(f"{v:.4f}" for v in values.tolist()))


def main():
    # Row i lists the nodes that send to node i.
    graph = tg.Graph.from_csr(torch.tensor([0, 2, 3, 5]), torch.tensor([0, 2, 1, 0, 1]), num_src=3)
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    weight = torch.full((5,), 0.5, requires_grad=True)
    bias = torch.tensor([0.1, 0.2, 0.3])

    out = WeightedSum()(graph=graph, src={"x": x}, dst={"bias": bias}, edge={"weight": weight})
    dx, dw = torch.autograd.grad(out.sum(), (x, weight))
    print_row("out", out)
    print_row("dx", dx)
    print_row("dw", dw)


if __name__ == "__main__":
    main()
