"""Could a gap this large be chance? Exact and permutation tests on counts, their correction for many, and what could have shown.

Permuting group membership over rows gives hypergeometric counts, so the permutation distribution is known without permuting.
"""

import hashlib
from typing import Any

import numpy as np

from fairwitness.metrics.counts import IntArray
from fairwitness.metrics.intervals import normal_quantile
from fairwitness.metrics.rates import FloatArray, ratio

_MOST_GROUPS_SHUFFLED = 64
# Draws end when this many have reached what was seen; and need not begin where not one in a hundred runs would see any.
_REACHED_OFTEN = 10
_HARDLY_EVER = 0.01


def exact_test(successes: Any, trials: Any) -> FloatArray:
    """Fisher's exact two-sided p-value for the difference of two shares; arrays [..., group] with two groups.

    The probability, when membership is shuffled over the rows, of counts no likelier than those seen. Equal to
    scipy.stats.fisher_exact. NaN where a group has no trials; a value below the smallest float is 0.

    >>> round(float(exact_test([1, 11], [10, 14])), 4)
    0.0028
    """
    successes, trials = np.asarray(successes, np.int64), np.asarray(trials, np.int64)
    shape = successes.shape[:-1]
    pairs = zip(successes.reshape(-1, 2).tolist(), trials.reshape(-1, 2).tolist(), strict=True)
    return np.array([_fisher(*k, *n) for k, n in pairs], float).reshape(shape)


def benjamini_hochberg(p: Any) -> FloatArray:
    """Adjusted p-values (false discovery rate, 1995) over all that are defined; NaN stays NaN and counts for nothing.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    p = np.asarray(p, float)
    adjusted = np.full(p.shape, np.nan)
    defined = ~np.isnan(p)
    values = p[defined]
    order = np.argsort(values, kind="stable")[::-1]
    rank = np.arange(len(values), 0, -1)
    stepped = np.minimum.accumulate(values[order] * len(values) / rank) if len(values) else values
    result = np.empty_like(values)
    result[order] = np.minimum(stepped, 1)
    adjusted[defined] = result
    return adjusted


def minimum_detectable(successes: Any, trials: Any, *, confidence: float = 0.95, power: float = 0.8) -> FloatArray:
    """The smallest true difference of two shares that groups of these sizes would have shown, four times out of five.

    (z_{confidence} + z_{power}) √(p(1−p)(1/n0 + 1/n1)), p the pooled share with one success and one failure added, so that
    a share of 0 does not promise infinite sharpness. At most 1. NaN where a group has no trials.

    >>> round(float(minimum_detectable([100, 100], [1000, 1000])), 3)
    0.038
    """
    from scipy.special import ndtri

    k, n = np.asarray(successes, float), np.asarray(trials, float)
    pooled = (k.sum(axis=-1) + 1) / (n.sum(axis=-1) + 2)
    spread = np.sqrt(pooled * (1 - pooled) * (ratio(1, n[..., 0]) + ratio(1, n[..., 1])))
    return np.asarray(np.minimum((normal_quantile(confidence) + float(ndtri(power))) * spread, 1), float)


def spread_test(successes: IntArray, trials: IntArray, *, replicates: int, seed: int) -> float:
    """Permutation p-value for the spread (largest minus smallest share) over any number of groups.

    Shuffling rows over groups gives multivariate hypergeometric counts, which are drawn. Beyond 64 groups each draws its own
    binomial count at the common share, since the fixed total hardly ties so many together; drawing then ends early when many
    draws have reached the spread (Besag and Clifford 1991), and is spared altogether where a bound on p says enough.
    p = (1 + draws with at least the spread seen) / (1 + draws). NaN with fewer than two groups that have trials.
    """
    kept = trials > 0
    # A canonical order: the answer must not depend on what the groups are called.
    successes, trials = successes[kept], trials[kept]
    order = np.lexsort((successes, trials))
    successes, trials = successes[order], trials[order]
    if len(trials) < 2:
        return float("nan")
    # Of successes and failures the rarer are drawn: the spread is the same, and so are the draws for a class and its opposite.
    if 2 * successes.sum() > trials.sum():
        return spread_test(trials - successes, trials, replicates=replicates, seed=seed)
    told = hashlib.blake2b(np.concatenate([successes, trials]).astype(np.int64).tobytes(), digest_size=16)
    stream = np.random.default_rng([seed, int.from_bytes(told.digest(), "little")])
    seen = float(np.ptp(successes / trials)) - 1e-12
    if len(trials) > _MOST_GROUPS_SHUFFLED:
        return _many_groups(stream, seen, int(successes.sum()) / int(trials.sum()), trials, replicates)
    drawn = stream.multivariate_hypergeometric(trials, int(successes.sum()), size=replicates, method="marginals")
    return float((1 + np.count_nonzero(np.ptp(drawn / trials, axis=1) >= seen)) / (1 + replicates))


def _many_groups(stream: np.random.Generator, seen: float, share: float, trials: IntArray, replicates: int) -> float:
    bound = _spread_bound(seen, share, trials)
    if bound * replicates < _HARDLY_EVER:
        return bound
    reached = drawn = 0
    while drawn < replicates and reached < _REACHED_OFTEN:
        more = min(max(drawn, 16), replicates - drawn)
        # A group's draws one after the other: what the generator prepares for one group serves them all.
        shares = stream.binomial(trials[:, None], share, size=(len(trials), more)) / trials[:, None]
        reached += int(np.count_nonzero(shares.max(axis=0) - shares.min(axis=0) >= seen))
        drawn += more
    return (1 + reached) / (1 + drawn)


def _spread_bound(seen: float, share: float, trials: IntArray) -> float:
    """At least the chance of this spread: some group would lie half of it above the common share, or half of it below."""
    from scipy.special import bdtr, bdtrc

    above, below = np.ceil(trials * (share + seen / 2)), np.floor(trials * (share - seen / 2))
    high = np.where(above > trials, 0.0, np.where(above > 0, bdtrc(above - 1, trials, share), 1.0))
    low = np.where(below >= 0, bdtr(below, trials, share), 0.0)
    return float(min(1.0, (high + low).sum()))


def _fisher(successes_0: int, successes_1: int, trials_0: int, trials_1: int) -> float:
    if trials_0 == 0 or trials_1 == 0:
        return float("nan")
    total, drawn = successes_0 + successes_1, trials_0 + trials_1
    start, stop = _window(total, trials_1, drawn)
    if not start <= successes_1 <= stop:
        return 0.0
    k = np.arange(start, stop)
    # log of P(k+1)/P(k), summed up: exact to the last digits where log-factorials of millions are not.
    steps = np.log((total - k) / (k + 1)) + np.log((trials_1 - k) / (trials_0 - total + k + 1))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    seen = weights[successes_1 - start]
    return float(min(1.0, weights[weights <= seen * (1 + 1e-9)].sum() / weights.sum()))


def _window(total: int, size: int, rows: int) -> tuple[int, int]:
    """The counts that are possible and not 40 standard deviations away, where a probability is 0 to any float."""
    mean = total * size / rows
    variance = mean * (1 - size / rows) * (rows - total) / max(rows - 1, 1)
    reach = 40 * variance**0.5 + 40
    start = max(0, total - (rows - size), int(mean - reach))
    return start, min(total, size, int(mean + reach) + 1)
