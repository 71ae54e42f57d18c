"""Estimated maximum variability: how much the checkpoints of a filter model disagree about a text, and whom that selects."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairwitness.errors import EvidenceError, InputError


def estimated_max_variability(scores: ArrayLike) -> NDArray[np.float64]:
    """v(x) = max over labels l of the standard deviation over checkpoints k of p_kl(x).

    `scores` is [checkpoint, item, label]; p_kl is the sigmoid of logit l, each label for itself; the deviation is the population's
    (ddof = 0). Range 0 to 0.5. Undefined with fewer than two checkpoints (an EvidenceError: one model cannot disagree with itself).

    >>> estimated_max_variability([[[0.2, 0.9]], [[0.4, 0.3]]]).round(6).tolist()
    [0.3]
    """
    return np.asarray(label_variability(scores).max(axis=1))


def label_variability(scores: ArrayLike) -> NDArray[np.float64]:
    """The standard deviation (ddof = 0) over checkpoints, per item and label: [item, label]. Undefined below two checkpoints."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 3:
        raise InputError(f"Scores of shape [checkpoint, item, label] were expected, not {array.shape}.")
    if array.shape[0] < 2:
        raise EvidenceError(
            f"Variability needs at least two checkpoints, and there {'is one' if array.shape[0] else 'are none'}. "
            "Train with a checkpoint per epoch: fairwitness kosbi train-filter --checkpoint_save_top_k -1"
        )
    if not np.isfinite(array).all():
        raise EvidenceError("A checkpoint gave a score that is not a finite number; variability over it is undefined.")
    return np.asarray(array.std(axis=0))


def most_variable_of_each(units: Sequence[Hashable], values: ArrayLike, size: int) -> list[int]:
    """The published selection: of every `size` items of a unit, in order, the position of the most variable (the first on a tie).

    A unit (a context) that has fewer than `size` items left still gives one.

    >>> most_variable_of_each(["a", "a", "a", "b", "b"], [0.1, 0.3, 0.3, 0.2, 0.1], 3)
    [1, 3]
    """
    variability = np.asarray(values, dtype=np.float64)
    by_unit: dict[Hashable, list[int]] = {}
    for position, unit in enumerate(units):
        by_unit.setdefault(unit, []).append(position)
    chunks = [members[start : start + size] for members in by_unit.values() for start in range(0, len(members), size)]
    return [chunk[int(np.argmax(variability[chunk]))] for chunk in chunks]


def most_variable(values: ArrayLike, number: int) -> list[int]:
    """The positions of the `number` most variable items, most variable first, earlier first on a tie.

    >>> most_variable([0.1, 0.3, 0.3, 0.2], 3)
    [1, 2, 3]
    """
    variability = np.asarray(values, dtype=np.float64)
    return [int(position) for position in np.argsort(-variability, kind="stable")[:number]]
