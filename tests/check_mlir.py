"""Stock mlir-opt reads everything that Tiga prints, and prints it the same way.

In: test_text (which writes the cases of the operation table) and tiga-opt. Checked: mlir-opt's output equals ours
line by line, floats by value; it also passes under our IRDL description, which finds a broken operation.
Skips (status 77) where mlir-opt-22 is not installed.
"""

import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

FLOAT = re.compile(r"(-?\d+\.\d*(?:[eE][+-]?\d+)?) : (f32|f64)")
LISTS = re.compile(r'"gf_tensor\.(?=concat")|"gf_mp\.(?=row_scan")')
PROPERTIES = re.compile(r" <\{.*?\}>(?= :| \()")


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[:4000]}")
    return done.stdout


def bits(match):
    code = {"f32": "<f", "f64": "<d"}[match[2]]
    return struct.pack(code, float(match[1])).hex() + " : " + match[2]


def lines(text):
    return [FLOAT.sub(bits, line) for line in text.splitlines() if line.strip()]


def compare(ours, theirs):
    for number, (a, b) in enumerate(zip(lines(ours), lines(theirs), strict=True), 1):
        if a != b:
            sys.exit(f"line {number}: we print\n{a}\nand mlir-opt\n{b}")


def without_properties(text):
    """Dynamic dialects have no properties, and no operand lists of several types."""
    return LISTS.sub('"gf_list.', PROPERTIES.sub("", text))


def check_irdl(mlir_opt, tiga_opt, text, folder):
    irdl = folder / "gf.irdl.mlir"
    irdl.write_text(run([tiga_opt, "--irdl"]))
    command = [*mlir_opt, f"--irdl-file={irdl}"]
    run(command, without_properties(text))
    broken = 'module { func.func @f(%a: tensor<f32>) {\n%0 = "gf_tensor.exp"(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>\nreturn } }'
    if not subprocess.run(command, input=broken, capture_output=True, text=True).returncode:
        sys.exit("IRDL lets an exp of two operands pass")


def main():
    test_text, tiga_opt, *files = sys.argv[1:]
    name = shutil.which("mlir-opt-22")
    if not name:
        print("skipped: mlir-opt-22 is not installed")
        return 77
    mlir_opt = [name, "--allow-unregistered-dialect", "--split-input-file"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run([test_text, folder / "cases.mlir"])
        text = (folder / "cases.mlir").read_text()
        text += "".join("// -----\n" + run([tiga_opt, file]) for file in files)
        compare(text, run(mlir_opt, text))
        check_irdl(mlir_opt, tiga_opt, text, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
