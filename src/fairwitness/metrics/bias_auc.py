"""How well a score separates the classes within and across groups (Borkan et al. 2019), from histograms of scores.

D+ and D− are the positive and negative rows, g a subgroup, ḡ its background. Rows are sorted by score once; after that each
identity costs a few running sums. A histogram over distinct scores is exact; one over bins is right up to ties within a bin.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairwitness.metrics.rates import FloatArray, ratio
from fairwitness.metrics.sweeps import SQUARED_GAP_THRESHOLDS

Histogram = NDArray[Any]


@dataclass(frozen=True)
class GroupScores:
    """Counts per score value (ascending) of a subgroup's and its background's positives and negatives."""

    subgroup_positive: Histogram
    subgroup_negative: Histogram
    background_positive: Histogram
    background_negative: Histogram


AUCS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
EQUALITY_GAPS = ("positive_aeg", "negative_aeg")


def bias_aucs(scores: GroupScores) -> dict[str, float]:
    """The three AUCs and the two average equality gaps of one identity.

    subgroup_auc  AUC(D+_g, D−_g): does the score separate within the subgroup?                        [0, 1]
    bpsn_auc      AUC(D+_ḡ, D−_g): low when the subgroup's harmless rows score like others' harmful.   [0, 1]
    bnsp_auc      AUC(D+_g, D−_ḡ): low when the subgroup's harmful rows score like others' harmless.   [0, 1]
    positive_aeg  0.5 − U(D+_ḡ, D+_g)/(n m): above 0 when the subgroup's harmful rows score higher.    [−½, ½]
    negative_aeg  0.5 − U(D−_ḡ, D−_g)/(n m): the same for harmless rows.                               [−½, ½]

    U counts pairs in which the first scores higher, ties as one half. NaN where one of the two sets is empty.
    """
    s1, s0 = scores.subgroup_positive, scores.subgroup_negative
    b1, b0 = scores.background_positive, scores.background_negative
    below_s0, below_b0, below_b1 = below(s0), below(b0), below(b1)
    return {
        "subgroup_auc": _share(below_s0, s1, s0),
        "bpsn_auc": 1 - _share(below_b1, s0, b1),
        "bnsp_auc": _share(below_b0, s1, b0),
        "positive_aeg": _share(below_b1, s1, b1) - 0.5,
        "negative_aeg": _share(below_b0, s0, b0) - 0.5,
    }


def auc(positive: Histogram, negative: Histogram) -> float:
    """Area under the ROC curve from two histograms over the same scores; NaN where one is empty. Equal to scikit-learn's.

    >>> auc(np.array([0, 1, 1]), np.array([1, 1, 0]))
    0.875
    """
    return _share(below(negative), positive, negative)


def tie_bound(higher: Histogram, lower: Histogram) -> float:
    """How far an AUC from bins can be from the exact one: half the share of pairs that fall into one bin; NaN without pairs.

    >>> tie_bound(np.array([1, 1]), np.array([0, 4]))
    0.25
    """
    pairs = float(np.sum(higher)) * float(np.sum(lower))
    return float(np.dot(np.asarray(higher, float), lower)) / (2 * pairs) if pairs else float("nan")


def below(histogram: Histogram) -> FloatArray:
    """For each score, how many of a set score lower, those with the same score counting half."""
    counts = np.asarray(histogram, float)
    return np.cumsum(counts) - counts / 2


def squared_equality_gaps(scores: GroupScores, edges: Any) -> dict[str, float]:
    """Average squared equality gaps of the archived Jigsaw code: how far the two groups' rate curves lie apart.

    positive_aseg = ∫ (TPR_g − TPR_ḡ)² d TPR_ḡ over 1,000 thresholds from 1 to 0 (trapezoids), negative_aseg the same with
    FPR; a row counts as positive when score ≥ threshold. `edges` are the histograms' lower ends and should hold all
    thresholds. For scores in [0, 1]; NaN where a set is empty.
    """
    thresholds = np.linspace(1, 0, SQUARED_GAP_THRESHOLDS)
    place = np.searchsorted(np.asarray(edges), thresholds, side="left")
    pairs = {
        "positive_aseg": (scores.subgroup_positive, scores.background_positive),
        "negative_aseg": (scores.subgroup_negative, scores.background_negative),
    }
    return {name: _squared_gap(one, other, place) for name, (one, other) in pairs.items()}


def power_mean(values: Sequence[float] | FloatArray, power: float = -5) -> float:
    """Generalised mean (1/N Σ v^p)^(1/p); with p = −5 the worst values weigh most. NaN for no values, or an undefined one.

    >>> round(power_mean([0.93, 0.88, 0.91, 0.85, 0.97]), 6)
    0.902454
    """
    values = np.asarray(values, float)
    if not len(values) or np.isnan(values).any():
        return float("nan")
    if (values == 0).any() and power < 0:
        return 0.0
    return float(np.mean(values**power) ** (1 / power))


def final_metric(overall: float, per_identity: Mapping[str, Sequence[float]], *, power: float = -5) -> float:
    """The Jigsaw competition's number: 0.25 · overall AUC + 0.25 · Σ over the three bias AUCs of their power mean, in [0, 1].

    Undefined when the overall AUC or any identity's AUC is: leave such identities out knowingly, never silently.
    """
    return 0.25 * overall + 0.25 * sum(power_mean(per_identity[name], power) for name in AUCS)


def roc(positive: Histogram, negative: Histogram) -> tuple[FloatArray, FloatArray]:
    """False and true positive rates from the highest threshold to the lowest, starting at (0, 0)."""

    def rate(counts: Histogram) -> FloatArray:
        return np.concatenate([[0.0], ratio(np.cumsum(counts[::-1]), counts.sum())])

    return rate(np.asarray(negative)), rate(np.asarray(positive))


def _share(below_other: FloatArray, counts: Histogram, other: Histogram) -> float:
    """Share of pairs (one of `counts`, one of `other`) in which the first scores higher."""
    pairs = float(counts.sum()) * float(other.sum())
    return float(np.dot(below_other, counts)) / pairs if pairs else float("nan")


def _squared_gap(one: Histogram, other: Histogram, place: NDArray[Any]) -> float:
    if not one.sum() or not other.sum():
        return float("nan")
    at_least = [np.append(np.cumsum(counts[::-1])[::-1], 0)[place] / counts.sum() for counts in (one, other)]
    return float(np.trapezoid((at_least[0] - at_least[1]) ** 2, at_least[1]))
