"""Rules are exact where they should be, and the adaptive path spends its points where the function bends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.explain.quadrature import AdaptivePath, FixedPath, Path, Point, fixed_rule


def run(path: Path, function: object, slope: object) -> object:
    while wanted := path.wanted():
        for alpha in wanted:
            path.take(alpha, Point(float(function(alpha)), np.atleast_1d(slope(alpha))))  # type: ignore[operator]
    return path.answer()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=4))
def test_simpson_is_exact_for_cubics(coefficients: list[float]) -> None:
    slope = np.polynomial.Polynomial(coefficients)
    answer = run(AdaptivePath(5, 0.05, 64), slope.integ(), slope)
    assert answer.attributions.sum() == pytest.approx(slope.integ()(1) - slope.integ()(0), abs=1e-9)


def test_a_kink_is_found_and_resolved() -> None:
    path = AdaptivePath(9, 0.01, 400)
    answer = run(path, lambda a: np.tanh(80 * (a - 0.13)), lambda a: 80 / np.cosh(80 * (a - 0.13)) ** 2)
    assert answer.converged
    assert answer.interval_error <= 0.01
    assert answer.gap <= answer.interval_error
    near = [alpha for alpha in path._points if abs(alpha - 0.13) < 0.1]
    assert len(near) > len(path._points) / 2
    uniform = run(FixedPath("midpoint", answer.steps, 0.01), np.sin, np.cos)
    assert uniform.steps == answer.steps


@pytest.mark.parametrize("most", [3, 20, 33])
def test_the_budget_is_kept_and_said(most: int) -> None:
    answer = run(AdaptivePath(9, 1e-9, most), lambda a: np.tanh(90 * (a - 0.4)), lambda a: 90 / np.cosh(90 * (a - 0.4)) ** 2)
    assert answer.steps <= max(most, 9)
    assert not answer.converged


def test_interval_errors_do_not_cancel() -> None:
    answer = run(AdaptivePath(5, 1e-6, 5), lambda a: np.cos(6 * np.pi * a) + a, lambda a: 1 - 6 * np.pi * np.sin(6 * np.pi * a))
    assert answer.interval_error > answer.gap


def test_a_flat_function_is_undefined_not_zero() -> None:
    answer = run(AdaptivePath(5, 0.05, 9), lambda _: 2.0, lambda _: 0.0)
    assert np.isnan(answer.gap)
    assert not answer.converged


@pytest.mark.parametrize("rule", ["midpoint", "gauss", "published"])
def test_fixed_rules(rule: str) -> None:
    nodes, weights = fixed_rule(rule, 8)
    assert weights.sum() == pytest.approx(1)
    assert len(nodes) == 8
    answer = run(FixedPath(rule, 64, 0.05), np.exp, np.exp)
    assert answer.gap < 0.02
    straight = run(FixedPath(rule, 4, 0.05), lambda a: a * a, lambda a: 2 * a)
    assert straight.steps == 4
    assert straight.gap == pytest.approx(0, abs=1e-12)
    if rule == "gauss":
        assert run(FixedPath(rule, 3, 0.05), lambda a: a**6, lambda a: 6 * a**5).gap == pytest.approx(0, abs=1e-12)


def test_a_singular_start_is_left_out_and_the_gap_shows_it() -> None:
    path = FixedPath("published", 4, 0.05)
    for alpha in path.wanted():
        path.take(alpha, Point(alpha, np.array([np.nan if alpha == 0 else 1.0])))
    answer = path.answer()
    assert answer.attributions.tolist() == [0.75]
    assert answer.gap == pytest.approx(0.25)
    assert not answer.converged
