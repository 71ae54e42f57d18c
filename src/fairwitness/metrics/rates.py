"""Rates of one group, from its 2 × 2 counts. Every rate is a numerator over a denominator, so every rate has its interval.

`cells[..., truth, prediction]` with 1 for the positive class; any number of leading axes (identities, groups, replicates).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Shares of rows: their intervals are binomial. F1 counts its true positives twice, so it is not among them.
SHARES = (
    "accuracy",
    "precision",
    "true_positive_rate",
    "false_positive_rate",
    "true_negative_rate",
    "false_negative_rate",
    "positive_rate",
    "base_rate",
)
RATES = (*SHARES, "f1")


def fractions(cells: Any) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
    """Numerator and denominator of every rate.

    accuracy (TP+TN)/n · precision TP/(TP+FP) · true positive rate (recall) TP/(TP+FN) · false positive rate FP/(FP+TN) ·
    true negative rate TN/(FP+TN) · false negative rate FN/(TP+FN) · positive rate (TP+FP)/n · base rate (TP+FN)/n ·
    F1 2TP/(2TP+FP+FN).
    """
    cells = np.asarray(cells)
    tn, fp, fn, tp = cells[..., 0, 0], cells[..., 0, 1], cells[..., 1, 0], cells[..., 1, 1]
    n, positives, negatives, called = tn + fp + fn + tp, tp + fn, fp + tn, tp + fp
    return {
        "accuracy": (tp + tn, n),
        "precision": (tp, called),
        "true_positive_rate": (tp, positives),
        "false_positive_rate": (fp, negatives),
        "true_negative_rate": (tn, negatives),
        "false_negative_rate": (fn, positives),
        "positive_rate": (called, n),
        "base_rate": (positives, n),
        "f1": (2 * tp, called + positives),
    }


def rates(cells: Any) -> dict[str, FloatArray]:
    """Every rate, each in [0, 1]; NaN where its denominator is 0 (no positives: no true positive rate, and so on).

    Equal to scikit-learn's accuracy_score, precision_score, recall_score, f1_score and fairlearn's selection_rate and
    *_positive_rate wherever those are defined.

    >>> found = rates([[50, 10], [5, 35]])
    >>> float(found["true_positive_rate"]), float(found["positive_rate"])
    (0.875, 0.45)
    >>> float(rates([[50, 10], [0, 0]])["true_positive_rate"])
    nan
    """
    return {name: ratio(above, below) for name, (above, below) in fractions(cells).items()}


def ratio(above: Any, below: Any) -> FloatArray:
    """above / below, NaN where below is 0 or undefined. Nothing is ever added to a denominator.

    >>> ratio([1, 1], [2, 0]).tolist()
    [0.5, nan]
    """
    below = np.asarray(below, float)
    # Whatever is divided by NaN is NaN, without a warning.
    return np.asarray(np.asarray(above, float) / np.where(below == 0, np.nan, below))
