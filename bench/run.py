"""Tiga's benchmarks: tables on the terminal, JSON in bench/out.

    make bench                       all of them
    make bench ARGS="--quick"        smaller, for a first look
    make bench ARGS="latency"        one of them
"""

import argparse
import json
import platform
import subprocess
from pathlib import Path

import latency
import numpy
import scipy
import tiga as tg
import torch
import weighted_sum

HERE = Path(__file__).parent
ALL = ("weighted_sum", "latency", "c_face")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("which", nargs="?", choices=ALL, help="default: all of them")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, two widths")
    parser.add_argument("--threads", type=int, metavar="N", help="of Tiga and torch (default: torch's)")
    parser.add_argument("--build", default=HERE.parent / "build", help="Meson's build folder")
    return parser.parse_args()


def cpu():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def save(name, rows):
    versions = {m.__name__: m.__version__ for m in (tg, torch, numpy, scipy)}
    about = {"cpu": cpu(), "threads": torch.get_num_threads(), "versions": versions}
    path = HERE / "out" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    print(f"-> {path}\n")


def main():
    options = arguments()
    if options.threads:
        torch.set_num_threads(options.threads)
    tg.set_num_threads(torch.get_num_threads())
    print(f"{cpu()}\n")
    for name in (options.which,) if options.which else ALL:
        if name == "weighted_sum":
            nodes, widths = (13107, (1, 32)) if options.quick else (131072, (1, 16, 32, 64, 128))
            rows = weighted_sum.run(nodes, 16, widths, 0.5 if options.quick else 3.0)
        elif name == "c_face":
            folder = Path(options.build) / "bench"
            subprocess.run([folder / "c_face", folder / "empty"], check=True)
            continue
        else:
            rows = latency.run(options.build, 5 if options.quick else 21)
        save(name, rows)


if __name__ == "__main__":
    main()
