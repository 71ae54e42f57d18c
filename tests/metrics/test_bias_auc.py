"""Bias AUCs against scikit-learn and SciPy, with ties; exact and binned; the reference case; calibration and sweeps."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

from fairwitness.metrics.auc_variance import PAIRS, delong, power_mean_weights
from fairwitness.metrics.bias_auc import (
    AUCS,
    GroupScores,
    auc,
    bias_aucs,
    final_metric,
    power_mean,
    squared_equality_gaps,
    tie_bound,
)
from fairwitness.metrics.calibration import reliability
from fairwitness.metrics.rates import rates
from fairwitness.metrics.scores import BinnedScores, ExactScores, bin_edges, score_part
from fairwitness.metrics.sweeps import cells_at, threshold_grid

SHARED = os.environ.get("FAIRWITNESS_SHARED")


def rows() -> st.SearchStrategy[np.ndarray]:
    # Scores in tenths, so that ties are common; membership −1 is not known.
    def columns(n: int) -> st.SearchStrategy[np.ndarray]:
        return st.tuples(
            hnp.arrays(float, n, elements=st.integers(0, 10).map(lambda k: k / 10)),
            hnp.arrays(np.int8, n, elements=st.integers(0, 1)),
            hnp.arrays(np.int8, n, elements=st.integers(-1, 1)),
        )

    return st.integers(1, 60).flatmap(columns)


def area(positive: np.ndarray, negative: np.ndarray) -> float:
    if not len(positive) or not len(negative):
        return float("nan")
    return roc_auc_score(np.r_[np.ones(len(positive)), np.zeros(len(negative))], np.r_[positive, negative])


def expected(score: np.ndarray, label: np.ndarray, member: np.ndarray) -> dict[str, float]:
    sets = {(m, y): score[(member == m) & (label == y)] for m in (0, 1) for y in (0, 1)}
    found = {
        "subgroup_auc": area(sets[1, 1], sets[1, 0]),
        "bpsn_auc": area(sets[0, 1], sets[1, 0]),
        "bnsp_auc": area(sets[1, 1], sets[0, 0]),
    }
    for name, y in (("positive_aeg", 1), ("negative_aeg", 0)):
        pairs = len(sets[0, y]) * len(sets[1, y])
        found[name] = 0.5 - mannwhitneyu(sets[0, y], sets[1, y]).statistic / pairs if pairs else np.nan
    return found


@given(rows(), st.integers(0, 60))
def test_bias_aucs_equal_scikit_learn_and_scipy(table: tuple[np.ndarray, ...], cut: int) -> None:
    score, label, member = table
    parts = [
        score_part(score[piece], label[piece], {"g": member[piece] == 1}, {"g": member[piece] == -1})
        for piece in (slice(cut), slice(cut, None))
    ]
    exact = ExactScores(parts)
    binned = BinnedScores(bin_edges(score))
    for part in parts:
        binned.add(part)
    wanted = expected(score, label, member)
    for table_ in (exact, binned):
        for name, value in table_.bias("g").items():
            assert np.isclose(value, wanted[name], rtol=0, atol=1e-12, equal_nan=True), name
        assert np.isclose(table_.auc(), area(score[label == 1], score[label == 0]), atol=1e-12, equal_nan=True)


@given(rows())
def test_sides_hold_every_known_row_and_sweeps_count_them(table: tuple[np.ndarray, ...]) -> None:
    score, label, member = table
    scores = ExactScores([score_part(score, label, {"g": member == 1}, {"g": member == -1})])
    thresholds = threshold_grid(scores.lowest, scores.highest)
    for side, value in zip(scores.sides("g"), (0, 1), strict=True):
        own = member == value
        cells = cells_at(scores.edges, side.positive, side.negative, thresholds)
        for at in (0, 30, 50, 70, 100):
            called = score[own] >= thresholds[at]
            assert cells[at, 1, 1] == np.count_nonzero(called & (label[own] == 1))
            assert cells[at, 0, 0] == np.count_nonzero(~called & (label[own] == 0))
        found = reliability(scores.edges, side.positive, side.negative, side.score_sum)
        place = np.clip(np.searchsorted(np.linspace(0, 1, 11), score[own], side="right") - 1, 0, 9)
        gap = sum(abs(label[own][place == b].sum() - score[own][place == b].sum()) for b in range(10))
        wanted = gap / own.sum() if own.any() else np.nan
        assert np.isclose(found.expected_calibration_error, wanted, atol=1e-12, equal_nan=True)


def groups_of(case: dict) -> tuple[GroupScores, np.ndarray]:
    score, label, sub = (np.array(case[key]) for key in ("score", "label", "sub"))
    edges = ExactScores([score_part(score, label, {"g": sub == 1})]).edges
    masks = [(sub == m) & (label == y) for m, y in ((1, 1), (1, 0), (0, 1), (0, 0))]
    place = np.searchsorted(edges, score, side="right") - 1
    return GroupScores(*(np.bincount(place[mask], minlength=len(edges)) for mask in masks)), edges


@pytest.mark.shared
@pytest.mark.skipif(not SHARED, reason="FAIRWITNESS_SHARED is not set")
def test_reference_case() -> None:
    reference = json.loads((Path(SHARED or "") / "reference" / "bias_auc.json").read_text())
    for case in reference["cases"]:
        found, edges = groups_of(case)
        for name, value in {**bias_aucs(found), **squared_equality_gaps(found, edges)}.items():
            assert value == pytest.approx(case["expected"][name], abs=1e-9), name
    mean, final = reference["kaggle"]["power_mean_p_-5"], reference["kaggle"]["final_metric"]
    assert power_mean(mean["inputs"]) == pytest.approx(mean["expected"], abs=1e-12)
    assert final_metric(final["overall_auc"], final) == pytest.approx(final["expected"], abs=1e-12)


def test_what_is_empty_is_undefined() -> None:
    empty, some = np.array([0, 0]), np.array([1, 2])
    found = bias_aucs(GroupScores(empty, empty, some, some))
    assert all(np.isnan(value) for value in found.values())
    assert np.isnan(auc(empty, some))
    assert np.isnan(power_mean([]))
    assert np.isnan(power_mean([0.5, np.nan]))
    assert power_mean([0.0, 0.5]) == 0.0
    scores = ExactScores([score_part([0.5], [1], {"g": [False]})])
    assert np.isnan(scores.bias("g")["subgroup_auc"])


def test_a_perfectly_calibrated_score() -> None:
    found = reliability([0.0, 1.0], [0, 5], [5, 0], [0.0, 5.0])
    assert found.expected_calibration_error == 0
    assert np.isnan(found.mean_score[4])


def test_sweep_at_a_threshold_equals_counting_there() -> None:
    random = np.random.default_rng(0)
    score, label = random.normal(size=400), random.random(400) < 0.4
    scores = ExactScores([score_part(score, label, {"g": random.random(400) < 0.5})])
    side = scores.overall()
    thresholds = threshold_grid(scores.lowest, scores.highest)
    found = rates(cells_at(scores.edges, side.positive, side.negative, thresholds))
    assert found["positive_rate"][50] == np.mean(score >= thresholds[50])


@given(rows())
def test_delong_is_the_variance_of_placements(table: tuple[np.ndarray, ...]) -> None:
    score, label, _ = table
    higher, lower = score[label == 1], score[label == 0]
    scores = ExactScores([score_part(score, label, {})])
    found = delong(*scores.everyone())
    if min(len(higher), len(lower)) < 2:
        assert np.isnan(found)
        return
    beats = (higher[:, None] > lower) + 0.5 * (higher[:, None] == lower)
    wanted = beats.mean(axis=1).var(ddof=1) / len(higher) + beats.mean(axis=0).var(ddof=1) / len(lower)
    assert found == pytest.approx(wanted, abs=1e-12)


def final_of(score: np.ndarray, label: np.ndarray, members: np.ndarray) -> tuple[float, float]:
    masks = {str(k): member == 1 for k, member in enumerate(members)}
    scores = ExactScores([score_part(score, label, masks, {str(k): member == -1 for k, member in enumerate(members)})])
    values = {name: [scores.bias(k)[name] for k in masks] for name in AUCS}
    slopes = {name: power_mean_weights(values[name]) for name in AUCS}
    weights = {k: {name: slopes[name][int(k)] for name in AUCS} for k in masks}
    return final_metric(scores.auc(), values), scores.variances(weights)["all"] / 16


def test_the_final_metrics_variance_is_the_jackknifes() -> None:
    random = np.random.default_rng(0)
    n = 240
    label = random.random(n) < 0.4
    score = random.normal(label, 1).round(1)
    members = random.integers(-1, 2, (3, n))
    members[2] = np.where(members[0] == -1, -1, random.integers(0, 2, n))  # unknown together with the first
    _, variance = final_of(score, label, members)
    others = [final_of(np.delete(score, i), np.delete(label, i), np.delete(members, i, axis=1))[0] for i in range(n)]
    assert variance == pytest.approx((n - 1) * np.var(others), rel=0.08)


@given(rows(), st.integers(2, 12))
def test_binned_areas_are_off_by_no_more_than_is_said(table: tuple[np.ndarray, ...], bins: int) -> None:
    score, label, member = table
    part = score_part(score, label, {"g": member == 1}, {"g": member == -1})
    exact, binned = ExactScores([part]), BinnedScores(np.unique(np.quantile(score, np.linspace(0, 1, bins))))
    binned.add(part)
    for name, value in binned.bias("g").items():
        if not np.isnan(value):
            bound = tie_bound(*(getattr(binned.histograms("g"), side) for side in PAIRS[name]))
            assert abs(value - exact.bias("g")[name]) <= bound + 1e-12


def test_variances_of_a_binned_table_come_from_a_sample_of_its_rows() -> None:
    random = np.random.default_rng(1)
    n = 20_000
    label = random.random(n) < 0.3
    score, member = random.normal(label, 1), random.random(n) < 0.2
    weights = {"g": dict.fromkeys(AUCS, 1.0)}
    exact = ExactScores([score_part(score, label, {"g": member})]).variances(weights)
    binned = BinnedScores(bin_edges(score), 4)
    for piece in np.array_split(np.arange(n), 7):
        binned.add(score_part(score[piece], label[piece], {"g": member[piece]}))
    for name, value in binned.variances(weights).items():
        assert value == pytest.approx(exact[name], rel=0.1), name
