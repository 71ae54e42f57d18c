"""Fitting one scorer's numbers to another's with a curve that never falls, and how well the one can stand in for the other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

Array = np.ndarray[Any, np.dtype[np.float64]]

THRESHOLDS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)


def isotonic(x: Array, y: Array) -> tuple[Array, Array]:
    """The never falling curve through (x, y) with the least squared error, as knots for `np.interp`. Equal x share one value.

    >>> knots, heights = isotonic(np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.4, 0.2]))
    >>> knots.tolist(), heights.round(3).tolist()
    ([0.1, 0.2, 0.3], [0.0, 0.3, 0.3])
    """
    from scipy.optimize import isotonic_regression

    knots, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=y) / counts
    heights = isotonic_regression(means, weights=counts.astype(np.float64)).x
    keep = np.ones(len(knots), dtype=bool)
    # Inside a flat stretch only its two ends matter.
    keep[1:-1] = (heights[1:-1] != heights[:-2]) | (heights[1:-1] != heights[2:])
    return knots[keep], heights[keep]


def cross_validated(x: Array, y: Array, folds: Array) -> Array:
    """What each row's y would be by the curve fitted without its fold. NaN where the other folds have no rows."""
    predicted = np.full(len(x), np.nan)
    for fold in np.unique(folds):
        out = folds == fold
        if (~out).sum() >= 2:
            knots, heights = isotonic(x[~out], y[~out])
            predicted[out] = np.interp(x[out], knots, heights)
    return predicted


def agreement(recorded: Array, other: Array) -> dict[str, float | None]:
    """How near two scorers are on the same texts: mean absolute and root mean squared difference, correlations, explained variance.

    Correlations and `explained` (1 − squared error / variance of the recorded, at most 1) are undefined where nothing varies.
    """
    from scipy import stats

    if len(recorded) == 0:
        return dict.fromkeys(("n", "mean_absolute", "root_mean_square", "pearson", "spearman", "explained"), None) | {"n": 0}
    difference = other - recorded
    vary = float(np.var(recorded)) > 0 and float(np.var(other)) > 0
    return {
        "n": len(recorded),
        "mean_absolute": float(np.mean(np.abs(difference))),
        "root_mean_square": float(np.sqrt(np.mean(difference**2))),
        "pearson": float(stats.pearsonr(recorded, other).statistic) if vary and len(recorded) > 1 else None,
        "spearman": float(stats.spearmanr(recorded, other).statistic) if vary and len(recorded) > 1 else None,
        "explained": 1 - float(np.mean(difference**2) / np.var(recorded)) if np.var(recorded) > 0 else None,
    }


def at_thresholds(recorded: Array, other: Array, thresholds: Sequence[float] = THRESHOLDS) -> pl.DataFrame:
    """For each old threshold: the share of texts above it by either scorer, how often the decision is the same, and Cohen's kappa.

    Kappa is undefined where both decide the same for every text.
    """
    rows = []
    for threshold in thresholds:
        old, new = recorded >= threshold, other >= threshold
        same = float(np.mean(old == new)) if len(old) else None
        chance = float(old.mean() * new.mean() + (1 - old.mean()) * (1 - new.mean())) if len(old) else 1.0
        rows.append(
            {
                "threshold": threshold,
                "above_recorded": float(old.mean()) if len(old) else None,
                "above_local": float(new.mean()) if len(old) else None,
                "same_decision": same,
                "kappa": (same - chance) / (1 - chance) if same is not None and chance < 1 else None,
            }
        )
    names = ("threshold", "above_recorded", "above_local", "same_decision", "kappa")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64))


def local_threshold(knots: Array, heights: Array, threshold: float) -> float | None:
    """The local score from which on the fitted curve reaches an old threshold; None where it never does.

    >>> knots, heights = np.array([0.0, 1.0]), np.array([0.0, 0.8])
    >>> local_threshold(knots, heights, 0.4), local_threshold(knots, heights, 0.9)
    (0.5, None)
    """
    reached = np.flatnonzero(heights >= threshold)
    if not len(reached):
        return None
    first = int(reached[0])
    if first == 0 or heights[first] == heights[first - 1]:
        return float(knots[first])
    share = (threshold - heights[first - 1]) / (heights[first] - heights[first - 1])
    return float(knots[first - 1] + share * (knots[first] - knots[first - 1]))


def by_group(recorded: Array, other: Array, groups: Sequence[str]) -> pl.DataFrame:
    """Where the stand-in is off, group by group: mean of local − recorded, mean absolute difference, n."""
    frame = pl.DataFrame({"group": list(groups), "difference": other - recorded})
    return (
        frame.group_by("group", maintain_order=True)
        .agg(n=pl.len(), mean_difference=pl.col("difference").mean(), mean_absolute=pl.col("difference").abs().mean())
        .sort("mean_difference", descending=True)
    )
