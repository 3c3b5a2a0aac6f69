"""Fails when a library exports a symbol that does not start with tg_.

In: libtiga.so and libtiga.a. Out: one line a stray symbol, exit status 1.
"""

import subprocess
import sys


def exported(path):
    dynamic = [] if path.endswith(".a") else ["-D"]
    command = ["nm", *dynamic, "-g", "--defined-only", "--format=posix", path]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in out.splitlines() if len(line.split()) > 1]


def main():
    bad = 0
    for path in sys.argv[1:]:
        names = exported(path)
        stray = [n for n in names if not n.startswith("tg_")]
        for name in stray:
            print(f"{path}: exports {name}")
        if not names:
            print(f"{path}: exports nothing")
        bad |= bool(stray) or not names
    return bad


if __name__ == "__main__":
    sys.exit(main())
