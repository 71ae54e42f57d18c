"""Truth and prediction of every row as codes of classes, and whether labels are two classes or several."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwitness.audits.fairness_columns import encode, first_word, numbers, recode
from fairwitness.audits.fairness_reading import Reading, Rows, parts_of
from fairwitness.errors import InputError, listing
from fairwitness.metrics.counts import NONE, Counts, ordered


@dataclass
class Values:
    """What a column holds: its smallest and largest number, whether any is a fraction, and the first text that is no number."""

    low: float = np.inf
    high: float = -np.inf
    fractions: bool = False
    word: str | None = None


def values_of(rows: Rows, column: str) -> Values:
    """Look through a column. Text that spells numbers counts as numbers: a CSV file with one 'nan' in it is read as text."""
    found = Values()
    for part in parts_of(rows, [column]):
        series = part[column]
        if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
            found.word = first_word(series)
            if found.word is not None:
                return found
        fractional = not (series.dtype.is_integer() or series.dtype == pl.Boolean)
        known = pl.Series(numbers(series, column)).fill_nan(None).drop_nulls() if fractional else series.drop_nulls()
        if known.len():
            found.low, found.high = min(found.low, float(known.min())), max(found.high, float(known.max()))  # type: ignore[arg-type]
        if fractional and not found.fractions:
            found.fractions = bool((known.filter(known.is_finite()) % 1 != 0).any())
    return found


def label_kind(rows: Rows, reading: Reading) -> bool:
    """Whether labels are names of classes (True), or 0/1 and fractions between, cut at 0.5 (False). Anything else is refused.

    Labels of 0 and 1 alone are two of several classes where predictions say so, unless identities ask for a positive class.
    """
    found = values_of(rows, reading.label)
    _refuse_infinite(found, f"--label_col {reading.label}", "labels must be 0 or 1, fractions between, or classes")
    if found.word is not None:
        if not reading.flags:
            return True
        raise InputError(
            f"--label_col {reading.label} holds text ('{found.word[:40]}'). With --id_cols, labels must be 0 or 1, or fractions "
            f"between. Turn them into 0/1, or compare classes by name with --group_cols alone."
        )
    if found.low >= 0 and found.high <= 1:
        return not reading.flags and not found.fractions and _several(rows, reading.pred)
    if reading.flags or found.fractions:
        wrong = found.low if found.low < 0 else found.high
        advice = "" if found.fractions else " Several classes can be compared with --group_cols alone."
        raise InputError(f"--label_col {reading.label} holds {wrong:g}; labels must be 0 or 1, or fractions between.{advice}")
    return True


def _refuse_infinite(found: Values, what: str, expected: str) -> None:
    if found.word is None and np.inf in (-found.low, found.high):
        raise InputError(f"{what} holds an infinite number; {expected}.")


def _several(rows: Rows, predictions: str | None) -> bool:
    if predictions is None:
        return False
    found = values_of(rows, predictions)
    _refuse_infinite(found, f"--pred_col {predictions}", "predictions must be 0 or 1, or classes")
    return found.word is None and not found.fractions and (found.low < 0 or found.high > 1)


def outcomes(part: pl.DataFrame, reading: Reading) -> tuple[NDArray[Any], NDArray[Any], tuple[str, ...]]:
    """Codes of truth and prediction, NONE where there is none, and the names of the classes."""
    if reading.named_classes:
        truth, names = encode(part[reading.label])
        predicted, called = encode(_finite(part[_known(reading.pred)]))
        classes = ordered([*names, *called])
        truth, predicted = recode(truth, names, classes), recode(predicted, called, classes)
    else:
        truth, classes = _binary_truth(part[reading.label], reading), ("0", "1")
        predicted = _binary_prediction(part, reading)
    if reading.error is not None:
        predicted = np.where(_has_error(part[reading.error]), NONE, predicted)
    return truth, predicted, classes


def _has_error(said: pl.Series) -> NDArray[Any]:
    """Where a row says that it failed: in words, or with true or a number other than 0."""
    if said.dtype == pl.Boolean or said.dtype.is_numeric():
        said = said.fill_nan(None) if said.dtype.is_float() else said
        return said.cast(pl.Boolean).fill_null(False).to_numpy()
    words = said.cast(pl.String)
    return (words.is_not_null() & (words != "")).fill_null(False).to_numpy()


def refuse_strangers(counts: Counts) -> None:
    """Raise where labels and predictions are classes of different kinds ("yes" and "no", 1 and 0): all would count as wrong.

    A model that only ever says one thing may well miss every label of a small table; two kinds on each side are no accident.
    """
    cells = counts.cells.sum(axis=0)
    true, said = ([counts.classes[index] for index in np.flatnonzero(cells.sum(axis=axis))] for axis in (1, 0))
    if min(len(true), len(said)) > 1 and not set(true) & set(said):
        raise InputError(
            f"Labels are {listing(true, 6)} and predictions {listing(said, 6)}: not one class in common. Spell them alike."
        )


def _finite(predictions: pl.Series) -> pl.Series:
    """The column as it is; an infinite number in it is no name of a class."""
    if predictions.dtype.is_float() and predictions.is_infinite().any():
        raise InputError(f"--pred_col {predictions.name} holds an infinite number; predictions must be 0 or 1, or classes.")
    return predictions


def _known(name: str | None) -> str:
    if name is None:
        raise InputError("Name the column of predictions with --pred_col.")
    return name


def _binary_truth(column: pl.Series, reading: Reading) -> NDArray[Any]:
    values = numbers(column, f"--label_col {column.name}")
    positive = (values >= 0.5) == bool(reading.positive_label)
    return np.where(np.isnan(values), np.int8(NONE), positive.astype(np.int8))


def _binary_prediction(part: pl.DataFrame, reading: Reading) -> NDArray[Any]:
    if reading.score_threshold is not None and reading.score is not None:
        values = numbers(part[reading.score], f"--score_col {reading.score}")
        values = np.where(np.isnan(values), np.nan, (values >= reading.score_threshold).astype(float))
    else:
        values = numbers(part[_known(reading.pred)], f"--pred_col {reading.pred}")
        wrong = ~np.isnan(values) & (values != 0) & (values != 1)
        if wrong.any():
            raise InputError(
                f"--pred_col {reading.pred} holds {values[wrong][0]:g}; predictions must be 0 or 1. If it is a score, give it as "
                f"--score_col {reading.pred} with --score_threshold, the score from which a row counts as positive."
            )
    return np.where(np.isnan(values), np.int8(NONE), ((values == 1) == bool(reading.positive_label)).astype(np.int8))
