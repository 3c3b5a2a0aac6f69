"""The examples: each prints what its text in examples/expected says; the demo trains."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def output(*command):
    """What it prints. One OpenMP thread: torch's, waiting for work, would take turns with the tests'."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=EXAMPLES, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == 0
    return done.stdout


def expected(name):
    return (EXAMPLES / "expected" / f"{name}.txt").read_text()


@pytest.mark.parametrize(
    "name",
    ["attention", "diffusion", "edge_network", "gat", "heat", "pagerank", "pair_force", "weighted_sum"],
)
def test_example_prints_what_is_expected(name):
    pytest.importorskip("torch")
    assert output(f"{name}.py") == expected(name)


def test_network_of_one_formula_trains_as_its_twin_in_c():
    pytest.importorskip("torch")
    assert output("gcn_formula.py") == expected("gcn")


def test_heat_reads_a_mesh(tmp_path):
    """A path of four nodes, given by its lower triangle."""
    mesh = tmp_path / "path.mtx"
    mesh.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n%\n4 4 3\n2 1\n3 2\n4 3\n")
    lines = output("heat.py", str(mesh)).splitlines()
    assert lines[0] == "4 nodes, 6 entries"
    assert lines[1].endswith("total 1.000000")


def table(text):
    """name -> (loss, accuracy) of the demo's training table."""
    rows = re.findall(r"^  (tiga|torch alone) +([\d.]+) +([\d.]+) %", text, re.M)
    return {name: (float(loss), float(accuracy)) for name, loss, accuracy in rows}


def test_demo_learns_the_karate_club_as_torch_does():
    pytest.importorskip("torch")
    rows = table(output("demo.py"))
    assert rows["tiga"][0] == pytest.approx(rows["torch alone"][0], abs=2e-3)
    assert rows["tiga"][1] >= 90


def test_demo_trains_on_a_file(tmp_path):
    """A ring of 12 papers in two halves, each half with a word of its own."""
    pytest.importorskip("torch")
    paper = np.arange(12)
    np.savez(
        tmp_path / "ring.npz",
        row_ptr=np.arange(0, 25, 2),
        col_idx=np.stack([(paper - 1) % 12, (paper + 1) % 12], axis=1).ravel(),
        x_indptr=np.arange(13),
        x_indices=(paper // 6).astype(np.int32),
        x_data=np.ones(12, np.float32),
        labels=paper // 6,
        train=np.array([3, 9]),
        test=np.array([1, 2, 4, 7, 8, 10]),
    )
    rows = table(output("demo.py", "--data", str(tmp_path / "ring.npz"), "--epochs", "60"))
    assert rows["tiga"] == pytest.approx(rows["torch alone"], abs=2e-3)
    assert rows["tiga"][1] == 100
