"""How fast counting is, beside fairlearn in the same run, and how much memory a long file takes.

python -m benchmarks.counting                                    in memory, and a Parquet file of 12 million rows
python -m benchmarks.counting --rows 100000000 --folder /tmp     the same with a file as long as you like
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

FLAGS = [f"identity_{index}" for index in range(24)]
ROWS = 2_000_000
FAIRLEARN_ROWS = 200_000


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    """Jigsaw's shape: rare positives, a score, 24 fractional identities of 1–5 % members."""
    random = np.random.default_rng(seed)
    truth = random.random(rows) < 0.08
    score = np.clip(random.normal(0.25 + 0.3 * truth, 0.15), 0, 1)
    columns = {"target": truth.astype(np.int8), "pred": (score >= 0.5).astype(np.int8), "score": score}
    for index, name in enumerate(FLAGS):
        columns[name] = np.where(random.random(rows) < 0.02 * (1 + index % 5), random.random(rows).round(2), 0.0)
    return pl.DataFrame(columns)


def seconds(action: Callable[[], object], repeats: int = 3) -> tuple[float, float]:
    """The best wall clock and processor time of a few runs: the machine may be shared."""
    wall, processor = [], []
    for _ in range(repeats):
        start, busy = time.perf_counter(), time.process_time()
        action()
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - busy)
    return min(wall), min(processor)


def fairlearn_seconds(frame: pl.DataFrame) -> tuple[float, float]:
    """fairlearn's MetricFrame: five rates, one identity, no replicates."""
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
    from sklearn.metrics import accuracy_score, f1_score

    rates = {"acc": accuracy_score, "f1": f1_score, "tpr": true_positive_rate, "fpr": false_positive_rate, "pos": selection_rate}
    truth, predicted = frame["target"].to_numpy(), frame["pred"].to_numpy()
    member = frame[FLAGS[0]].to_numpy() >= 0.5

    def measure() -> object:
        found = MetricFrame(metrics=rates, y_true=truth, y_pred=predicted, sensitive_features=member)
        return found.by_group, found.difference()

    return seconds(measure)


def in_memory() -> list[tuple[str, float, float, str]]:
    """Compute on tables in memory: rates and gaps, AUCs, groups."""
    from fairwitness.audits.fairness import group_fairness

    frame = table(ROWS)
    group_fairness(frame.head(1000), label="target", pred="pred", flags=FLAGS)  # imports
    ours = seconds(lambda: group_fairness(frame, label="target", pred="pred", flags=FLAGS))
    theirs = fairlearn_seconds(frame.head(FAIRLEARN_ROWS))
    scale = ROWS / FAIRLEARN_ROWS * len(FLAGS)
    ratio = f"{theirs[0] * scale / ours[0]:,.0f} × fairlearn (processor time: {theirs[1] * scale / ours[1]:,.0f} ×)"
    rows = [
        ("2 M rows × 24 flags: 9 rates, 10 gaps, 1,000 replicates, exact tests", *ours, ratio),
        (f"fairlearn, 5 rates, no replicates: {FAIRLEARN_ROWS:,} rows, one flag", *theirs, f"× {scale:,.0f} to the line above"),
    ]
    rows.append(
        ("bias AUCs of 24 identities with intervals, and the Jigsaw final metric with its own: 2 M rows", *areas(frame), "")
    )
    with_scores = seconds(lambda: group_fairness(frame, label="target", pred="pred", score="score", flags=FLAGS), 2)
    rows.append(("2 M rows × 24 flags with scores: all of the above, sweeps, ROC, calibration", *with_scores, ""))
    return [*rows, *many_groups(frame)]


def areas(frame: pl.DataFrame) -> tuple[float, float]:
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

    return seconds(measure, 2)


def many_groups(frame: pl.DataFrame) -> list[tuple[str, float, float, str]]:
    """One column of 20 groups, and of 2,000: with two classes, and with five."""
    from fairwitness.audits.fairness import group_fairness

    random = np.random.default_rng(1)
    rows = []
    for classes in (2, 5):
        first = 0.0
        for groups in (20, 2000):
            labels = {name: random.integers(0, classes, ROWS).astype(np.int8) for name in ("target", "pred")}
            column = pl.DataFrame(
                {**(labels if classes > 2 else frame.select("target", "pred").to_dict()), "town": random.integers(0, groups, ROWS)}
            )
            spent = seconds(lambda column=column: group_fairness(column, label="target", pred="pred", groups=["town"]))
            note = f"{spent[0] / first:.1f} × 20 groups" if first else ""
            first = first or spent[0]
            rows.append((f"2 M rows, one column of {groups:,} groups, {classes} classes, everything", *spent, note))
    return rows


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


def from_disk(rows: int, folder: Path) -> list[tuple[str, float, float, str]]:
    """The same from Parquet, in a process of its own, whose largest memory is read afterwards."""
    found = []
    for size in (rows // 4, rows):
        path = folder / f"flags_{size}.parquet"
        if not path.exists():
            write_file(path, size)
        command = [sys.executable, "-c", _CHILD, str(path), ",".join(FLAGS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
        wall, busy, memory, counted = done.stdout.split()
        found.append(
            (f"{int(counted):,} rows × 24 flags from Parquet", float(wall), float(busy), f"{float(memory):.2f} GB at most")
        )
    return found


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=12_000_000)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args(sys.argv[1:] if __name__ == "__main__" else [])
    print("| what | seconds | processor seconds | |")
    print("|---|---|---|---|")
    for what, wall, busy, note in in_memory():
        print(f"| {what} | {wall:.3f} | {busy:.3f} | {note} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for what, wall, busy, note in from_disk(asked.rows, asked.folder or Path(folder)):
            print(f"| {what} | {wall:.1f} | {busy:.1f} | {note} |", flush=True)


if __name__ == "__main__":
    main()
