"""StereoSet on the built-in model on a CPU: our pass beside the Gemma 3 evaluation's (three full sequences, one at a time).

Takes StereoSet's dev.json from FAIRWITNESS_SHARED where that is set, else the built-in items several times over. By default a
sample is timed, part by part, and the whole is said to take as long as its median part does: other programs on the machine
disturb a median least. FAIRWITNESS_BENCH_FULL=1 scores all of it.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import torch

from benchmarks.figures import HEAD, figure
from fairwitness.audits.stereoset import sample
from fairwitness.audits.stereoset_score import ScoreConfig, score_predictions
from fairwitness.datasets.stereoset_items import read_items
from fairwitness.scorers.likelihood import Likelihood, Sentence

DEV_ITEMS = 4229
PART = 96
FULL = bool(os.environ.get("FAIRWITNESS_BENCH_FULL"))


def items() -> tuple[list[Sentence], str]:
    """The sentences to time, and where they are from."""
    shared = os.environ.get("FAIRWITNESS_SHARED")
    path = Path(shared) / "data" / "stereoset" / "dev.json" if shared else Path()
    if shared and path.is_file():
        chosen = sample(read_items(path), None if FULL else 48, 42)
        # Half of a part is of each subset, so that a median part is a typical one.
        halves = [chosen.filter(pl.col("subset") == name) for name in ("intrasentence", "intersentence")]
        frames = [half.slice(k, PART // 2 * 3) for k in range(0, max(h.height for h in halves), PART // 2 * 3) for half in halves]
        return _rows(pl.concat(frames)), f"StereoSet dev, {chosen['unit'].n_unique():,} items"
    return _rows(pl.concat([read_items()] * 5)), "the built-in items, five times"


def ours(protocol: str, rows: list[Sentence]) -> tuple[list[float], np.ndarray]:
    """Seconds per item, part by part, and the scores."""
    scorer = Likelihood(protocol=protocol, device="cpu", dtype="float32")
    scorer.score(rows[:12])
    times, scores = [], []
    for start in range(0, len(rows), 3 * PART):
        part = rows[start : start + 3 * PART]
        begun = time.perf_counter()
        scores.append(scorer.score(part)["score"])
        times.append((time.perf_counter() - begun) / (len(part) / 3))
    return times, np.concatenate(scores)


def theirs(rows: list[Sentence]) -> tuple[list[float], np.ndarray]:
    """The same model and dtype, a templated sequence at a time, minus the loss; seconds item by item."""
    scorer = Likelihood(protocol="chat", device="cpu", dtype="float32")
    times, scores = [], []
    for start in range(0, len(rows), 3):
        begun = time.perf_counter()
        for row in rows[start : start + 3]:
            ids = torch.tensor(scorer._full_tokens([[row]])[0])
            with torch.no_grad():
                scores.append(-scorer.lm.model(ids, labels=ids).loss.item())
        times.append(time.perf_counter() - begun)
    return times, np.array(scores)


def scoring_a_file() -> float:
    """Seconds to score a prediction file of the dev set's size, or of the built-in items, intervals included."""
    shared = os.environ.get("FAIRWITNESS_SHARED")
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        if shared:
            config = ScoreConfig(
                data=str(Path(shared) / "data" / "stereoset" / "dev.json"),
                predictions=Path(shared) / "reference" / "stereoset_predictions_gpt2.json.gz",
                out=Path(folder) / "r.json",
            )
            score_predictions(config)
        return time.perf_counter() - begun if shared else float("nan")


def main() -> None:
    """Print the table."""
    rows, where = items()
    few = rows[: 3 * 16] + rows[-3 * 16 :]
    print(f"smollm2, float32, {torch.get_num_threads()} threads; {where}.\n")
    print(HEAD)
    slow, their_scores = theirs(few)
    print(figure("three sequences an item, one at a time, chat template", [1000 * each for each in slow], "ms an item"), flush=True)
    taken = {}
    for protocol in ("chat", "reference", "conditional", "pmi"):
        taken[protocol], scores = ours(protocol, few if protocol == "chat" and not FULL else rows)
        print(figure(f"ours, `{protocol}`", [1000 * each for each in taken[protocol]], "ms an item"), flush=True)
        if protocol == "chat":
            same = np.concatenate([scores[: 3 * 16], scores[-3 * 16 :]])
            gap = float(np.abs(same - their_scores).max())
    for protocol in ("chat", "reference"):
        times = [statistics.median(slow) / each for each in taken[protocol]]
        print(figure(f"times as fast as one at a time, `{protocol}`", times, "×", at_least=5))
    minutes = [each * DEV_ITEMS / 60 for each in taken["reference"]]
    remark = "all of it scored" if FULL else "the median part × its parts"
    print(figure(f"the dev set's {DEV_ITEMS:,} items, `reference`", minutes, "min", below=6, remark=remark))
    if os.environ.get("FAIRWITNESS_SHARED"):
        print(figure("scoring a prediction file of the dev set, both definitions with intervals", [scoring_a_file()], "s"))
    print(f"\nScores of the same method are equal to {gap:.1g} nats per token.")


def _rows(frame: pl.DataFrame) -> list[Sentence]:
    return [(subset, context, text) for subset, context, text in frame.select("subset", "context", "text").iter_rows()]


if __name__ == "__main__":
    main()
