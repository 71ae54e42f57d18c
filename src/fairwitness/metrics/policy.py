"""Holding measurements to limits: pass, fail, or not enough evidence. One policy for the command line, Python and pytest.

A limit is judged against the interval, not the point. Passed: the whole interval keeps the limit. Failed: the whole interval breaks
it. In between, or without a value, the data cannot say, and the answer is "not enough evidence" rather than a pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from math import isfinite

import polars as pl

from fairwitness.errors import InputError, listing, suggestion


class Verdict(Enum):
    """What can be said of a limit. The value is the exit code that stands for it."""

    PASS = 0
    FAIL = 1
    UNSURE = 3


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One limit on one metric. `most` and `least` bound the value itself, or its distance from `target` where one is set."""

    metric: str
    most: float | None = None
    least: float | None = None
    target: float | None = None
    attribute: str = "*"
    group: str = "*"
    class_: str = "*"
    min_n: int = 0

    def words(self) -> str:
        """The limit as a person would write it.

        >>> Rule(metric="statistical_parity_difference", most=0.1, target=0.0).words()
        '|statistical_parity_difference| ≤ 0.1'
        """
        what = self.metric if self.target is None else f"|{self.metric}{f' − {self.target:g}' if self.target else ''}|"
        bounds = [f"≥ {self.least:g}"] if self.least is not None else []
        bounds += [f"≤ {self.most:g}"] if self.most is not None else []
        return f"{what} {' and '.join(bounds)}"


def judge(rule: Rule, *, value: float | None, low: float | None, high: float | None, n: int | None) -> tuple[Verdict, str]:
    """The verdict on one measurement, and why.

    >>> rule = Rule(metric="gap", most=0.1, target=0.0)
    >>> judge(rule, value=0.05, low=0.01, high=0.09, n=500)[0].name
    'PASS'
    >>> judge(rule, value=-0.3, low=-0.4, high=-0.2, n=500)[0].name
    'FAIL'
    >>> judge(rule, value=0.05, low=-0.1, high=0.2, n=20)
    (<Verdict.UNSURE: 3>, 'the interval straddles the limit')
    """
    if value is None or not isfinite(value):
        return Verdict.UNSURE, "undefined"
    if n is not None and n < rule.min_n:
        return Verdict.UNSURE, f"only {n} rows"
    if low is None or high is None or not (isfinite(low) and isfinite(high)):
        return Verdict.UNSURE, "no interval"
    nearest, farthest = (low, high) if rule.target is None else _distances(low - rule.target, high - rule.target)
    verdicts = [_side(nearest, farthest, rule.most)] if rule.most is not None else []
    verdicts += [_side(-farthest, -nearest, -rule.least)] if rule.least is not None else []
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL, "the whole interval breaks the limit"
    if Verdict.UNSURE in verdicts:
        return Verdict.UNSURE, "the interval straddles the limit"
    return Verdict.PASS, "the whole interval keeps the limit"


def judge_all(measurements: pl.DataFrame, rules: Sequence[Rule]) -> pl.DataFrame:
    """Every measurement that a rule speaks of, with its verdict. A rule that speaks of none guards nothing: an InputError."""
    rows = []
    for rule in rules:
        chosen = [row for row in measurements.iter_rows(named=True) if _speaks_of(rule, row)]
        if not chosen:
            raise InputError(_nothing(rule, measurements))
        for row in chosen:
            fewest = row.get("n_least", row["n"])
            verdict, why = judge(rule, value=row["value"], low=row["low"], high=row["high"], n=fewest)
            place = {name: row[name] for name in ("metric", "attribute", "group", "class", "value", "low", "high", "n")}
            rows.append({"rule": rule.words(), **place, "verdict": verdict.name.lower(), "why": why})
    return pl.DataFrame(rows, infer_schema_length=None)


def overall(verdicts: Sequence[str]) -> Verdict:
    """One failure fails all; otherwise one doubt leaves all in doubt."""
    if "fail" in verdicts:
        return Verdict.FAIL
    return Verdict.UNSURE if "unsure" in verdicts or not verdicts else Verdict.PASS


def _side(nearest: float, farthest: float, most: float) -> Verdict:
    if farthest <= most:
        return Verdict.PASS
    return Verdict.FAIL if nearest > most else Verdict.UNSURE


def _distances(low: float, high: float) -> tuple[float, float]:
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return nearest, max(abs(low), abs(high))


def _speaks_of(rule: Rule, row: dict[str, object]) -> bool:
    patterns = {"metric": rule.metric, "attribute": rule.attribute, "group": rule.group, "class": rule.class_}
    return all(fnmatchcase(str(row[name] if row[name] is not None else ""), pattern) for name, pattern in patterns.items())


def _nothing(rule: Rule, measurements: pl.DataFrame) -> str:
    known = measurements["metric"].unique().sort().to_list()
    if not any(fnmatchcase(name, rule.metric) for name in known):
        return f"No measurement is called '{rule.metric}'.{suggestion(rule.metric, known)} There are: {listing(known)}."
    attributes = measurements.filter(pl.col("metric") == rule.metric)["attribute"].unique().sort().to_list()
    there = listing(map(str, attributes))
    return f"No '{rule.metric}' matches attribute '{rule.attribute}' and group '{rule.group}'. Attributes: {there}."
