"""Tables that need scores: bias AUCs, threshold sweeps, calibration, and the points of the ROC curves that are drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from fairwitness.audits.fairness_input import BACKGROUND
from fairwitness.audits.fairness_tables import Settings
from fairwitness.metrics.bias_auc import (
    AUCS,
    EQUALITY_GAPS,
    GroupScores,
    auc,
    bias_aucs,
    final_metric,
    power_mean,
    roc,
    separability_gaps,
)
from fairwitness.metrics.calibration import reliability
from fairwitness.metrics.gaps import gaps
from fairwitness.metrics.intervals import auc_interval
from fairwitness.metrics.rates import rates
from fairwitness.metrics.scores import ScoreTable
from fairwitness.metrics.sweeps import cells_at, threshold_grid

_CURVE_POINTS = 200


def score_tables(scores: ScoreTable, settings: Settings) -> dict[str, pl.DataFrame]:
    """`bias_auc`, `sweep`, `roc` and, when all scores are probabilities, `calibration`; one histogram per identity for all."""
    rows: dict[str, list[dict[str, Any]]] = {"bias_auc": [], "sweep": [], "calibration": [], "roc": []}
    probabilities = bool(len(scores.values)) and scores.values[0] >= 0 and scores.values[-1] <= 1
    thresholds = threshold_grid(scores.values)
    positive, negative = scores.overall()
    rows["roc"] += _curve("overall", "overall", positive, negative)
    if probabilities:
        rows["calibration"] += _reliability("overall", "overall", scores.values, positive, negative, settings)
    for name in scores.names:
        found = scores.group(name)
        if name != BACKGROUND:
            rows["bias_auc"].append(_bias_row(name, found, scores.values, settings, probabilities=probabilities))
        rows["sweep"] += _sweep(name, found, scores.values, thresholds, settings)
        for member, (ones, zeros) in _sides(found).items():
            rows["roc"] += _curve(name, member, ones, zeros)
            if probabilities:
                rows["calibration"] += _reliability(name, member, scores.values, ones, zeros, settings)
    frames = {name: pl.DataFrame(found, infer_schema_length=None) for name, found in rows.items() if found}
    return {name: frame.with_columns(pl.selectors.float().fill_nan(None)) for name, frame in frames.items()}


def score_facts(scores: ScoreTable, table: pl.DataFrame | None, identities: Sequence[str], settings: Settings) -> dict[str, Any]:
    """The overall AUC with its interval, and the Jigsaw final metric over the identities whose three AUCs are defined."""
    positive, negative = (part.astype(np.int64) for part in scores.overall())
    overall = auc(positive, negative)
    low, high = auc_interval(overall, positive.sum(), negative.sum(), confidence=settings.confidence)
    facts: dict[str, Any] = {"overall_auc": overall, "overall_auc_low": float(low), "overall_auc_high": float(high)}
    if table is None:
        return facts
    own = table.filter(pl.col("identity").is_in(list(identities))) if identities else table
    usable = own.filter(~pl.col("skipped")).drop_nulls(list(AUCS))
    means = {f"power_mean_{name}": power_mean(usable[name].to_list()) for name in AUCS}
    final = final_metric(overall, {name: usable[name].to_list() for name in AUCS})
    return (
        facts | means | {"jigsaw_final": final, "jigsaw_identities": usable.height, "jigsaw_left_out": own.height - usable.height}
    )


def _bias_row(name: str, found: GroupScores, values: Any, settings: Settings, *, probabilities: bool) -> dict[str, Any]:
    sizes = {
        "n_subgroup_positive": int(found.subgroup_positive.sum()),
        "n_subgroup_negative": int(found.subgroup_negative.sum()),
        "n_background_positive": int(found.background_positive.sum()),
        "n_background_negative": int(found.background_negative.sum()),
    }
    s1, s0, b1, b0 = sizes.values()
    skipped = s1 + s0 < settings.min_group_size
    metrics = bias_aucs(found)
    squared = separability_gaps(found, values) if probabilities else {"positive_aseg": np.nan, "negative_aseg": np.nan}
    row: dict[str, Any] = {"identity": name, **metrics, "n_subgroup": s1 + s0, "n_background": b1 + b0, "skipped": skipped}
    row |= sizes | squared
    pairs = {
        "subgroup_auc": (s1, s0),
        "bpsn_auc": (b1, s0),
        "bnsp_auc": (s1, b0),
        "positive_aeg": (b1, s1),
        "negative_aeg": (b0, s0),
    }
    for metric, (one, other) in pairs.items():
        shift = 0.5 if metric in EQUALITY_GAPS else 0.0
        low, high = auc_interval(metrics[metric] + shift, one, other, confidence=settings.confidence)
        row |= {f"{metric}_low": float(low) - shift, f"{metric}_high": float(high) - shift}
    return row


def _group_name(name: str, member: str) -> str:
    """A flag's groups are male=0 and male=1; a group column's value, age=young, is its own name."""
    if name == "overall":
        return name
    if "=" in name:
        return name if member == "1" else f"not {name}"
    return f"{name}={member}"


def _sides(found: GroupScores) -> dict[str, tuple[Any, Any]]:
    return {
        "0": (found.background_positive, found.background_negative),
        "1": (found.subgroup_positive, found.subgroup_negative),
    }


def _sweep(name: str, found: GroupScores, values: Any, thresholds: Any, settings: Settings) -> list[dict[str, Any]]:
    both = np.stack([cells_at(values, ones, zeros, thresholds) for ones, zeros in _sides(found).values()], axis=1)
    if (both.sum(axis=(2, 3)) < settings.min_group_size).any():
        return []
    apart, own = gaps(both), rates(both)
    wanted = {
        "SPD": "statistical_parity_difference",
        "EOpp_diff": "equal_opportunity_difference",
        "FPR_diff": "false_positive_rate_difference",
    }
    columns: dict[str, Any] = {short: apart[long] for short, long in wanted.items()}
    for short, long in {
        "pos_rate": "positive_rate",
        "tpr": "true_positive_rate",
        "fpr": "false_positive_rate",
        "acc": "accuracy",
    }.items():
        columns |= {f"{short}_A0": own[long][:, 0], f"{short}_A1": own[long][:, 1]}
    return [
        {"identity": name, "threshold": float(at), **{key: float(part[index]) for key, part in columns.items()}}
        for index, at in enumerate(thresholds)
    ]


def _reliability(name: str, member: str, values: Any, ones: Any, zeros: Any, settings: Settings) -> list[dict[str, Any]]:
    n = int(ones.sum()) + int(zeros.sum())
    if n < settings.min_group_size:
        return []
    found = reliability(values, ones, zeros, confidence=settings.confidence)
    error = found.expected_calibration_error
    return [
        {
            "identity": name,
            "group": _group_name(name, member),
            "bin_low": float(found.edges[b]),
            "bin_high": float(found.edges[b + 1]),
            "n": int(found.n[b]),
            "mean_score": float(found.mean_score[b]),
            "positive_share": float(found.positive_share[b]),
            "low": float(found.low[b]),
            "high": float(found.high[b]),
            "ece": error,
        }
        for b in range(len(found.n))
    ]


def _curve(name: str, member: str, ones: Any, zeros: Any) -> list[dict[str, Any]]:
    """A ROC curve thinned to a few hundred points, evenly along its length."""
    if not ones.sum() or not zeros.sum():
        return []
    false_positive, true_positive = roc(ones, zeros)
    along = false_positive + true_positive
    places = np.unique(np.searchsorted(along, np.linspace(0, 2, _CURVE_POINTS)).clip(0, len(along) - 1))
    size = {"n": int(ones.sum()) + int(zeros.sum()), "auc": auc(ones, zeros)}
    group = _group_name(name, member)
    return [
        {"identity": name, "group": group, "fpr": float(false_positive[k]), "tpr": float(true_positive[k]), **size} for k in places
    ]
