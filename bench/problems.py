"""Graphs and data to measure on; the random numbers are the same in every run."""

import numpy as np
import tiga as tg
import torch


class Problem:
    """A graph by rows (destinations), given as degrees; columns are random, or near their row."""

    def __init__(self, degrees, local=False, index=np.int64):
        self.rng = np.random.default_rng(0)
        degrees = np.asarray(degrees)
        self.nodes, self.edges = len(degrees), int(degrees.sum())
        self.row_ptr = np.concatenate([[0], np.cumsum(degrees)]).astype(index)
        rows = np.repeat(np.arange(self.nodes), degrees)
        near = (rows + self.rng.integers(-64, 64, self.edges)) % self.nodes
        self.col_idx = (near if local else self.rng.integers(0, self.nodes, self.edges)).astype(index)
        self.graph = tg.Graph.from_csr(self.row_ptr, self.col_idx, num_src=self.nodes)
        self.src = torch.from_numpy(self.col_idx.astype(np.int64))
        self.dst = torch.from_numpy(rows)

    def edge_index(self):
        """As torch-geometric wants it."""
        return torch.stack([self.src, self.dst])

    def normal(self, *shape, rows="nodes"):
        """A float32 tensor of normal numbers, one row a node (an edge)."""
        return torch.from_numpy(self.rng.standard_normal((getattr(self, rows), *shape), np.float32))


def regular(nodes, degree=16, **options):
    """Every node has the same degree."""
    return Problem(np.full(nodes, degree), **options)


def irregular(nodes):
    """name, problem: about 16 edges a node, spread unevenly."""
    rng = np.random.default_rng(1)
    yield "ragged 0..32", Problem(rng.integers(0, 33, nodes))
    yield "90/9/1 % of 8/64/256", Problem(rng.choice([8, 64, 256], nodes, p=[0.9, 0.09, 0.01]))
    yield "log-normal", Problem(np.minimum(rng.lognormal(2.0, 1.25, nodes), nodes).astype(np.int64))
    degrees = np.full(nodes, 16)
    degrees[nodes // 3] = min(100_000, 4 * nodes)
    yield "one hub of 1e5", Problem(degrees)
