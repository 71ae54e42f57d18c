"""Does a score of 0.7 mean seven in ten, in every group alike? Reliability per bin, and its average distance from the diagonal."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairwitness.metrics.intervals import wilson
from fairwitness.metrics.rates import FloatArray, ratio


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


def reliability(values: Any, positive: Any, negative: Any, *, bins: int = 10, confidence: float = 0.95) -> Reliability:
    """Reliability from histograms of probabilities: `values` ascending in [0, 1], and how many positives and negatives have each.

    A bin holds [lower edge, upper edge), the last also 1. An empty bin's mean and share are NaN.

    >>> found = reliability([0.2, 0.8], [1, 3], [3, 1], bins=2)
    >>> found.positive_share.tolist(), round(found.expected_calibration_error, 3)
    ([0.25, 0.75], 0.05)
    """
    values, positive, negative = (np.asarray(part, float) for part in (values, positive, negative))
    place = np.minimum((values * bins).astype(int), bins - 1)
    n = np.bincount(place, positive + negative, minlength=bins).astype(float)
    hits = np.bincount(place, positive, minlength=bins)
    total = np.bincount(place, values * (positive + negative), minlength=bins)
    low, high = wilson(hits, n, confidence=confidence)
    return Reliability(np.linspace(0, 1, bins + 1), n, ratio(total, n), ratio(hits, n), low, high)
