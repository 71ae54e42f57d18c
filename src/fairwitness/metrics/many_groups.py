"""The chance of a spread over many groups, each with its own binomial count at one common share.

Of thousands of groups only the few that lie farthest out decide the largest and the smallest share, so only those are drawn: first
which groups lie beyond a share that some are sure to pass, then how far. That is the law of drawing all of them, at a tenth of the
time. What the spread was and what is done with its chance is significance.py's business.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairwitness.metrics.counts import IntArray
from fairwitness.metrics.rates import FloatArray

# Draws end when this many have reached what was seen; and need not begin where not one in a hundred runs would see any.
_REACHED_OFTEN = 10
_HARDLY_EVER = 0.01
# Groups expected beyond the share from which they are drawn: that there is none happens once in e^12 draws.
_EXPECTED = 12
_NEARER, _NEAREST = 0.8, 0.01
# Numbers drawn at a time, so that they stay in the processor's cache.
_MOST_AT_ONCE = 2**18


def spread_chance(seen: float, share: float, trials: IntArray, *, replicates: int, stream: np.random.Generator) -> float:
    """P(largest − smallest share ≥ seen), for `seen` above 0: (1 + draws that reach it) / (1 + draws), in (0, 1].

    Drawing ends early when many draws have reached it (Besag and Clifford 1991). Where even the expected number of groups half of
    `seen` away from the common share, which bounds the chance, is far below 1/replicates, that bound is handed back.
    """
    # Groups of one size have one answer, and of thousands of groups many have the same size.
    sizes, place = np.unique(trials, return_inverse=True)
    bound = min(1.0, float(sum(_chances(end, sizes, seen / 2)[place].sum() for end in (share, 1 - share))))
    if bound * replicates < _HARDLY_EVER:
        return bound
    up, down = (_end(end, sizes, place, seen / 2) for end in (share, 1 - share))
    reached = drawn = 0
    while drawn < replicates and reached < _REACHED_OFTEN:
        more = min(max(drawn, 16), replicates - drawn, max(_MOST_AT_ONCE // len(trials), 1))
        # A group is beyond one end or the other, never both: one uniform number says which.
        uniform = stream.random((more, len(trials)))
        found = up.farthest(uniform, stream) + down.farthest(1 - uniform, stream)
        reached += int(np.count_nonzero(found >= seen))
        drawn += more
    return (1 + reached) / (1 + drawn)


@dataclass(frozen=True)
class _End:
    """What lies above `share` by `distance` or more when each group counts its successes; failures instead make the other end."""

    share: float
    trials: IntArray
    distance: float
    chances: FloatArray

    def farthest(self, uniform: FloatArray, stream: np.random.Generator) -> FloatArray:
        """How far the farthest group of each draw [draw, group] lies above the share; `distance` where none gets so far."""
        found = np.full(len(uniform), self.distance)
        draw, group = np.nonzero(uniform < self.chances)
        trials = self.trials[group]
        counts = at_least(_least(self.share, trials, self.distance), trials, self.share, stream)
        np.maximum.at(found, draw, counts / trials - self.share)
        return found


def _end(share: float, sizes: IntArray, place: IntArray, distance: float) -> _End:
    """The end from that distance on, or from one that enough groups are expected to reach."""
    nearest = distance * _NEAREST
    chances = _chances(share, sizes, distance)[place]
    while chances.sum() < _EXPECTED and distance > nearest:
        distance *= _NEARER
        chances = _chances(share, sizes, distance)[place]
    return _End(share, sizes[place], distance, chances)


def _chances(share: float, trials: IntArray, distance: float) -> FloatArray:
    """The chance of a share at least that far above the common one."""
    from scipy.special import bdtrc

    least = _least(share, trials, distance)
    return np.where(least > trials, 0.0, np.where(least > 0, bdtrc(least - 1, trials, share), 1.0))


def _least(share: float, trials: IntArray, distance: float) -> FloatArray:
    return np.asarray(np.ceil(trials * (share + distance)), float)


def at_least(least: NDArray[np.float64], trials: IntArray, share: float, stream: np.random.Generator) -> FloatArray:
    """Binomial draws of which is known that each is at least `least`, a number no smaller than its mean.

    From there on the probabilities fall faster than a geometric's with the first step's ratio: draw from that, and keep a draw
    with the ratio of the two.

    >>> drawn = at_least(np.full(1000, 8.0), np.full(1000, 10), 0.5, np.random.default_rng(0))
    >>> sorted(set(drawn.tolist())), round(float((drawn == 8).mean()), 1)
    ([8.0, 9.0, 10.0], 0.8)
    """
    from scipy.special import gammaln

    odds = share / (1 - share)
    falling = (trials - least) / (least + 1) * odds
    # Where all trials must be successes there is nothing to draw.
    drawn, left = least.copy(), np.flatnonzero(falling)
    while len(left):
        first, n, slope = least[left], trials[left], falling[left]
        steps = stream.geometric(1 - slope) - 1.0
        last = first + steps
        logs = gammaln(first + 1) + gammaln(n - first + 1) - gammaln(last + 1) - gammaln(n - last + 1)
        kept = stream.random(len(left)) < np.exp(logs + steps * np.log(odds / slope))
        drawn[left[kept]] = last[kept]
        left = left[~kept]
    return drawn
