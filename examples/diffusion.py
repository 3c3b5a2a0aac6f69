"""Heat on a ring of eight nodes: a step of size dt moves it from each node to its two neighbours,

    next[i] = u[i] + dt * (u[i - 1] - u[i]) + dt * (u[i + 1] - u[i])

NumPy arrays in, a NumPy array out. diffusion.c is the same in C.
"""

import numpy as np
import tiga as tg


class Step(tg.MessagePassing):
    reducer = tg.sum()

    def edge(self, src, dst, edge):
        return src.u - dst.u

    def node(self, dst, aggregate, dt):
        return dst.u + dt * aggregate


def main(n=8, steps=4, dt=0.25):
    node = np.arange(n)
    src = np.stack([(node - 1) % n, (node + 1) % n], axis=1).ravel()
    ring = tg.Graph.from_coo(src, node.repeat(2), num_src=n, num_dst=n)
    step = Step()
    u = np.zeros(n, np.float32)
    u[0] = 1
    for t in range(steps + 1):
        print(f"{t}:", *(f"{v:.4f}" for v in u))
        u = step(graph=ring, ndata={"u": u}, dt=dt)


if __name__ == "__main__":
    main()
