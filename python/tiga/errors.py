"""Exceptions and warnings of Tiga's own; everything else is one of Python's."""

from __future__ import annotations

from collections.abc import Iterable

from . import _tiga
from ._tiga import TigaBug

__all__ = ["AlgebraWarning", "TigaBug"]


class AlgebraWarning(UserWarning):
    """A reducer was declared associative or commutative, and a reachable state says otherwise."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What a message ends with where one of the names that exist is near a misspelt one, else nothing."""
    found = _tiga.near(name, tuple(known))
    return f"; did you mean {found!r}?" if found else ""
