"""Fails when an #include points against the direction of dependencies (docs/design.md, section 2).

In: the #include lines of src/, python/_tiga/ and include/. Out: one line a violation, exit status 1.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# folder -> the folders it builds on directly; what those build on comes along.
DIRECT = {
    "base": [],
    "ir": ["base"],
    "text": ["ir"],
    "vocab": ["ir"],
    "algebra": ["vocab"],
    "capture": ["interp"],
    "opt": ["algebra"],
    "plan": ["opt"],
    "codegen": ["plan"],
    "graph": ["base"],
    "interp": ["algebra", "graph"],
    "run": ["plan", "interp"],
    "api": ["run", "capture", "text"],
}
# run/ opens the code generator at run time and knows it by this header alone.
CONTRACT = "codegen/codegen.h"
CONTRACT_USERS = {"run", "api"}
PUBLIC = {"tiga/tiga.h", "tiga/tiga_ops.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def closure(folder):
    out = {folder}
    for below in DIRECT[folder]:
        out |= closure(below)
    return out


def sources(path):
    return sorted(p for p in path.rglob("*") if p.suffix in {".c", ".h", ".def"})


def includes(path):
    for match in INCLUDE.finditer(path.read_text()):
        yield match.group(1), match.group(2)


def core_violation(folder, quote, name):
    if name.startswith(("llvm-c/", "llvm/")):
        return None if folder == "codegen" else "only codegen may include LLVM"
    if name == "Python.h":
        return "only python/_tiga may include Python.h"
    if quote == "<" or name in PUBLIC:
        return None
    if name == CONTRACT and folder in CONTRACT_USERS:
        return None
    target = name.split("/")[0] if "/" in name else folder
    if target not in DIRECT:
        return "no such folder; write \"folder/header.h\""
    return None if target in closure(folder) else f"{folder} may not depend on {target}"


def main():
    bad = []
    for folder in DIRECT:
        for path in sources(ROOT / "src" / folder):
            for quote, name in includes(path):
                why = core_violation(folder, quote, name)
                if why:
                    bad.append((path, name, why))
    own = {p.name for p in sources(ROOT / "python" / "_tiga")}
    for path in sources(ROOT / "python" / "_tiga"):
        for quote, name in includes(path):
            if quote == '"' and name not in PUBLIC and name not in own:
                bad.append((path, name, "python sees tiga/tiga.h and tiga/tiga_ops.h alone"))
    for path in sources(ROOT / "include"):
        for quote, name in includes(path):
            if quote == '"' and name not in PUBLIC | {"tiga.h", "tiga_ops.h"}:
                bad.append((path, name, "a public header includes public headers alone"))
    for path, name, why in bad:
        print(f"{path.relative_to(ROOT)}: includes {name}: {why}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
