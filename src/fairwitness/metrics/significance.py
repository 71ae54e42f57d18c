"""Could a gap this large be chance? Exact and permutation tests on counts, their correction for many, and what could have shown.

Permuting group membership over rows gives hypergeometric counts, so the permutation distribution is known without permuting.
"""

import hashlib
from typing import Any

import numpy as np

from fairwitness.metrics.counts import IntArray
from fairwitness.metrics.intervals import normal_quantile
from fairwitness.metrics.many_groups import spread_chance
from fairwitness.metrics.rates import FloatArray, ratio

_MOST_GROUPS_SHUFFLED = 64


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
    binomial count at the common share, since the fixed total hardly ties so many together (many_groups.py); drawing then ends
    early when many draws have reached the spread, and is spared altogether where a bound on p says enough.
    p = (1 + draws with at least the spread seen) / (1 + draws). NaN with fewer than two groups that have trials.
    """
    return float(spread_tests(successes[None], trials[None], replicates=replicates, seed=seed)[0])


def spread_tests(successes: IntArray, trials: IntArray, *, replicates: int, seed: int) -> FloatArray:
    """The p-value of every row's spread over groups, for arrays [row, group]. Rows that ask the same are answered once."""
    known: dict[bytes, float] = {}
    found = []
    for row in zip(successes, trials, strict=True):
        counts = _canonical(*row)
        told = counts.tobytes()
        if told not in known:
            known[told] = _spread_test(*counts, replicates=replicates, seed=seed)
        found.append(known[told])
    return np.array(found)


def _canonical(successes: IntArray, trials: IntArray) -> IntArray:
    """Counts of groups that have trials, in an order that does not depend on what the groups are called.

    Of successes and failures the rarer are taken: the spread is the same, and so are the draws for a class and its opposite.
    """
    successes, trials = (np.asarray(part, np.int64)[trials > 0] for part in (successes, trials))
    if 2 * successes.sum() > trials.sum():
        successes = trials - successes
    return np.stack([successes, trials])[:, np.lexsort((successes, trials))]


def _spread_test(successes: IntArray, trials: IntArray, *, replicates: int, seed: int) -> float:
    if len(trials) < 2:
        return float("nan")
    seen = float(np.ptp(successes / trials)) - 1e-12
    if seen <= 0:
        return 1.0
    told = hashlib.blake2b(np.concatenate([successes, trials]).astype(np.int64).tobytes(), digest_size=16)
    stream = np.random.default_rng([seed, int.from_bytes(told.digest(), "little")])
    if len(trials) > _MOST_GROUPS_SHUFFLED:
        share = int(successes.sum()) / int(trials.sum())
        return spread_chance(seen, share, trials, replicates=replicates, stream=stream)
    drawn = stream.multivariate_hypergeometric(trials, int(successes.sum()), size=replicates, method="marginals")
    return float((1 + np.count_nonzero(np.ptp(drawn / trials, axis=1) >= seen)) / (1 + replicates))


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
