"""How much a zero-shot result moves when the question is only worded differently: one table, wording by wording, and the spread.

prompt, wording, metric, group, value, n          prompt 1, 2, …; then rows 'min', 'max' and 'sd' over the wordings
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fairwitness import tables

if TYPE_CHECKING:
    from fairwitness.audits.zero_shot import ZeroShotConfig
    from fairwitness.scorers.zero_shot import ZeroShot

MEMBER = 0.5


def write_spread(config: "ZeroShotConfig", scorer: "ZeroShot") -> Path:
    """Write `<out stem>.prompts.csv` from the predictions just written."""
    wanted = ["score", *(f"score_{k + 1}" for k in range(1, config.prompts)), *([config.label_col] if config.label_col else [])]
    scores = tables.read(config.out, [*wanted, *config.id_cols, "error"]).filter(pl.col("error").is_null())
    rows: list[dict[str, Any]] = []
    for number, wording in enumerate(scorer.question.prompts):
        column = "score" if number == 0 else f"score_{number + 1}"
        for metric, group, value, n in _measured(config, scores, column):
            rows.append({"prompt": str(number + 1), "wording": wording, "metric": metric, "group": group, "value": value, "n": n})
    table = pl.DataFrame(rows, schema_overrides={"value": pl.Float64})
    return tables.write(pl.concat([table, _spread(table)]), config.out.with_name(f"{config.out.stem}.prompts.csv"))


def _measured(config: "ZeroShotConfig", scores: pl.DataFrame, column: str) -> list[tuple[str, str, float, int]]:
    """Rate of positive predictions, overall and among the members of each identity; agreement; with labels, accuracy and AUC."""
    pred = (scores[column] > config.threshold).to_numpy()
    first = (scores["score"] > config.threshold).to_numpy()
    found = [("positive_rate", "all", _mean(pred), len(pred)), ("agreement_with_first", "all", _mean(pred == first), len(pred))]
    for name in config.id_cols:
        member = (scores[name].cast(pl.Float64, strict=False) >= MEMBER).fill_null(False).to_numpy()
        found.append(("positive_rate", name, _mean(pred[member]), int(member.sum())))
    if config.label_col:
        label = scores[config.label_col].cast(pl.Float64, strict=False)
        known = (label.is_not_null() & label.is_not_nan()).to_numpy()
        truth = label.to_numpy()[known] >= MEMBER
        found.append(("accuracy", "all", _mean(pred[known] == truth), int(known.sum())))
        found.append(("auc", "all", auc(truth, scores[column].to_numpy()[known]), int(known.sum())))
    return found


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """Share of (positive, negative) pairs in which the positive has the higher score, ties counting half.

    In [0, 1]. Undefined (NaN) without at least one of each.

    >>> auc(np.array([True, False, True]), np.array([3.0, 1.0, 1.0]))
    0.75
    """
    from scipy.stats import rankdata

    positives = int(truth.sum())
    negatives = len(truth) - positives
    if not positives or not negatives:
        return float("nan")
    return float((rankdata(score)[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def _spread(table: pl.DataFrame) -> pl.DataFrame:
    value = pl.col("value").fill_nan(None)
    kinds = {"min": value.min(), "max": value.max(), "sd": value.std()}
    parts = [
        table.group_by("metric", "group", maintain_order=True)
        .agg(how.alias("value"), pl.col("n").first())
        .with_columns(prompt=pl.lit(kind), wording=pl.lit(""))
        .select(table.columns)
        for kind, how in kinds.items()
    ]
    return pl.concat(parts)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
