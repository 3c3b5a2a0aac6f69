"""Tiga: differentiable message passing, compiled."""

__version__ = "0.1.0"
