"""PageRank (Page, Brin, Motwani and Winograd, 1999) of the karate club: how often a walk among friends, which
starts afresh now and then, is at each member. pagerank.c is the same in C."""

import karate
import numpy as np
import tiga as tg

STEP = """
out    = (1 - damping) / n + damping * sum(src(node.rank / node.friends))
change = sum(abs(out - node.rank))
"""


def main():
    club = karate.load()
    n = club.num_nodes
    graph = tg.Graph.from_coo(club.src, club.dst, num_src=n, num_dst=n)
    friends = np.bincount(club.src, minlength=n).astype(np.float32)
    step, constants = tg.formula(STEP), {"damping": np.array(0.85, np.float32), "n": np.array(n, np.float32)}
    rank, change = np.full(n, 1 / n, np.float32), 1
    while change > 1e-4:
        result = step(graph=graph, ndata={"rank": rank, "friends": friends}, **constants)
        rank, change = result["out"], result["change"]
    for i in np.argsort(-rank, kind="stable")[:5]:
        print(f"member {i + 1:2}  {rank[i]:.4f}")


if __name__ == "__main__":
    main()
