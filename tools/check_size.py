"""Prints the lines of each folder and fails when the compiler's middle outgrows its budget.

In: the tree. Out: a table of files, lines, and lines that are neither blank nor comment ("code"); exit status 1
when base, ir, interp, algebra, opt and plan together exceed BUDGET lines of C: code alone, since a
comment that explains makes the afternoon's reading shorter, not longer.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET = 8000
MIDDLE = ["base", "ir", "interp", "algebra", "opt", "plan"]
FOLDERS = [f"src/{f}" for f in [*MIDDLE, "text", "vocab", "capture", "graph", "codegen", "run", "api"]]
FOLDERS += ["include", "tools", "python/_tiga", "python/tiga", "tests", "bench", "examples"]
C_SUFFIXES = {".c", ".h", ".def", ".inc"}
SUFFIXES = C_SUFFIXES | {".py", ".mlir"}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def count(folder):
    files = [p for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES and p.is_file()]
    texts = [(p.suffix, p.read_text()) for p in files]
    lines = sum(t.count("\n") for _, t in texts)
    bare = (COMMENT.sub("", t) if s in C_SUFFIXES else t for s, t in texts)
    code = sum(1 for t in bare for line in t.splitlines() if line.strip())
    return len(files), lines, code


def main():
    table = {folder: count(folder) for folder in FOLDERS}
    print(f"{'folder':<16}{'files':>6}{'lines':>8}{'code':>8}")
    for folder, (files, lines, code) in table.items():
        if files:
            print(f"{folder:<16}{files:>6}{lines:>8}{code:>8}")
    total = [sum(column) for column in zip(*table.values())]
    print(f"{'total':<16}{total[0]:>6}{total[1]:>8}{total[2]:>8}")
    middle = sum(table[f"src/{f}"][2] for f in MIDDLE)
    print(f"{' + '.join(MIDDLE)}: {middle} of {BUDGET} lines of code")
    return 1 if middle > BUDGET else 0


if __name__ == "__main__":
    sys.exit(main())
