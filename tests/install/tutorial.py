"""tutorial.py BUILD PAGE: does what the page says, in an empty folder, with Tiga installed in an empty prefix.

A block "```c NAME" is that file; a block "```sh" runs there, and must print the block "```text" that follows it.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from run import Prefix, missing

BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.M | re.S)


def shell(script, folder, environment):
    """What it prints, on a compiler that takes warnings for errors."""
    strict = 'cc() { command cc -std=c11 -Wall -Wextra -pedantic -Werror "$@"; }; set -e\n'
    done = subprocess.run(
        ["bash", "-c", strict + script],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout if done.returncode == 0 else f"exit status {done.returncode}:\n{done.stdout}"


def follow(blocks, folder, environment):
    """The number of blocks whose output is not the page's."""
    wrong = 0
    for k, (kind, name, text) in enumerate(blocks):
        if kind == "c":
            (folder / name).write_text(text)
        elif kind == "sh":
            got, (next_kind, _, expected) = shell(text, folder, environment), blocks[k + 1]
            assert next_kind == "text", f"no output follows:\n{text}"
            if got != expected:
                print(f"{text}printed\n{got}expected\n{expected}")
                wrong += 1
    return wrong


def main(build, page):
    if missing():
        return 77
    blocks = BLOCK.findall(page.read_text())
    assert {kind for kind, _, _ in blocks} <= {"c", "sh", "text", "cmake"}
    with tempfile.TemporaryDirectory() as root:
        prefix = Prefix(build, Path(root))
        environment = {
            "PKG_CONFIG_PATH": str(prefix.libdir / "pkgconfig"),
            "LD_LIBRARY_PATH": str(prefix.libdir),
            "TIGA_CACHE_DIR": str(prefix.work / "cache"),
        }
        os.environ.pop("TIGA_CODEGEN", None)
        wrong = follow(blocks, prefix.work, environment)
    print(f"{sum(kind == 'c' for kind, _, _ in blocks)} programs, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
