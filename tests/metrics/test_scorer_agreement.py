"""Isotonic fits against scikit-learn, and a stand-in that is a bent copy of the recorded scorer is straightened."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import cohen_kappa_score

from fairwitness.metrics.scorer_agreement import agreement, at_thresholds, by_group, cross_validated, isotonic


def test_isotonic_is_sklearn_s() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, 300) / 40
    y = np.clip(x**2 + rng.normal(0, 0.2, 300), 0, 1)
    knots, heights = isotonic(x, y)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    grid = np.linspace(0, 1, 101)
    assert np.interp(grid, knots, heights) == pytest.approx(theirs.predict(grid))
    assert np.all(np.diff(heights) >= 0)


def test_a_bent_copy_is_straightened() -> None:
    x = np.random.default_rng(1).random(1000)
    y = np.sqrt(x)
    fitted = cross_validated(x, y, np.arange(1000) % 5)
    assert agreement(y, fitted)["mean_absolute"] < 0.005
    assert agreement(y, x)["mean_absolute"] > 0.1


def test_kappa_is_sklearn_s() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(300), rng.random(300)
    row = at_thresholds(a, b, [0.4]).row(0, named=True)
    assert row["kappa"] == pytest.approx(cohen_kappa_score(a >= 0.4, b >= 0.4))
    assert at_thresholds(a, b, [2.0]).row(0, named=True)["kappa"] is None


def test_by_group() -> None:
    table = by_group(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.4, 0.3]), ["a", "a", "b"])
    assert table.row(0, named=True)["mean_difference"] == pytest.approx(0.15)
