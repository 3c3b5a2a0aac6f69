"""Peers beyond torch and SciPy. One that is not installed is said, and leaves its rows out."""

from pathlib import Path

import torch

missing = []
build = Path("build")  # Meson's build folder, which run.py was given

try:
    import torch_geometric
    import torch_geometric.nn as geometric
    from torch_geometric.utils import softmax as geometric_softmax
except ImportError as error:
    geometric = geometric_softmax = None
    missing.append(f"torch-geometric ({error})")

try:
    import graphblas
except ImportError as error:
    graphblas = None
    missing.append(f"SuiteSparse:GraphBLAS ({error})")


def versions():
    found = {}
    if geometric:
        found["torch_geometric"] = torch_geometric.__version__
    if graphblas:
        found["graphblas"] = graphblas.__version__
    return found


def only(*pairs):
    """A dictionary of the pairs (name, side) whose side is there."""
    return {name: side for name, side in pairs if side is not None}


def scatter_sum(messages, dst, num_dst):
    """Messages summed by destination, as torch does it eagerly."""
    zeros = messages.new_zeros(num_dst, *messages.shape[1:])
    return zeros.index_add(0, dst, messages)


def scatter_softmax(scores, dst, num_dst):
    """Softmax over the edges of each destination, as torch does it eagerly."""
    index = dst.reshape(-1, *[1] * (scores.dim() - 1)).expand_as(scores)
    lowest = scores.new_full((num_dst, *scores.shape[1:]), -torch.inf)
    top = lowest.scatter_reduce(0, index, scores.detach(), "amax")
    weights = torch.exp(scores - top.index_select(0, dst))
    return weights / scatter_sum(weights, dst, num_dst).index_select(0, dst)
