#!/usr/bin/env python3
"""Do the tests notice? One seeded error at a time in a copy of the tree, until a test fails.

    run.py TREE WORK [WORD ...]     runs the mutants whose line has one of the words (all without)
    run.py --check TREE             only: does each still apply, in one place?

The lists beside this file hold a mutant in two lines, "- what stands there" and "+ what stands there instead",
under the file that it is in and the tests (Meson's names) that should notice it, the likeliest first. The first
text must occur once in the file; spaces and line ends count as one space, so formatting does not matter.
WORK keeps the copy and its build, so that a second run compiles little. A crash, a hang or a compiler that refuses
count as noticed; what a rule needs to be noticed is a test, not a change here."""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass
class Mutant:
    kind: str
    file: str
    tests: list[str]
    old: str
    new: str

    @property
    def title(self) -> str:
        return f"{self.kind}: {self.file}: {self.old}  ->  {self.new}"

    def apply(self, text: str) -> str:
        places = list(re.finditer(r"\s+".join(map(re.escape, self.old.split())), text))
        if len(places) != 1:
            raise ValueError(f"occurs {len(places)} times: {self.title}")
        return text[: places[0].start()] + self.new + text[places[0].end() :]


def read_list(path: Path) -> list[Mutant]:
    mutants, tests, file, old = [], [], "", ""
    for line in path.read_text().splitlines():
        word, _, rest = line.partition(" ")
        match word:
            case "tests":
                tests = rest.split()
            case "file":
                file = rest
            case "-":
                old = rest
            case "+":
                mutants.append(Mutant(path.stem, file, tests, old, rest))
            case "" | "#":
                pass
            case _:
                raise ValueError(f"{path.name}: {line}")
    return mutants


def check(tree: Path, mutants: list[Mutant]) -> int:
    bad = 0
    for m in mutants:
        try:
            assert m.apply((tree / m.file).read_text()) != (tree / m.file).read_text()
        except ValueError as error:
            print(error)
            bad += 1
    print(f"mutants: {len(mutants)} in {len({m.kind for m in mutants})} lists, {bad} do not apply")
    return bad


def copy_tree(tree: Path, to: Path) -> None:
    """What git knows or would add; files that did not change keep their times, for ninja."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=tree, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    for name in filter(None, names):
        source, target = tree / name, to / name
        if not source.exists() or (target.exists() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def build(work: Path, test: str) -> bool:
    paths = {"random": "tests/random/test_random", "golden": "tiga-opt", "tool": "tiga-opt"}
    program = paths.get(test) or "tests/test_" + re.sub("_(avx2|interp)$", "", test)
    command = ["ninja", "-C", "build", "--quiet", "libtiga_codegen.so", program]
    return subprocess.run(command, cwd=work, capture_output=True).returncode == 0


def noticed_by(work: Path, tests: list[str]) -> str:
    """The test that failed first, or ''."""
    cache = work / "cache"
    shutil.rmtree(cache, ignore_errors=True)  # code of another mutant
    environment = {**os.environ, "TIGA_CACHE_DIR": str(cache), "TIGA_RANDOM_SECONDS": "20"}
    for test in tests:
        if not build(work, test):
            return "the compiler"
        command = ["meson", "test", "-C", "build", "--no-rebuild", "-q", test]
        if subprocess.run(command, cwd=work, env=environment, capture_output=True).returncode:
            return test
    return ""


def try_mutant(work: Path, m: Mutant) -> str:
    path = work / m.file
    text = path.read_text()
    path.write_text(m.apply(text))
    try:
        return noticed_by(work, m.tests)
    finally:
        path.write_text(text)


def main() -> int:
    mutants = [m for path in sorted(HERE.glob("*.txt")) for m in read_list(path)]
    if sys.argv[1] == "--check":
        return check(Path(sys.argv[2]), mutants) > 0
    tree, work, words = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    mutants = [m for m in mutants if not words or any(w in m.title for w in words)]
    if check(tree, mutants):
        return 1
    copy_tree(tree, work)
    if not (work / "build" / "build.ninja").exists():
        setup = ["meson", "setup", "build", "-Dpython=disabled", "-Doptimization=0", "-Ddebug=false"]
        subprocess.run(setup, cwd=work, check=True, capture_output=True)
    tests = sorted({t for m in mutants for t in m.tests})
    if first := noticed_by(work, tests):
        print(f"the tree itself fails: {first}")
        return 1
    missed = 0
    for k, m in enumerate(mutants):
        start = time.monotonic()
        test = try_mutant(work, m)
        missed += not test
        print(f"{k + 1:3}/{len(mutants)}  {time.monotonic() - start:4.0f} s  {test or 'MISSED':14}  {m.title}", flush=True)
    print(f"mutants: {len(mutants) - missed} noticed, {missed} missed")
    return missed > 0


sys.exit(main())
