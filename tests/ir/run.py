"""Golden tests: programs in text with what tiga-opt makes of them.

A file is a program, a line "// run: tiga-opt OPTIONS %s" (a "!" before tiga-opt: it must fail) and, last, "// out:"
with the exact output as comments; of a failure, what went to standard error.

    run.py TIGA_OPT FILE...           compares; status 1 when one differs
    run.py --bless TIGA_OPT FILE...   rewrites what differs, for review in the diff
"""

import difflib
import pathlib
import shlex
import subprocess
import sys


def output_of(tiga_opt, path, line):
    words = shlex.split(line)
    fails = words[0] == "!"
    command = [str(path) if w == "%s" else tiga_opt if w == "tiga-opt" else w for w in words[fails:]]
    done = subprocess.run(command, capture_output=True, text=True)
    text = done.stderr if fails else done.stdout
    if bool(done.returncode) != fails:
        text = f"exit status {done.returncode}\n{done.stderr}"
    return text.replace(str(path), "%s")


def expected(program, text):
    return program + "// out:\n" + "".join(f"// {line}\n".replace("//  \n", "//\n") for line in text.splitlines())


def check(tiga_opt, path, bless):
    old = path.read_text()
    program = old.split("// out:\n")[0]
    runs = [line[8:] for line in program.splitlines() if line.startswith("// run: ")]
    if len(runs) != 1:
        sys.exit(f"{path}: one line '// run: ' is expected")
    new = expected(program, output_of(tiga_opt, path, runs[0]))
    if new == old:
        return True
    if bless:
        path.write_text(new)
        print(f"blessed {path}")
        return True
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(path), "is now"))
    return False


def main():
    args = sys.argv[1:]
    bless = args[:1] == ["--bless"]
    tiga_opt, *files = args[bless:]
    same = [check(tiga_opt, pathlib.Path(f), bless) for f in files]
    return 0 if same and all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
