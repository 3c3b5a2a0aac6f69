"""Shared helpers: where the founding documents are, graphs, dense references."""

from __future__ import annotations

import os
import pathlib
import re

import numpy as np
import pytest
import tiga as tg

ROOT = pathlib.Path(__file__).resolve().parents[2]


def seeds_folder() -> pathlib.Path | None:
    """The founding documents, where they are at hand."""
    for path in (os.environ.get("TIGA_SEEDS"), ROOT.parent / "shared" / "seeds"):
        if path and pathlib.Path(path).is_dir():
            return pathlib.Path(path)
    return None


def seed_text(number: str) -> str:
    """The text of a founding document; skips where there is none."""
    folder = seeds_folder()
    if folder is None:
        pytest.skip("no founding documents here (set TIGA_SEEDS to their folder)")
    found = sorted(folder.glob(f"{number}*"))
    if not found:
        pytest.skip(f"document {number} is not in {folder}")
    return found[0].read_text()


def programs(text: str) -> list[str]:
    """Python programs in a document: from an import line or a class to the next line of prose."""
    code = re.compile(r"^(import |from |class |def |@|[ \t]+\S|\)|\]|\}|[\w\[\], .()\"']+ = |print\(|#|$)")
    blocks: list[str] = []
    current: list[str] = []
    for line in text.splitlines():
        starts = line.startswith(("import ", "class ", "from "))
        if current and code.match(line) or not current and starts:
            current.append(line)
        elif current:
            blocks.append("\n".join(current).strip() + "\n")
            current = []
    return [*blocks, "\n".join(current)] if current else blocks


@pytest.fixture
def hub() -> tg.Graph:
    """Duplicates, isolated nodes, self loops, and one node that 5,000 edges enter."""
    rng = np.random.default_rng(7)
    src = np.concatenate([rng.integers(0, 40, 5000), [1, 1, 2, 3, 5, 5], [7]])
    dst = np.concatenate([np.full(5000, 11), [2, 2, 3, 3, 5, 5], [9]])
    order = rng.permutation(len(src))
    return tg.Graph.from_coo(src[order], dst[order], num_src=40, num_dst=40)
