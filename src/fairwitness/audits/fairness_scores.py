"""Tables that need scores: bias AUCs, threshold sweeps, calibration, and the points of the ROC curves that are drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from fairwitness.audits.fairness_input import BACKGROUND
from fairwitness.audits.fairness_tables import Settings
from fairwitness.metrics.auc_variance import PAIRS, bias_variances, delong, power_mean_weights
from fairwitness.metrics.bias_auc import (
    AUCS,
    EQUALITY_GAPS,
    GroupScores,
    auc,
    final_metric,
    power_mean,
    roc,
    squared_equality_gaps,
    tie_bound,
)
from fairwitness.metrics.calibration import reliability
from fairwitness.metrics.gaps import gaps
from fairwitness.metrics.intervals import auc_interval, logit_interval
from fairwitness.metrics.rates import rates
from fairwitness.metrics.scores import BinnedScores, ScoreTable, Side
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
    """The overall AUC and the Jigsaw final metric over the identities whose three AUCs are defined, with their intervals."""
    everyone, overall = scores.everyone(), scores.auc()
    sizes = [int(part.sum()) for part in everyone]
    low, high = auc_interval(overall, *sizes, variance=delong(*everyone), confidence=settings.confidence)
    facts: dict[str, Any] = {"overall_auc": overall, "overall_auc_low": float(low), "overall_auc_high": float(high)}
    if isinstance(scores, BinnedScores):
        facts["auc_error_bound"] = _error_bound(scores)
    if table is None:
        return facts
    own = table.filter(pl.col("identity").is_in(list(identities))) if identities else table
    usable = own.filter(~pl.col("skipped")).drop_nulls(list(AUCS))
    values = {name: usable[name].to_list() for name in AUCS}
    found = {f"power_mean_{name}": power_mean(values[name]) for name in AUCS}
    found["jigsaw_final"] = final_metric(overall, values)
    outer = [_combined(facts[f"overall_auc_{side}"], usable, side) for side in ("low", "high")]
    for name, variance in final_variances(scores, usable["identity"].to_list(), values).items():
        # Without any variance seen (every row agrees) it is as unsure as the AUCs that it is made of.
        ends = (
            logit_interval(found[name], variance, confidence=settings.confidence) if variance > 0 else [end[name] for end in outer]
        )
        found |= {f"{name}_low": float(ends[0]), f"{name}_high": float(ends[1])}
    return facts | found | {"jigsaw_identities": usable.height, "jigsaw_left_out": own.height - usable.height}


def _combined(overall: float, table: pl.DataFrame, side: str) -> dict[str, float]:
    """The power means and the final metric of the AUCs' own interval ends; all of them rise with every AUC."""
    ends = {name: table[f"{name}_{side}"].to_list() for name in AUCS}
    return {**{f"power_mean_{name}": power_mean(ends[name]) for name in AUCS}, "jigsaw_final": final_metric(overall, ends)}


def _error_bound(scores: BinnedScores) -> float:
    """How far any AUC can be off because rows of one bin count as ties."""
    found = [tie_bound(*scores.everyone())]
    for name in scores.names:
        histograms = scores.histograms(name)
        found += [tie_bound(getattr(histograms, one), getattr(histograms, other)) for one, other in PAIRS.values()]
    return float(np.nanmax(found))


def final_variances(scores: ScoreTable, identities: Sequence[str], values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Variances of the three power means over identities and of the final metric."""
    slopes = {name: power_mean_weights(values[name]) for name in AUCS}
    weights = {identity: {name: float(slopes[name][index]) for name in AUCS} for index, identity in enumerate(identities)}
    if not weights:
        return {name: float("nan") for name in (*(f"power_mean_{auc}" for auc in AUCS), "jigsaw_final")}
    found = scores.variances(weights)
    return {**{f"power_mean_{name}": found[name] for name in AUCS}, "jigsaw_final": found["all"] / 16}


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
    return row | squared | bias_intervals(metrics, scores.histograms(name), settings)


def bias_intervals(metrics: Mapping[str, float], scores: GroupScores, settings: Settings) -> dict[str, float]:
    """`*_low` and `*_high` of one identity's AUCs and equality gaps."""
    variance = bias_variances(scores)
    shift = np.array([0.5 if metric in EQUALITY_GAPS else 0.0 for metric in PAIRS])
    sizes = np.array([[getattr(scores, side).sum() for side in pair] for pair in PAIRS.values()]).T
    values = np.array([metrics[metric] for metric in PAIRS]) + shift
    spreads = np.array([variance[metric] for metric in PAIRS])
    low, high = auc_interval(values, *sizes, variance=spreads, confidence=settings.confidence)
    ends = zip(PAIRS, low - shift, high - shift, strict=True)
    return {f"{metric}_{side}": float(end) for metric, *both in ends for side, end in zip(("low", "high"), both, strict=True)}


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
    error, (low, high) = found.expected_calibration_error, found.error_interval(confidence=settings.confidence)
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
            "ece_low": low,
            "ece_high": high,
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
    support = {"n": side.n, "auc": area, "n_positive": int(side.positive.sum()), "n_negative": int(side.negative.sum())}
    return [{**place, "fpr": float(false_positive[k]), "tpr": float(true_positive[k]), **support} for k in places]
