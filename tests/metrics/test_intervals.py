"""Intervals and tests against SciPy, and their coverage by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairwitness.metrics.gaps import gaps
from fairwitness.metrics.intervals import auc_interval, logit_interval, percentiles, resample, wilson
from fairwitness.metrics.significance import benjamini_hochberg, exact_test, minimum_detectable, spread_test


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_equals_scipy(pair: tuple[int, int], confidence: float) -> None:
    low, high = wilson(*pair, confidence=confidence)
    theirs = stats.binomtest(*pair).proportion_ci(confidence, method="wilson")
    assert float(low) == pytest.approx(theirs.low, abs=1e-12)
    assert float(high) == pytest.approx(theirs.high, abs=1e-12)


def test_wilson_is_undefined_without_trials() -> None:
    assert np.isnan(wilson(0, 0)).all()


two_groups = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=2, max_size=2)


@given(two_groups)
def test_exact_test_equals_scipy(groups: list[tuple[int, int]]) -> None:
    successes, failures = np.array(groups).T
    found = float(exact_test(successes, successes + failures))
    if (successes + failures == 0).any():
        assert np.isnan(found)
    else:
        assert found == pytest.approx(stats.fisher_exact(np.array(groups))[1], rel=1e-9, abs=1e-15)


def test_exact_test_on_millions_of_rows() -> None:
    assert float(exact_test([180_000, 9_000], [1_900_000, 100_000])) < 1e-6
    assert float(exact_test([0, 100_000], [1_900_000, 100_000])) == 0.0
    near = float(exact_test([180_000, 9_450], [1_900_000, 100_000]))
    assert near == pytest.approx(stats.fisher_exact([[180_000, 1_720_000], [9_450, 90_550]])[1], rel=1e-6)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_benjamini_hochberg_equals_scipy(p: list[float]) -> None:
    assert np.allclose(benjamini_hochberg(p), stats.false_discovery_control(p), atol=1e-12)
    assert np.isnan(benjamini_hochberg([*p, np.nan])[-1])
    assert np.allclose(benjamini_hochberg([*p, np.nan])[:-1], benjamini_hochberg(p))


def test_a_thousand_replicates_depend_on_seed_and_counts_alone() -> None:
    cells = np.array([[[[5, 3], [2, 7]], [[8, 1], [1, 9]]], [[[50, 3], [2, 7]], [[8, 1], [4, 9]]]])
    one = resample(cells, replicates=100, seed=3, axes=3)
    assert (one[:, ::-1] == resample(cells[::-1], replicates=100, seed=3, axes=3)).all()
    assert (one != resample(cells, replicates=100, seed=4, axes=3)).any()
    assert (one.sum(axis=(2, 3, 4)) == cells.sum(axis=(1, 2, 3))).all()


def test_percentiles_leave_out_what_is_undefined() -> None:
    draws = np.random.default_rng(0).random((500, 3))
    draws[::5, 1] = np.nan
    draws[:, 2] = np.nan
    low, high = percentiles(draws)
    assert low[0] == pytest.approx(np.quantile(draws[:, 0], 0.025))
    assert high[1] == pytest.approx(np.nanquantile(draws[:, 1], 0.975))
    assert np.isnan(low[2])


@pytest.mark.parametrize(("share", "n"), [(0.1, 100), (0.3, 50), (0.5, 400)])
def test_wilson_covers(share: float, n: int) -> None:
    drawn = np.random.default_rng(1).binomial(n, share, 2000)
    low, high = wilson(drawn, n)
    assert 0.93 <= np.mean((low <= share) & (share <= high)) <= 0.97


def chances(base: float, hit: float, false: float) -> np.ndarray:
    return np.array([[(1 - base) * (1 - false), (1 - base) * false], [base * (1 - hit), base * hit]])


# (base rate, true positive rate, false positive rate) of the rest and of members, and how many rows each has. In the second
# setting members have about six positives, in the third two groups that differ in nothing.
SETTINGS = [
    ((0.3, 0.7, 0.1), (0.2, 0.8, 0.2), (300, 200)),
    ((0.08, 0.7, 0.05), (0.1, 0.6, 0.1), (5000, 60)),
    ((0.5, 0.8, 0.2), (0.5, 0.8, 0.2), (60, 60)),
]
COVERED = ("statistical_parity_difference", "equal_opportunity_difference", "average_odds_difference", "disparate_impact_ratio")


@pytest.mark.parametrize(("rest", "members", "sizes"), SETTINGS)
def test_bootstrap_of_gaps_covers(rest: tuple[float, ...], members: tuple[float, ...], sizes: tuple[int, int]) -> None:
    whole = np.stack([chances(*rest) * sizes[0], chances(*members) * sizes[1]]) / sum(sizes)
    seen = np.random.default_rng(7).multinomial(sum(sizes), whole.ravel(), size=2000).reshape(-1, 2, 2, 2)
    true = gaps(whole)
    draws = gaps(resample(seen, replicates=200, seed=0, axes=3))
    for name in COVERED:
        low, high = percentiles(draws[name])
        assert 0.93 <= np.mean((low <= true[name]) & (true[name] <= high)) <= 0.97, name


@pytest.mark.parametrize(("shift", "sizes"), [(0.0, (40, 60)), (1.0, (50, 200)), (1.6, (100, 100))])
def test_auc_interval_covers(shift: float, sizes: tuple[int, int]) -> None:
    random = np.random.default_rng(2)
    true = stats.norm.cdf(shift / np.sqrt(2))
    positive, negative = random.normal(shift, 1, (2000, sizes[0])), random.normal(0, 1, (2000, sizes[1]))
    ranks = np.argsort(np.argsort(np.concatenate([positive, negative], axis=1), axis=1), axis=1)[:, : sizes[0]] + 1
    found = (ranks.sum(axis=1) - sizes[0] * (sizes[0] + 1) / 2) / np.prod(sizes)
    low, high = auc_interval(found, *sizes)
    assert 0.93 <= np.mean((low <= true) & (true <= high)) <= 0.97


def test_auc_interval_keeps_its_width_at_the_ends() -> None:
    low, high = auc_interval([0.0, 1.0, np.nan], 20, 20)
    assert low[0] == 0
    assert 0 < high[0] < 0.3
    assert 0.7 < low[1] < 1
    assert high[1] == 1
    assert np.isnan(low[2])


def test_an_interval_in_log_odds_stays_inside() -> None:
    low, high = logit_interval([0.5, 0.999, 1.0, np.nan], 0.01)
    assert low[0] == pytest.approx(1 - high[0])
    assert 0 < low[1] < high[1] <= 1
    assert np.isnan([low[2], low[3]]).all()


def test_the_smallest_detectable_gap_is_found_four_times_in_five() -> None:
    n = np.array([800, 600])
    gap = float(minimum_detectable(n * 0.3, n))
    random = np.random.default_rng(0)
    drawn = np.stack([random.binomial(n[0], 0.3 - gap / 2, 400), random.binomial(n[1], 0.3 + gap / 2, 400)], axis=1)
    assert 0.72 <= np.mean(exact_test(drawn, np.broadcast_to(n, drawn.shape)) < 0.05) <= 0.85


def test_permutation_of_a_spread() -> None:
    trials = np.array([100, 120, 80, 100])
    same, apart = np.array([30, 36, 24, 30]), np.array([10, 36, 24, 70])
    assert spread_test(same, trials, replicates=500, seed=0) == 1.0
    assert spread_test(apart, trials, replicates=500, seed=0) == pytest.approx(1 / 501)
    assert spread_test(apart[::-1], trials[::-1], replicates=500, seed=0) == pytest.approx(1 / 501)
    assert np.isnan(spread_test(np.array([3]), np.array([5]), replicates=10, seed=0))


def test_permutation_of_a_spread_over_many_groups() -> None:
    random = np.random.default_rng(6)
    trials = random.integers(200, 400, 300)
    same = random.binomial(trials, 0.3)
    once = spread_test(same, trials, replicates=1000, seed=0)
    assert once == spread_test(same[::-1], trials[::-1], replicates=1000, seed=0)
    assert once > 0.05
    apart = same.copy()
    apart[7] = trials[7]
    assert 0 < spread_test(apart, trials, replicates=1000, seed=0) < 1e-20
    p = [spread_test(random.binomial(trials, 0.3), trials, replicates=300, seed=0) for _ in range(200)]
    assert 0.01 <= np.mean(np.array(p) <= 0.05) <= 0.1


def test_permutation_of_a_spread_is_uniform_when_nothing_is_there() -> None:
    random = np.random.default_rng(5)
    trials = np.array([60, 90, 70])
    p = [spread_test(random.binomial(trials, 0.4), trials, replicates=200, seed=0) for _ in range(300)]
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.09
