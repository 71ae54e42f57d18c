"""CatGCN and RHGN on a made-up graph of Alibaba's size (167 k users, 64 k items, 29 M co-click edges), on a GPU or the CPU.

Needs torch, torch-geometric, numpy and pyarrow only; run it from the repository's root: python benchmarks/gpu_graphs.py
`--cpu` measures CatGCN on two threads and its peak memory. Prints a Markdown table.
"""

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
import torch

from fairwitness.graphs.generator import generate
from fairwitness.graphs.runner import run_experiment
from fairwitness.graphs.settings import CatGCNSettings, Experiment, RHGNSettings, TrainSettings

# The seed's flags for Alibaba.
CATGCN = CatGCNSettings(graph_layer="pna", nfm_units="none", gnn_units="none", dropout=0.1, balance_ratio=0.7)
RHGN = RHGNSettings(n_hid=32)


def experiments(cpu: bool, epochs: int) -> list[tuple[str, str, Experiment]]:
    """What is measured: name, label, experiment."""
    plain = {"epochs": epochs, "patience": 0}
    gpu = -1 if cpu else 0
    adam = TrainSettings(learning_rate=0.1, **plain)
    cycle: dict[str, Any] = {"optimiser": "adamw", "one_cycle": True, "weight_decay": 0.01, "learning_rate": 0.01, "clip": 2.0}
    catgcn = Experiment(model="catgcn", seed=11, catgcn=CATGCN, training=adam, gpu=gpu)
    found = [("CatGCN, whole graph", "buy", catgcn)]
    if cpu:
        return found
    common: dict[str, Any] = {
        "model": "rhgn",
        "seed": 42,
        "split": "rhgn",
        "train_ratio": 0.75,
        "rhgn": RHGN,
        "weight_balanced": False,
    }
    few = TrainSettings(**(plain | {"epochs": 2}), **cycle)
    return [
        *found,
        ("RHGN, whole graph", "bin_buy", Experiment(**common, training=TrainSettings(**plain, **cycle), batch_size=0)),
        ("RHGN, batches of 512, all neighbours", "bin_buy", Experiment(**common, training=few, batch_size=512)),
        ("RHGN, batches of 4096, 10 neighbours", "bin_buy", Experiment(**common, training=few, batch_size=4096, fanout=10)),
    ]


def main() -> None:
    """Generate, train a few epochs each, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=20)
    asked = parser.parse_args()
    if asked.cpu:
        torch.set_num_threads(2)
    elif not torch.cuda.is_available():
        sys.exit("No GPU here; --cpu measures CatGCN on two threads.")
    started = time.monotonic()
    graph = generate("alibaba", scale=asked.scale, seed=0).graph()
    made = time.monotonic() - started
    n_items = graph.relations.counts["item"] if graph.relations else 0
    n_clicks = graph.relations.edges["user", "click", "item"].shape[1] if graph.relations else 0
    directed = 2 * graph.edges.shape[1] + graph.n_users
    where = "2 CPU threads" if asked.cpu else torch.cuda.get_device_name()
    print(f"{graph.n_users:,} users, {n_items:,} items, {n_clicks:,} clicks, {directed:,} co-click edges; made in {made:.0f} s\n")
    print(f"| {where} | seconds per epoch | users/s | peak memory GiB | test accuracy | same again |")
    print("|---|---:|---:|---:|---:|---|")
    for name, label, experiment in experiments(asked.cpu, asked.epochs):
        print(row(name, graph, label, experiment, asked.cpu), flush=True)


def row(name: str, graph: Any, label: str, experiment: Experiment, cpu: bool) -> str:
    """One line of the table. The first epoch, which warms up, is left out of the median."""
    if not cpu:
        torch.cuda.reset_peak_memory_stats()
    codes = graph.columns[label]
    trained = run_experiment(graph, codes, experiment)
    seconds = float(np.median([record["seconds"] for record in trained.history[1:]]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20 if cpu else torch.cuda.max_memory_allocated() / 2**30
    test = trained.split.test
    accuracy = float((trained.probabilities[test].argmax(axis=1) == codes.codes[test]).mean())
    same = "not tried" if cpu else _same(graph, codes, experiment, trained)
    return f"| {name} | {seconds:.3f} | {len(trained.split.train) / seconds:,.0f} | {peak:.1f} | {accuracy:.3f} | {same} |"


def _same(graph: Any, codes: Any, experiment: Experiment, trained: Any) -> str:
    again = run_experiment(graph, codes, experiment)
    return "yes" if np.array_equal(again.probabilities, trained.probabilities) else "no"


if __name__ == "__main__":
    main()
