"""What an engine needs of a scorer, and the one place where an answer becomes rows.

A scorer that fails on a row says so in `error`; a score that is not a finite number becomes an error here. So no audit can
ever count a failure as a score.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import polars as pl

from fairwitness.files import content_hash

Item = TypeVar("Item", contravariant=True)


class Scorer(Protocol[Item]):
    """Texts (or other items) in, columns out. The one contract for everything that scores.

    `identity`: all that a score depends on (model, prompt, dtype, version of the code), as JSON values, never a secret.
    `rows_per_part`: how many items are answered before they are put on disk; also the items a batch can be packed from.
    """

    @property
    def identity(self) -> Mapping[str, Any]: ...

    @property
    def rows_per_part(self) -> int: ...

    def score(self, items: Sequence[Item], /) -> Mapping[str, Any]:
        """Columns of equal length, one row per item: `score`, any further parts, and `error` (text or None) where one failed."""
        ...


def part_key(scorer: Scorer[Any], items: Sequence[Any]) -> str:
    """The name of a part: the hash of what it answers, whoever answers it and wherever it stands in the file."""
    identity = json.dumps(scorer.identity, sort_keys=True, default=str)
    return content_hash(identity, *(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items))


def score_part(scorer: Scorer[Any], items: Sequence[Any]) -> pl.DataFrame:
    """Score one part: nothing to score and no finite score are errors of their row, and the rest is what the scorer said."""
    usable = [index for index, item in enumerate(items) if item is not None and item != ""]
    answered = scorer.score([items[index] for index in usable]) if usable else {}
    position = pl.Series("position", usable, pl.Int64)
    frame = pl.DataFrame({"position": position, **answered}, strict=False)
    if frame.height != len(usable):
        raise AssertionError(f"{type(scorer).__name__} answered {frame.height} rows for {len(usable)} items")
    frame = _with_errors(frame)
    every_row = pl.DataFrame({"position": range(len(items))}, schema={"position": pl.Int64})
    missing = pl.col("error").is_null() & ~pl.col("position").is_in(usable)
    joined = every_row.join(frame, on="position", how="left", maintain_order="left")
    return joined.with_columns(error=pl.when(missing).then(pl.lit("no text")).otherwise("error")).drop("position")


def _with_errors(frame: pl.DataFrame) -> pl.DataFrame:
    if "score" not in frame.columns:
        frame = frame.with_columns(score=pl.lit(None, pl.Float64))
    if "error" not in frame.columns:
        frame = frame.with_columns(error=pl.lit(None, pl.String))
    frame = frame.with_columns(pl.col("score").cast(pl.Float64), pl.col("error").cast(pl.String))
    bad = pl.col("error").is_null() & ~pl.col("score").is_finite().fill_null(False)
    frame = frame.with_columns(error=pl.when(bad).then(pl.lit("score is not a finite number")).otherwise("error"))
    return frame.with_columns(score=pl.when(pl.col("error").is_null()).then("score"))
