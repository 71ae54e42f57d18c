"""What attributions add up to: how much of a decision falls on identity words, and whether it falls where people see reasons."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from fairwitness.explain.rationale_agreement import Agreement, agreement
from fairwitness.explain.words import groups_of, identity_share

MEMBER = 0.5
_OUTCOMES = {(True, True): "tp", (True, False): "fp", (False, False): "tn", (False, True): "fn"}


def identity_table(
    table: pl.DataFrame,
    rows: pl.DataFrame,
    *,
    label_col: str | None,
    id_cols: Sequence[str],
    lists: Mapping[str, Sequence[str]],
) -> pl.DataFrame:
    """Mean share of |attribution| on identity words by group and outcome (tp, fp, tn, fn, and all).

    Groups: all rows, the members of each identity column (0.5 and above), and `names …`: texts that use a word of the list.
    `word_share` is the share of words that are identity words, what chance would give; `signed` is the same share with signs
    (above 0: towards the positive label). Undefined without rows. Intervals: bootstrap over rows, 95 %, from 2 rows on.
    """
    facts = [_row_facts(row, lists) for row in table.iter_rows(named=True)]
    outcomes = _outcomes(rows, label_col)
    groups: list[tuple[str, np.ndarray]] = [("all", np.ones(len(facts), dtype=bool))]
    for name in id_cols:
        groups.append((name, (rows[name].cast(pl.Float64, strict=False) >= MEMBER).fill_null(False).to_numpy()))
    for group in lists:
        naming = np.array([group in fact["named"] for fact in facts])
        if naming.any():
            groups.append((f"names {group}", naming))
    usable = np.array([np.isfinite(fact["share"]) for fact in facts])
    found = []
    for group, member in groups:
        for outcome in ("all", *(("tp", "fp", "tn", "fn") if label_col else ())):
            chosen = member & usable & (np.array([outcome in ("all", seen) for seen in outcomes]))
            found.append(_measured(group, outcome, [fact for fact, keep in zip(facts, chosen, strict=True) if keep]))
    return pl.DataFrame(found, schema_overrides=dict.fromkeys(("share", "low", "high", "word_share", "signed"), pl.Float64))


def largest_groups(table: pl.DataFrame, most: int) -> tuple[pl.DataFrame, int]:
    """Whole groups of an identity table, those of most rows first, in at most `most` lines; and how many groups are left out."""
    sizes = (
        table.group_by("group", maintain_order=True)
        .agg(pl.col("n").max(), lines=pl.len())
        .sort("n", descending=True, maintain_order=True)
    )
    kept = sizes.filter(pl.col("lines").cum_sum() <= most)
    return kept.select("group").join(table, on="group", maintain_order="left_right"), sizes.height - kept.height


def _row_facts(row: Mapping[str, Any], lists: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    words, values = row["words"] or [], np.array(row["word_weights"] or [], dtype=float)
    groups = groups_of(words, lists)
    named = np.array([bool(group) for group in groups], dtype=bool)
    return {
        "share": identity_share(words, values, lists) if len(words) else float("nan"),
        "word_share": float(named.mean()) if len(words) else float("nan"),
        "signed": float(values[named].sum()) if len(words) else float("nan"),
        "named": set(groups) - {""},
        "converged": bool(row["converged"]),
    }


def _outcomes(rows: pl.DataFrame, label_col: str | None) -> list[str]:
    if label_col is None:
        return [""] * rows.height
    label = rows[label_col].cast(pl.Float64, strict=False).to_list()
    return [
        "" if truth is None or truth != truth or pred is None else _OUTCOMES[bool(pred), truth >= MEMBER]
        for pred, truth in zip(rows["pred"].to_list(), label, strict=True)
    ]


def _measured(group: str, outcome: str, facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    share = np.array([fact["share"] for fact in facts])
    low, high = _interval(share)
    return {
        "group": group,
        "outcome": outcome,
        "n": len(facts),
        "n_converged": sum(fact["converged"] for fact in facts),
        "share": _mean(share),
        "low": low,
        "high": high,
        "word_share": _mean(np.array([fact["word_share"] for fact in facts])),
        "signed": _mean(np.array([fact["signed"] for fact in facts])),
    }


def rationale_table(table: pl.DataFrame, marks: pl.Series, *, label: pl.Series | None = None) -> pl.DataFrame:
    """Agreement of word attributions (towards the positive label) with people's marks, over rows with some words marked, not all.

    With `label`, only rows labelled positive count: the marks are reasons for that label. `chance` is what words in a random order
    would get. `n_failed` counts rows whose marks cannot be read, or do not fit their words.
    """
    written = marks.to_list()
    read = [_marks(value) for value in written]
    positive = (
        [True] * len(read) if label is None else [v is not None and v >= MEMBER for v in label.cast(pl.Float64, strict=False)]
    )
    pairs, failed = [], 0
    for row, value, found, wanted in zip(table.iter_rows(named=True), written, read, positive, strict=True):
        if row["error"] is not None or not wanted or value is None or (found is not None and not any(found)):
            continue
        if found is None or len(found) != len(row["words"]):
            failed += 1
            continue
        pairs.append((row["word_weights"], found))
    length = float(np.mean([np.mean(found) for _, found in pairs])) if pairs else float("nan")
    scores = [agreement(values, found, length=length) for values, found in pairs]
    scores = [score for score in scores if np.isfinite(score.auprc)]
    return pl.DataFrame([_summary(name, scores, failed) for name in ("auprc", "token_f1", "iou")])


def _summary(name: str, scores: Sequence[Agreement], failed: int) -> dict[str, Any]:
    values = np.array([getattr(score, name) for score in scores])
    low, high = _interval(values)
    return {
        "metric": name,
        "value": _mean(values),
        "low": low,
        "high": high,
        "chance": _mean(np.array([getattr(score, f"chance_{name}") for score in scores])),
        "n": len(values),
        "n_failed": failed,
    }


def _marks(value: Any) -> list[int] | None:
    """Marks from a list, a JSON list or a text of 0 and 1; None where there are none."""
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip().startswith("[") else value.replace(",", " ").split()
        except ValueError:
            return None
    if value is None:
        return None
    try:
        return [int(float(mark) >= MEMBER) for mark in value]
    except (TypeError, ValueError):
        return None


def _interval(values: np.ndarray, draws: int = 2000) -> tuple[float, float]:
    if len(values) < 2:
        return float("nan"), float("nan")
    dice = np.random.default_rng(0)
    means = values[dice.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
