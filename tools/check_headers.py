"""Compiles every header alone, and the public ones as C11, C17 and C++17.

In: the build folder (for generated headers). Out: the compiler's messages, exit status 1 when one fails.
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def llvm_flags():
    config = shutil.which(os.environ.get("LLVM_CONFIG", "llvm-config-22"))
    if not config:
        return []
    out = subprocess.run([config, "--includedir"], capture_output=True, text=True, check=True)
    return ["-isystem", out.stdout.strip()]


def commands(build):
    flags = ["-D_GNU_SOURCE", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", f"-I{build / 'include'}"]
    warn = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    c = [os.environ.get("CC", "cc"), "-std=c17", "-x", "c", *warn]
    public = sorted((ROOT / "include").rglob("*.h")) + sorted((build / "include").rglob("*.h"))
    for header in sorted((ROOT / "src").rglob("*.h")):
        extra = llvm_flags() if header.parent.name == "codegen" else []
        yield [*c, *flags, *extra], header
    cc, cxx = os.environ.get("CC", "cc"), shutil.which(os.environ.get("CXX", "c++"))
    for header in public:
        for standard in ("c11", "c17"):
            yield [cc, f"-std={standard}", "-pedantic", "-x", "c", *warn, *flags], header
        if cxx:
            yield [cxx, "-std=c++17", "-pedantic", "-x", "c++", *warn, *flags], header


def check(job):
    command, header = job
    text = f'#include "{header}"\n'
    run = subprocess.run([*command, "-"], input=text, capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [text for text in pool.map(check, commands(build)) if text]
    print("\n".join(failed), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
