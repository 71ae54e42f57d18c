"""How rates and gaps move when the decision threshold does, from counts of scores per bin."""

from typing import Any

import numpy as np

from fairwitness.metrics.counts import IntArray
from fairwitness.metrics.rates import FloatArray

# Bins of the reliability table, thresholds of the squared equality gaps, and points of a curve that is drawn.
CALIBRATION_BINS = 10
SQUARED_GAP_THRESHOLDS = 1000
_CURVE_POINTS = 256


def threshold_grid(lowest: float, highest: float, *, points: int = 101) -> FloatArray:
    """Thresholds to sweep over: evenly over [0, 1] for probabilities, else evenly from the lowest score to the highest.

    >>> threshold_grid(0.1, 0.9, points=3).tolist()
    [0.0, 0.5, 1.0]
    """
    return np.linspace(0, 1, points) if lowest >= 0 and highest <= 1 else np.linspace(lowest, highest, points)


def cut_points(ranked: FloatArray) -> FloatArray:
    """Every score at which any table or curve looks, as lower edges of bins; the first is at or below the lowest score."""
    if not len(ranked):
        return np.array([])
    lowest, highest = float(ranked[0]), float(ranked[-1])
    places = np.linspace(0, len(ranked), _CURVE_POINTS, endpoint=False).astype(int)
    points = [ranked[places], threshold_grid(lowest, highest), [lowest]]
    if lowest >= 0 and highest <= 1:
        points += [np.linspace(1, 0, SQUARED_GAP_THRESHOLDS), np.linspace(0, 1, CALIBRATION_BINS + 1)]
    return np.unique(np.concatenate(points))


def cells_at(edges: Any, positive: Any, negative: Any, thresholds: Any) -> IntArray:
    """Counts [threshold, truth, prediction] when score ≥ threshold is called positive; exact for thresholds among the edges.

    >>> cells_at([0.2, 0.5, 0.8], [0, 0, 1], [2, 0, 1], [0.5]).tolist()
    [[[2, 1], [0, 1]]]
    """
    place = np.searchsorted(np.asarray(edges), np.asarray(thresholds), side="left")
    rows = []
    for counts in (np.asarray(negative), np.asarray(positive)):
        missed = np.concatenate([[0], np.cumsum(counts)])[place]
        rows.append(np.stack([missed, counts.sum() - missed], axis=-1))
    return np.stack(rows, axis=-2).astype(np.int64)
