"""Predictions and labels side by side: finding the columns that are asked for, in one file or in two joined on `idx`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import tables
from fairwitness.audits.fairness_reading import FileRows, Reading
from fairwitness.errors import InputError

_INDEX = "idx"


def open_predictions(preds: Path, labels: Path | None, reading: Reading) -> FileRows | pl.LazyFrame:
    """The columns that are needed, labels joined on `idx` where they are in a file of their own."""
    own = tables.columns_of(preds)
    other = tables.columns_of(labels) if labels else []
    where = f"{preds} or {labels}" if labels else str(preds)
    for name in reading.columns:
        required = name in (reading.pred, reading.score, reading.error)
        flag = reading.flag_of(name)
        tables.require_columns(own if required else [*own, *other], [name], preds if required else where, flag=flag)
    if _INDEX in own:
        refuse_duplicates(preds)
    if labels is None:
        return FileRows(preds, tuple(reading.columns))
    frame = tables.scan(preds)
    borrowed = [name for name in reading.columns if name not in own]
    return _join(frame, labels, borrowed, preds=preds, indexed=(_INDEX in own, _INDEX in other)).select(reading.columns)


def refuse_duplicates(where: Path) -> None:
    """Raise when an `idx` occurs twice or is empty. Ascending ones, the usual case, are checked without holding them."""
    last: Any = None
    for part in tables.batches(where, [_INDEX], rows=1_000_000):
        column = part[_INDEX]
        column = column.fill_nan(None) if column.dtype.is_float() else column
        if column.null_count():
            raise InputError(f"{where} has {column.null_count():,} rows with an empty '{_INDEX}'. Each row needs its own.")
        rising = bool((column.diff().drop_nulls() > 0).all()) if column.dtype.is_numeric() else False
        if not rising or (last is not None and column.len() and column[0] <= last):
            break
        last = column[-1] if column.len() else last
    else:
        return
    twice = tables.scan(where).group_by(_INDEX).len().filter(pl.col("len") > 1).sort(_INDEX).head(1).collect()
    if twice.height:
        raise InputError(f"'{_INDEX}' {twice[_INDEX][0]} occurs {twice['len'][0]} times in {where}; each row must occur once.")


def _join(frame: pl.LazyFrame, labels: Path, borrowed: Sequence[str], *, preds: Path, indexed: tuple[bool, bool]) -> pl.LazyFrame:
    other = tables.scan(labels)
    if indexed[1] and not indexed[0]:
        raise InputError(f"{labels} has a column '{_INDEX}' and {preds} has none to join it on. Add '{_INDEX}' to {preds}.")
    if indexed[1]:
        refuse_duplicates(labels)
    else:
        other = other.with_row_index(_INDEX)
    if not indexed[0]:
        _same_length(preds, labels)
        frame = frame.with_row_index(_INDEX)
    kinds = [source.collect_schema()[_INDEX] for source in (frame, other)]
    if kinds[0].is_numeric() != kinds[1].is_numeric():
        raise InputError(
            f"'{_INDEX}' is {kinds[0]} in {preds} and {kinds[1]} in {labels}, so that no row can match. Make them alike."
        )
    frame, other = (source.with_columns(_whole(_INDEX, kind)) for source, kind in zip((frame, other), kinds, strict=True))
    other = other.select(_INDEX, *borrowed)
    with tables.reading(labels):
        lost = frame.select(_INDEX).join(other.select(_INDEX), on=_INDEX, how="anti").sort(_INDEX).collect()
    if lost.height:
        raise InputError(
            f"{lost.height:,} of the predictions have no row in {labels}: '{_INDEX}' {lost[_INDEX][0]} is the first. "
            f"Give the file that was scored, or remove those predictions."
        )
    return frame.join(other, on=_INDEX, how="left", maintain_order="left")


def _whole(name: str, kind: pl.DataType) -> pl.Expr:
    # What is no whole number (a half, infinity) matches no row.
    whole = pl.when(pl.col(name) % 1 == 0).then(pl.col(name)) if kind.is_float() else pl.col(name)
    return whole.cast(pl.Int64, strict=False).alias(name) if kind.is_numeric() else pl.col(name)


def _same_length(preds: Path, labels: Path) -> None:
    ours, theirs = tables.count_rows(preds), tables.count_rows(labels)
    if ours != theirs:
        raise InputError(
            f"{preds} has {ours:,} rows and {labels} has {theirs:,}. Without a column '{_INDEX}' they are matched row by row, "
            f"so they must be equally long. Add '{_INDEX}' to {preds}: the number of the row in {labels}, from 0."
        )
