"""Tiga's benchmarks: tables on the terminal, JSON and pictures in bench/out.

    make bench                       all of them
    make bench-quick                 smaller and fewer rounds, for a first look
    make bench ARGS="reductions"     one of them
"""

import argparse
import importlib
import json
import platform
import subprocess
from pathlib import Path

import charts
import latency
import numpy
import peers
import scipy
import tiga as tg
import torch
import workload

HERE = Path(__file__).parent
SUITES = ("weighted_sum", "limit", "messages", "reductions", "algebras", "pointwise", "training")
ALL = (*SUITES, "latency", "c_face")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("which", nargs="*", metavar="SUITE", help=f"of {', '.join(ALL)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, fewer rounds")
    parser.add_argument("--rounds", type=int, metavar="N", help="at least this many (default: 31, quick: 5)")
    parser.add_argument("--threads", type=int, metavar="N", help="of Tiga and torch (default: torch's)")
    parser.add_argument("--build", default=HERE.parent / "build", help="Meson's build folder")
    options = parser.parse_args()
    for name in set(options.which) - set(ALL):
        parser.error(f"there is no suite {name}: choose from {', '.join(ALL)}")
    return options


def cpu():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def about():
    """The machine and what was measured on it."""
    versions = {m.__name__: m.__version__ for m in (tg, torch, numpy, scipy)} | peers.versions()
    return {"cpu": cpu(), "threads": torch.get_num_threads(), "versions": versions, "missing": peers.missing}


def machine(build):
    """What this machine can do: bench/machine.c."""
    command = [Path(build) / "bench" / "machine", str(torch.get_num_threads())]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def save(name, facts):
    path = HERE / "out" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**about(), **facts}, indent=1) + "\n")
    print(f"-> {path}\n")


def run_suite(name, options):
    rounds = options.rounds or (5 if options.quick else 31)
    workload.header()
    rows = []
    for work in importlib.import_module(name).workloads(options.quick):
        rows += workload.run(work, 0.2 if options.quick else 3.0, rounds)
    save(name, {"rows": rows})
    return rows


def main():
    options = arguments()
    peers.build = Path(options.build)
    if options.threads:
        torch.set_num_threads(options.threads)
    tg.set_num_threads(torch.get_num_threads())
    limits = machine(options.build)
    print(f"{cpu()}, {torch.get_num_threads()} threads (SciPy: 1); times in ms, ratio = peer / tiga")
    print(", ".join(f"{k.replace('_', ' ')} {v:.1f}" for k, v in limits.items()))
    for peer in peers.missing:
        print(f"missing: {peer}; its rows are left out")
    rows = []
    for name in options.which or ALL:
        print()
        if name == "c_face":
            folder = Path(options.build) / "bench"
            subprocess.run([folder / "c_face", folder / "empty"], check=True)
        elif name == "latency":
            save(name, {"rows": latency.run(options.build, 5 if options.quick else 21)})
        else:
            rows += run_suite(name, options)
    if rows:
        save("machine", {"limits": limits})
        charts.draw(rows, limits, HERE / "out")


if __name__ == "__main__":
    main()
