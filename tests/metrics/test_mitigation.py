"""Mitigation closes the gap it promises to close, and says what it costs."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairwitness.metrics.mitigation import auc, before_and_after, bounds, group_thresholds


def test_auc_is_sklearn_s() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 10, 200) / 10, rng.integers(0, 2, 200).astype(float)
    assert auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores))
    assert auc(scores, np.zeros(200)) is None


def test_thresholds_equalise_false_positives() -> None:
    rng = np.random.default_rng(1)
    scores = np.concatenate([rng.beta(2, 5, 2000), rng.beta(4, 4, 2000)])
    groups = ["a"] * 2000 + ["b"] * 2000
    labels = np.zeros(4000)
    found = group_thresholds(scores, labels, groups)
    rates = [np.mean(scores[start : start + 2000] >= found[name]) for start, name in ((0, "a"), (2000, "b"))]
    assert abs(rates[0] - rates[1]) < 0.001
    assert found["a"] < 0.5 < found["b"]


def test_before_and_after() -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 400).astype(float)
    base = np.clip(0.3 + 0.3 * labels + rng.normal(0, 0.1, 400), 0, 1)
    values = np.stack([base, np.clip(base + 0.2, 0, 1)], axis=1)
    values[0, 0] = np.nan
    table = before_and_after(values, base, labels, ["a", "b"], np.arange(400) % 2 == 0)
    rows = {row["mitigation"]: row for row in table.to_dicts()}
    assert rows["nothing"]["mean_gap"] > 0.15
    assert rows["average over variants"]["mean_gap"] == 0
    assert rows["score of the control"]["false_positive_gap"] == 0
    assert rows["threshold per group"]["false_positive_gap"] < rows["nothing"]["false_positive_gap"] / 2
    assert {row["n"] for row in rows.values()} == {398}
    for row in rows.values():
        assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
        assert row["false_positive_gap_low"] <= row["false_positive_gap"] <= row["false_positive_gap_high"]
    assert rows["nothing"]["false_positive_gap_low"] > rows["threshold per group"]["false_positive_gap_high"]


def test_intervals_cover_the_truth() -> None:
    """The accuracy of coin-flips is 0.5, and the variants of a unit are copies, so only units may be resampled."""
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth, guess = rng.integers(0, 2, 150), rng.integers(0, 2, 150)
        units = np.repeat(np.arange(150), 4)
        found = bounds(np.repeat(guess, 4).astype(float), np.repeat(truth, 4).astype(float), ["a", "b", "c", "d"] * 150, units)
        covered += found["accuracy_low"] <= 0.5 <= found["accuracy_high"]
        assert found["false_positive_gap_low"] == found["false_positive_gap_high"] == 0
    assert covered >= 52


def test_too_few_rows_have_no_gap() -> None:
    found = bounds(np.zeros(40), np.zeros(40), ["a"] * 35 + ["b"] * 5, np.arange(40))
    assert np.isnan(found["false_positive_gap_low"])
    assert np.isnan(found["false_negative_gap_high"])
