"""Paired comparisons against scipy and by hand; failures never count; undefined stays undefined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairwitness.metrics.paired import (
    BLOCKS,
    Comparison,
    bootstrap_means,
    compare_pairs,
    holm,
    mirrored,
    signed_rank,
    summary,
    worst_units,
)


def test_pairs_by_hand() -> None:
    values = np.array([[0.6, 0.5, 0.1], [0.4, 0.1, 0.1], [0.9, np.nan, 0.1], [0.2, 0.2, 0.1]])
    pairs = compare_pairs(values, ["a", "b", "c"])
    row = pairs.row(0, named=True)
    assert (row["a"], row["b"], row["n"], row["n_incomplete"]) == ("a", "b", 3, 1)
    assert row["difference"] == pytest.approx((0.1 + 0.3 + 0) / 3)
    assert row["share_apart"] == pytest.approx(2 / 3), "a difference of exactly 0.1 counts"
    assert row["flip_rate"] == 0.0
    assert pairs.row(1, named=True)["flip_rate"] == pytest.approx(0.5)
    assert row["low"] <= row["difference"] <= row["high"]


def test_nothing_to_compare_is_undefined() -> None:
    values = np.array([[np.nan, 0.5], [0.4, np.nan]])
    row = compare_pairs(values, ["a", "b"]).row(0, named=True)
    assert row["n"] == 0
    assert all(row[name] is None for name in ("difference", "low", "high", "p", "p_adjusted", "share_apart", "effect_dz"))
    same = compare_pairs(np.array([[0.5, 0.5], [0.1, 0.1]]), ["a", "b"]).row(0, named=True)
    assert same["difference"] == 0
    assert same["p"] is None
    assert same["effect_dz"] is None


def test_an_empty_role_has_no_mean() -> None:
    table = summary(np.array([[0.2, np.nan], [0.4, np.nan]]), ["a", "b"])
    assert table["mean"].to_list() == [pytest.approx(0.3), None]
    assert table["low"].to_list()[1] is None
    assert table["n_failed"].to_list() == [0, 2]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=120, unique_by=abs))
def test_signed_rank_is_wilcoxon_s(numbers: list[float]) -> None:
    differences = np.array(numbers)
    p, effect = signed_rank(differences)
    nonzero = differences[differences != 0]
    if len(nonzero) == 0:
        assert np.isnan(p)
        return
    assert p == pytest.approx(stats.wilcoxon(nonzero).pvalue, abs=1e-9)
    assert -1 <= effect <= 1


@pytest.mark.parametrize("seed", range(5))
def test_signed_rank_with_ties_is_the_permutation_test(seed: int) -> None:
    rng = np.random.default_rng(seed)
    few, many = rng.integers(1, 4, 8) * rng.choice([-1, 1], 8), rng.integers(-9, 9, 200)
    assert signed_rank(few / 10)[0] == pytest.approx(stats.wilcoxon(few / 10, method=stats.PermutationMethod()).pvalue)
    many = many[many != 0] / 10
    assert signed_rank(many)[0] == pytest.approx(stats.wilcoxon(many, method="approx").pvalue)


def test_holm_against_statsmodels_numbers() -> None:
    assert holm(np.array([0.01, 0.02, 0.03])).tolist() == pytest.approx([0.03, 0.04, 0.04])


def test_blocks_give_the_same_interval() -> None:
    """Above the limit whole parts are resampled; the interval is the one that theory gives."""
    values = np.random.default_rng(1).normal(0.3, 0.1, size=(BLOCKS * 5 + 7, 1))
    low, high = bootstrap_means(values, Comparison(resamples=2000))
    half = 1.96 * 0.1 / np.sqrt(len(values))
    assert (high[0] - low[0]) / 2 == pytest.approx(half, rel=0.1)


def test_order_of_units_changes_nothing_but_the_draws() -> None:
    values = np.random.default_rng(2).random((40, 3))
    one, two = compare_pairs(values, list("abc")), compare_pairs(values[::-1], list("abc"))
    for name in ("difference", "p", "share_apart", "flip_rate", "effect_dz"):
        assert one[name].to_list() == pytest.approx(two[name].to_list())


def test_mirrored() -> None:
    pairs = mirrored(compare_pairs(np.random.default_rng(0).random((10, 2)), ["a", "b"]))
    first, second = pairs.row(0, named=True), pairs.row(1, named=True)
    assert first["difference"] == -second["difference"]
    assert first["low"] == -second["high"]
    assert first["p"] == second["p"]


def test_worst_units() -> None:
    values = np.array([[0.1, 0.2], [0.9, 0.1], [np.nan, 0.5], [0.3, 0.3]])
    assert worst_units(values, 2) == [(1, pytest.approx(0.8), 0, 1), (0, pytest.approx(0.1), 1, 0)]


def test_the_interval_of_a_mean_stays_where_scores_can_be() -> None:
    table = summary(np.array([[0.0, 0.9], [0.6, 1.0]]), ["a", "b"])
    assert table["low"].to_list()[0] == 0
    assert table["high"].to_list()[1] == 1


def test_intervals_of_few_pairs_hold_the_truth_too() -> None:
    """The plain bootstrap of five values covers some 80 %."""
    drawn = np.random.default_rng(3).normal(0.2, 0.1, size=(5, 2000))
    low, high = bootstrap_means(drawn, Comparison(resamples=1000))
    assert 0.93 <= np.mean((low <= 0.2) & (high >= 0.2)) <= 0.99
    low, high = bootstrap_means(drawn[:1], Comparison())
    assert np.isnan(low).all()
    assert np.isnan(high).all()
