"""How often do 95 % intervals hold the truth? Data are drawn again and again where the truth is known, and the hits are counted.

python -m benchmarks.coverage                    every interval of `fairwitness fairness`, 2,000 draws of each setting (minutes)
python -m benchmarks.coverage --draws 300        sooner and rougher
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from fairwitness.metrics import multigroup
from fairwitness.metrics.auc_variance import delong, power_mean_weights
from fairwitness.metrics.bias_auc import AUCS, auc, final_metric
from fairwitness.metrics.calibration import reliability
from fairwitness.metrics.combined import largest_interval, smallest_interval, spread_interval
from fairwitness.metrics.gaps import GAPS, earlier_binary, earlier_binary_intervals, gaps
from fairwitness.metrics.intervals import auc_interval, bootstrap_interval, logit_interval, percentiles, resample, wilson
from fairwitness.metrics.scores import ExactScores, score_part

REPLICATES = 1000
Found = Iterator[tuple[str, str, float]]


def chances(base: float, hit: float, false: float) -> np.ndarray:
    """Probabilities [truth, prediction] from a base rate, a true and a false positive rate."""
    return np.array([[(1 - base) * (1 - false), (1 - base) * false], [base * (1 - hit), base * hit]])


def held(low: Any, high: Any, true: Any) -> float:
    """The share of intervals that hold the truth, up to rounding; an undefined interval holds nothing and is left out."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    defined = ~np.isnan(low) & ~np.isnan(high)
    return float(np.mean(((low - 1e-12 <= true) & (true <= high + 1e-12))[defined]))


def rates_of_a_group(draws: int) -> Found:
    """Wilson's interval."""
    random = np.random.default_rng(1)
    for share, n in ((0.1, 100), (0.3, 50), (0.5, 400), (0.02, 1000)):
        low, high = wilson(random.binomial(n, share, draws), n)
        yield "a rate (Wilson)", f"rate {share}, {n:,} rows", held(low, high, share)


# (base rate, true positive rate, false positive rate) of the rest and of members, and how many rows each has.
PAIRS_OF_GROUPS = {
    "300 and 200 rows, gaps of 0.1": ((0.3, 0.7, 0.1), (0.2, 0.8, 0.2), (300, 200)),
    "5,000 and 60 rows, six positive members": ((0.08, 0.7, 0.05), (0.1, 0.6, 0.1), (5000, 60)),
    "60 and 60 rows, no gap": ((0.5, 0.8, 0.2), (0.5, 0.8, 0.2), (60, 60)),
    "20,000 and 900 rows, small gaps": ((0.08, 0.7, 0.05), (0.09, 0.66, 0.07), (20_000, 900)),
}


def tables_of(setting: str, draws: int, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """The true probabilities [group, truth, prediction], and counts drawn from them."""
    rest, members, sizes = PAIRS_OF_GROUPS[setting]
    whole = np.stack([chances(*rest) * sizes[0], chances(*members) * sizes[1]]) / sum(sizes)
    seen = np.random.default_rng(seed).multinomial(sum(sizes), whole.ravel(), size=draws).reshape(-1, 2, 2, 2)
    return whole, seen


def gaps_of_an_identity(draws: int) -> Found:
    """Bootstrap of the counts; equalized odds from its two parts."""
    for setting in PAIRS_OF_GROUPS:
        whole, seen = tables_of(setting, draws)
        true, value = gaps(whole), gaps(seen)
        drawn = gaps(resample(seen, replicates=REPLICATES, seed=0, axes=3))
        for name in GAPS:
            if name == "equalized_odds_difference":
                parts = ("equal_opportunity_difference", "false_positive_rate_difference")
                values, both = np.stack([value[part] for part in parts]), np.stack([drawn[part] for part in parts], axis=1)
                low, high = largest_interval(values, partial(_bootstrap, values, both))
            else:
                low, high = percentiles(drawn[name])
            yield name, setting, held(low, high, true[name])


def earlier_gaps(draws: int) -> Found:
    """SPD, EOD, OAED and TED of two classes and two groups."""
    for setting in PAIRS_OF_GROUPS:
        whole, seen = tables_of(setting, draws, seed=8)
        true, ends = earlier_binary(whole), earlier_binary_intervals(seen)
        for name, key in {"SPD": "stat_parity", "EOD": "equal_opp", "OAED": "oae_diff", "TED": "te_diff"}.items():
            yield f"{name} (two groups)", setting, held(*ends[key], float(true[key]))


def worst_of_identities(draws: int) -> Found:
    """The largest |SPD| over 24 identities of 40 to 400 members."""
    random = np.random.default_rng(3)
    sizes = np.linspace(40, 400, 24).astype(int)
    settings = {
        "24 identities without any gap": np.full(24, 0.2),
        "one of 24 stands out": np.where(np.arange(24) == 12, 0.4, 0.2),
        "24 gaps of all sizes": np.linspace(0.1, 0.4, 24),
        "two of 24 equally bad": np.where(np.isin(np.arange(24), (5, 12)), 0.4, 0.2),
    }
    for setting, share in settings.items():
        found = []
        for _ in range(draws):
            members = random.binomial(sizes, share)
            rest = random.binomial(5000, 0.2, 24)
            cells = np.zeros((24, 2, 2, 2), np.int64)
            cells[:, :, 0, 0], cells[:, :, 0, 1] = np.stack([5000 - rest, sizes - members], 1), np.stack([rest, members], 1)
            value = gaps(cells)["statistical_parity_difference"]
            drawn = gaps(resample(cells, replicates=400, seed=0, axes=3))["statistical_parity_difference"]
            found.append(largest_interval(value, partial(_bootstrap, value, drawn)))
        low, high = np.array(found).T
        yield "worst |SPD|", setting, held(low, high, np.abs(share - 0.2).max())


def worst_group(draws: int) -> Found:
    """The smallest accuracy over groups."""
    random = np.random.default_rng(4)
    sizes = np.linspace(40, 400, 12).astype(int)
    settings = {
        "12 groups alike": np.full(12, 0.8),
        "one of 12 worse": np.where(np.arange(12) == 3, 0.6, 0.8),
        "12 groups of all accuracies": np.linspace(0.6, 0.9, 12),
    }
    for setting, share in settings.items():
        hits = random.binomial(sizes, share, (draws, 12))
        ends = smallest_interval(lambda level, hits=hits: _first_axis(wilson(hits, sizes, confidence=level)), number=12)
        yield "worst group accuracy", setting, held(*ends, share.min())


def spreads_of_groups(draws: int) -> Found:
    """Largest − smallest over groups, for each kind of metric."""
    random = np.random.default_rng(5)
    kinds = {
        "alike": lambda n: np.full(n, 0.7),
        "one lower": lambda n: np.where(np.arange(n) == 1, 0.5, 0.7),
        "of all kinds": lambda n: np.linspace(0.5, 0.8, n),
    }
    metrics = ("statistical_parity", "equal_opportunity", "overall_accuracy_equality", "treatment_equality_fp_over_fn")
    for number in (2, 5, 50):
        for kind, hits in kinds.items():
            whole = np.stack([chances(0.4, hit, 0.15) for hit in hits(number)])
            sizes = np.resize([150, 300, 600, 1000], number)
            seen = random.multinomial(sizes, whole.reshape(number, 4), size=(draws, number)).reshape(draws, number, 2, 2)
            for name in metrics:
                true = multigroup.spread(_last_class(name, whole)).value
                ends = np.array([spread_interval(_last_class(name, one), partial(_ends, name, one)) for one in seen])
                yield f"{name}_spread", f"{number} groups, {kind}", held(*ends.T, float(true))


def areas(draws: int) -> Found:
    """AUCs of scores of different shapes; `truth` is known in closed form or by a long count."""
    shapes: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[int, int]]] = {
        "normal, AUC 0.5, 40 and 60 rows": (_normal(0), _normal(0), (40, 60)),
        "normal, AUC 0.76, 50 and 200 rows": (_normal(1), _normal(0), (50, 200)),
        "normal, AUC 0.94, 30 and 2,000 rows": (_normal(2.2), _normal(0), (30, 2000)),
        "positives at both ends, AUC 0.55": (_both_ends, _normal(0), (60, 100)),
        "scores in five steps": (_steps(0.55), _steps(0.35), (80, 120)),
    }
    random = np.random.default_rng(2)
    for setting, (higher, lower, sizes) in shapes.items():
        true = _area(higher(random, 400_000), lower(random, 400_000))[0]
        ends = []
        for _ in range(draws):
            value, variance = _area(higher(random, sizes[0]), lower(random, sizes[1]))
            ends.append([float(end) for end in auc_interval(value, *sizes, variance=variance)])
        yield "an AUC", setting, held(*np.array(ends).T, true)


def calibration_errors(draws: int) -> Found:
    """Expected calibration error of scores that are right, a little off, and far off."""
    random = np.random.default_rng(6)
    settings = {
        "calibrated, 300 rows": (1.0, 300),
        "calibrated, 10,000 rows": (1.0, 10_000),
        "off by a tenth, 1,000 rows": (0.9, 1000),
        "off by half, 400 rows": (0.5, 400),
        "off by half, 10,000 rows": (0.5, 10_000),
    }
    for setting, (factor, rows) in settings.items():
        true = _calibration(random, factor, 4_000_000).expected_calibration_error if factor < 1 else 0.0
        ends = np.array([_calibration(random, factor, rows).error_interval() for _ in range(draws)])
        yield "expected calibration error", setting, held(*ends.T, true)


def final_metrics(draws: int) -> Found:
    """The Jigsaw final metric over overlapping identities, and its power means."""
    random = np.random.default_rng(9)
    for setting, (identities, rows) in {"5 identities, 3,000 rows": (5, 3000), "9 identities, 20,000 rows": (9, 20_000)}.items():
        true = _final(random, identities, 2_000_000)[0]
        found = [_final(random, identities, rows) for _ in range(draws)]
        for name in true:
            value, variance = (np.array([one[which][name] for one in found]) for which in (0, 1))
            yield name, setting, held(*logit_interval(value, variance), true[name])


def _final(random: np.random.Generator, identities: int, rows: int) -> tuple[dict[str, float], dict[str, float]]:
    truth = random.random(rows) < 0.15
    members = random.random((identities, rows)) < np.linspace(0.03, 0.2, identities)[:, None]
    shift = (members * np.linspace(-0.3, 0.8, identities)[:, None]).sum(axis=0)
    score = random.normal(1.5 * truth + shift * ~truth, 1)
    names = [f"identity {index}" for index in range(identities)]
    scores = ExactScores([score_part(score, truth, dict(zip(names, members, strict=True)))])
    bias = [scores.bias(name) for name in names]
    values = {name: [one[name] for one in bias] for name in AUCS}
    slopes = {name: power_mean_weights(values[name]) for name in AUCS}
    weights = {identity: {name: float(slopes[name][k]) for name in AUCS} for k, identity in enumerate(names)}
    variance = scores.variances(weights)
    return {"jigsaw_final": final_metric(scores.auc(), values)}, {"jigsaw_final": variance["all"] / 16}


def _calibration(random: np.random.Generator, factor: float, rows: int) -> Any:
    score = random.beta(1, 3, rows)
    truth = random.random(rows) < factor * score
    edges = np.linspace(0, 1, 1001)
    place = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, None)
    positive, negative = (np.bincount(place[side], minlength=1001) for side in (truth, ~truth))
    return reliability(edges, positive, negative, np.bincount(place, score, minlength=1001))


def _area(higher: np.ndarray, lower: np.ndarray) -> tuple[float, float]:
    values, place = np.unique(np.concatenate([higher, lower]), return_inverse=True)
    one, other = (np.bincount(part, minlength=len(values)) for part in (place[: len(higher)], place[len(higher) :]))
    return auc(one, other), delong(one, other)


def _normal(mean: float) -> Callable[..., Any]:
    return lambda random, rows: random.normal(mean, 1, rows)


def _both_ends(random: np.random.Generator, rows: int) -> Any:
    return np.where(random.random(rows) < 0.55, 5.0, -5.0) + random.normal(0, 0.1, rows)


def _steps(chance: float) -> Callable[..., Any]:
    return lambda random, rows: random.binomial(4, chance, rows).astype(float)


def _last_class(name: str, cells: Any) -> Any:
    return multigroup.METRICS[name](cells).reshape(-1, np.shape(cells)[0])[-1]


def _ends(name: str, cells: Any, confidence: float) -> Any:
    return tuple(end.reshape(-1, len(cells))[-1] for end in multigroup.interval(name, cells, confidence=confidence))


def _bootstrap(values: Any, draws: Any, confidence: float) -> Any:
    return bootstrap_interval(values, draws, confidence=confidence)


def _first_axis(ends: Any) -> Any:
    return tuple(end.T for end in ends)


FAMILIES = (
    rates_of_a_group,
    gaps_of_an_identity,
    earlier_gaps,
    worst_of_identities,
    worst_group,
    spreads_of_groups,
    areas,
    calibration_errors,
    final_metrics,
)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--only", default="")
    asked = parser.parse_args(sys.argv[1:] if __name__ == "__main__" else [])
    print("| interval of | setting | held the truth |")
    print("|---|---|---|")
    for family in FAMILIES:
        if asked.only in family.__name__:
            for what, setting, share in family(asked.draws):
                print(f"| {what} | {setting} | {share:.1%} |", flush=True)


if __name__ == "__main__":
    main()
