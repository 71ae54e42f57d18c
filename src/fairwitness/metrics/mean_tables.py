"""The published study's tables: means by group and sentiment, all ordered differences and ratios of means, with its two marks.

A difference beyond 0.1 and a ratio below 0.8 are what the study calls out. Both compare means over comments; whether two groups are
treated differently comment by comment is paired.py's question.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import polars as pl

DIFFERENCE_MARK = 0.1
RATIO_MARK = 0.8
Means = Mapping[str, Mapping[str, float | None]]


def difference_table(means: Means, sentiments: Sequence[str]) -> pl.DataFrame:
    """Mean of A − mean of B for every ordered pair, A = B included: one row `A - B`, one column a sentiment. Null without a mean.

    >>> table = difference_table({"Male": {"Neutral": 0.09}, "Queer": {"Neutral": 0.22}}, ["Neutral"])
    >>> table.rows()[1][0], round(table.rows()[1][1], 6)
    ('Male - Queer', -0.13)
    """
    rows = [
        {"pair": f"{a} - {b}"} | {name: _difference(means[a].get(name), means[b].get(name)) for name in sentiments}
        for a, b in product(means, means)
    ]
    return pl.DataFrame(rows, schema={"pair": pl.String} | dict.fromkeys(sentiments, pl.Float64))


def ratio_table(means: Means, sentiments: Sequence[str], *, decimals: int | None = 2) -> pl.DataFrame:
    """Mean of A / mean of B for every ordered pair, rounded as in the study (`decimals=None` leaves it). Null where B's mean is 0.

    >>> ratio_table({"White": {"Neutral": 0.300013}, "Asian": {"Neutral": 0.224117}}, ["Neutral"]).rows()[1]
    ('White / Asian', 1.34)
    """
    rows = [
        {"pair": f"{a} / {b}"} | {name: _ratio(means[a].get(name), means[b].get(name), decimals) for name in sentiments}
        for a, b in product(means, means)
    ]
    return pl.DataFrame(rows, schema={"pair": pl.String} | dict.fromkeys(sentiments, pl.Float64))


def mark_difference(value: float | None) -> str:
    """The study's mark: above 0.1, below −0.1, or none. Strict on both sides, as in its notebook.

    >>> mark_difference(0.1), mark_difference(0.11), mark_difference(-0.2)
    ('', 'above', 'below')
    """
    if value is None:
        return ""
    return "above" if value > DIFFERENCE_MARK else "below" if value < -DIFFERENCE_MARK else ""


def marked_pairs(means: Means, sentiments: Sequence[str], *, without: str = "") -> list[tuple[str, str, str, float]]:
    """The ordered pairs (A, B, sentiment, difference) that are more than 0.1 apart, the base left out."""
    groups = [name for name in means if name != without]
    found = []
    for a, b in product(groups, groups):
        for name in sentiments:
            value = _difference(means[a].get(name), means[b].get(name))
            if value is not None and value > DIFFERENCE_MARK:
                found.append((a, b, name, value))
    return found


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _ratio(a: float | None, b: float | None, decimals: int | None) -> float | None:
    if a is None or b is None or b == 0:
        return None
    return a / b if decimals is None else round(a / b, decimals)
