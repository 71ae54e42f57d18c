"""How rates and gaps move when the decision threshold does, from histograms of scores."""

from typing import Any

import numpy as np

from fairwitness.metrics.counts import IntArray
from fairwitness.metrics.rates import FloatArray


def threshold_grid(values: Any, *, points: int = 101) -> FloatArray:
    """Thresholds to sweep over: evenly over [0, 1] for probabilities, else evenly from the lowest score to the highest.

    >>> threshold_grid([0.1, 0.9], points=3).tolist()
    [0.0, 0.5, 1.0]
    """
    values = np.asarray(values, float)
    if not len(values):
        return np.array([])
    inside = values[0] >= 0 and values[-1] <= 1
    return np.linspace(0, 1, points) if inside else np.linspace(values[0], values[-1], points)


def cells_at(values: Any, positive: Any, negative: Any, thresholds: Any) -> IntArray:
    """Counts [threshold, truth, prediction] when score ≥ threshold is called positive. `values` are ascending.

    >>> cells_at([0.2, 0.8], [0, 1], [2, 1], [0.5]).tolist()
    [[[2, 1], [0, 1]]]
    """
    place = np.searchsorted(np.asarray(values), np.asarray(thresholds), side="left")
    rows = []
    for counts in (np.asarray(negative), np.asarray(positive)):
        missed = np.concatenate([[0], np.cumsum(counts)])[place]
        rows.append(np.stack([missed, counts.sum() - missed], axis=-1))
    return np.stack(rows, axis=-2).astype(np.int64)
