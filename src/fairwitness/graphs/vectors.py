"""Fixed vectors for words: a stand-in for the published sentence vectors where their file is not at hand.

Each value gets its own direction, drawn from a generator seeded with the value's hash, of length 1 like the published ones.
Equal values have equal vectors everywhere; near values are not near.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

WIDTH = 200


def value_vectors(values: Sequence[str], width: int = WIDTH) -> np.ndarray[Any, Any]:
    """One unit vector a value, float32 [len(values), width].

    >>> vectors = value_vectors(["a", "b", "a"], width=4)
    >>> bool((vectors[0] == vectors[2]).all()), vectors.shape
    (True, (3, 4))
    """
    out = np.empty((len(values), width), dtype=np.float32)
    for row, value in enumerate(values):
        seed = int.from_bytes(hashlib.blake2b(value.encode(), digest_size=8).digest(), "little")
        vector = np.random.default_rng(seed).standard_normal(width)
        out[row] = vector / np.linalg.norm(vector)
    return out
