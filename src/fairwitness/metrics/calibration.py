"""Does a score of 0.7 mean seven in ten, in every group alike? Reliability per bin, and its average distance from the diagonal."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairwitness.metrics.intervals import wilson
from fairwitness.metrics.rates import FloatArray, ratio
from fairwitness.metrics.sweeps import CALIBRATION_BINS


@dataclass(frozen=True)
class Reliability:
    """Per bin of equal width over [0, 1]: rows, mean score, share that is truly positive with its Wilson interval."""

    edges: FloatArray
    n: FloatArray
    mean_score: FloatArray
    positive_share: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def expected_calibration_error(self) -> float:
        """Σ_b n_b/n · |positive share_b − mean score_b|, in [0, 1]; empty bins count for nothing, NaN without rows."""
        gap = np.abs(self.positive_share - self.mean_score)
        return float(ratio(np.where(self.n > 0, gap * self.n, 0).sum(), self.n.sum()))


def reliability(
    edges: Any, positive: Any, negative: Any, score_sum: Any, *, bins: int = CALIBRATION_BINS, confidence: float = 0.95
) -> Reliability:
    """Reliability from counts of probabilities per fine bin, of which `edges` are the lower ends; `score_sum` adds up scores.

    A bin holds [lower edge, upper edge), the last also 1. An empty bin's mean and share are NaN.

    >>> found = reliability([0.2, 0.8], [1, 3], [3, 1], [0.8, 3.2], bins=2)
    >>> found.positive_share.tolist(), round(found.expected_calibration_error, 3)
    ([0.25, 0.75], 0.05)
    """
    positive, everyone = np.asarray(positive, float), np.asarray(positive, float) + np.asarray(negative, float)
    limits = np.linspace(0, 1, bins + 1)
    place = np.clip(np.searchsorted(limits, np.asarray(edges, float), side="right") - 1, 0, bins - 1)
    n = np.bincount(place, everyone, minlength=bins).astype(float)
    hits = np.bincount(place, positive, minlength=bins)
    total = np.bincount(place, np.asarray(score_sum, float), minlength=bins)
    low, high = wilson(hits, n, confidence=confidence)
    return Reliability(limits, n, ratio(total, n), ratio(hits, n), low, high)
