"""Two ways to narrow gaps between groups without retraining, measured before and after.

Averaging: a comment's score is the mean over its identity variants, or the control's score. Thresholds: each group gets the
threshold at which its false positive rate is that of everybody. Both are judged on rows that were not used to fit anything.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from fairwitness.metrics.paired import Comparison, resampled_sums

Array = np.ndarray[Any, np.dtype[np.float64]]
# A rate over fewer rows is noise: such a group is in no gap.
LEAST_ROWS = 30
MEASURES = ("accuracy", "auc", "mean_gap", "false_positive_gap", "false_negative_gap")
# The measures that get an interval by resampling units. (The AUC has none: ranks do not come from counts.)
BOUNDED = ("accuracy", "false_positive_gap", "false_negative_gap")
BOUNDS = tuple(f"{name}_{end}" for name in BOUNDED for end in ("low", "high"))


def averaged(values: Array) -> Array:
    """Each unit's mean over its variants, for every variant alike. NaN for a unit with a variant that was not scored."""
    return np.repeat(values.mean(axis=1, keepdims=True), values.shape[1], axis=1)


def group_thresholds(
    scores: Array, labels: Array, groups: Sequence[str], *, threshold: float = 0.5, least: int = 1
) -> dict[str, float]:
    """For each group the threshold at which its false positive rate is nearest to, and not above, that of all rows at `threshold`.

    A group with fewer than `least` negatives keeps the threshold: nothing can be learned about it.

    >>> group_thresholds(np.array([0.2, 0.6, 0.7, 0.9]), np.zeros(4), ["a", "a", "b", "b"], threshold=0.65)
    {'a': 0.6, 'b': 0.9}
    """
    negative = labels == 0
    target = float(np.mean(scores[negative] >= threshold)) if negative.any() else 0.0
    names = np.asarray(groups)
    found: dict[str, float] = {}
    for name in dict.fromkeys(groups):
        own = np.sort(scores[negative & (names == name)])[::-1]
        allowed = int(np.floor(target * len(own) + 1e-9))
        found[name] = threshold if len(own) < least else _lowest_threshold(own, allowed, threshold)
    return found


def judge(decisions: Array, scores: Array, labels: Array, groups: Sequence[str]) -> dict[str, float | None]:
    """What a moderator cares about: accuracy, AUC, and how far groups are apart in mean score and in both error rates.

    A gap is the largest minus the smallest over groups with at least 30 such rows. Undefined (None): AUC without both
    labels, a gap with fewer than two such groups.
    """
    names = np.asarray(groups)
    by_group = {name: names == name for name in dict.fromkeys(groups)}
    return {
        "accuracy": float(np.mean(decisions == labels)) if len(labels) else None,
        "auc": auc(scores, labels),
        "mean_gap": _gap([scores[rows] for rows in by_group.values()]),
        "false_positive_gap": _gap([decisions[rows & (labels == 0)] for rows in by_group.values()]),
        "false_negative_gap": _gap([1 - decisions[rows & (labels == 1)] for rows in by_group.values()]),
    }


def auc(scores: Array, labels: Array) -> float | None:
    """Area under the ROC curve: the chance that a positive scores above a negative, ties counting half. None without both labels.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.875
    """
    from scipy.stats import rankdata

    positive = labels == 1
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return None
    ranks = rankdata(scores)
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def before_and_after(
    values: Array,
    control: Array | None,
    labels: Array,
    roles: Sequence[str],
    held_out: Any,
    *,
    threshold: float = 0.5,
    chosen: Any = None,
) -> pl.DataFrame:
    """Each mitigation beside doing nothing, judged on the held-out units. Only units in which every variant was scored count.

    `values`: unit × role; `labels`: one a unit; `held_out`: which units judge (the others fit the thresholds); `chosen`: which
    variants (unit × role) count, such as the one that was really written; unset: all.
    """
    complete = ~np.isnan(values).any(axis=1) & ~np.isnan(labels) & (True if control is None else ~np.isnan(control))
    counted = (np.ones(values.shape, dtype=bool) if chosen is None else chosen) & complete[:, None]
    fit, judged = counted & ~held_out[:, None], counted & held_out[:, None]
    truth, groups = np.broadcast_to(labels[:, None], values.shape), np.broadcast_to(np.array(roles), values.shape)
    fitted = group_thresholds(values[fit], truth[fit], groups[fit].tolist(), threshold=threshold, least=LEAST_ROWS)
    names, own = groups[judged].tolist(), values[judged]
    ways: list[tuple[str, Array, Any]] = [("nothing", own, own >= threshold)]
    mean = averaged(values)[judged]
    ways.append(("average over variants", mean, mean >= threshold))
    if control is not None:
        same = np.broadcast_to(control[:, None], values.shape)[judged]
        ways.append(("score of the control", same, same >= threshold))
    ways.append(("threshold per group", own, own >= np.array([fitted.get(name, threshold) for name in names])))
    units = np.nonzero(judged)[0]
    rows = [
        {"mitigation": name, "n": len(own)}
        | judge(cut.astype(np.float64), scores, truth[judged], names)
        | bounds(cut.astype(np.float64), truth[judged], names, units)
        for name, scores, cut in ways
    ]
    schema: dict[str, Any] = {"mitigation": pl.String, "n": pl.Int64} | dict.fromkeys((*MEASURES, *BOUNDS), pl.Float64)
    return pl.DataFrame(rows, schema=schema).with_columns(pl.selectors.float().fill_nan(None))


def bounds(decisions: Array, labels: Array, groups: Sequence[str], units: Any, how: Comparison | None = None) -> dict[str, float]:
    """95 % bootstrap intervals of accuracy and of both gaps, resampling units (templates) with all their rows.

    A gap is never negative, so where groups are alike its interval lies above 0; read it beside that of doing nothing. NaN where
    the gap is undefined.
    """
    how = how or Comparison()
    names, wrong = np.asarray(groups), decisions != labels
    columns: list[Any] = [~wrong, np.ones(len(labels))]
    for kind in (0, 1):
        for name in _large_groups(names, labels, kind):
            rows = (names == name) & (labels == kind)
            columns += [rows & wrong, rows]
    _, place = np.unique(units, return_inverse=True)
    per_unit: Array = np.stack([np.bincount(place, weights=np.asarray(column, np.float64)) for column in columns], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = resampled_sums(per_unit, how)
        rates = sums[:, ::2] / sums[:, 1::2]
    false_positives = 1 + len(_large_groups(names, labels, 0))
    spreads = {
        "accuracy": rates[:, :1],
        "false_positive_gap": rates[:, 1:false_positives],
        "false_negative_gap": rates[:, false_positives:],
    }
    return {key: value for name, part in spreads.items() for key, value in _interval(name, part).items()}


def _interval(name: str, rates: Array) -> dict[str, float]:
    if name != "accuracy":
        rates = rates.max(axis=1, keepdims=True) - rates.min(axis=1, keepdims=True) if rates.shape[1] >= 2 else rates[:, :0]
    known = rates[~np.isnan(rates)]
    low, high = np.percentile(known, [2.5, 97.5]) if known.size else (np.nan, np.nan)
    return {f"{name}_low": float(low), f"{name}_high": float(high)}


def _large_groups(names: Any, labels: Array, kind: int) -> list[str]:
    """The groups with enough rows of a label to have a rate."""
    return [name for name in dict.fromkeys(names.tolist()) if np.sum((names == name) & (labels == kind)) >= LEAST_ROWS]


def _lowest_threshold(descending: Array, allowed: int, threshold: float) -> float:
    """The lowest threshold that at most `allowed` of the scores reach; the common one where exactly so many reach that."""
    if int(np.sum(descending >= threshold)) == allowed or allowed >= len(descending):
        return threshold
    # The largest score that must stay below the threshold is at `allowed`; the threshold is the next larger one.
    larger = descending[descending > descending[allowed]]
    return float(larger[-1]) if len(larger) else float(np.nextafter(descending[0], 2.0))


def _gap(groups: Sequence[Array]) -> float | None:
    means = [float(values.mean()) for values in groups if len(values) >= LEAST_ROWS]
    return max(means) - min(means) if len(means) >= 2 else None
