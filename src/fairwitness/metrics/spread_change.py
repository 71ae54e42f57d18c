"""Did the spread over several groups change between two systems, beyond noise? For several classes and groups.

With v_g a metric of group g, a spread is S = max_g v_g − min_g v_g, and the change is S(after) − S(before), both over the groups in
which the metric is defined for both. A spread grows with noise alone: the more groups and the noisier their rates, the further the
outermost lie apart. So draws of the spread itself would call any system changed whose rates became noisier. What bounds the change
is how differently the groups' own values moved: with d_g = v_g(after) − v_g(before),

    |S(after) − S(before)| ≤ R(d) = max_g d_g − min_g d_g,

and noise in d is what the bootstrap shows: R* = R(d* − d). The interval is change ± the quantile of R*, and
p = (1 + #{R* ≥ |change|}) / (1 + #draws). Where all groups moved alike nothing is found, however many there are.

Undefined (NaN) where fewer than two groups have a value under both; draws in which fewer than two have one are left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fairwitness.metrics.change import Change
from fairwitness.metrics.counts import NONE, IntArray
from fairwitness.metrics.multigroup import METRICS, OneAgainstRest, equal_opportunity, one_against_rest, spread
from fairwitness.metrics.rates import FloatArray

# The false negative rate's spread is equal opportunity's, and the released mixture of directions has no direction to change in.
COMPARED = tuple(name for name in METRICS if name not in ("false_negative_rate", "treatment_equality_selected"))
_DUST = 1e-12


@dataclass(frozen=True)
class JointCounts:
    """Rows counted by group, truth and both predictions. Only cells that occur: their codes, groups ascending, and their rows."""

    groups: int
    classes: int
    group: IntArray
    truth: IntArray
    before: IntArray
    after: IntArray
    n: IntArray

    @property
    def sizes(self) -> IntArray:
        """Rows per group."""
        return np.bincount(self.group, self.n, self.groups).astype(np.int64)

    def only(self, groups: Any) -> "JointCounts":
        """Some of the groups, in their order."""
        place = np.full(self.groups, NONE)
        place[groups] = np.arange(len(groups))
        kept = place[self.group] != NONE
        parts = (part[kept] for part in (self.truth, self.before, self.after, self.n))
        return JointCounts(len(groups), self.classes, place[self.group][kept], *parts)

    def cells(self) -> tuple[IntArray, IntArray]:
        """[group, truth, prediction] of the first system, and of the second."""
        found = np.zeros((2, self.groups, self.classes, self.classes), np.int64)
        for tensor, predicted in zip(found, (self.before, self.after), strict=True):
            np.add.at(tensor, (self.group, self.truth, predicted), self.n)
        return found[0], found[1]

    def dense(self) -> IntArray:
        """[group, truth, first prediction, second prediction]; for few classes."""
        found = np.zeros((self.groups, *[self.classes] * 3), np.int64)
        found[self.group, self.truth, self.before, self.after] = self.n
        return found


def joint_counts(group: Any, truth: Any, before: Any, after: Any, *, groups: int, classes: int) -> JointCounts:
    """Count rows given as codes. Complete rows only: one without a group, a truth or either prediction (NONE) is in no cell.

    >>> joint_counts([0, 0, 1, -1], [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], groups=2, classes=2).n.tolist()
    [2, 1]
    """
    rows = [np.asarray(codes, np.int64) for codes in (group, truth, before, after)]
    whole = np.logical_and.reduce([codes != NONE for codes in rows])
    shape = (groups, classes, classes, classes)
    joint = np.ravel_multi_index(tuple(codes[whole] for codes in rows), shape) if whole.any() else np.zeros(0, np.int64)
    cells, n = np.unique(joint, return_counts=True)
    places = np.unravel_index(cells, shape) if len(cells) else [cells] * 4
    return JointCounts(groups, classes, places[0], places[1], places[2], places[3], n)


def agreeing(cells: Any) -> JointCounts:
    """The joint counts of a system with itself, from its counts [group, truth, prediction]."""
    cells = np.asarray(cells, np.int64)
    group, truth, predicted = np.nonzero(cells)
    return JointCounts(cells.shape[0], cells.shape[1], group, truth, predicted, predicted, cells[group, truth, predicted])


@dataclass(frozen=True)
class SpreadChange:
    """The spread of one metric for one class (None: it has no classes), its change, and the groups furthest apart after."""

    metric: str
    class_: int | None
    change: Change
    highest: int
    lowest: int


def paired_spread_changes(
    joint: JointCounts, *, replicates: int = 1000, seed: int = 0, confidence: float = 0.95
) -> list[SpreadChange]:
    """The change of every spread, both systems having judged the same rows: each group's rows are drawn with both predictions.

    Two systems that always agree have changed nothing: 0 with interval [0, 0] and p = 1.

    >>> same = agreeing([[[30, 10], [5, 40]], [[20, 20], [5, 40]]])
    >>> {(found.change.change, found.change.high, found.change.p) for found in paired_spread_changes(same)}
    {(0.0, 0.0, 1.0)}
    """
    stream = np.random.default_rng(seed)
    return _changes(joint.cells(), _paired_draws(joint, replicates, stream), replicates, confidence)


def unpaired_spread_changes(
    before: Any, after: Any, *, replicates: int = 1000, seed: int = 0, confidence: float = 0.95
) -> list[SpreadChange]:
    """The change of every spread between two samples, from counts [group, truth, prediction] over the same groups and classes."""
    cells = (np.asarray(before, np.int64), np.asarray(after, np.int64))
    stream = np.random.default_rng(seed)
    pairs = zip(*cells, strict=True)
    draws = ((_drawn_alone(one, replicates, stream), _drawn_alone(other, replicates, stream)) for one, other in pairs)
    return _changes(cells, draws, replicates, confidence)


_Pair = tuple[OneAgainstRest, OneAgainstRest]


def _paired_draws(joint: JointCounts, replicates: int, stream: np.random.Generator) -> Iterator[_Pair]:
    ends = np.searchsorted(joint.group, np.arange(joint.groups + 1))
    for start, end in pairwise(ends):
        own = slice(start, end)
        drawn = _drawn(joint.n[own], replicates, stream)
        one, other = (_counted(drawn, joint.truth[own], said[own], joint.classes) for said in (joint.before, joint.after))
        yield one, other


def _drawn_alone(cells: IntArray, replicates: int, stream: np.random.Generator) -> OneAgainstRest:
    truth, predicted = np.nonzero(cells)
    return _counted(_drawn(cells[truth, predicted], replicates, stream), truth, predicted, len(cells))


def _drawn(n: IntArray, replicates: int, stream: np.random.Generator) -> FloatArray:
    """A group's rows drawn anew, as many as it has: [replicate, cell]. No half rows: thousands of cells would add thousands."""
    total = int(n.sum())
    return stream.multinomial(total, n / max(total, 1), size=replicates).astype(float) if total else np.zeros((replicates, len(n)))


def _counted(drawn: FloatArray, truth: IntArray, predicted: IntArray, classes: int) -> OneAgainstRest:
    """Every class against the rest in every replicate of one group: [replicate, class, 1]."""
    names = np.arange(classes)
    real, called = truth[:, None] == names, predicted[:, None] == names
    sums = drawn @ np.concatenate([real & called, called, real], axis=1).astype(float)
    right, said, true = (sums[:, start : start + classes, None] for start in (0, classes, 2 * classes))
    everyone = drawn.sum(axis=1)[:, None, None]
    return OneAgainstRest(right, said - right, true - right, everyone - said - true + right)


def _value(metric: str, counts: OneAgainstRest, occurs: Any) -> FloatArray:
    """A metric [..., class or the only one, group]. `occurs`: the classes whose recalls are summed, in every draw alike."""
    if metric == "overall_accuracy_equality":
        return np.asarray(equal_opportunity(counts)[..., occurs, :].sum(axis=-2, keepdims=True), float)
    found = METRICS[metric](counts)
    return found[..., None, :] if metric == "group_accuracy" else found


def _changes(cells: tuple[IntArray, IntArray], draws: Iterable[_Pair], replicates: int, confidence: float) -> list[SpreadChange]:
    counts = [one_against_rest(part) for part in cells]
    occurs = (counts[0].positives + counts[1].positives).sum(axis=-1) > 0
    values = {metric: [_value(metric, one, occurs) for one in counts] for metric in COMPARED}
    moved = {metric: after - before for metric, (before, after) in values.items()}
    ranges = _ranges(moved, draws, occurs, replicates)
    found = []
    for metric, shift in moved.items():
        # A value that one side lacks is left out of both, so that both spreads are over the same groups.
        before, after = (spread(np.where(np.isnan(shift), np.nan, value)) for value in values[metric])
        single = metric in ("overall_accuracy_equality", "group_accuracy")
        for place in range(len(shift)):
            change = _judged(before.value[place], after.value[place], ranges[metric][:, place], confidence)
            pair = int(after.highest[place]), int(after.lowest[place])
            found.append(SpreadChange(metric, None if single else place, change, *pair))
    return found


def _ranges(moved: dict[str, FloatArray], draws: Iterable[_Pair], occurs: Any, replicates: int) -> dict[str, FloatArray]:
    """R* of every draw [replicate, class], group by group, so that no more than one group's draws are held."""
    top = {metric: np.full((replicates, len(shift)), -np.inf) for metric, shift in moved.items()}
    bottom = {metric: np.full((replicates, len(shift)), np.inf) for metric, shift in moved.items()}
    seen = {metric: np.zeros((replicates, len(shift)), np.int64) for metric, shift in moved.items()}
    for group, (one, other) in enumerate(draws):
        for metric, shift in moved.items():
            noise = (_value(metric, other, occurs) - _value(metric, one, occurs))[..., 0] - shift[:, group]
            np.fmax(top[metric], noise, out=top[metric])
            np.fmin(bottom[metric], noise, out=bottom[metric])
            seen[metric] += ~np.isnan(noise)
    with np.errstate(invalid="ignore"):
        return {metric: np.where(seen[metric] >= 2, top[metric] - bottom[metric], np.nan) for metric in moved}


def _judged(before: float, after: float, ranges: FloatArray, confidence: float) -> Change:
    change, known = float(after - before), ranges[~np.isnan(ranges)]
    if np.isnan(change) or not len(known):
        return Change(float(before), float(after), change, np.nan, np.nan, np.nan)
    reach = float(np.quantile(known, confidence))
    p = (1 + np.count_nonzero(known >= abs(change) - _DUST)) / (1 + len(known))
    return Change(float(before), float(after), change, change - reach, change + reach, float(p))
