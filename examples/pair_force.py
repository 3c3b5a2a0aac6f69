"""Molecular dynamics from an energy alone: the force between pairs of atoms (Lennard-Jones) is the gradient of the
energy, and how it changes along a direction is the gradient of the force. Prints the energy, the force on each
atom, that change and the same from a difference of forces. pair_force.c is the same in C."""

import tiga as tg
import torch

# Each pair is two edges, hence the half.
ENERGY_OF_PAIRS = """
apart  = src(node.r) - dst(node.r)
q      = 1 / sum(apart * apart, axis=-1)
atom   = sum(2 * (q ** 6 - q ** 3))
energy = sum(atom)
"""
ATOMS = 4
potential = tg.formula(ENERGY_OF_PAIRS)
dst, src = torch.nonzero(~torch.eye(ATOMS, dtype=torch.bool)).T
graph = tg.Graph.from_coo(src, dst, num_src=ATOMS, num_dst=ATOMS)


def slope_of(r):
    """The energy and its gradient."""
    energy = potential(graph=graph, ndata={"r": r})
    return energy, torch.autograd.grad(energy, r, create_graph=True)[0]


def print_vectors(name, vectors):
    for i, v in enumerate(vectors.tolist()):
        print(f"{name}[{i}]", *(f"{x:.4f}" for x in v))


def main():
    r = torch.tensor([[0, 0, 0], [1.1, 0.1, 0], [0.4, 1.2, 0.1], [0.5, 0.3, 1]], dtype=torch.float64)
    way = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=torch.float64)
    r.requires_grad_()
    energy, slope = slope_of(r)
    print(f"energy {energy.item():.4f}")
    print_vectors("slope", slope)
    print_vectors("change", torch.autograd.grad(slope, r, way)[0])
    h = 1e-5
    print_vectors("expect", (slope_of(r + h * way)[1] - slope_of(r - h * way)[1]) / (2 * h))


if __name__ == "__main__":
    main()
