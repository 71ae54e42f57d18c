"""How well attributions agree with the words people marked as their reason.

All three numbers compare values per word with 0/1 marks per word, for one text; each has its chance level beside it: the share
of words that are marked. Sources: DeYoung et al. 2020 (ERASER) for token F1 and IOU; average precision as in scikit-learn.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Agreement(NamedTuple):
    """One text. All in [0, 1]; NaN where no word, or every word, is marked."""

    auprc: float
    token_f1: float
    iou: float
    marked: float


def average_precision(values: np.ndarray, marks: np.ndarray) -> float:
    """Area under precision over recall when words are taken in order of falling value; ties are taken together.

    In (0, 1]. Undefined (NaN) without a marked word.

    >>> average_precision(np.array([3.0, 2.0, 1.0]), np.array([1, 0, 1]))
    0.8333333333333333
    """
    marks = np.asarray(marks, dtype=bool)
    if not marks.any():
        return float("nan")
    order = np.argsort(-values, kind="stable")
    ordered = np.asarray(values)[order]
    hits = np.cumsum(marks[order])
    last = np.r_[ordered[1:] != ordered[:-1], True]
    hits, taken = hits[last], (np.arange(len(values)) + 1)[last]
    recall = hits / marks.sum()
    return float(np.sum(np.diff(np.r_[0.0, recall]) * hits / taken))


def agreement(values: Sequence[float] | np.ndarray, marks: Sequence[int] | np.ndarray, *, length: float) -> Agreement:
    """Compare one text's word values with its marks.

    `length` is the share of words taken as the model's reason (at least one word): the average share people marked.

    >>> agreement([5.0, 1.0, 0.0, 4.0], [1, 0, 0, 1], length=0.5)
    Agreement(auprc=1.0, token_f1=1.0, iou=1.0, marked=0.5)
    """
    values, marked = np.asarray(values, dtype=float), np.asarray(marks).astype(bool)
    if not marked.any() or marked.all():
        return Agreement(float("nan"), float("nan"), float("nan"), float(marked.mean()) if len(marked) else float("nan"))
    n = max(1, round(length * len(values)))
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argsort(-values, kind="stable")[:n]] = True
    both, either = int((chosen & marked).sum()), int((chosen | marked).sum())
    f1 = 2 * both / (int(chosen.sum()) + int(marked.sum()))
    return Agreement(average_precision(values, marked), f1, both / either, float(marked.mean()))
