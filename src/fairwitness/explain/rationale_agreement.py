"""How well attributions agree with the words people marked as their reason.

All three numbers compare values per word with 0/1 marks per word, for one text; each has its chance level beside it: what words in
a random order would get on average. Sources: DeYoung et al. 2020 (ERASER) for token F1 and IOU; average precision as in scikit.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Agreement(NamedTuple):
    """One text. All in [0, 1]; NaN where no word, or every word, is marked."""

    auprc: float
    token_f1: float
    iou: float
    chance_auprc: float
    chance_token_f1: float
    chance_iou: float


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

    >>> agreement([5.0, 1.0, 0.0, 4.0], [1, 0, 0, 1], length=0.5)[:3]
    (1.0, 1.0, 1.0)
    """
    values, marked = np.asarray(values, dtype=float), np.asarray(marks).astype(bool)
    if not marked.any() or marked.all():
        return Agreement(*[float("nan")] * 6)
    n = max(1, round(length * len(values)))
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argsort(-values, kind="stable")[:n]] = True
    both, either = int((chosen & marked).sum()), int((chosen | marked).sum())
    f1 = 2 * both / (int(chosen.sum()) + int(marked.sum()))
    return Agreement(average_precision(values, marked), f1, both / either, *chance(len(values), int(marked.sum()), n))


def chance(words: int, marked: int, chosen: int) -> tuple[float, float, float]:
    """What a random order gets on average (AUPRC, token F1, IOU): `marked` of `words` are marked, the first `chosen` are taken.

    >>> chance(2, 1, 1)
    (0.75, 0.5, 0.5)
    """
    # A marked word at place k has (k − 1)(marked − 1)/(words − 1) marked words before it.
    before = (marked - 1) / (words - 1) if words > 1 else 0.0
    precision = sum((1 + (place - 1) * before) / place for place in range(1, words + 1)) / words
    overlap = 2 * (chosen * marked / words) / (chosen + marked)
    both = range(max(0, chosen + marked - words), min(chosen, marked) + 1)
    ways = [math.comb(marked, k) * math.comb(words - marked, chosen - k) for k in both]
    shared = sum(k / (chosen + marked - k) * way for k, way in zip(both, ways, strict=True)) / sum(ways)
    return precision, overlap, shared
