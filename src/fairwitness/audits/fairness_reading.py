"""Which column of a table of predictions means what, and how the table is walked through, part by part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl
from numpy.typing import NDArray

from fairwitness import tables

ROWS_PER_PART = 131_072


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Which column means what, and how its values are to be read."""

    label: str
    pred: str | None
    score: str | None = None
    error: str | None = None
    flags: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    positive_label: int = 1
    score_threshold: float | None = None
    group_threshold: float = 0.5
    missing: Literal["exclude", "nonmember"] = "exclude"
    auc_background: Literal["rest", "identities", "background"] = "rest"
    named_classes: bool = False
    unused: tuple[str, ...] = ()
    probabilities: bool = False

    @property
    def columns(self) -> list[str]:
        """Every column that is read, once."""
        parts = [part for name in self.groups for part in name.split("*")]
        wanted = [self.label, self.pred, self.score, self.error, *self.flags, *parts]
        return list(dict.fromkeys(name for name in wanted if name))

    def turned(self, score: NDArray[Any]) -> NDArray[Any]:
        """Scores that are higher for the positive class: 1 − a probability, minus any other score."""
        if self.positive_label:
            return score
        return 1 - score if self.probabilities else -score

    def flag_of(self, column: str) -> str:
        """The option that names a column, so that an error can say what to type."""
        named = {self.label: "--label_col", self.pred: "--pred_col", self.score: "--score_col"}
        return named.get(column) or ("--id_cols" if column in self.flags else "--group_cols")


@dataclass(frozen=True)
class FileRows:
    """The wanted columns of a table file, of which no more than a part is ever held."""

    path: Path
    columns: tuple[str, ...]

    def lazy(self) -> pl.LazyFrame:
        return tables.scan(self.path).select(self.columns)

    def parts(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return tables.batches(self.path, columns, rows=ROWS_PER_PART)


Rows = pl.DataFrame | pl.LazyFrame | FileRows


def parts_of(rows: Rows, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Some columns of all rows, a part at a time."""
    if isinstance(rows, FileRows):
        yield from rows.parts(columns)
    elif isinstance(rows, pl.LazyFrame):
        yield from rows.select(columns).collect_batches(chunk_size=ROWS_PER_PART, maintain_order=True)
    elif rows.height <= ROWS_PER_PART:
        yield rows.select(columns)
    else:
        # Slices that fit the processor's cache: a column is compared, packed and forgotten before the next one is read.
        yield from rows.select(columns).iter_slices(ROWS_PER_PART)
