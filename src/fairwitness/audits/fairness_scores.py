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
    final_metric,
    power_mean,
    roc,
    squared_equality_gaps,
)
from fairwitness.metrics.calibration import reliability
from fairwitness.metrics.gaps import gaps
from fairwitness.metrics.intervals import auc_interval
from fairwitness.metrics.rates import rates
from fairwitness.metrics.scores import ScoreTable, Side
from fairwitness.metrics.sweeps import cells_at, threshold_grid

_CURVE_POINTS = 200
_SWEPT_GAPS = {
    "SPD": "statistical_parity_difference",
    "EOpp_diff": "equal_opportunity_difference",
    "FPR_diff": "false_positive_rate_difference",
}
_SWEPT_RATES = {"pos_rate": "positive_rate", "tpr": "true_positive_rate", "fpr": "false_positive_rate", "acc": "accuracy"}


def score_tables(scores: ScoreTable, settings: Settings) -> dict[str, pl.DataFrame]:
    """`bias_auc`, `sweep`, `roc` and, when all scores are probabilities, `calibration`."""
    rows: dict[str, list[dict[str, Any]]] = {"bias_auc": [], "sweep": [], "calibration": [], "roc": []}
    probabilities = scores.lowest >= 0 and scores.highest <= 1
    everyone = scores.overall()
    rows["roc"] += _curve("overall", "overall", everyone, scores.auc())
    if probabilities:
        rows["calibration"] += _reliability("overall", "overall", scores.edges, everyone, settings)
    for name in scores.names:
        rest, members = scores.sides(name)
        metrics = scores.bias(name)
        if name != BACKGROUND:
            rows["bias_auc"].append(_bias_row(name, metrics, scores, rest, members, settings))
        rows["sweep"] += _sweep(name, scores, rest, members, settings)
        for member, side in (("0", rest), ("1", members)):
            area = metrics["subgroup_auc"] if member == "1" else auc(side.positive, side.negative)
            rows["roc"] += _curve(name, member, side, area)
            if probabilities:
                rows["calibration"] += _reliability(name, member, scores.edges, side, settings)
    frames = {name: pl.DataFrame(found, infer_schema_length=None) for name, found in rows.items() if found}
    return {name: frame.with_columns(pl.selectors.float().fill_nan(None)) for name, frame in frames.items()}


def score_facts(scores: ScoreTable, table: pl.DataFrame | None, identities: Sequence[str], settings: Settings) -> dict[str, Any]:
    """The overall AUC with its interval, and the Jigsaw final metric over the identities whose three AUCs are defined."""
    everyone, overall = scores.overall(), scores.auc()
    low, high = auc_interval(overall, everyone.positive.sum(), everyone.negative.sum(), confidence=settings.confidence)
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


def _bias_row(
    name: str, metrics: dict[str, float], scores: ScoreTable, rest: Side, members: Side, settings: Settings
) -> dict[str, Any]:
    s1, s0, b1, b0 = (int(part.sum()) for part in (members.positive, members.negative, rest.positive, rest.negative))
    squared = {"positive_aseg": np.nan, "negative_aseg": np.nan}
    if scores.lowest >= 0 and scores.highest <= 1:
        four = GroupScores(members.positive, members.negative, rest.positive, rest.negative)
        squared = squared_equality_gaps(four, scores.edges)
    row: dict[str, Any] = {"identity": name, **metrics, "n_subgroup": s1 + s0, "n_background": b1 + b0}
    row["skipped"] = s1 + s0 < settings.min_group_size
    row |= {"n_subgroup_positive": s1, "n_subgroup_negative": s0, "n_background_positive": b1, "n_background_negative": b0}
    row |= squared
    pairs = {
        "subgroup_auc": (s1, s0),
        "bpsn_auc": (b1, s0),
        "bnsp_auc": (s1, b0),
        "positive_aeg": (b1, s1),
        "negative_aeg": (b0, s0),
    }
    shift = np.array([0.5 if metric in EQUALITY_GAPS else 0.0 for metric in pairs])
    values = np.array([metrics[metric] for metric in pairs]) + shift
    low, high = auc_interval(values, *np.array(list(pairs.values())).T, confidence=settings.confidence)
    for metric, start, end in zip(pairs, low - shift, high - shift, strict=True):
        row |= {f"{metric}_low": float(start), f"{metric}_high": float(end)}
    return row


def _group_name(name: str, member: str) -> str:
    """A flag's groups are male=0 and male=1; a group column's value, age=young, is its own name."""
    if name == "overall":
        return name
    if "=" in name:
        return name if member == "1" else f"not {name}"
    return f"{name}={member}"


def _sweep(name: str, scores: ScoreTable, rest: Side, members: Side, settings: Settings) -> list[dict[str, Any]]:
    if min(rest.n, members.n) < settings.min_group_size:
        return []
    thresholds = threshold_grid(scores.lowest, scores.highest)
    both = np.stack([cells_at(scores.edges, side.positive, side.negative, thresholds) for side in (rest, members)], axis=1)
    apart, own = gaps(both), rates(both)
    columns: dict[str, Any] = {short: apart[long] for short, long in _SWEPT_GAPS.items()}
    for short, long in _SWEPT_RATES.items():
        columns |= {f"{short}_A0": own[long][:, 0], f"{short}_A1": own[long][:, 1]}
    return [
        {"identity": name, "threshold": float(at), **{key: float(part[index]) for key, part in columns.items()}}
        for index, at in enumerate(thresholds)
    ]


def _reliability(name: str, member: str, edges: Any, side: Side, settings: Settings) -> list[dict[str, Any]]:
    if side.n < settings.min_group_size:
        return []
    found = reliability(edges, side.positive, side.negative, side.score_sum, confidence=settings.confidence)
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


def _curve(name: str, member: str, side: Side, area: float) -> list[dict[str, Any]]:
    """A ROC curve thinned to some hundred points, evenly along its length."""
    if not side.positive.sum() or not side.negative.sum():
        return []
    false_positive, true_positive = roc(side.positive, side.negative)
    along = false_positive + true_positive
    places = np.unique(np.searchsorted(along, np.linspace(0, 2, _CURVE_POINTS)).clip(0, len(along) - 1))
    place = {"identity": name, "group": _group_name(name, member)}
    return [{**place, "fpr": float(false_positive[k]), "tpr": float(true_positive[k]), "n": side.n, "auc": area} for k in places]
