"""Labels and sensitive attributes as codes 0…K−1 beside the values they stand for.

The values may be any whole numbers or words; a missing value has the code −1 and is never turned into a group.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fairwitness.errors import InputError

MOST_CLASSES = 1000


@dataclass(frozen=True)
class Codes:
    """`values[codes[i]]` is user i's value; −1 where it is missing. Values are sorted, numbers by size."""

    values: tuple[Any, ...]
    codes: np.ndarray[Any, Any]

    @property
    def n_missing(self) -> int:
        """How many users have no value."""
        return int((self.codes < 0).sum())

    def take(self, rows: np.ndarray[Any, Any]) -> "Codes":
        """The same values for other rows."""
        return Codes(self.values, self.codes[rows])

    def decoded(self) -> list[Any]:
        """The values again, None where missing."""
        return [None if code < 0 else self.values[code] for code in self.codes.tolist()]


def encode(column: pa.ChunkedArray | pa.Array | np.ndarray[Any, Any], name: str, where: object) -> Codes:
    """Codes of a column. Floats that are whole numbers count as whole numbers; NaN and null as missing.

    >>> encode(pa.array(["b", None, "a"]), "x", "here")
    Codes(values=('a', 'b'), codes=array([ 1, -1,  0]))
    """
    array = pa.chunked_array([pa.array(column)]) if not isinstance(column, pa.ChunkedArray) else column
    missing = np.asarray(array.is_null(nan_is_null=True).to_numpy())
    present = np.asarray(array.drop_null().to_numpy())
    if present.dtype.kind == "f":
        present = present[~np.isnan(present)]
        if not np.all(present == np.round(present)):
            raise InputError(
                f"Column '{name}' of {where} holds numbers with fractions such as {present[0]}; classes were expected."
            )
        present = present.astype(np.int64)
    elif present.dtype.kind == "O":
        present = present.astype(str)
        missing_words = np.char.strip(present) == ""
        full = np.flatnonzero(~missing)
        missing[full[missing_words]] = True
        present = present[~missing_words]
    values, inverse = np.unique(present, return_inverse=True)
    if len(values) > MOST_CLASSES:
        raise InputError(f"Column '{name}' of {where} has {len(values)} different values; at most {MOST_CLASSES} make classes.")
    codes = np.full(len(array), -1, dtype=np.int64)
    codes[~missing] = inverse
    return Codes(tuple(values.tolist()), codes)
