"""How good a filter model is: accuracy and macro-F1 with intervals, overall and per category, as a table of measurements."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwitness.metrics.intervals import percentiles, resample, wilson

Integers = NDArray[np.int64]


def measure(truth: Any, predicted: Any, categories: Sequence[str], *, replicates: int = 1000, seed: int = 0) -> pl.DataFrame:
    """Rows of `metric`, `attribute`, `group`, `value`, `low`, `high`, `n`: accuracy (Wilson), macro-F1 (bootstrap of counts).

    >>> measure([0, 1, 1, 0], [0, 1, 0, 0], ["a", "a", "b", "b"])["value"].round(3).to_list()[:2]
    [0.75, 0.733]
    """
    truth, predicted = np.asarray(truth, np.int64), np.asarray(predicted, np.int64)
    names = np.asarray(categories, dtype=str)
    rows = _rows("", "", _cells(truth, predicted), replicates, seed)
    for name in sorted(set(categories)):
        inside = names == name
        rows += _rows("category", name, _cells(truth[inside], predicted[inside]), replicates, seed)
    return pl.DataFrame(rows)


def macro_f1(cells: Any) -> NDArray[np.float64]:
    """The mean of both classes' F1, from counts [..., truth, predicted]: F1 = 2·TP / (2·TP + FP + FN).

    Undefined (NaN) where a class neither occurs nor is predicted.

    >>> float(macro_f1([[1, 1], [0, 2]]).round(4))
    0.7333
    """
    counts = np.asarray(cells, np.float64)
    hit = np.diagonal(counts, axis1=-2, axis2=-1)
    total = counts.sum(axis=-1) + counts.sum(axis=-2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(total > 0, 2 * hit / total, np.nan).mean(axis=-1))


def _cells(truth: Integers, predicted: Integers) -> Integers:
    return np.bincount(truth * 2 + predicted, minlength=4).reshape(2, 2)


def _rows(attribute: str, group: str, cells: Integers, replicates: int, seed: int) -> list[dict[str, Any]]:
    number, right = int(cells.sum()), int(np.trace(cells))
    low, high = wilson(right, number)
    f1_low, f1_high = percentiles(macro_f1(resample(cells, replicates=replicates, seed=seed, axes=2)))
    place = {"attribute": attribute, "group": group}
    accuracy = right / number if number else float("nan")
    return [
        {"metric": "accuracy", **place, "value": accuracy, "low": float(low), "high": float(high), "n": number},
        {"metric": "macro_f1", **place, "value": float(macro_f1(cells)), "low": float(f1_low), "high": float(f1_high), "n": number},
    ]
