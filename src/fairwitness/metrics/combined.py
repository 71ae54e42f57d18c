"""Intervals of numbers made of several independent shares: differences, ratios, sums, and the spread over groups.

Each is put together from the shares' own intervals by the distances to their ends (MOVER: Zou and Donner 2008). These are closed
forms, so two thousand groups need no bootstrap each; how often they cover is measured in benchmarks/coverage.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairwitness.metrics.rates import FloatArray, ratio

Ends = tuple[FloatArray, FloatArray]
# How much a sum may be off and still bound another.
_ROUNDING = 1e-9


def difference_interval(one: Any, one_ends: Any, other: Any, other_ends: Any) -> Ends:
    """The interval of one − other. With Wilson's intervals for the two it is Newcombe's hybrid score interval (1998, method 10).

    >>> from fairwitness.metrics.intervals import wilson
    >>> low, high = difference_interval(56 / 70, wilson(56, 70), 48 / 80, wilson(48, 80))
    >>> round(float(low), 4), round(float(high), 4)
    (0.0524, 0.3339)
    """
    below = np.hypot(one - one_ends[0], other_ends[1] - other)
    above = np.hypot(one_ends[1] - one, other - other_ends[0])
    return one - other - below, one - other + above


def absolute_interval(low: Any, high: Any) -> Ends:
    """The interval of |x| from that of x: from 0 where x may be 0.

    >>> [float(end) for end in absolute_interval(-0.3, 0.1)]
    [0.0, 0.3]
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    nearest = np.maximum(np.maximum(low, -high), 0)
    return nearest, np.maximum(np.abs(low), np.abs(high))


def sum_interval(values: Any, low: Any, high: Any, *, axis: int) -> Ends:
    """The interval of a sum over one axis; NaN where a value is."""
    values = np.asarray(values, float)
    total = values.sum(axis=axis)
    below, above = (np.sqrt(((values - end) ** 2).sum(axis=axis)) for end in (low, high))
    return total - below, total + above


def ratio_interval(above: Any, above_ends: Any, below: Any, below_ends: Any) -> Ends:
    """The interval of above / below (Donner and Zou 2012), NaN where `below` is 0 or either is undefined.

    >>> low, high = ratio_interval(0.2, (0.15, 0.26), 0.1, (0.07, 0.14))
    >>> round(float(low), 3), round(float(high), 3)
    (1.283, 3.109)
    """
    above, below = np.asarray(above, float), np.asarray(below, float)
    ends = []
    for sign, near, far in ((-1, above_ends[0], below_ends[1]), (1, above_ends[1], below_ends[0])):
        bottom = far * (2 * below - far)
        # Beyond twice the denominator the formula has no root: nothing is ruled out on that side.
        inside = np.clip((above * below) ** 2 - near * (2 * above - near) * bottom, 0, None)
        end = ratio(above * below + sign * np.sqrt(inside), np.where(bottom > 0, bottom, 0))
        # A largest of NaN and 0 is NaN for the one and 0 for the other.
        ends.append(np.maximum(end, 0.0) if sign > 0 else np.fmax(end, 0.0))
    undefined = np.isnan(ratio(above, below))
    return np.where(undefined, np.nan, ends[0]), np.where(undefined, np.nan, ends[1])


def spread_interval(values: Any, interval: Callable[[Any], Ends], *, confidence: float = 0.95) -> Ends:
    """The interval of largest − smallest over groups [..., group], from the groups' own intervals at any confidence.

    The spread seen is too large on average: of many like groups some look different. So the lower end is the largest lower end
    over all pairs, held together (Bonferroni over the K(K−1) signed pairs), and is 0 where no pair surely differs. The upper
    end is the largest over pairs of a one-sided end each: the true extreme pair is one of them, and one is enough. What error
    the lower end does not use at a single pair is given to the upper. With two groups this is Newcombe's interval of |difference|.
    Undefined groups are left out; NaN with fewer than two. `interval` is asked for confidences [..., 1], since how many groups
    have a value may differ from one spread to the next.
    """
    values = np.asarray(values, float)
    kept = np.isfinite(values)
    groups = kept.sum(axis=-1, keepdims=True)
    share = ratio(1 - confidence, groups * (groups - 1))
    (low, up_to), (down_to, high) = (interval(1 - 2 * tail) for tail in (share, 1 - confidence - share))
    ends = np.full((2, *values.shape[:-1]), np.nan)
    for row in np.ndindex(values.shape[:-1]):
        own = kept[row]
        if groups[row][0] < 2:
            continue
        value = values[row][own]
        least = _extreme_pair(value, value - low[row][own], up_to[row][own] - value, sign=-1)
        most = _extreme_pair(value, high[row][own] - value, value - down_to[row][own], sign=1)
        ends[(slice(None), *row)] = max(least, 0.0), most
    return ends[0], ends[1]


def largest_interval(values: Any, interval: Callable[[float], Ends], *, confidence: float = 0.95) -> Ends:
    """The interval of the largest |value| over the first axis, from the values' own intervals at any confidence.

    As for a spread: the lower end must hold for all values together (Bonferroni over their 2J signs), one upper end suffices, and
    what error the first does not use at a single value is given to the second. NaN where a value is.
    """
    error = 1 - confidence
    share = error / (2 * len(values))
    low, _ = absolute_interval(*interval(1 - 2 * share))
    _, high = absolute_interval(*interval(1 - 2 * (error - share)))
    return low.max(axis=0), high.max(axis=0)


def smallest_interval(interval: Callable[[float], Ends], *, number: int, confidence: float = 0.95) -> Ends:
    """The interval of the smallest of several shares, by the same reasoning turned round: its upper end holds for all together."""
    error = 1 - confidence
    share = error / (2 * number)
    _, high = interval(1 - 2 * share)
    low, _ = interval(1 - 2 * (error - share))
    return low.min(axis=0), high.min(axis=0)


def _extreme_pair(value: FloatArray, up: FloatArray, down: FloatArray, *, sign: int) -> float:
    """The largest of value_h − value_l + sign·√(up_h² + down_l²) over pairs h ≠ l, without looking at all pairs.

    √(a² + b²) lies between (a + b)/√2 and a + b, which bounds every pair by a sum of h's part and l's: few reach what the best
    partner of the best h has. It grows with value_h and sign·up_h, so of those h need only be looked for among groups that no two
    others beat in both, and l likewise.
    """
    most = 1.0 if sign > 0 else -np.sqrt(0.5)
    high, low = value + most * up, most * down - value
    best = int(high.argmax())
    partners = value[best] - value + sign * np.hypot(up[best], down)
    partners[best] = -np.inf
    least = partners.max() - _ROUNDING * (1 + np.abs(high).max())
    if np.isnan(least) or np.isnan(low).any():
        return float("nan")
    high, low = np.flatnonzero(high + low.max() >= least), np.flatnonzero(low + high.max() >= least)
    high, low = high[_front(value[high], sign * up[high])], low[_front(-value[low], sign * down[low])]
    reach = np.hypot(up[high][:, None], down[low][None, :])
    pairs = value[high][:, None] - value[low][None, :] + sign * reach
    return float(np.where(high[:, None] == low[None, :], -np.inf, pairs).max())


def _front(one: FloatArray, other: FloatArray) -> NDArray[np.int64]:
    """Places that no other beats in both, and those that only one beats."""
    left = np.lexsort((-other, -one))
    found = []
    for _ in range(2):
        best = np.maximum.accumulate(np.concatenate([[-np.inf], other[left][:-1]])) if len(left) else other[left]
        ahead = other[left] > best
        found.append(left[ahead])
        left = left[~ahead]
    return np.concatenate(found)
