"""A column as arrays: as numbers, or as codes with the names they stand for."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwitness.errors import InputError
from fairwitness.metrics.counts import NONE

MOST_GROUPS = 10_000
_LARGEST_WHOLE = 2**53


def numbers(column: pl.Series, what: str) -> NDArray[np.float64]:
    """A column as floats, NaN where it is empty. Text that is not a number is refused."""
    if column.dtype.is_float() and not column.null_count():
        return column.cast(pl.Float64).to_numpy()
    wrong = first_word(column)
    if wrong is not None:
        raise InputError(f"{what} holds {wrong!r}, which is not a number.")
    return _plain(column).cast(pl.Float64).fill_null(float("nan")).to_numpy()


def first_word(column: pl.Series) -> str | None:
    """The first value that is not a number, if there is one."""
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        return None
    found = _plain(column).cast(pl.Float64, strict=False)
    if found.null_count() == column.null_count():
        return None
    return str(column.filter(found.is_null() & column.is_not_null())[0])


def _plain(column: pl.Series) -> pl.Series:
    """Categories as the words they stand for, not as their numbers."""
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column


def encode(column: pl.Series) -> tuple[NDArray[Any], list[str]]:
    """Codes and names of any column's values; NONE where it is empty. Whole numbers are named without a point: 2.0 is '2'."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise InputError(f"Column '{column.name}' holds lists or records ({column.dtype}); single values were expected.")
    if column.dtype.is_float():
        column = column.fill_nan(None)
        known = column.drop_nulls()
        # Those alone are whole numbers that a float tells apart.
        if bool(((known % 1 == 0) & (known.abs() < _LARGEST_WHOLE)).all()):
            column = column.cast(pl.Int64)
    elif column.dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    elif not column.dtype.is_integer():
        column = column.cast(pl.String)
    if column.dtype.is_integer() and not column.null_count() and column.len():
        quick = _encode_integers(column.to_numpy())
        if quick is not None:
            return quick
    values = column.drop_nulls().unique().sort()
    if values.len() > MOST_GROUPS:
        raise InputError(
            f"Column '{column.name}' has {values.len():,} distinct values, more than the {MOST_GROUPS:,} that can be compared. "
            f"Put them into bins first (such as ages into ranges), and name the column of bins."
        )
    places = column.replace_strict(values, pl.Series(range(values.len()), dtype=pl.Int32), default=NONE, return_dtype=pl.Int32)
    return places.fill_null(NONE).to_numpy(), [_spelt(value) for value in values.to_list()]


def _spelt(value: Any) -> str:
    """The same value by the same name in every part of a table, also where one part holds a fraction and another does not."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE
    return str(int(value)) if whole else str(value)


def _encode_integers(values: NDArray[Any]) -> tuple[NDArray[Any], list[str]] | None:
    """The same for whole numbers close together, by a table of those that occur instead of a search."""
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest > MOST_GROUPS:
        return None
    # The largest unsigned numbers fit into no other type.
    wide = values if values.dtype == np.uint64 else values.astype(np.int64)
    shifted = (wide - wide.min()).astype(np.int32)
    present = np.bincount(shifted, minlength=highest - lowest + 1) > 0
    place = (np.cumsum(present) - 1).astype(np.int32)
    return place[shifted], list(_names(lowest, present.tobytes()))


@lru_cache(maxsize=32)
def _names(lowest: int, present: bytes) -> tuple[str, ...]:
    """The names of those whole numbers from `lowest` on that occur. Most parts of a table hold the same ones."""
    return tuple(str(lowest + offset) for offset in np.flatnonzero(np.frombuffer(present, bool)).tolist())


def recode(codes: NDArray[Any], names: Sequence[str], classes: Sequence[str]) -> NDArray[Any]:
    """Codes that point into `names`, pointing into `classes` instead."""
    place = {name: index for index, name in enumerate(classes)}
    lookup = np.array([*(place[name] for name in names), NONE], np.int32)
    return np.asarray(lookup[codes])
