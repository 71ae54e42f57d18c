"""Intervals made of several shares: the extreme pair against a search over all pairs, and what becomes of undefined groups."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairwitness.metrics.combined import (
    absolute_interval,
    difference_interval,
    largest_interval,
    ratio_interval,
    spread_interval,
)
from fairwitness.metrics.intervals import wilson
from fairwitness.metrics.multigroup import METRICS, interval

counts = st.lists(st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=12)


def shares_interval(hits: np.ndarray, rows: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    return wilson(hits, rows, confidence=confidence)


@given(counts)
def test_a_spread_is_bounded_by_its_extreme_pairs(groups: list[tuple[int, int]]) -> None:
    hits, rows = np.array(groups).T
    number, value = len(groups), hits / rows
    low, high = spread_interval(value, partial(shares_interval, hits, rows))
    share = 0.05 / (number * (number - 1))
    ends = [wilson(hits, rows, confidence=1 - 2 * tail) for tail in (share, 0.05 - share)]
    pairs = [(one, other) for one in range(number) for other in range(number) if one != other]

    def end(level: int, side: int) -> float:
        lows, highs = ends[level]
        return max(float(difference_interval(value[i], (lows[i], highs[i]), value[j], (lows[j], highs[j]))[side]) for i, j in pairs)

    assert float(low) == pytest.approx(max(end(0, 0), 0), abs=1e-12)
    assert float(high) == pytest.approx(end(1, 1), abs=1e-12)
    assert low <= np.ptp(value) + 1e-12
    assert high >= np.ptp(value) - 1e-12


def test_two_groups_give_newcombes_interval_of_the_distance() -> None:
    hits, rows = np.array([56, 48]), np.array([70, 80])
    low, high = spread_interval(hits / rows, partial(shares_interval, hits, rows))
    assert (round(float(low), 4), round(float(high), 4)) == (0.0524, 0.3339)


def test_undefined_groups_are_left_out_of_a_spread() -> None:
    hits, rows = np.array([5, 0, 9]), np.array([10, 0, 10])
    found = spread_interval(np.array([0.5, np.nan, 0.9]), partial(shares_interval, hits, rows))
    alone = spread_interval(np.array([0.5, 0.9]), partial(shares_interval, hits[[0, 2]], rows[[0, 2]]))
    assert found == alone
    assert np.isnan(spread_interval(np.array([0.5, np.nan]), partial(shares_interval, hits[:2], rows[:2]))).all()


def test_one_gap_has_its_own_interval_as_its_worst_case() -> None:
    value = np.array([-0.2])

    def ends(confidence: float) -> tuple[np.ndarray, np.ndarray]:
        return value - 0.1 * confidence, value + 0.1 * confidence

    low, high = largest_interval(value, ends)
    assert (float(low), float(high)) == pytest.approx([float(end) for end in absolute_interval(*[e[0] for e in ends(0.95)])])


@given(hnp.arrays(np.int64, (4, 3, 3), elements=st.integers(0, 25)))
def test_every_metric_lies_within_its_interval(cells: np.ndarray) -> None:
    for name, metric in METRICS.items():
        value, (low, high) = metric(cells), interval(name, cells)
        defined = np.isfinite(value)
        assert np.isnan(low[~defined]).all()
        assert (low[defined] <= value[defined] + 1e-9).all(), name
        assert (high[defined] >= value[defined] - 1e-9).all(), name


def test_a_ratio_with_nothing_above_or_below() -> None:
    low, high = ratio_interval([0.0, 0.5], (np.array([0.0, 0.4]), np.array([0.1, 0.6])), [0.2, 0.0], ([0.1, 0.0], [0.3, 0.1]))
    assert low[0] == 0
    assert 0 < high[0] < 2
    assert np.isnan([low[1], high[1]]).all()


def test_many_groups_and_several_spreads_at_once() -> None:
    random = np.random.default_rng(0)
    rows = np.maximum(random.integers(1, 2000, (3, 150)) // random.integers(1, 200, (3, 150)), 1)
    hits = random.binomial(rows, [[0.5], [0.05], [0.999]])
    rows[1, :20] = hits[1, :20] = 0
    low, high = spread_interval(wilson_share(hits, rows), partial(shares_interval, hits, rows))
    for row in range(3):
        own = rows[row] > 0
        k, n = hits[row][own], rows[row][own]
        value, share = k / n, 0.05 / (own.sum() * (own.sum() - 1))
        ends = [
            difference_interval(value[:, None], each(k, n, tail), value, each(k, n, tail, row=True))
            for tail in (share, 0.05 - share)
        ]
        apart = ~np.eye(len(k), dtype=bool)
        assert low[row] == pytest.approx(max(ends[0][0][apart].max(), 0), abs=1e-12)
        assert high[row] == pytest.approx(ends[1][1][apart].max(), abs=1e-12)


def wilson_share(hits: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.divide(hits, rows, out=np.full(hits.shape, np.nan), where=rows > 0)


def each(hits: np.ndarray, rows: np.ndarray, tail: float, *, row: bool = False) -> tuple[np.ndarray, np.ndarray]:
    low, high = wilson(hits, rows, confidence=1 - 2 * tail)
    return (low, high) if row else (low[:, None], high[:, None])
