"""Does a score of 0.7 mean seven in ten, in every group alike? Reliability per bin, and its average distance from the diagonal."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairwitness.metrics.intervals import normal_quantile, wilson
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
    # Σ(truth − score)² per bin as seen, and as a calibrated score would have it: what the error's interval is made from.
    squares: FloatArray
    expected_squares: FloatArray

    @property
    def expected_calibration_error(self) -> float:
        """Σ_b n_b/n · |positive share_b − mean score_b|, in [0, 1]; empty bins count for nothing, NaN without rows."""
        gap = np.abs(self.positive_share - self.mean_score)
        return float(ratio(np.where(self.n > 0, gap * self.n, 0).sum(), self.n.sum()))

    def error_interval(self, *, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of the calibration error; NaN without rows.

        The error seen is too large on average, since chance distances do not cancel: a perfect score has one above 0. It is the
        largest of Σ ± distance over all signs, so its upper end is an ordinary one, Ê + z·SE; its lower end counts only bins
        whose distance surely is not 0 (all bins together, Bonferroni), less z·SE of those, and is 0 where there are none.
        """
        rows = self.n.sum()
        if not rows:
            return float("nan"), float("nan")
        distance = np.nan_to_num(self.n * (self.positive_share - self.mean_score)) / rows
        variance = np.clip(self.squares / rows**2 - distance**2 / rows, 0, None)
        bins = np.count_nonzero(self.n)
        if_calibrated = np.sqrt(np.maximum(variance, self.expected_squares / rows**2))
        sure = np.abs(distance) > normal_quantile(1 - (1 - confidence) / bins) * if_calibrated
        z, size = normal_quantile(confidence), np.abs(distance)
        low = size[sure].sum() - z * np.sqrt(_spread_of(size[sure], self.squares[sure], rows))
        high = size.sum() + z * np.sqrt(_spread_of(size, self.squares, rows))
        return float(max(low, 0.0)), float(min(high, 1.0))


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
    mean = np.nan_to_num(ratio(score_sum, everyone))
    squares = np.bincount(place, positive * (1 - mean) ** 2 + (everyone - positive) * mean**2, minlength=bins).astype(float)
    expected = np.bincount(place, everyone * mean * (1 - mean), minlength=bins).astype(float)
    return Reliability(limits, n, ratio(total, n), ratio(hits, n), low, high, squares, expected)


def _spread_of(size: FloatArray, squares: FloatArray, rows: float) -> float:
    """Variance of a sum over bins of ±(truth − score), averaged over all rows."""
    return float(max(squares.sum() / rows - size.sum() ** 2, 0) / rows)
