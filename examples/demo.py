"""The tour: a sum with its gradients, then a graph network trained by Tiga and by torch alone.

    make demo                                        the karate club
    make demo ARGS="--data cora.npz --seeds 10"      a citation graph (format: citations.py)
"""

import argparse
import statistics

import citations
import gcn
import karate
import torch
import weighted_sum
from tqdm import tqdm


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", metavar="FILE.npz", help="a citation graph instead of the karate club")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="train from N seeds (default 1)")
    parser.add_argument("--epochs", type=int, default=200, metavar="N", help="training steps (default 200)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="of Tiga and torch (default 1)")
    return parser.parse_args()


def count(n, noun):
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def train(task, options):
    """name -> reports: every seed by both, one after the other."""
    reports = {"torch alone": [], "tiga": []}
    for seed in range(options.seeds):
        for name, sum_along in (("torch alone", gcn.TorchSum), ("tiga", gcn.TigaSum)):
            def progress(steps):
                return tqdm(steps, desc=f"{name}, seed {seed}", leave=False, disable=None)
            reports[name].append(gcn.fit(task, sum_along, seed, options.epochs, progress))
    return reports


def print_report(name, reports):
    accuracy = [r.accuracy for r in reports]
    spread = f" +- {statistics.stdev(accuracy):.1f}" if len(accuracy) > 1 else ""
    print(
        f"  {name:12} {statistics.mean(r.loss for r in reports):8.4f}"
        f" {statistics.mean(accuracy):8.1f} %{spread:7}"
        f" {reports[0].first_ms:9.1f} ms {statistics.median(r.step_ms for r in reports):9.3f} ms"
    )


def main():
    options = arguments()
    print("A weighted sum and its gradients (examples/weighted_sum.py)")
    weighted_sum.main()

    task = citations.load(options.data) if options.data else karate.load()
    torch.set_num_threads(options.threads)  # Tiga's too; a second one gains nothing on graphs this small
    print(
        f"\nA two-layer GCN (examples/gcn.py) on {task.name}: {task.num_nodes} nodes,"
        f" {len(task.src)} edges, {len(task.train)} labels; {options.epochs} steps,"
        f" {count(options.seeds, 'seed')}, {count(torch.get_num_threads(), 'thread')}"
    )
    print(f"  {'':12} {'loss':>8} {'accuracy':>10} {'':6} {'first step':>12} {'a step':>12}")
    for name, reports in train(task, options).items():
        print_report(name, reports)


if __name__ == "__main__":
    main()
