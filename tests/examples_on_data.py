"""examples_on_data.py GCN HEAT: the C examples on files that are not in this repository.

The folder is $TIGA_DATA, else ../shared/data beside the tree; skipped where it is not there. Over five seeds the
graph network in C must classify Cora's test papers as well as gcn.py's by torch alone, to one point.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SEEDS = 5
SKIPPED = 77

TORCH_ALONE = f"""
import citations, gcn, sys
task = citations.load(sys.argv[1])
print(sum(gcn.fit(task, gcn.TorchSum, seed).accuracy for seed in range({SEEDS})) / {SEEDS})
"""


def output(*command):
    """What it prints, tiga and the examples being importable, on one OpenMP thread."""
    path = os.pathsep.join([str(ROOT / "python"), str(EXAMPLES)])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        list(map(str, command)), env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def check_heat(heat, mesh):
    lines = output(heat, mesh).splitlines()
    assert lines[0] == "1138 nodes, 7450 entries", lines[0]
    assert all(line.endswith("total 1.000000") for line in lines[1:]), lines


def accuracy_in_c(gcn, cora):
    with tempfile.TemporaryDirectory() as folder:
        output(sys.executable, EXAMPLES / "export_npz.py", cora, folder)
        text = output(gcn, folder, SEEDS)
    return float(re.search(r"^mean +accuracy ([\d.]+) %", text, re.M)[1])


def main(gcn, heat):
    data = Path(os.environ.get("TIGA_DATA", ROOT.parent / "shared" / "data"))
    if not (data / "cora.npz").exists() or not (data / "jagmesh7.mtx").exists():
        print(f"no cora.npz and jagmesh7.mtx in {data}: set TIGA_DATA")
        return SKIPPED
    check_heat(heat, data / "jagmesh7.mtx")
    try:
        import torch  # noqa: F401
    except ImportError:
        print("no torch to compare with")
        return SKIPPED
    here = accuracy_in_c(gcn, data / "cora.npz")
    there = float(output(sys.executable, "-c", TORCH_ALONE, data / "cora.npz"))
    print(f"Cora, mean over {SEEDS} seeds: {here:.2f} % in C, {there:.2f} % by torch")
    return 0 if here > there - 1 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
