"""Who trains, who validates, who is tested: the two published ways of drawing the parts, from a seed.

Only users with a label take part. The parts are positions in the user table, so they name the same users everywhere.
"""

from dataclasses import dataclass

import numpy as np

from fairwitness.errors import InputError
from fairwitness.graphs.user_graph import Array

METHODS = ("catgcn", "rhgn")


@dataclass(frozen=True)
class Split:
    """Rows of the user table, ascending in each part; no row is in two parts."""

    train: Array
    validation: Array
    test: Array

    def names(self, n_users: int) -> Array:
        """The part of every user as a word; "none" for users in no part."""
        out = np.full(n_users, "none", dtype="<U10")
        out[self.train], out[self.validation], out[self.test] = "train", "validation", "test"
        return out


def draw(rows: Array, seed: int, *, train_ratio: float, method: str) -> Split:
    """Split rows into train and two halves of the rest.

    `catgcn` draws as scikit-learn's train_test_split does, twice, with the same seed; `rhgn` cuts one permutation. Both use
    numpy's legacy generator, so that a seed gives the published parts for the same rows.

    >>> parts = draw(np.arange(403), 11, train_ratio=0.8, method="catgcn")
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (322, 40, 41)
    """
    if not 0 < train_ratio < 1:
        raise InputError(
            f"--train-ratio is {train_ratio}; it lies between 0 and 1, and what it leaves is halved for validation and test."
        )
    n = len(rows)
    if method == "catgcn":
        train, rest = _cut(rows, seed, 1 - train_ratio)
        validation, test = _cut(rest, seed, 0.5) if len(rest) > 1 else (rest[:0], rest)
    else:
        order = rows[np.random.RandomState(seed).permutation(n)]
        first, second = int(n * train_ratio), int(n * (train_ratio + (1 - train_ratio) / 2))
        train, validation, test = order[:first], order[first:second], order[second:]
    split = Split(np.sort(train), np.sort(validation), np.sort(test))
    for name, part in (("train", train), ("validation", validation), ("test", test)):
        if len(part) == 0:
            raise InputError(
                f"The {name} part is empty: {n} labelled users at --train-ratio {train_ratio}. Use more users or another ratio."
            )
    return split


def _cut(rows: Array, seed: int, test_size: float) -> tuple[Array, Array]:
    """Shuffle and cut: the tail trains, the head (rounded up) is held out."""
    n_out = int(np.ceil(test_size * len(rows)))
    order = np.random.RandomState(seed).permutation(len(rows))
    return rows[order[n_out:]], rows[order[:n_out]]
