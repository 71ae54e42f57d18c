"""Did a gap change between two systems, beyond noise? Paired where both judged the same rows, otherwise from two samples.

Paired: rows are counted by both predictions at once, [group, truth, prediction A, prediction B], and these counts are resampled, so
rows that both got right or wrong alike cancel. Unpaired: each system's own counts are resampled for themselves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairwitness.metrics.gaps import GAPS, gaps
from fairwitness.metrics.intervals import normal_quantile, percentiles, resample
from fairwitness.metrics.rates import FloatArray


@dataclass(frozen=True)
class Change:
    """One gap under A and under B, B − A with its interval, and a two-sided bootstrap p-value; NaN where undefined."""

    before: float
    after: float
    change: float
    low: float
    high: float
    p: float


def paired_changes(joint: Any, *, replicates: int = 1000, seed: int = 0, confidence: float = 0.95) -> dict[str, Change]:
    """The change of every gap, from joint counts `joint[group, truth, prediction A, prediction B]` of two groups and classes.

    p = 2 · min(share of draws ≤ 0, share of draws ≥ 0), one draw added to each side, at most 1. Two systems that always agree
    have changed nothing: 0 with interval [0, 0] and p = 1.

    >>> same = np.zeros((2, 2, 2, 2), int)
    >>> same[:, :, 0, 0], same[:, :, 1, 1] = 30, 20
    >>> found = paired_changes(same)["statistical_parity_difference"]
    >>> found.low, found.high, found.p
    (0.0, 0.0, 1.0)
    """
    joint = np.asarray(joint, np.int64)
    drawn = resample(joint[None], replicates=replicates, seed=seed, axes=4)[:, 0]
    if not (joint[..., 0, 1] + joint[..., 1, 0]).any():
        # The half rows that are added before drawing would let two disagree that never did.
        return _changes((joint.sum(axis=-1),) * 2, (drawn.sum(axis=-1),) * 2, confidence)
    return _changes((joint.sum(axis=-1), joint.sum(axis=-2)), (drawn.sum(axis=-1), drawn.sum(axis=-2)), confidence)


def unpaired_changes(
    before: Any, after: Any, *, replicates: int = 1000, seed: int = 0, confidence: float = 0.95
) -> dict[str, Change]:
    """The change of every gap between two samples, from their counts `[group, truth, prediction]`."""
    cells = (np.asarray(before, np.int64), np.asarray(after, np.int64))
    # Two seeds: equal tables would otherwise be drawn alike, and their difference would look certain.
    drawn = tuple(resample(part[None], replicates=replicates, seed=2 * seed + k, axes=3)[:, 0] for k, part in enumerate(cells))
    return _changes(cells, (drawn[0], drawn[1]), confidence)


def interval_change(before: tuple[float, float, float], after: tuple[float, float, float], *, confidence: float = 0.95) -> Change:
    """The change of any measured value from the two (value, low, high), as if the samples were independent and errors normal.

    The standard error is a quarter of the interval's width or so (width / 2z); both add as squares. Conservative when the rows were
    the same, since what the two have in common is not taken out.
    """
    from scipy.special import ndtr

    z = normal_quantile(confidence)
    error = float(np.hypot(before[2] - before[1], after[2] - after[1])) / (2 * z)
    change = after[0] - before[0]
    p = float(2 * ndtr(-abs(change) / error)) if error > 0 else float("nan")
    return Change(before[0], after[0], change, change - z * error, change + z * error, p)


def _changes(cells: tuple[Any, Any], drawn: tuple[Any, Any], confidence: float) -> dict[str, Change]:
    before, after = gaps(cells[0]), gaps(cells[1])
    before_drawn, after_drawn = gaps(drawn[0]), gaps(drawn[1])
    found = {}
    for name in GAPS:
        draws = after_drawn[name] - before_drawn[name]
        change = float(after[name] - before[name])
        low, high = percentiles(draws, confidence=confidence)
        undefined = np.isnan(change)
        ends = (np.nan, np.nan, np.nan) if undefined else (float(low), float(high), _two_sided(draws))
        found[name] = Change(float(before[name]), float(after[name]), change, *ends)
    return found


def _two_sided(draws: FloatArray) -> float:
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return float("nan")
    side = min(np.count_nonzero(draws <= 0), np.count_nonzero(draws >= 0))
    return float(min(1.0, 2 * (1 + side) / (1 + len(draws))))
