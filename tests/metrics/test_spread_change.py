"""Changes of spreads over several groups and classes, against a reference that walks through rows one definition at a time."""

import numpy as np
import pytest

from fairwitness.metrics.spread_change import (
    COMPARED,
    JointCounts,
    SpreadChange,
    agreeing,
    joint_counts,
    paired_spread_changes,
    unpaired_spread_changes,
)

GROUPS, CLASSES = 4, 3
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def rows(n: int, seed: int, *, planted: float = 0.0, groups: int = GROUPS) -> Rows:
    """Group, truth and two predictions. The second often agrees; in group 2 it calls a share of rows class 0."""
    stream = np.random.default_rng(seed)
    group, truth = stream.integers(0, groups, n), stream.integers(0, CLASSES, n)
    before = np.where(stream.random(n) < 0.6, truth, stream.integers(0, CLASSES, n))
    after = np.where(stream.random(n) < 0.9, before, stream.integers(0, CLASSES, n))
    return group, truth, before, np.where((group == 2) & (stream.random(n) < planted), 0, after)


def joint(table: Rows, groups: int = GROUPS) -> JointCounts:
    return joint_counts(*table, groups=groups, classes=CLASSES)


def by_hand(metric: str, class_: int | None, truth: np.ndarray, said: np.ndarray) -> float:
    """A metric of one group's rows, as its definition reads."""
    if metric == "group_accuracy":
        return float(np.mean(truth == said))
    if metric == "overall_accuracy_equality":
        return sum(by_hand("equal_opportunity", each, truth, said) for each in range(CLASSES))
    real, called = truth == class_, said == class_
    if metric == "statistical_parity":
        return float(called.mean())
    if metric == "equal_opportunity":
        return float(called[real].mean()) if real.any() else np.nan
    if metric == "false_positive_rate":
        return float(called[~real].mean()) if (~real).any() else np.nan
    wrong = by_hand("false_positive_rate", class_, truth, said), 1 - by_hand("equal_opportunity", class_, truth, said)
    above, below = wrong if metric == "treatment_equality_fp_over_fn" else wrong[::-1]
    return above / below if below else np.nan


def values(metric: str, class_: int | None, table: Rows) -> np.ndarray:
    """[before or after, group]."""
    group, truth, before, after = table
    return np.array(
        [[by_hand(metric, class_, truth[group == g], said[group == g]) for g in range(GROUPS)] for said in (before, after)]
    )


def place(found: list[SpreadChange], metric: str, class_: int | None) -> SpreadChange:
    return next(one for one in found if (one.metric, one.class_) == (metric, class_))


def test_values_are_those_of_the_definitions() -> None:
    table = rows(400, 1, planted=0.3)
    found = paired_spread_changes(joint(table), replicates=50)
    assert {one.metric for one in found} == set(COMPARED)
    for one in found:
        before, after = values(one.metric, one.class_, table)
        assert one.change.before == pytest.approx(before.max() - before.min())
        assert one.change.after == pytest.approx(after.max() - after.min())
        assert one.change.change == pytest.approx(np.ptp(after) - np.ptp(before))
        assert (one.highest, one.lowest) == (after.argmax(), after.argmin())
        assert abs(one.change.change) <= np.ptp(after - before) + 1e-12


@pytest.mark.parametrize(("metric", "class_"), [("statistical_parity", 0), ("equal_opportunity", 1), ("group_accuracy", None)])
def test_paired_equals_resampling_rows(metric: str, class_: int | None) -> None:
    table = rows(400, 2, planted=0.15)
    found = place(paired_spread_changes(joint(table), replicates=4000), metric, class_).change
    moved = np.subtract(*values(metric, class_, table)[::-1])
    stream = np.random.default_rng(3)
    ranges = []
    for _ in range(1000):
        drawn = np.concatenate([stream.choice(np.flatnonzero(table[0] == g), (table[0] == g).sum()) for g in range(GROUPS)])
        again = np.subtract(*values(metric, class_, tuple(column[drawn] for column in table))[::-1])
        ranges.append(np.ptp(again - moved))
    reach = np.quantile(ranges, 0.95)
    assert [found.low, found.high] == pytest.approx([found.change - reach, found.change + reach], abs=0.015)
    assert found.p == pytest.approx(np.mean(np.array(ranges) >= abs(found.change)), abs=0.05)


def test_the_same_predictions_have_not_changed() -> None:
    group, truth, before, _ = rows(300, 4)
    for counts in (joint((group, truth, before, before)), agreeing(joint((group, truth, before, before)).cells()[0])):
        for one in paired_spread_changes(counts, replicates=100):
            assert (one.change.change, one.change.low, one.change.high, one.change.p) == (0, 0, 0, 1)


def test_a_planted_change_in_one_group_is_found() -> None:
    table = rows(2000, 5, planted=0.5)
    one = place(paired_spread_changes(joint(table)), "statistical_parity", 0)
    assert one.change.p < 0.01
    assert one.change.low > 0.1
    assert one.highest == 2
    apart = place(unpaired_spread_changes(*joint(table).cells()), "statistical_parity", 0)
    assert apart.change.change == pytest.approx(one.change.change)
    assert apart.change.p < 0.01
    assert apart.change.high - apart.change.low > one.change.high - one.change.low


def test_noisier_rates_alone_are_no_change() -> None:
    """Every group moves from 5 % to 45 %: the spread seen grows with the noise, the spread behind it stays 0."""
    hits = {True: 0, False: 0}
    for seed in range(40):
        stream = np.random.default_rng(seed)
        group, truth = stream.integers(0, 20, 1200), stream.integers(0, 2, 1200)
        before = (stream.random(1200) < 0.05).astype(int)
        after = np.maximum(before, stream.random(1200) < 0.4)
        counts = joint_counts(group, truth, before, after, groups=20, classes=2)
        for paired in hits:
            options = {"replicates": 200, "seed": seed}
            found = paired_spread_changes(counts, **options) if paired else unpaired_spread_changes(*counts.cells(), **options)
            hits[paired] += place(found, "statistical_parity", 1).change.p < 0.05
    assert max(hits.values()) <= 4


def test_undefined_stays_undefined() -> None:
    """One group, or a class that is nobody's truth: no spread, and no number in its place."""
    alone = joint_counts([0] * 40, [0, 1] * 20, [0] * 40, [1] * 40, groups=1, classes=2)
    nobody = joint_counts([0, 1] * 20, [0] * 40, [0, 1, 1, 0] * 10, [0] * 40, groups=2, classes=2)
    lost = [
        *paired_spread_changes(alone, replicates=20),
        place(paired_spread_changes(nobody, replicates=20), "equal_opportunity", 1),
    ]
    for one in lost:
        assert np.isnan([one.change.change, one.change.low, one.change.high, one.change.p]).all()
        assert (one.highest, one.lowest) == (-1, -1)
    empty = joint_counts([], [], [], [], groups=0, classes=2)
    assert all(np.isnan(one.change.change) for one in paired_spread_changes(empty, replicates=5))


def test_incomplete_rows_are_in_no_cell() -> None:
    counts = joint_counts([0, -1, 0, 0, 1], [1, 1, -1, 1, 1], [1, 1, 1, -1, 0], [0, 0, 0, 0, 0], groups=2, classes=2)
    assert counts.sizes.tolist() == [1, 1]
    assert counts.only([1]).cells()[0].tolist() == [[[0, 0], [1, 0]]]
    assert counts.dense()[0, 1, 1, 0] == 1
