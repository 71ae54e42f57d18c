"""Integrals along a path on which both the function and its per-token slopes can be asked for, point by point.

f is known at both ends of every interval, so the error of a rule on an interval, |rule − (f(b) − f(a))|, is seen and not
estimated. AdaptivePath halves the intervals where it is largest. FixedPath has the classical rules. Knows nothing of models.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np


class Point(NamedTuple):
    """f at one α, and for each token its slope times the way it goes: what is integrated."""

    value: float
    slopes: np.ndarray


@dataclass(frozen=True)
class Answer:
    """Integrals per token, f at both ends, and how much is missing as a share of |end − start| (NaN where that is 0)."""

    attributions: np.ndarray
    start: float
    end: float
    gap: float
    interval_error: float
    steps: int
    converged: bool


class Path(Protocol):
    """Asks for points until it has enough."""

    def wanted(self) -> list[float]:
        """The α still needed; empty when done."""
        ...

    def take(self, alpha: float, point: Point) -> None:
        """What was found at α."""
        ...

    def answer(self) -> Answer:
        """The integral, once nothing more is wanted."""
        ...


def share(part: float, whole: float) -> float:
    """|part| as a share of |whole|; NaN where there is nothing to be a share of.

    >>> share(-1.0, 4.0)
    0.25
    >>> share(1.0, 0.0)
    nan
    """
    return abs(part) / abs(whole) if whole else math.nan


def fixed_rule(name: str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [0, 1]. 'published' sums both ends and divides by their number, as the seed does: it is not exact even
    for a straight line.

    >>> fixed_rule("midpoint", 2)
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    if name == "midpoint":
        return (np.arange(steps) + 0.5) / steps, np.full(steps, 1 / steps)
    if name == "published":
        return np.linspace(0, 1, steps), np.full(steps, 1 / steps)
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return (nodes + 1) / 2, weights / 2


class FixedPath:
    """A rule whose points are known beforehand. Both ends are asked for besides, to see what is missing."""

    def __init__(self, rule: str, steps: int, tolerance: float) -> None:
        self._nodes, self._weights = fixed_rule(rule, steps)
        self._steps, self._tolerance = steps, tolerance
        self._points: dict[float, Point] = {}

    def wanted(self) -> list[float]:
        """All at once."""
        return [alpha for alpha in dict.fromkeys([0.0, *map(float, self._nodes), 1.0]) if alpha not in self._points]

    def take(self, alpha: float, point: Point) -> None:
        """Keep it."""
        self._points[alpha] = point

    def answer(self) -> Answer:
        """Weights times slopes.

        At a singular start (a zero embedding under RMSNorm) slopes overflow: that node is left out, and the gap shows what is
        missing. Where no node is finite there is no answer.
        """
        slopes = np.stack([self._points[float(alpha)].slopes for alpha in self._nodes])
        finite = np.isfinite(slopes).all(axis=1)
        attributions = self._weights[finite] @ slopes[finite] if finite.any() else np.full(slopes.shape[1], np.nan)
        start, end = self._points[0.0].value, self._points[1.0].value
        gap = share(float(attributions.sum()) - (end - start), end - start)
        return Answer(attributions, start, end, gap, gap, self._steps, bool(gap <= self._tolerance))


class AdaptivePath:
    """Simpson's rule on intervals that are halved where they miss most. Every point is used again when its interval is halved."""

    def __init__(self, steps: int, tolerance: float, max_steps: int) -> None:
        first = max(1, (min(steps, max_steps) - 1) // 2)
        self._intervals = [(k / first, (k + 1) / first) for k in range(first)]
        self._tolerance, self._most = tolerance, max(max_steps, 2 * first + 1)
        self._points: dict[float, Point] = {}
        self._halve: list[tuple[float, float]] = []

    def wanted(self) -> list[float]:
        """The first grid, then the middles of the halves of the intervals that miss most."""
        missing = self._missing()
        if missing:
            return missing
        worst = self._worst()
        if not worst:
            return []
        self._intervals = sorted(set(self._intervals) - set(worst) | {half for a, b in worst for half in _halves(a, b)})
        return self._missing()

    def take(self, alpha: float, point: Point) -> None:
        """Keep it."""
        self._points[alpha] = point

    def answer(self) -> Answer:
        """Simpson's rule on every interval, summed."""
        attributions = sum((self._rule(a, b) for a, b in self._intervals), np.zeros_like(self._points[0.0].slopes))
        start, end = self._points[0.0].value, self._points[1.0].value
        missed = sum(abs(self._miss(a, b)) for a, b in self._intervals)
        gap = share(float(attributions.sum()) - (end - start), end - start)
        error = share(missed, end - start)
        return Answer(attributions, start, end, gap, error, len(self._points), bool(error <= self._tolerance))

    def _missing(self) -> list[float]:
        needed = [alpha for a, b in self._intervals for alpha in (a, (a + b) / 2, b)]
        return [alpha for alpha in dict.fromkeys(needed) if alpha not in self._points]

    def _rule(self, a: float, b: float) -> np.ndarray:
        left, middle, right = (self._points[alpha].slopes for alpha in (a, (a + b) / 2, b))
        integral: np.ndarray = (b - a) / 6 * (left + 4 * middle + right)
        return integral

    def _miss(self, a: float, b: float) -> float:
        return float(self._rule(a, b).sum()) - (self._points[b].value - self._points[a].value)

    def _worst(self) -> list[tuple[float, float]]:
        """The intervals to halve next: the largest misses, until the others together are within half of what is allowed."""
        misses = sorted(((abs(self._miss(a, b)), (a, b)) for a, b in self._intervals), reverse=True)
        allowed = self._tolerance * abs(self._points[1.0].value - self._points[0.0].value)
        rest = sum(miss for miss, _ in misses)
        if rest <= allowed:
            return []
        affordable = (self._most - len(self._points)) // 2
        chosen: list[tuple[float, float]] = []
        for miss, interval in misses[: max(0, affordable)]:
            if rest <= allowed / 2:
                break
            chosen.append(interval)
            rest -= miss
        return chosen


def _halves(a: float, b: float) -> list[tuple[float, float]]:
    middle = (a + b) / 2
    return [(a, middle), (middle, b)]
