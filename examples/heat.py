"""Heat on a mesh that a sparse matrix describes: node i meets node j where entry (i, j) is there. A step of size
dt solves next + dt * L next = u, where (L v)[i] is the sum over the neighbours j of v[i] - v[j], by conjugate
gradients (Hestenes and Stiefel, 1952). Its product with the matrix is a formula: the matrix is never formed.
Without a file the mesh is a square of 6 x 6 nodes.

    heat.py [FILE.mtx]

heat.c is the same in C.
"""

import sys

import numpy as np
import tiga as tg
from common import read_mtx

SIDE, STEPS, DT = 6, 5, 0.5
PRODUCT = """
out   = node.p + dt * sum(dst(node.p) - src(node.p))
curve = sum(node.p * out)
"""


def square_mesh():
    i, j = np.indices((SIDE**2, SIDE**2)).reshape(2, -1)
    apart = (i // SIDE - j // SIDE) ** 2 + (i % SIDE - j % SIDE) ** 2
    return SIDE**2, i[apart == 1], j[apart == 1]


def advance(multiply, graph, u):
    """The heat a step later."""
    after, r, p = np.zeros_like(u), u, u
    rr = r @ r
    goal = 1e-20 * rr
    while rr > goal:
        product = multiply(graph=graph, ndata={"p": p}, dt=DT)
        along, before = rr / product["curve"], rr
        after, r = after + along * p, r - along * product["out"]
        rr = r @ r
        p = r + rr / before * p
    return after


def main(path=None):
    n, row, col = read_mtx(path) if path else square_mesh()
    graph = tg.Graph.from_coo(col, row, num_src=n, num_dst=n)
    multiply = tg.formula(PRODUCT)
    u = np.zeros(n)
    u[0] = 1
    print(f"{n} nodes, {len(row)} entries")
    for step in range(1, STEPS + 1):
        u = advance(multiply, graph, u)
        print(f"step {step}: hottest {u.max():.6f}, total {u.sum():.6f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
