"""How many threads a call uses: set_num_threads, else TIGA_THREADS, else torch's number in torch calls,
else the core's default (OMP_NUM_THREADS, else the processors that the process may use)."""

from __future__ import annotations

import os
from typing import Any

from . import _tiga

__all__ = ["get_num_threads", "memory", "set_num_threads", "trim"]

_chosen = 0
_env = "TIGA_THREADS" in os.environ


def set_num_threads(n: int) -> None:
    """Threads of all following calls; 0 goes back to the default. Bits do not depend on it."""
    global _chosen
    if n < 0:
        raise ValueError(f"{n} threads: a number of threads is 1 or more, or 0 for the default")
    _chosen = n


def get_num_threads() -> int:
    """Threads of the next call (in torch calls torch's own number where none was chosen)."""
    _tiga.set_num_threads(_chosen)
    return _tiga.num_threads()


def count(torch: Any) -> int:
    """For one call; torch is the module in torch calls, else None."""
    if _chosen or _env or torch is None:
        return _chosen
    return torch.get_num_threads()


def memory() -> int:
    """Bytes held by the buffer pool."""
    return _tiga.memory()


def trim() -> None:
    """Gives the buffer pool's unused memory back to the system."""
    _tiga.trim()
