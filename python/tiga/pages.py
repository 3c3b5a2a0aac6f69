"""Huge pages for new memory that a kernel is about to fill: at 4 KiB a page, the faults of first touches take as long
as the kernel. NumPy asks for them by itself; torch does not."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["LARGE", "ask_for_huge"]

LARGE = 4 << 20  # bytes from which it pays
_PAGE = 1 << 12
_MADV_HUGEPAGE = 14

_madvise = None
if sys.platform.startswith("linux"):
    _madvise = ctypes.CDLL(None).madvise
    _madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def ask_for_huge(address: int, size: int) -> None:
    """Advises the system on the whole pages inside; what it makes of it changes no content."""
    start = -(-address // _PAGE) * _PAGE
    whole = (address + size - start) // _PAGE * _PAGE
    if _madvise is not None and whole > 0:
        _madvise(start, whole, _MADV_HUGEPAGE)
