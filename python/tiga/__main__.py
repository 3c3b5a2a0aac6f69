"""python -m tiga: what is here, and whether it works."""

from __future__ import annotations

import sys

import numpy as np

import tiga as tg
from tiga import _tiga


def compiles() -> str:
    """Runs a small kernel; "yes", or why not."""
    kernel = tg.formula("out = sum(edge.w * src.x)")
    graph = tg.Graph.from_coo([0, 1], [1, 1])
    ones = np.ones(2, np.float32)
    try:
        out = kernel(graph=graph, src={"x": ones}, edge={"w": ones})
    except Exception as error:
        return f"no: {type(error).__name__}: {error}"
    return "yes" if out.tolist() == [0.0, 2.0] else f"wrong result {out.tolist()}"


def main() -> None:
    """Prints a line for each fact."""
    print(f"package: {tg.__version__}")
    print(f"python {sys.version.split()[0]}, numpy {np.__version__}, torch {version_of('torch')}")
    try:
        print(_tiga.about().rstrip())
    except Exception as error:
        print(f"code generator: {error}")
    print(f"JIT compile works here: {compiles()}")


def version_of(package: str) -> str:
    """The installed version of a package, without importing it."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()
