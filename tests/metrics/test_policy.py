"""One policy: a limit is judged against the interval, and doubt is never a pass."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwitness.errors import InputError
from fairwitness.metrics.policy import Rule, Verdict, judge, judge_all, overall

GAP = Rule(metric="gap", most=0.1, target=0.0)


@pytest.mark.parametrize(
    ("rule", "value", "low", "high", "expected"),
    [
        (GAP, 0.0, -0.1, 0.1, Verdict.PASS),
        (GAP, 0.0, -0.11, 0.1, Verdict.UNSURE),
        (GAP, 0.3, 0.11, 0.5, Verdict.FAIL),
        (GAP, -0.3, -0.5, -0.11, Verdict.FAIL),
        (GAP, math.nan, 0.0, 0.0, Verdict.UNSURE),
        (GAP, None, None, None, Verdict.UNSURE),
        (GAP, 0.0, None, None, Verdict.UNSURE),
        (Rule(metric="ratio", least=0.8), 0.9, 0.81, 0.99, Verdict.PASS),
        (Rule(metric="ratio", least=0.8), 0.7, 0.6, 0.79, Verdict.FAIL),
        (Rule(metric="ratio", least=0.8), 0.9, 0.7, 0.99, Verdict.UNSURE),
        (Rule(metric="ratio", least=0.8, most=1.25), 1.4, 1.3, 1.5, Verdict.FAIL),
        (Rule(metric="ss", target=50, most=5), 47, 45, 49, Verdict.PASS),
    ],
)
def test_verdicts(rule: Rule, value: float | None, low: float | None, high: float | None, expected: Verdict) -> None:
    assert judge(rule, value=value, low=low, high=high, n=100)[0] is expected


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_narrower_intervals_never_change_sides(centre: float, wide: float, share: float) -> None:
    outer = judge(GAP, value=centre, low=centre - wide, high=centre + wide, n=9)[0]
    inner = judge(GAP, value=centre, low=centre - wide * share, high=centre + wide * share, n=9)[0]
    assert outer is Verdict.UNSURE or inner is outer


def table(**changes: object) -> pl.DataFrame:
    row = {"metric": "gap", "attribute": "female", "group": "1", "class": None, "value": 0.0, "low": -0.01, "high": 0.01, "n": 50}
    return pl.DataFrame([row | changes])


def test_too_few_rows_are_no_pass() -> None:
    assert judge_all(table(), [Rule(metric="gap", most=0.1, min_n=51)])["why"].to_list() == ["only 50 rows"]


def test_a_rule_about_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="Did you mean 'gap'"):
        judge_all(table(), [Rule(metric="gaps", most=0.1)])
    with pytest.raises(InputError, match="Attributes: female"):
        judge_all(table(), [Rule(metric="gap", most=0.1, attribute="male")])


def test_overall() -> None:
    assert overall(["pass", "unsure", "fail"]) is Verdict.FAIL
    assert overall(["pass", "unsure"]) is Verdict.UNSURE
    assert overall(["pass"]) is Verdict.PASS
    assert overall([]) is Verdict.UNSURE
