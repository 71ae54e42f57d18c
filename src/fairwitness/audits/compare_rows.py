"""The rows of two fairness audits side by side: whether both judged the same ones, and both predictions counted together.

Rows are matched by `idx`, else by `id`, else by their number in the file; never where the two disagree about a row's label or
identities. What is made of the counts is compare.py's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwitness import tables
from fairwitness.audits.fairness_columns import first_word, numbers, recode
from fairwitness.audits.fairness_input import group_codes
from fairwitness.audits.fairness_join import open_predictions
from fairwitness.audits.fairness_outcomes import label_kind, outcomes
from fairwitness.audits.fairness_reading import Reading
from fairwitness.errors import FairWitnessError
from fairwitness.metrics.counts import MEMBER, NONE, NONMEMBER, Counts, ordered
from fairwitness.metrics.spread_change import JointCounts, agreeing, joint_counts
from fairwitness.report.recorded import Recorded

_KEYS = ("idx", "id")
_BINARY = (NONMEMBER, MEMBER)
_NUMBER = "row number"
_GONE = "The predictions of {} are gone or were changed since, so that rows cannot be matched"


@dataclass(frozen=True)
class Paired:
    """Both predictions counted together: per attribute its groups' names and joint counts. `by` says what matched the rows."""

    by: str
    classes: tuple[str, ...]
    counts: dict[str, tuple[tuple[str, ...], JointCounts]]


@dataclass(frozen=True)
class _Judged:
    """One audit's rows as it read them, and the columns they were read from."""

    truth: NDArray[Any]
    predicted: NDArray[Any]
    classes: tuple[str, ...]
    groups: dict[str, tuple[NDArray[Any], list[str]]]
    keys: dict[str, pl.Series]
    seen: pl.DataFrame


class _NotTheSameError(Exception):
    """Why rows cannot be matched, in words; never leaves this module."""


def paired_counts(one: Recorded, other: Recorded, attributes: Sequence[str], counts: dict[str, Counts]) -> Paired | str:
    """Both predictions of every row counted together, or why rows cannot be matched. `counts` are the first audit's own."""
    if one.question == other.question:
        # The same question about the same bytes: every prediction is the same, also where the files are gone by now.
        every = counts[attributes[0]].classes
        classes = _BINARY if set(every) <= set(_BINARY) else every
        whole = {name: counts[name].spread_over(counts[name].groups, classes) for name in attributes}
        return Paired(_NUMBER, classes, {name: (each.groups, agreeing(each.cells)) for name, each in whole.items()})
    try:
        ours, theirs = (_judged(each) for each in (one, other))
        by, order = _order(ours, theirs, attributes)
        return _counted(ours, theirs, order, attributes, by)
    except _NotTheSameError as reason:
        return str(reason)


def _judged(recorded: Recorded) -> _Judged:
    question = recorded.question
    # Files that were written over hold another model's predictions by now: only what was audited is compared.
    preds, labels = recorded.input_file("preds"), recorded.input_file("labels_file")
    if preds is None or (labels is None and "labels_file" in recorded.data):
        raise _NotTheSameError(_GONE.format(recorded.folder))
    try:
        own = tables.columns_of(preds)
        reading = _reading(question, own)
        frame = open_predictions(preds, labels, reading).lazy().collect()
        truth, predicted, classes = outcomes(frame, replace(reading, named_classes=label_kind(frame, reading)))
        keys = {name: _key(tables.read(preds, [name])[name]) for name in _KEYS if name in own}
        seen = frame.drop(name for name in (reading.pred, reading.score, reading.error) if name)
        return _Judged(truth, predicted, classes, group_codes(frame, reading), keys, seen)
    except FairWitnessError as error:
        raise _NotTheSameError(_GONE.format(recorded.folder)) from error


def _reading(question: dict[str, Any], own: Sequence[str]) -> Reading:
    threshold = question.get("score_threshold")
    return Reading(
        label=str(question["label_col"]),
        pred=None if threshold is not None else str(question["pred_col"]),
        score=None if threshold is None else str(question["score_col"]),
        score_threshold=threshold,
        error="error" if "error" in own else None,
        flags=tuple(question.get("id_cols", ())),
        groups=tuple(question.get("group_cols", ())),
        positive_label=question["positive_label"],
        group_threshold=question["group_threshold"],
        missing=question["missing"],
    )


def _key(column: pl.Series) -> pl.Series:
    """Names of rows as text, whole numbers without a point, so that files of different formats spell them alike."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = bool((column.drop_nulls() % 1 == 0).all())
        column = column.cast(pl.Int64, strict=False) if whole else column
    return column.cast(pl.String)


def _order(ours: _Judged, theirs: _Judged, attributes: Sequence[str]) -> tuple[str, NDArray[Any]]:
    """By what rows match, and where each of our rows stands among theirs."""
    for key in _KEYS:
        pair = [side.keys[key] for side in (ours, theirs) if key in side.keys]
        if len(pair) < 2 or any(column.null_count() or column.n_unique() < column.len() for column in pair):
            continue
        order = _places(*pair)
        if order is None:
            raise _NotTheSameError(f"The rows differ ('{key}' does not name the same ones)")
        if not _alike(ours, theirs, order, attributes):
            raise _NotTheSameError(f"The rows differ (those of the same '{key}' have other labels or identities)")
        return key, order
    heights = ours.seen.height, theirs.seen.height
    if heights[0] != heights[1]:
        raise _NotTheSameError(f"The rows differ ({heights[0]:,} and {heights[1]:,} of them, and no column 'idx' or 'id' in both)")
    order = np.arange(heights[0])
    wanted = {ours.seen.columns[0], *(part for name in attributes for part in name.split("*"))}
    if not _alike(ours, theirs, order, attributes) or not all(_equal(ours.seen[name], theirs.seen[name]) for name in wanted):
        raise _NotTheSameError("The rows differ (row by row in labels or identities, and no column 'idx' or 'id' in both)")
    return _NUMBER, order


def _places(ours: pl.Series, theirs: pl.Series) -> NDArray[Any] | None:
    if ours.len() != theirs.len():
        return None
    there = pl.DataFrame({"key": theirs}).with_row_index("place")
    found = pl.DataFrame({"key": ours}).join(there, on="key", how="left", maintain_order="left")["place"]
    return None if found.null_count() else found.to_numpy()


def _alike(ours: _Judged, theirs: _Judged, order: NDArray[Any], attributes: Sequence[str]) -> bool:
    """Whether both read the same labels and identities from every row."""
    sides: list[tuple[Any, Sequence[str], Any, Sequence[str]]] = [(ours.truth, ours.classes, theirs.truth, theirs.classes)]
    sides += [(*ours.groups[name], *theirs.groups[name]) for name in attributes]
    return all(_same_names(codes, names, other[order], called) for codes, names, other, called in sides)


def _same_names(codes: NDArray[Any], names: Sequence[str], other: NDArray[Any], called: Sequence[str]) -> bool:
    every = ordered([*names, *called])
    return bool(np.array_equal(recode(codes, names, every), recode(other, called, every)))


def _equal(ours: pl.Series, theirs: pl.Series) -> bool:
    """Whether two columns hold the same values, however they are stored."""
    if first_word(ours) is None and first_word(theirs) is None:
        return bool(np.array_equal(numbers(ours, ours.name), numbers(theirs, theirs.name), equal_nan=True))
    return bool(ours.cast(pl.String).eq_missing(theirs.cast(pl.String)).all())


def _counted(ours: _Judged, theirs: _Judged, order: NDArray[Any], attributes: Sequence[str], by: str) -> Paired:
    classes = ordered([*ours.classes, *theirs.classes])
    truth, before = (recode(codes, ours.classes, classes) for codes in (ours.truth, ours.predicted))
    after = recode(theirs.predicted[order], theirs.classes, classes)
    if not np.logical_and.reduce([codes != NONE for codes in (truth, before, after)]).any():
        raise _NotTheSameError("No row has a prediction in both")
    found = {}
    for name in attributes:
        codes, names = ours.groups[name]
        groups = ordered(names)
        places = recode(codes, names, groups)
        found[name] = groups, joint_counts(places, truth, before, after, groups=len(groups), classes=len(classes))
    return Paired(by, classes, found)
