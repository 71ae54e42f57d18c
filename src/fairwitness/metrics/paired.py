"""Scores of the same thing said of different groups, compared pair by pair: gaps, intervals, tests, effect sizes, flips.

Everything works on one matrix: a row a unit (template), a column a role (group), NaN where nothing was scored. A pair uses the
units in which both were scored. Means and marks as the published study has them are in mean_tables.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

Array = np.ndarray[Any, np.dtype[np.float64]]

# The study's cut-off for "treated differently", used here on each template and not on means alone.
EPSILON = 0.1
# Above this many units the rows are shuffled into this many equal parts, and the parts are resampled whole.
BLOCKS = 2_000
# Floating-point dust must not move a difference of exactly 0.1 below the mark.
_DUST = 1e-12


@dataclass(frozen=True)
class Comparison:
    """How pairs are compared. Nothing here touches the scores."""

    epsilon: float = EPSILON
    threshold: float = 0.5
    resamples: int = 1000
    level: float = 0.95
    seed: int = 0


def summary(values: Array, roles: Sequence[str], how: Comparison | None = None) -> pl.DataFrame:
    """Mean, its bootstrap interval, least, largest and spread of each role's scores. Undefined (null) where a role has none.

    >>> summary(np.array([[0.1, 0.3], [0.3, np.nan]]), ["a", "b"]).select("role", "n", "n_failed", "mean", "min", "max").rows()
    [('a', 2, 0, 0.2, 0.1, 0.3), ('b', 1, 1, 0.3, 0.3, 0.3)]
    """
    how = how or Comparison()
    # Scores lie in [0, 1], and so does their mean; the interval of a difference may reach further.
    low, high = np.clip(bootstrap_means(values, how), 0, 1)
    counts = np.sum(~np.isnan(values), axis=0)
    columns = [values[~np.isnan(values[:, index]), index] for index in range(len(roles))]
    return pl.DataFrame(
        {
            "role": list(roles),
            "n": counts,
            "n_failed": values.shape[0] - counts,
            "mean": [_of(column, np.mean) for column in columns],
            "low": low,
            "high": high,
            "min": [_of(column, np.min) for column in columns],
            "max": [_of(column, np.max) for column in columns],
            "sd": [float(np.std(column, ddof=1)) if len(column) > 1 else None for column in columns],
        },
        schema_overrides=_SUMMARY,
        nan_to_null=True,
    )


def compare_pairs(values: Array, roles: Sequence[str], how: Comparison | None = None) -> pl.DataFrame:
    """Every unordered pair of roles, compared over the units in which both were scored.

    `difference`: mean of a − b, in [−1, 1], with a bootstrap interval over units. `p`: Wilcoxon's signed-rank test;
    `p_adjusted`: Holm's adjustment over these pairs. `share_apart`: share of units with |a − b| ≥ epsilon. `flip_rate`: share of
    units whose decision at the threshold differs. `effect_dz`: mean / standard deviation of the differences.
    `rank_biserial`: (W₊ − W₋) / (W₊ + W₋).
    All undefined (null) where no unit is complete; p also where every difference is 0; effect_dz where differences do not
    vary.
    """
    how = how or Comparison()
    pairs = list(combinations(range(len(roles)), 2))
    differences = np.stack([values[:, a] - values[:, b] for a, b in pairs], axis=1) if pairs else np.empty((len(values), 0))
    low, high = bootstrap_means(differences, how)
    rows = []
    for column, (a, b) in enumerate(pairs):
        complete = ~np.isnan(differences[:, column])
        row = {"a": roles[a], "b": roles[b], "n": int(complete.sum()), "n_incomplete": int((~complete).sum())}
        rows.append(row | _compare(values[complete, a], values[complete, b], how))
    frame = pl.DataFrame(rows, schema=_PAIRS).with_columns(pl.selectors.float().fill_nan(None))
    adjusted = holm(frame["p"].fill_null(float("nan")).to_numpy())
    return frame.with_columns(low=pl.Series(low, nan_to_null=True), high=pl.Series(high, nan_to_null=True)).with_columns(
        p_adjusted=pl.Series(adjusted, dtype=pl.Float64, nan_to_null=True)
    )


def mirrored(pairs: pl.DataFrame) -> pl.DataFrame:
    """Every ordered pair: the given ones, and the same seen from the other side."""
    swapped = pairs.with_columns(
        a=pl.col("b"),
        b=pl.col("a"),
        mean_a=pl.col("mean_b"),
        mean_b=pl.col("mean_a"),
        low=-pl.col("high"),
        high=-pl.col("low"),
        **{name: -pl.col(name) for name in ("difference", "median", "effect_dz", "rank_biserial")},
    )
    return pl.concat([pairs, swapped.select(pairs.columns)])


def bootstrap_means(columns: Array, how: Comparison) -> tuple[Array, Array]:
    """Percentile intervals of the means of columns, resampling rows; the same draws serve all columns. NaN where a column has fewer
    than two values: one says nothing of how far others would lie.

    The bootstrap of few values is too narrow: it divides by n where n − 1 is free, and knows nothing of how unsure its own spread
    is. So both ends are moved away from the mean by t(n−1) / z · √(n / (n−1)): 9 times as far for 2 values, 1.01 for 150.

    >>> low, high = bootstrap_means(np.array([[0.5, 0.1], [0.5, np.nan]]), Comparison())
    >>> low.tolist(), high.tolist()
    ([0.5, nan], [0.5, nan])
    """
    rows, width = columns.shape
    if rows == 0 or width == 0:
        return np.full(width, np.nan), np.full(width, np.nan)
    present = ~np.isnan(columns)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = resampled_sums(np.where(present, columns, 0.0), how) / resampled_sums(present.astype(np.float64), how)
    tail = 100 * (1 - how.level) / 2
    n = present.sum(axis=0)
    few = n < 2
    means[:, few] = 0.0
    low, high = np.nanpercentile(means, [tail, 100 - tail], axis=0)
    centre = np.where(present, columns, 0.0).sum(axis=0) / np.maximum(n, 1)
    reach = _small_sample(np.maximum(n, 2), how.level)
    return tuple(np.where(few, np.nan, np.clip(centre + (end - centre) * reach, -1, 1)) for end in (low, high))  # type: ignore[return-value]


def _small_sample(n: Array, level: float) -> Array:
    """How much farther a Student's t reaches than what the bootstrap of n values shows."""
    from scipy.special import ndtri, stdtrit

    upper = 0.5 + level / 2
    return np.asarray(stdtrit(n - 1, upper) / ndtri(upper) * np.sqrt(n / (n - 1)))


def resampled_sums(columns: Array, how: Comparison) -> Array:
    """The sums of columns in each resample of the rows: [resample, column]. The same draws serve every call with as many rows."""
    rows = len(columns)
    if rows > BLOCKS:
        order = np.random.default_rng(how.seed).permutation(rows)
        starts = np.linspace(0, rows, BLOCKS, endpoint=False).astype(np.int64)
        columns = np.add.reduceat(columns[order], starts)
    sums: Array = _draws(len(columns), how.resamples, how.seed) @ columns
    return sums


def signed_rank(differences: Array) -> tuple[float, float]:
    """Wilcoxon's signed-rank test: p (two-sided, zeros dropped) and the rank-biserial correlation in [−1, 1].

    Exact over all 2ⁿ signs for up to 50 differences (ties too), else the normal approximation with tie correction. Undefined where
    all are 0.

    >>> p, effect = signed_rank(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    >>> round(p, 4), effect
    (0.0312, 1.0)
    """
    from scipy import stats

    nonzero = differences[differences != 0]
    n = len(nonzero)
    if n == 0:
        return float("nan"), float("nan")
    positive, ties = _positive_ranks(nonzero)
    total = n * (n + 1) / 2
    effect = (2 * positive - total) / total
    if n <= 50:
        return _exact(positive, ties), effect
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((ties**3 - ties).sum()) / 48
    return float(2 * stats.norm.sf(abs(positive - total / 2) / np.sqrt(variance))), effect


def _exact(positive: float, ties: Array) -> float:
    """The two-sided p of a sum of positive ranks, when every rank is positive or negative with even chances."""
    starts = np.concatenate(([0.0], np.cumsum(ties)[:-1]))
    # Mean ranks are halves at worst; doubled they are whole numbers, and the distribution of the sum is a short array.
    doubled = np.repeat(np.rint(2 * starts + ties + 1), ties.astype(np.int64)).astype(np.int64)
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(chances)
        shifted[rank:] = chances[: len(chances) - rank]
        chances = (chances + shifted) / 2
    place = round(2 * positive)
    return float(min(1.0, 2 * min(chances[: place + 1].sum(), chances[place:].sum())))


def _positive_ranks(nonzero: Array) -> tuple[float, Array]:
    """The sum of the ranks (by size) of the positive ones, ties sharing their mean rank; and how many share each rank."""
    size = np.abs(nonzero)
    order = np.argsort(size)
    ordered = size[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ties = np.diff(np.append(first, len(ordered))).astype(np.float64)
    ranks = np.repeat(first + (ties + 1) / 2, ties.astype(np.int64))
    return float(ranks[nonzero[order] > 0].sum()), ties


def holm(p: Array) -> Array:
    """Holm's adjustment for as many tests as have a p-value; NaN stays NaN.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).round(3).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def worst_units(values: Array, most: int) -> list[tuple[int, float, int, int]]:
    """The units whose scores are furthest apart: (row, spread, column of the largest, column of the least), widest first."""
    known = np.flatnonzero(np.sum(~np.isnan(values), axis=1) >= 2)
    if not len(known):
        return []
    some = values[known]
    spread = np.nanmax(some, axis=1) - np.nanmin(some, axis=1)
    chosen = np.argsort(-spread, kind="stable")[:most]
    return [(int(known[i]), float(spread[i]), int(np.nanargmax(some[i])), int(np.nanargmin(some[i]))) for i in chosen]


_SUMMARY: dict[str, Any] = dict.fromkeys(("n", "n_failed"), pl.Int64) | dict.fromkeys(
    ("mean", "low", "high", "min", "max", "sd"), pl.Float64
)
_PAIRS: dict[str, Any] = {"a": pl.String, "b": pl.String, "n": pl.Int64, "n_incomplete": pl.Int64} | dict.fromkeys(
    ("mean_a", "mean_b", "difference", "median", "share_apart", "flip_rate", "effect_dz", "rank_biserial", "p"), pl.Float64
)


def _compare(a: Array, b: Array, how: Comparison) -> dict[str, float | None]:
    if len(a) == 0:
        return {}
    difference = a - b
    p, effect = signed_rank(difference)
    deviation = float(np.std(difference, ddof=1)) if len(a) > 1 else 0.0
    return {
        "mean_a": float(a.mean()),
        "mean_b": float(b.mean()),
        "difference": float(difference.mean()),
        "median": float(np.median(difference)),
        "share_apart": float(np.mean(np.abs(difference) >= how.epsilon - _DUST)),
        "flip_rate": float(np.mean((a >= how.threshold) != (b >= how.threshold))),
        "effect_dz": float(difference.mean() / deviation) if deviation > _DUST else None,
        "rank_biserial": effect,
        "p": p,
    }


@lru_cache(maxsize=16)
def _draws(rows: int, resamples: int, seed: int) -> Array:
    """How often each row is drawn in each resample."""
    drawn = np.random.default_rng(seed).integers(0, rows, size=(resamples, rows))
    flat = (drawn + np.arange(resamples)[:, None] * rows).ravel()
    return np.bincount(flat, minlength=resamples * rows).reshape(resamples, rows).astype(np.float64)


def _of(column: Array, function: Any) -> float | None:
    return float(function(column)) if len(column) else None
