"""Attention over a relation: each query takes the mean of the values it may see, weighted by a softmax
over its own edges of query . key * scale. The softmax runs online, row by row: no score is stored.

Three keys, three queries; the last query sees nothing and `empty` says what it gets. attention.c is
the same in C.
"""

import tiga as tg
import torch


class Attention(tg.MessagePassing):
    reducer = tg.online_softmax(empty=0.0)

    def edge(self, src, dst, edge, scale):
        score = (src.key * dst.query).sum(dim=-1) * scale
        return self.reducer(score, src.value)


def print_rows(name, rows):
    for i, row in enumerate(rows.tolist()):
        print(f"{name}[{i}]", *(f"{v:.4f}" for v in row))


def main():
    graph = tg.Graph.from_csr(torch.tensor([0, 3, 5, 5]), torch.tensor([0, 1, 2, 1, 2]), num_src=3)
    key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5]], requires_grad=True)
    value = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    query = torch.tensor([[1.0, 2.0], [-1.0, 3.0], [0.0, 0.0]], requires_grad=True)

    out = Attention()(graph=graph, src={"key": key, "value": value}, dst={"query": query}, scale=0.5)
    dquery, dkey, dvalue = torch.autograd.grad(out[:, 0].sum(), (query, key, value))
    print_rows("out", out)
    print_rows("dquery", dquery)
    print_rows("dkey", dkey)
    print_rows("dvalue", dvalue)


if __name__ == "__main__":
    main()
