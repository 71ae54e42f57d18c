"""Several classes and several groups at once (Purificato, Boratto, De Luca: multiclass and multigroup fairness, 2023 on).

Each metric is a matrix [class, group] or a vector [group], from the count tensor `cells[group, truth, prediction]`. With two
classes the positive class's row is the binary metric. Nothing here needs classes or groups to be numbered 0 … K−1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairwitness.metrics.combined import Ends, ratio_interval, sum_interval
from fairwitness.metrics.counts import IntArray
from fairwitness.metrics.intervals import wilson
from fairwitness.metrics.rates import FloatArray, ratio


@dataclass(frozen=True)
class OneAgainstRest:
    """The four counts of every class against all others, each [class, group]."""

    true_positive: IntArray
    false_positive: IntArray
    false_negative: IntArray
    true_negative: IntArray

    @cached_property
    def positives(self) -> IntArray:
        return self.true_positive + self.false_negative

    @cached_property
    def negatives(self) -> IntArray:
        return self.false_positive + self.true_negative

    @cached_property
    def everyone(self) -> IntArray:
        return self.positives + self.negatives

    def __getitem__(self, place: Any) -> "OneAgainstRest":
        """Some of the classes and groups, as an index into [class, group]."""
        parts = (self.true_positive, self.false_positive, self.false_negative, self.true_negative)
        return OneAgainstRest(*(part[place] for part in parts))


def one_against_rest(cells: Any) -> OneAgainstRest:
    """Every class of `cells[..., group, truth, prediction]` against the rest: counts [..., class, group].

    Counts that already are one against the rest are handed through, so that many metrics of many replicates share them.
    """
    if isinstance(cells, OneAgainstRest):
        return cells
    cells = np.asarray(cells)
    # Sums over the last axes are spelt out as a product with ones, which numpy does many times faster on short axes.
    ones = np.ones(cells.shape[-1], cells.dtype)
    right = np.swapaxes(np.diagonal(cells, axis1=-2, axis2=-1), -1, -2)
    called = np.swapaxes(ones @ cells, -1, -2)
    real = np.swapaxes(cells @ ones, -1, -2)
    everyone = (cells @ ones @ ones)[..., None, :]
    return OneAgainstRest(right, called - right, real - right, everyone - called - real + right)


def statistical_parity(cells: Any) -> FloatArray:
    """Share of a group predicted as a class: #(ŷ=m ∧ s=n) / #(s=n), [class, group], in [0, 1]. Undefined for an empty group.

    >>> statistical_parity([[[1, 1], [0, 2]], [[0, 0], [0, 0]]]).tolist()
    [[0.25, nan], [0.75, nan]]
    """
    counts = one_against_rest(cells)
    return ratio(counts.true_positive + counts.false_positive, counts.everyone)


def equal_opportunity(cells: Any) -> FloatArray:
    """Recall of a class in a group: #(ŷ=m ∧ y=m ∧ s=n) / #(y=m ∧ s=n), [class, group], in [0, 1].

    Undefined where a group has nobody of that class.
    """
    counts = one_against_rest(cells)
    return ratio(counts.true_positive, counts.positives)


def false_positive_rate(cells: Any) -> FloatArray:
    """#(ŷ=m ∧ y≠m ∧ s=n) / #(y≠m ∧ s=n), [class, group]. Undefined where everyone in the group is of that class."""
    counts = one_against_rest(cells)
    return ratio(counts.false_positive, counts.negatives)


def false_negative_rate(cells: Any) -> FloatArray:
    """#(ŷ≠m ∧ y=m ∧ s=n) / #(y=m ∧ s=n), [class, group]. Undefined where a group has nobody of that class."""
    counts = one_against_rest(cells)
    return ratio(counts.false_negative, counts.positives)


def overall_accuracy_equality(cells: Any) -> FloatArray:
    """The published sum of class recalls, Σ_m EO[m][n], per group, in [0, number of classes]. It is not an accuracy.

    The sum goes over the classes that occur as a truth anywhere; undefined for a group in which one of them does not occur.
    """
    counts = one_against_rest(cells)
    return np.asarray(np.where(_occurs(counts), equal_opportunity(counts), 0.0).sum(axis=-2), float)


def group_accuracy(cells: Any) -> FloatArray:
    """True accuracy per group, in [0, 1]: the share of the group's rows predicted rightly. Undefined for an empty group."""
    return ratio(*_right_of_all(one_against_rest(cells)))


def treatment_equality(cells: Any) -> FloatArray:
    """False positives over false negatives, as rates: FPR / FNR, [class, group], in [0, ∞), always in this direction.

    Undefined where the FNR is 0 or either rate is undefined.
    """
    return ratio(false_positive_rate(cells), false_negative_rate(cells))


def treatment_equality_inverse(cells: Any) -> FloatArray:
    """FNR / FPR, [class, group], in [0, ∞). Undefined where the FPR is 0 or either rate is undefined."""
    return ratio(false_negative_rate(cells), false_positive_rate(cells))


def treatment_equality_selected(cells: Any) -> FloatArray:
    """What the released code reports under the name treatment equality; kept for comparison with published numbers only.

    For each class it walks through the groups in order and takes FPR/FNR while the running sum of |FPR/FNR| is below that of
    |FNR/FPR|, else FNR/FPR. So its direction can change from group to group and with their order, and x/0 stays infinite.
    """
    false_positive, false_negative = false_positive_rate(cells), false_negative_rate(cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = false_positive / false_negative, false_negative / false_positive
        chosen = np.cumsum(np.abs(one), axis=-1) < np.cumsum(np.abs(other), axis=-1)
    return np.where(chosen, one, other)


@dataclass(frozen=True)
class Spread:
    """Largest minus smallest value over groups, and which groups those are (−1 where fewer than two are defined)."""

    value: FloatArray
    highest: IntArray
    lowest: IntArray


def spread(values: Any) -> Spread:
    """The spread of a metric over groups (the last axis); undefined values are left out, and fewer than two give NaN.

    >>> found = spread([0.2, float("nan"), 0.5, 0.1])
    >>> round(float(found.value), 3), int(found.highest), int(found.lowest)
    (0.4, 2, 3)
    """
    values = np.asarray(values, float)
    if not values.shape[-1]:
        nothing = np.full(values.shape[:-1], -1)
        return Spread(np.full(values.shape[:-1], np.nan), nothing, nothing)
    undefined = ~np.isfinite(values)
    highest = np.where(undefined, -np.inf, values).argmax(axis=-1)
    lowest = np.where(undefined, np.inf, values).argmin(axis=-1)
    # Where all are alike the lowest is the last of them: a pair is of two groups.
    last = values.shape[-1] - 1 - (~undefined)[..., ::-1].argmax(axis=-1)
    alike = np.take_along_axis(values, highest[..., None], -1) == np.take_along_axis(values, lowest[..., None], -1)
    lowest = np.where(alike[..., 0], last, lowest)
    enough = np.count_nonzero(~undefined, axis=-1) >= 2
    top = np.take_along_axis(values, highest[..., None], -1)[..., 0]
    bottom = np.take_along_axis(values, lowest[..., None], -1)[..., 0]
    with np.errstate(invalid="ignore"):
        value = np.where(enough, top - bottom, np.nan)
    return Spread(value, np.where(enough, highest, -1), np.where(enough, lowest, -1))


# metric name as written in tables → function. Matrices [class, group] first, then vectors [group].
BY_CLASS = {
    "statistical_parity": statistical_parity,
    "equal_opportunity": equal_opportunity,
    "false_positive_rate": false_positive_rate,
    "false_negative_rate": false_negative_rate,
    "treatment_equality_fp_over_fn": treatment_equality,
    "treatment_equality_fn_over_fp": treatment_equality_inverse,
    "treatment_equality_selected": treatment_equality_selected,
}
BY_GROUP = {
    "overall_accuracy_equality": overall_accuracy_equality,
    "group_accuracy": group_accuracy,
}
METRICS = BY_CLASS | BY_GROUP


def share(metric: str, cells: Any) -> tuple[IntArray, IntArray]:
    """Numerator and denominator of one of those metrics that are SHARES of rows, so that it gets binomial intervals and tests."""
    return SHARES[metric](one_against_rest(cells))


def interval(metric: str, cells: Any, *, confidence: Any = 0.95) -> Ends:
    """The interval of one of the metrics above in every cell, NaN where the metric is undefined. `confidence` may be an array too.

    Shares: Wilson. The sum of recalls and the quotients of rates are put together from Wilson's intervals of their parts, which
    are independent given how many rows of each class a group has. The released variant takes that of the direction it chose.

    >>> low, high = interval("treatment_equality_fp_over_fn", [[[80, 20], [10, 90]]])
    >>> round(float(low[1, 0]), 2), round(float(high[1, 0]), 2)
    (1.0, 4.0)
    """
    counts = one_against_rest(cells)
    if metric in SHARES:
        return wilson(*share(metric, counts), confidence=confidence)
    if metric == "overall_accuracy_equality":
        occurs = _occurs(counts)
        recalls, ends = equal_opportunity(counts), interval("equal_opportunity", counts, confidence=confidence)
        return sum_interval(*(np.where(occurs, part, 0.0) for part in (recalls, *ends)), axis=-2)
    names = ("false_positive_rate", "false_negative_rate")
    one, other = ([BY_CLASS[name](counts), *interval(name, counts, confidence=confidence)] for name in names)
    if metric == "treatment_equality_fn_over_fp":
        one, other = other, one
    if metric == "treatment_equality_selected":
        first = treatment_equality_selected(counts) == treatment_equality(counts)
        chosen = [(np.where(first, up, down), np.where(first, down, up)) for up, down in zip(one, other, strict=True)]
        one, other = ([pair[side] for pair in chosen] for side in (0, 1))
    return ratio_interval(one[0], one[1:], other[0], other[1:])


def _occurs(counts: OneAgainstRest) -> Any:
    """Classes that are somebody's truth in some group, [class, 1]."""
    return counts.positives.sum(axis=-1, keepdims=True) > 0


def _right_of_all(counts: OneAgainstRest) -> tuple[IntArray, IntArray]:
    return counts.true_positive.sum(axis=-2), counts.everyone.max(axis=-2, initial=0)  # every class's row holds all rows of a group


SHARES: dict[str, Callable[[OneAgainstRest], tuple[IntArray, IntArray]]] = {
    "statistical_parity": lambda counts: (counts.true_positive + counts.false_positive, counts.everyone),
    "equal_opportunity": lambda counts: (counts.true_positive, counts.positives),
    "false_positive_rate": lambda counts: (counts.false_positive, counts.negatives),
    "false_negative_rate": lambda counts: (counts.false_negative, counts.positives),
    "group_accuracy": _right_of_all,
}
