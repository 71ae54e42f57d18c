"""How fast counting is, beside fairlearn in the same run, and how much memory a long file takes.

python -m benchmarks.counting                                   in memory, and a Parquet file of 100 million rows (10 GB)
python -m benchmarks.counting --rows 12000000 --folder /tmp     the same with a file as long as you like; BENCH_ROWS_IN_MEMORY too
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.figures import HEAD, beside, figure, ratio, seconds

FLAGS = [f"identity_{index}" for index in range(24)]
ROWS = int(os.environ.get("BENCH_ROWS_IN_MEMORY", "2000000"))
TIMES = 5
FAIRLEARN_ROWS = min(200_000, ROWS)


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    """Jigsaw's shape: rare positives, a score, 24 fractional identities of 1–5 % members."""
    random = np.random.default_rng(seed)
    truth = random.random(rows) < 0.08
    score = np.clip(random.normal(0.25 + 0.3 * truth, 0.15), 0, 1)
    columns = {"target": truth.astype(np.int8), "pred": (score >= 0.5).astype(np.int8), "score": score}
    for index, name in enumerate(FLAGS):
        columns[name] = np.where(random.random(rows) < 0.02 * (1 + index % 5), random.random(rows).round(2), 0.0)
    return pl.DataFrame(columns)


def fairlearn_frame(frame: pl.DataFrame) -> Callable[[], object]:
    """fairlearn's MetricFrame: five rates, one identity, no replicates."""
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
    from sklearn.metrics import accuracy_score, f1_score

    rates = {"acc": accuracy_score, "f1": f1_score, "tpr": true_positive_rate, "fpr": false_positive_rate, "pos": selection_rate}
    truth, predicted = frame["target"].to_numpy(), frame["pred"].to_numpy()
    member = frame[FLAGS[0]].to_numpy() >= 0.5

    def measure() -> object:
        found = MetricFrame(metrics=rates, y_true=truth, y_pred=predicted, sensitive_features=member)
        return found.by_group, found.difference()

    return measure


def in_memory() -> Iterator[str]:
    """Compute on tables in memory: rates and gaps beside fairlearn, AUCs, groups."""
    from fairwitness.audits.fairness import group_fairness

    frame = table(ROWS)
    group_fairness(frame.head(1000), label="target", pred="pred", flags=FLAGS)  # imports
    few = frame.head(FAIRLEARN_ROWS)
    ours, theirs = beside(lambda: group_fairness(frame, label="target", pred="pred", flags=FLAGS), fairlearn_frame(few), TIMES)
    busy = time.process_time()
    group_fairness(frame, label="target", pred="pred", flags=FLAGS)
    busy = time.process_time() - busy
    scale = ROWS / FAIRLEARN_ROWS * len(FLAGS)
    what = f"{ROWS:,} rows × 24 flags: 9 rates, 10 gaps, 1,000 replicates, exact tests"
    yield figure(what, ours, "s", below=1.0, remark=f"{busy:.2f} s of processor time")
    yield ratio("the same against fairlearn's five rates without replicates", ours, theirs, at_least=1000, scale=scale)
    yield figure(f"fairlearn, {FAIRLEARN_ROWS:,} rows, one flag", theirs, "s", remark=f"× {scale:,.0f} in the line above")
    areas = bias_areas(frame)
    what = f"bias AUCs of 24 identities with intervals, and the Jigsaw final metric with its own: {ROWS:,} rows"
    yield figure(what, seconds(areas, TIMES), "s", below=5.0, remark="sorted once")
    everything = seconds(lambda: group_fairness(frame, label="target", pred="pred", score="score", flags=FLAGS), TIMES)
    yield figure(f"{ROWS:,} rows × 24 flags with scores: all of the above, sweeps, ROC, calibration", everything, "s")
    yield from many_groups(frame)


def bias_areas(frame: pl.DataFrame) -> Callable[[], object]:
    """Bias AUCs from plain arrays: sorted once, then a few looks at each identity's members."""
    from fairwitness.audits.fairness_scores import bias_intervals, final_variances
    from fairwitness.audits.fairness_tables import Settings
    from fairwitness.metrics.bias_auc import AUCS
    from fairwitness.metrics.scores import ExactScores, score_part

    score, truth = frame["score"].to_numpy(), frame["target"].to_numpy() == 1
    members = {name: frame[name].to_numpy() >= 0.5 for name in FLAGS}

    def measure() -> object:
        scores = ExactScores([score_part(score, truth, members)])
        found = {name: scores.bias(name) for name in FLAGS}
        ends = {name: bias_intervals(found[name], scores.histograms(name), Settings()) for name in FLAGS}
        return ends, final_variances(scores, FLAGS, {name: [one[name] for one in found.values()] for name in AUCS})

    return measure


def many_groups(frame: pl.DataFrame) -> Iterator[str]:
    """One column of 20 groups, and of 2,000: with two classes, and with five."""
    from fairwitness.audits.fairness import group_fairness

    random = np.random.default_rng(1)
    for classes in (2, 5):
        labels = {name: random.integers(0, classes, ROWS).astype(np.int8) for name in ("target", "pred")}
        known = pl.DataFrame(labels) if classes > 2 else frame.select("target", "pred")
        asked = [
            partial(
                group_fairness, known.with_columns(town=random.integers(0, n, ROWS)), label="target", pred="pred", groups=["town"]
            )
            for n in (20, 2000)
        ]
        few, many = beside(*asked, 3 * TIMES)
        yield figure(f"{ROWS:,} rows, one column of 20 groups, {classes} classes, everything", few, "s")
        yield figure(f"{ROWS:,} rows, one column of 2,000 groups, {classes} classes, everything", many, "s")
        times = [long / short for short, long in zip(few, many, strict=True)]
        yield figure(f"2,000 groups against 20, {classes} classes", times, "×", below=1.5, remark="'about what 20 do'")


def write_file(path: Path, rows: int) -> None:
    """A long Parquet file, a million rows at a time; the same two million over and over, as only their number matters here."""
    from fairwitness import tables

    pieces = [table(1_000_000, seed=seed).drop("score") for seed in (1, 2)]
    with tables.writer(path) as append:
        for start in range(0, rows, 1_000_000):
            append(pieces[start // 1_000_000 % 2].head(rows - start))


_CHILD = """
import sys, time
from pathlib import Path
from fairwitness.audits.fairness import group_fairness
start = time.perf_counter()
result = group_fairness(sys.argv[1], label="target", pred="pred", flags=sys.argv[2].split(","))
# Not ru_maxrss: a child inherits that of the process it was forked from, which has just held two million rows.
most = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1e6
print(time.perf_counter() - start, time.process_time(), most, result.facts["n_rows"])
"""


def from_disk(rows: int, folder: Path) -> Iterator[str]:
    """The same from Parquet, in a process of its own, whose largest memory is read afterwards."""
    walls = {}
    for size in (rows // 4, rows):
        path = folder / f"flags_{size}.parquet"
        if not path.exists():
            write_file(path, size)
        command = [sys.executable, "-c", _CHILD, str(path), ",".join(FLAGS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
        wall, busy, memory, counted = done.stdout.split()
        walls[size] = float(wall)
        what = f"{int(counted):,} rows × 24 flags from Parquet"
        yield figure(f"{what}, memory", [float(memory)], "GB", below=1.0)
        yield figure(f"{what}, time", [float(wall)], "s", remark=f"{float(busy):.1f} s of processor time")
    yield figure("four times the rows, times the time", [walls[rows] / walls[rows // 4]], "×", below=5.0, remark="4 is linear")


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=int(os.environ.get("BENCH_COUNT_ROWS", "100000000")))
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args(sys.argv[1:] if __name__ == "__main__" else [])
    print(HEAD)
    for line in in_memory():
        print(line, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for line in from_disk(asked.rows, asked.folder or Path(folder)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
