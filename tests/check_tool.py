"""tiga-opt on data: formulas run on .npy files that this script writes by hand.

In: tiga-opt. Checked: results against values worked out by hand; C and Fortran order, header versions, dtypes; files that
are refused, with what is said; any bytes in a header end in status 0 or 1. Where numpy is installed its files are read and
ours are read by it.
"""

import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

SIZES = {"f": {2: "e", 4: "f", 8: "d"}, "i": {4: "i", 8: "q"}, "b": {1: "?"}}


def header(descr="<f4", order="False", shape="(3,)", version=(1, 0), text=None):
    text = text or f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text.encode("latin-1")


def npy(values, descr="<f4", shape=None, order="False", version=(1, 0)):
    data = struct.pack(f"<{len(values)}{SIZES[descr[1]][int(descr[2])]}", *values)
    return header(descr, order, shape or f"({len(values)},)", version) + data


FILES = {
    "row_ptr": npy([0, 2, 3, 5], "<i8"),
    "col_idx": npy([0, 2, 1, 0, 1], "<i4"),
    "src": npy([0, 2, 1, 0, 1], "<i8", version=(2, 0)),
    "dst": npy([0, 0, 1, 2, 2], "<i8", version=(3, 0)),
    "x": npy([1, 2, 3]),
    "x4": npy([1, 2, 3, 4]),
    "d": npy([1, 2, 3], "<f8"),
    "e": npy([1, 0.1, 3], "<f2"),
    "ones": npy([1, 1, 1]),
    "w": npy([0.5] * 5),
    "h": npy([1, 2, 3, 4, 5, 6], shape="(3, 2)"),
    "hf": npy([1, 3, 5, 2, 4, 6], shape="(3, 2)", order="True"),
    "m": npy([True, False, True, True, False], "|b1"),
    "k": npy([1, 2, 3, 4, 5], "<i8"),
    "n": npy([1, 2, 3, 4, 5], "<i4"),
    "s": npy([3], shape="()"),
    "none": npy([], shape="(0,)"),
    "none8": npy([], "<i8", shape="(0,)"),
    "zero": npy([0], "<i8"),
}
# Formulas in files; the last is told from IR by what follows the comment.
TEXTS = {
    "sum.tg": "\ufeffout = sum(edge.w * src.x)\n",
    "mean.tg": "# a mean\r\nwm.identity = 0, 0\r\nwm.lift(m) = m, 1\r\n"
    "wm.combine(a, b) = a[0] + b[0], a[1] + b[1]\r\nwm.finalize(s) = s[0] / s[1]\r\nout = wm(src.x)\r\n",
    "fault.tg": "# two lines\nh = 2 * src.x\nout = sum(h\n",
}
CSR, COO = ["--graph=row_ptr.npy,col_idx.npy"], ["--coo=src.npy,dst.npy"]
RIGHT = [
    (["-e", "out = sum(edge.w * src.x)", *CSR, "--bind=src.x=x.npy", "--bind=edge.w=w.npy"], "out: float32 (3,)\n 2 1 1.5\n"),
    (["-e", "out = sum(edge.w * src.x)", *COO, "--bind=src.x=x.npy", "--bind=edge.w=w.npy"], "out: float32 (3,)\n 2 1 1.5\n"),
    (["-e", "out = sum(src(node.h))", *CSR, "--bind=node.h=h.npy"], "out: float32 (3, 2)\n 6 8\n 3 4\n 4 6\n"),
    (["-e", "out = sum(src(node.h))", *CSR, "--bind=node.h=hf.npy"], "out: float32 (3, 2)\n 6 8\n 3 4\n 4 6\n"),
    (["-e", "out = sum(src.d)", *CSR, "--bind=src.d=d.npy"], "out: float64 (3,)\n 4 2 3\n"),
    (["-e", "out = sum(src.e * 0.5)", *CSR, "--bind=src.e=e.npy"], "out: float16 (3,)\n 2 0.049988 0.5498\n"),
    (["-e", "out = sum(where(edge.m, edge.k, 0))", *CSR, "--bind=edge.m=m.npy", "--bind=edge.k=k.npy"], "out: int64 (3,)\n 1 3 4\n"),
    (["-e", "out = sum(edge.n)", *CSR, "--bind=edge.n=n.npy"], "out: int64 (3,)\n 3 3 9\n"),
    (["-e", "out = node.x > s", *CSR, "--bind=node.x=x.npy", "--bind=s=s.npy"], "out: bool (3,)\n false false false\n"),
    (["-e", "out = s * 2", "--bind=s=s.npy"], "out: float32 ()\n 6\n"),
    (["sum.tg", *CSR, "--bind=src.x=x.npy", "--bind=edge.w=w.npy"], "out: float32 (3,)\n 2 1 1.5\n"),
    (["mean.tg", *CSR, "--bind=src.x=x.npy"], "out: float32 (3,)\n 2 2 1.5\n"),
    (["-e", "out = sum(src.x)", "--graph=zero.npy,none8.npy", "--bind=src.x=none.npy"], "out: float32 (0,)\n"),
    (["-e", "out = sum(src.x * src.x)", "--grad=out:src.x", *CSR, "--bind=src.x=x.npy", "--bind=cot.out=ones.npy"],
     "out: float32 (3,)\n 10 4 5\ngrad.src.x: float32 (3,)\n 4 8 6\n"),
]
WRONG = [
    (["-e", "out = sum(src.x)", *CSR, "--bind=src.x=x4.npy", "--bind=w=x.npy"], "argument 'w': the program has no such name"),
    (["-e", "out = sum(src.x)", "--bind=src.x=x.npy"], "'src.x' has rows: --graph=ROW_PTR,COL_IDX or --coo=SRC,DST says of what"),
    (["-e", "out = sum(edge.w)", *CSR, "--bind=edge.w=x.npy"], "edge field 'w': 3 rows, but the relation has 5 edges"),
    (["-e", "out = sum(edge.w)", *CSR], "edge field 'w' is needed and was not passed"),
    (["-e", "out = sum(src.x)", "--graph=row_ptr.npy", "--bind=src.x=x.npy"], "--graph=row_ptr.npy: expected two files"),
    (["-e", "out = sum(src.x)", "--graph=row_ptr.npy,x.npy", "--bind=src.x=x.npy"], "col_idx: its dtype is not int32 or int64"),
    (["-e", "out = sum(src.x)", *CSR, "--bind=src.x"], "--bind=src.x: expected NAME=FILE"),
    (["-e", "out = sum(src.x)", *CSR, "--bind=src.x=nothing.npy"], "nothing.npy: cannot be opened"),
    (["-e", "out = sum(src.x)", *CSR, "--bind=src.x=x.npy", "--save=h=h.out"], "--save=h: the program has no such result"),
    (["-e", "out = sum(src.x)", *CSR, "--bind=src.x=x.npy", "--save=out=no/where.npy"], "no/where.npy: cannot be written"),
    (["-e", "out = sum(src.x)", *CSR, "--bind=src.x=x.npy", "--in=src.x=f32"], "--in=src.x: it is bound, which gives its type"),
    (["-e", "out = sum(src.x)", "--in=src.y=f32"], "--in=src.y: the formula has no such input"),
    (["-e", "out = sum(src.x)", *CSR, "--bind=src.x=s.npy"], "tiga-opt: --bind=src.x: rank 0, expected 1 to 9"),
    (["fault.tg"], "fault.tg:4:1: expected ',' or ')' (the bracket opened at 3:10), got the end"),
    (["nothing.tg"], "nothing.tg: cannot be read"),
    (["sum.tg", "--stage=ir"], "no stage 'ir' (there are: domain, iter, kernel, task, llvm, llvm-opt, asm)"),
    (["sum.tg", "--pass=clean,dce"], "no pass 'dce' (there are: clean, "),
    (["sum.tg", "--stage=iter", "--stage=kernel"], "--stage=iter is the last step"),
    (["sum.tg", "--grad=out"], "tiga-opt: --grad=out: expected RESULTS:INPUTS"),
]
BAD_FILES = [
    (b"", "it does not start as one"),
    (b"\x93NUMPY", "it does not start as one"),
    (b"\x93NUMPX\x01\x00" + bytes(100), "it does not start as one"),
    (header(version=(4, 0)) + bytes(12), ".npy version 4.0; 1.0, 2.0 and 3.0 are read"),
    (header(version=(1, 1)) + bytes(12), ".npy version 1.1"),
    (header()[:20], "the header ends behind the file"),
    (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + header()[10:], "the header ends behind the file"),
    (header() + bytes(11), "it has not as many bytes of data as its shape says"),
    (header() + bytes(13), "it has not as many bytes of data as its shape says"),
    (header(shape="(9223372036854775807, 9223372036854775807)") + bytes(12), "not as many bytes"),
    (header(shape="(4611686018427387904, 4)"), "not as many bytes"),
    (header(shape="(99999999999999999999,)") + bytes(12), "an extent beyond 2^63"),
    (header(shape="(-3,)") + bytes(12), "a shape is a tuple of whole numbers"),
    (header(shape="(3)") + bytes(12), "a shape of one axis is written (n,)"),
    (header(shape="(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)") + bytes(4), "more than 9 axes"),
    (header(">f4") + bytes(12), "dtype '>f4'; '<f2', '<f4', '<f8', '<i4', '<i8' and '|b1' are read"),
    (header("<f2") + bytes(7), "it has not as many bytes of data"),
    (header("<c8") + bytes(24), "dtype '<c8'"),
    (header("|O") + bytes(24), "dtype '|O'"),
    (header(text="{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }") + bytes(12), "a structured dtype"),
    (header("|b1") + b"\x00\x01\x02", "a bool is neither 0 nor 1"),
    (header(order="None") + bytes(12), "no dict of descr, fortran_order and shape"),
    (header(text="{'descr': '<f4', 'shape': (3,), }") + bytes(12), "no dict of descr"),
    (header(text="{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }") + bytes(12), "one twice"),
    (header(text="{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}") + bytes(12), "another key"),
    (header(text="{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x") + bytes(12), "no dict of descr"),
]


def run(tool, words):
    return subprocess.run([tool, *words], capture_output=True, text=True, errors="replace")


def check(tool, words, want):
    for extra in ([], ["--interp"]):
        done = run(tool, words + extra)
        if done.returncode or done.stdout != want:
            sys.exit(f"{words + extra}: status {done.returncode}, {done.stderr}{done.stdout!r}, expected {want!r}")


def check_refused(tool, words, want):
    done = run(tool, words)
    if done.returncode != 1 or want not in done.stderr:
        sys.exit(f"{words}: status {done.returncode}, {done.stderr!r}, expected '{want}'")


def check_usage(tool):
    """What is printed without a program, and what ends at the options."""
    version = run(tool, ["--version"])
    help_text = run(tool, ["--help"]).stdout
    assert version.returncode == 0 and version.stdout.startswith("tiga-opt 0."), version
    assert all(word in help_text for word in ("--grad=RESULTS:INPUTS", "--bind=NAME=FILE", "  fma ", "IR text or a")), help_text
    assert run(tool, ["-e", "out = 2 + 3", "--interp"]).stdout == "out: int64 ()\n 5\n"
    for words, want in {
        ("-e", "out = 1", "-e", "out = 2"): "one formula only",
        ("-e", "out = 1", "sum.tg"): "a formula or a file, not both",
        ("sum.tg", "mean.tg"): "one file only",
        ("--bogus",): "unrecognized option",
    }.items():
        done = run(tool, words)
        assert done.returncode == 64 and want in done.stderr, done


def check_mutations(tool):
    rand = random.Random(1)
    for _ in range(300):
        data = bytearray(FILES["h"])
        for _ in range(rand.randint(1, 3)):
            data[rand.randrange(len(data))] = rand.choice(b"0123456789(), '{}:<\x00\xff\x01") if rand.random() < 0.8 else rand.randrange(256)
        pathlib.Path("bad.npy").write_bytes(data[: rand.choice([len(data), rand.randrange(len(data))])])
        done = run(tool, ["-e", "out = a", "--bind=a=bad.npy"])
        if done.returncode not in (0, 1):
            sys.exit(f"status {done.returncode} of {bytes(data)!r}: {done.stderr}")


def check_numpy(tool):
    try:
        import numpy as np
    except ImportError:
        print("numpy is not installed: its files are not compared")
        return
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 7, 40), rng.integers(0, 5, 40)
    x, w = rng.standard_normal((7, 3)), np.asfortranarray(rng.standard_normal((3, 2)))
    bias = rng.standard_normal((5, 2))
    for name, array in {"ns": src, "nd": dst, "nx": x, "nw": w, "nb": bias}.items():
        np.save(f"{name}.npy", array)
    words = ["-e", "out = sum(src.x @ W) + dst.b", "--coo=ns.npy,nd.npy", "--bind=src.x=nx.npy", "--bind=W=nw.npy"]
    done = run(tool, [*words, "--bind=dst.b=nb.npy", "--save=out=no.npy"])
    if done.returncode or done.stdout:
        sys.exit(f"numpy's files: {done.stderr}{done.stdout}")
    want = bias.copy()
    np.add.at(want, dst, x[src] @ w)
    out = np.load("no.npy")
    assert out.dtype == np.float64 and out.flags.c_contiguous and np.allclose(out, want, rtol=1e-12), out - want
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open("nv.npy", "wb") as file:
            np.lib.format.write_array(file, x[:, 0].astype(np.float32), version=version)
        done = run(tool, ["-e", "out = a", "--bind=a=nv.npy", "--save=out=no.npy"])
        assert done.returncode == 0 and np.array_equal(np.load("no.npy"), x[:, 0].astype(np.float32)), done.stderr


def main():
    tool = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, data in FILES.items():
            pathlib.Path(f"{name}.npy").write_bytes(data)
        for name, text in TEXTS.items():
            pathlib.Path(name).write_bytes(text.encode())
        for words, want in RIGHT:
            check(tool, words, want)
        for words, want in WRONG:
            check_refused(tool, words, want)
        for data, want in BAD_FILES:
            pathlib.Path("bad.npy").write_bytes(data)
            check_refused(tool, ["-e", "out = a", "--bind=a=bad.npy"], want)
        check_usage(tool)
        check_mutations(tool)
        check_numpy(tool)
        os.chdir("/")


if __name__ == "__main__":
    main()
