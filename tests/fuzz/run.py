"""Runs a fuzzer from the seeds in the tree.

    run.py NAME PROGRAM SECONDS FOLDER

In: the fuzzer's name (formula, ir_text) and program, and a folder that keeps the corpus and what was found. Seeds are the texts of
tests/test_formula.c and tests/formula/, or the programs of tests/ir/ with their golden outputs. Prints libFuzzer's
last lines; status 1, with the finding's path, when something was found.
"""

import os
import pathlib
import re
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
STRING = r'"((?:[^"\\]|\\.)*)"'


def formula_seeds():
    source = (TESTS / "test_formula.c").read_text()
    for texts in re.findall(rf"\{{({STRING}(?:\s*{STRING})*)", source):
        text = "".join(re.findall(STRING, texts[0]))
        yield text.encode("latin-1", "replace").decode("unicode_escape")
    for path in sorted((TESTS / "formula").glob("*.txt")):
        for block in re.split(r"^---.*$", path.read_text(), flags=re.M):
            yield "\n".join(line for line in block.splitlines() if not line.startswith("//"))


def ir_text_seeds():
    for path in sorted((TESTS / "ir").glob("*.mlir")):
        program, _, output = path.read_text().partition("// out:\n")
        yield program
        yield "".join(line[3:] + "\n" for line in output.splitlines())


def main():
    name, program, seconds, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate({"formula": formula_seeds, "ir_text": ir_text_seeds}[name]()):
        (corpus / f"seed-{number:03}").write_text(text, encoding="latin-1", errors="replace")
    command = [program, f"-max_total_time={seconds}", f"-dict={TESTS / 'fuzz' / name}.dict", "-timeout=20", "-rss_limit_mb=4096"]
    command += [f"-max_len={ {'formula': 600, 'ir_text': 6000}[name] }", f"-artifact_prefix={folder / name}-", "-print_final_stats=1"]
    strict = os.environ | {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    done = subprocess.run([*command, str(corpus)], capture_output=True, text=True, errors="replace", env=strict)
    (folder / f"{name}.log").write_text(done.stderr)
    lines = done.stderr.splitlines()
    if done.returncode:
        print("\n".join(lines[-60:]))
        return 1
    figures = [line for line in lines if re.match(r"#\d+\s", line)]
    print(f"fuzz {name}: {' '.join(figures[-1].split())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
