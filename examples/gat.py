"""A layer of a graph attention network (Velickovic et al., ICLR 2018) with two heads: a node takes its
neighbours' features, weighted by a softmax over its own edges of leaky_relu(a . [W x_src | W x_dst]), and the
gradients of a loss by the layer's parameters. gat.c is the same in C."""

import tiga as tg
import torch
from common import Stream

LAYER = """
z    = reshape(node.x @ W, shape=(-1, 2, 2))
from = sum(z * a_src, axis=-1, keepdims=true)
to   = sum(z * a_dst, axis=-1, keepdims=true)
out  = elu(softmax(leaky_relu(src(from) + dst(to), 0.2), src(z)))
loss = sum(sum(out * out, axis=(1, 2)))
"""
SRC, DST = [0, 1, 2, 0, 3, 4, 1, 2, 4], [0, 0, 0, 1, 1, 2, 3, 4, 4]


def print_rows(name, rows):
    for i, row in enumerate(rows.flatten(1).tolist()):
        print(f"{name}[{i}]", *(f"{v:.4f}" for v in row))


def main():
    numbers = Stream(9)

    def draw(*shape):
        return torch.from_numpy(2 * numbers.uniform(*shape) - 1).requires_grad_()

    x, w, a_src, a_dst = draw(5, 3), draw(3, 4), draw(2, 2), draw(2, 2)
    graph = tg.Graph.from_coo(torch.tensor(SRC), torch.tensor(DST), num_src=5, num_dst=5)
    result = tg.formula(LAYER)(graph=graph, ndata={"x": x}, W=w, a_src=a_src, a_dst=a_dst)
    dw, da_src, da_dst = torch.autograd.grad(result["loss"], (w, a_src, a_dst))
    print_rows("out", result["out"])
    print(f"loss {result['loss'].item():.4f}")
    print_rows("dW", dw)
    print_rows("da_src", da_src)
    print_rows("da_dst", da_dst)


if __name__ == "__main__":
    main()
