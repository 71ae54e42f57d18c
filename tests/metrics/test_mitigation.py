"""Mitigation closes the gap it promises to close, and says what it costs."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairwitness.metrics.mitigation import auc, before_and_after, group_thresholds


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
