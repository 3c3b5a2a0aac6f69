"""Every stage of every example, as text: it parses back to the same text, and stock mlir-opt reads it."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples"
TIGA_OPT = ROOT / "build" / "tiga-opt"
C_PROGRAMS = sorted((ROOT / "build" / "examples").glob("example_*"))
STAGES = ["domain", "prepared", "iter", "kernel", "task"]


def dump(folder, *command):
    """The stages of all programs that the command runs."""
    environment = os.environ | {"TIGA_DUMP": str(folder), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=EXAMPLES, env=environment, stdout=subprocess.DEVNULL, check=True)
    files = sorted(folder.glob("*.mlir"))
    assert {f.stem.rsplit("-", 1)[1] for f in files} == set(STAGES)
    return files


def check_mlir():
    """The comparison that the C tests use."""
    spec = importlib.util.spec_from_file_location("check_mlir", ROOT / "tests" / "check_mlir.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(files):
    for file in files:
        again = subprocess.run([TIGA_OPT, file], capture_output=True, text=True, check=True)
        assert again.stdout == file.read_text(), file
    mlir_opt = shutil.which("mlir-opt-22")
    if mlir_opt is None:
        pytest.skip("mlir-opt-22 is not installed")
    text = "// -----\n".join(f.read_text() for f in files)
    command = [mlir_opt, "--allow-unregistered-dialect", "--split-input-file"]
    theirs = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    check_mlir().compare(text, theirs.stdout)


needs_build = pytest.mark.skipif(not TIGA_OPT.exists(), reason="build/tiga-opt is not there (make build)")


@needs_build
@pytest.mark.parametrize("program", [p for p in C_PROGRAMS if p.is_file()], ids=lambda p: p.name)
def test_stages_of_c_examples(program, tmp_path):
    check(dump(tmp_path, program))


@needs_build
@pytest.mark.parametrize(
    "name", ["attention", "demo", "diffusion", "edge_network", "gat", "gcn_formula", "heat", "pagerank", "pair_force", "weighted_sum"]
)
def test_stages_of_python_examples(name, tmp_path):
    pytest.importorskip("torch")
    check(dump(tmp_path, sys.executable, f"{name}.py"))
