"""run.py BUILD: installs into an empty prefix, then builds and runs consumer.c against it as its users would.

By pkg-config with the compiler alone and by CMake's find_package; in C and C++, shared and static, with and
without the address sanitizer. The prefix is not the one that was configured: an installed tree may be moved.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
SKIPPED = 77
SANITIZED = {"": [], "_asan": ["-fsanitize=address"]}


def run(*command, **environment):
    """What it prints; ends the test where it fails."""
    done = subprocess.run(
        [str(c) for c in command],
        env=os.environ | {k: str(v) for k, v in environment.items()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def missing():
    """Says what is not here to install or to build with."""
    names = [name for name in ("meson", "pkg-config", "cc") if not shutil.which(name)]
    if names:
        print(f"not on the path: {', '.join(names)}")
    return names


class Prefix:
    """An installation below root, and a folder to build programs in."""

    def __init__(self, build, root):
        run("meson", "install", "-C", build, "--no-rebuild", "--destdir", root, "--tags", "runtime,devel")
        self.path = next(root.rglob("include/tiga/tiga.h")).parents[2]
        self.libdir = next(self.path.rglob("libtiga.a")).parent
        self.work = root / "work"
        self.work.mkdir()

    def check(self, program):
        """Runs it with no cached code, so that it must find the code generator. A static program does so from
        where it is installed itself."""
        if "static" in program.name:
            (self.path / "bin").mkdir(exist_ok=True)
            program = Path(shutil.copy(program, self.path / "bin"))
        with tempfile.TemporaryDirectory() as cache:
            text = run(program, TIGA_CACHE_DIR=cache, LD_LIBRARY_PATH=self.libdir)
            made = list(Path(cache).iterdir())
        print(f"{program.name}: {text}", end="")
        assert text == "as expected\n" and made


def check_pkg_config(prefix):
    def flags(*options):
        return run("pkg-config", *options, "tiga", PKG_CONFIG_PATH=prefix.libdir / "pkgconfig").split()

    shared = flags("--cflags", "--libs")
    # The linker takes the shared library where both are; a static program names the other.
    static = ["-l:libtiga.a" if f == "-ltiga" else f for f in flags("--cflags", "--libs", "--static")]
    for name, libraries in ("shared", shared), ("static", static):
        for compiler, language, standard in ("cc", "c", "c11"), ("cc", "c", "c17"), ("c++", "c++", "c++17"):
            if not shutil.which(compiler):
                continue
            for suffix, sanitize in SANITIZED.items():
                program = prefix.work / f"{standard}_{name}{suffix}"
                source = ["-x", language, HERE / "consumer.c", "-x", "none"]
                run(compiler, f"-std={standard}", *WARNINGS, *sanitize, *source, *libraries, "-lm", "-o", program)
                prefix.check(program)


# All that the compilers know of, but for what objects to a language later than the first.
STRICT = {
    "gcc": "-Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef -Wmissing-prototypes -Wuninitialized -O2",
    "g++": "-Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef -Wold-style-cast -Wuninitialized -O2",
    "clang": "-Weverything -Wno-pre-c11-compat -Wno-declaration-after-statement -Wno-unsafe-buffer-usage",
    "clang++": "-Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-unsafe-buffer-usage",
}


def check_warnings(prefix):
    for compiler, options in STRICT.items():
        found = next(filter(shutil.which, (compiler, f"{compiler}-22")), None)
        language, standards = ("c++", ["c++17"]) if "++" in compiler else ("c", ["c11", "c17"])
        for standard in standards if found else []:
            source = ["-x", language, HERE / "consumer.c", "-o", prefix.work / "strict.o"]
            run(found, f"-std={standard}", *WARNINGS, *options.split(), "-I", prefix.path / "include", "-c", *source)
            print(f"{found} {standard}: no warning")


def check_tool(prefix):
    """It finds the code generator, which does not lie beside it."""
    assert "define" in run(prefix.path / "bin/tiga-opt", "-e", "out = sum(src.x)", "--stage=llvm")
    print("tiga-opt: finds the code generator")


def check_cmake(prefix):
    if not shutil.which("cmake"):
        print("no cmake: find_package is not tested")
        return
    build = prefix.work / "cmake"
    run("cmake", "-S", HERE, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix.path}")
    run("cmake", "--build", build)
    programs = sorted(p for p in build.iterdir() if p.is_file() and os.access(p, os.X_OK))
    assert len(programs) == 6
    for program in programs:
        prefix.check(program)


def main(build):
    if missing():
        return SKIPPED
    os.environ.pop("TIGA_CODEGEN", None)
    with tempfile.TemporaryDirectory() as root:
        prefix = Prefix(build, Path(root))
        check_pkg_config(prefix)
        check_warnings(prefix)
        check_tool(prefix)
        check_cmake(prefix)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
