"""Run folders for the report's tests: real fairness audits of made-up predictions, and a zero-shot run with explained rows."""

from pathlib import Path

import numpy as np
import polars as pl

import fairwitness as fw
from fairwitness import runs, tables
from fairwitness.files import file_hash

SCRIPT = "<script>document.title='broken'</script><img src=x onerror=alert(1)>"
RIGHT_TO_LEFT = "مرحبا بالعالم\u202e evil"
LONG = "Donaudampfschifffahrt" * 200
TEXTS = [
    SCRIPT,
    RIGHT_TO_LEFT,
    LONG,
    "a *plain* `text` | with @somebody and #1 in [it](https://example.org)",
    "the women of the town",
]


def predictions(rows: int = 400, *, shift: float = 0.3, seed: int = 0) -> pl.DataFrame:
    """Predictions that flag `female` rows `shift` more often."""
    made = np.random.default_rng(seed)
    frame = pl.DataFrame({"idx": np.arange(rows), "target": made.integers(0, 2, rows), "female": made.integers(0, 2, rows)})
    frame = frame.with_columns(muslim=pl.Series(made.integers(0, 2, rows)), age=pl.Series(made.integers(0, 3, rows)))
    luck = pl.Series(made.random(rows))
    pred = (luck < 0.3 + shift * frame["female"]).cast(pl.Int8)
    return frame.with_columns(pred=pred, score=pl.Series(made.random(rows)) * 0.5 + pred * 0.5)


def fairness_run(folder: Path, frame: pl.DataFrame | None = None, *, groups: tuple[str, ...] = ("age",)) -> Path:
    """A finished fairness audit with identities and group columns."""
    preds = tables.write(predictions() if frame is None else frame, folder / "preds.parquet")
    config = fw.FairnessConfig(
        preds=preds, label_col="target", id_cols=("female", "muslim"), group_cols=groups, out=folder / "fairness.csv", charts=False,
        replicates=200,
    )  # fmt: skip
    fw.audit_fairness(config)
    return folder


def zero_shot_run(folder: Path, texts: list[str] | None = None) -> Path:
    """A finished zero-shot audit of `texts`, the last of which failed; the first is explained."""
    texts = TEXTS if texts is None else texts
    source, out = folder / "in.parquet", folder / "zs.parquet"
    tables.write(pl.DataFrame({"comment": texts}), source)
    count = len(texts)
    scores = [None if index == count - 1 else float(index - 1) for index in range(count)]
    frame = pl.DataFrame({"idx": range(count), "pred": [None if s is None else int(s > 0) for s in scores], "score": scores})
    frame = frame.with_columns(
        error=pl.Series([None] * (count - 1) + ["no answer"], dtype=pl.String), target=pl.int_range(count) % 2, female=pl.lit(0.9)
    )
    data, inputs = {"in": file_hash(source)}, {"in": source}
    question = {"model": "tiny", "task": "toxicity", "labels": ["toxic", "non-toxic"], "text_col": "comment", "label_col": "target"}
    with runs.open_run(out, "zeroshot", question, data=data, inputs=inputs) as run:
        tables.write(frame, out)
        run.seal([out], {"asked": count, "scored": count - 1, "failed": 1})
    explained = folder / "zs.ig.parquet"
    words = (texts[0] or "x").split() or ["x"]
    row = {
        "idx": 0,
        "words": words,
        "word_weights": [0.5 / len(words)] * len(words),
        "identity": [True] + [False] * (len(words) - 1),
    }
    with runs.open_run(explained, "zeroshot-ig", {"rows": 1}, data=data, inputs=inputs) as run:
        tables.write(pl.DataFrame([{**row, "explained": 1.0, "gap": 0.01, "steps": 32, "converged": True}]), explained)
        run.seal([explained], {"asked": 1, "scored": 1, "failed": 0})
    return folder


def undefined_run(folder: Path) -> Path:
    """A run in which nothing could be measured: NaN and null everywhere."""
    out = folder / "fairness.csv"
    place = {"attribute": "female", "group": None, "class": None}
    empty = {"value": float("nan"), "low": float("nan"), "high": None, "n": 0, "n_failed": 9, "p": None, "p_adjusted": float("nan")}
    metrics = ("statistical_parity_difference", "equal_opportunity_difference", "accuracy")
    schema = {"group": pl.String, "class": pl.String, "high": pl.Float64, "p": pl.Float64}
    frame = pl.DataFrame([{"metric": metric, **place, **empty} for metric in metrics], schema_overrides=schema)
    with runs.open_run(out, "fairness", {"label_col": "target"}) as run:
        tables.write(pl.DataFrame({"group": ["female=1"], "n": [0], "acc": [float("nan")], "skipped": [True]}), out)
        tables.write(frame, out.with_suffix(".measurements.parquet"))
        facts = {"n_rows": 9, "n_measured": 0, "n_failed": 9, "notes": []}
        run.seal([out, out.with_suffix(".measurements.parquet")], {"asked": 9, "scored": 0, "failed": 9}, facts=facts)
    return folder


def unfinished_run(folder: Path, name: str = "other.parquet") -> Path:
    """A run that was begun and stopped."""
    try:
        with runs.open_run(folder / name, "zeroshot", {"model": "tiny"}):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        return folder
