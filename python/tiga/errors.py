"""Exceptions and warnings of Tiga's own; everything else is one of Python's."""

from ._tiga import TigaBug

__all__ = ["AlgebraWarning", "TigaBug"]


class AlgebraWarning(UserWarning):
    """A reducer was declared associative or commutative, and a reachable state says otherwise."""
