"""How far AUCs and sums of them would move in another sample: DeLong's variance, from counts of scores per bin.

A row moves an AUC by how far its own share of beaten rows lies from the AUC. Adding up what a row moves in all AUCs it takes part
in gives the variance of any combination of them, such as the Jigsaw final metric, whose identities overlap.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairwitness.metrics.bias_auc import AUCS, GroupScores, below
from fairwitness.metrics.rates import FloatArray

# metric → (the set that should score higher, the other), as fields of GroupScores. An equality gap is such an AUC less one half.
PAIRS = {
    "subgroup_auc": ("subgroup_positive", "subgroup_negative"),
    "bpsn_auc": ("background_positive", "subgroup_negative"),
    "bnsp_auc": ("subgroup_positive", "background_negative"),
    "positive_aeg": ("subgroup_positive", "background_positive"),
    "negative_aeg": ("subgroup_negative", "background_negative"),
}


def influence(higher: Any, lower: Any) -> tuple[FloatArray, FloatArray]:
    """How much a row in each bin moves AUC(higher, lower): for rows of the one set, and of the other. NaN where one is empty."""
    higher, lower = np.asarray(higher, float), np.asarray(lower, float)
    m, n = higher.sum(), lower.sum()
    if not m or not n:
        return np.full(len(higher), np.nan), np.full(len(lower), np.nan)
    beaten = below(lower) / n
    beating = (m - below(higher)) / m
    area = float(beaten @ higher) / m
    return (beaten - area) / m, (beating - area) / n


def delong(higher: Any, lower: Any) -> float:
    """DeLong's variance (1988) of AUC(higher, lower), from counts per bin; NaN where one set has fewer than two rows.

    >>> round(delong(np.array([0, 1, 1, 2]), np.array([2, 1, 1, 0])), 6)
    0.015625
    """
    m, n = float(np.sum(higher)), float(np.sum(lower))
    if m < 2 or n < 2:
        return float("nan")
    one, other = influence(higher, lower)
    return float((one**2 @ higher) * m / (m - 1) + (other**2 @ lower) * n / (n - 1))


def bias_variances(scores: GroupScores) -> dict[str, float]:
    """DeLong's variance of the three bias AUCs and the two equality gaps of one identity."""
    return {name: delong(getattr(scores, one), getattr(scores, other)) for name, (one, other) in PAIRS.items()}


def power_mean_weights(values: Sequence[float] | FloatArray, power: float = -5) -> FloatArray:
    """How fast the power mean moves with each value: v^(p−1) M^(1−p) / N; NaN where a value is 0 and the power is not above 1."""
    values = np.asarray(values, float)
    if not len(values):
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.mean(values**power) ** (1 / power)
        return np.asarray(values ** (power - 1) * mean ** (1 - power) / len(values), float)


def moved_by_identity(scores: GroupScores, weights: Mapping[str, float]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """For each bias AUC, times its weight: what members and what the background move, each [truth, bin]."""
    found = {}
    for name in AUCS:
        tables = {
            "subgroup": np.zeros((2, len(scores.subgroup_positive))),
            "background": np.zeros((2, len(scores.subgroup_positive))),
        }
        moved = influence(*(getattr(scores, side) for side in PAIRS[name]))
        for side, amount in zip(PAIRS[name], moved, strict=True):
            who, truth = side.rsplit("_", 1)
            tables[who][int(truth == "positive")] = weights[name] * amount
        found[name] = tables["subgroup"], tables["background"]
    return found
