"""The shape in which Jigsaw, Civil Comments and WILDS agree: a comment, its toxicity 0 to 1, sub-types, and identities 0 to 1.

An identity is the share of annotators who saw it mentioned; null means that nobody was asked, which is not the same as 0.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from fairwitness.datasets import splits
from fairwitness.datasets.raw import RawCopy, table_batches
from fairwitness.errors import InputError
from fairwitness.tables import require_columns

SUBTYPES = ("severe_toxicity", "obscene", "identity_attack", "insult", "threat", "sexual_explicit")
GENDER = ("male", "female", "transgender", "other_gender")
ORIENTATION = ("heterosexual", "homosexual_gay_or_lesbian", "bisexual", "other_sexual_orientation")
RELIGION = ("christian", "jewish", "muslim", "hindu", "buddhist", "atheist", "other_religion")
RACE = ("black", "white", "asian", "latino", "other_race_or_ethnicity")
DISABILITY = (
    "physical_disability",
    "intellectual_or_learning_disability",
    "psychiatric_or_mental_illness",
    "other_disability",
)
IDENTITIES = (*GENDER, *ORIENTATION, *RELIGION, *RACE, *DISABILITY)

COLUMNS = {
    "comment_text": "the comment",
    "target": "toxicity: share of annotators who called it toxic, 0 to 1",
    "severe_toxicity … sexual_explicit": "sub-types of toxicity, 0 to 1 (labels, not groups)",
    "male … other_disability": "24 identities: share of annotators who saw it mentioned, 0 to 1; null where nobody was asked",
    "id": "the comment's id",
    "split": "train, validation or test",
}

TEXT_NAMES, TARGET_NAMES = ("comment_text", "text"), ("target", "toxicity")


def comments(copy: RawCopy, split: str, *patterns: str, more_identities: Sequence[str] = ()) -> Iterator[pl.DataFrame]:
    """Walk through the comments of a raw copy, in one shape whichever of the three released it.

    Sub-types and identities that the release does not have are left out; its first piece decides, so that all pieces are alike.
    """
    files = splits.choose(copy, copy.need("table of comments", *patterns), split, by_rows=True)
    shares: list[str] | None = None
    for file in files:
        named, start = splits.of_file(file.name), 0
        for frame in table_batches(file):
            if shares is None:
                shares = [name for name in (*SUBTYPES, *IDENTITIES, *more_identities) if name in frame.columns]
            shaped = shape(frame, where=file.shown, split=named, start=start, shares=shares)
            start += frame.height
            told = "split" in frame.columns or named
            if not told and split in (splits.VALIDATION, splits.TEST):
                raise InputError(f"{file.shown} does not say which split it is. Leave --split out to read all of it.")
            yield splits.rows_of(shaped, split) if told else shaped


def shape(frame: pl.DataFrame, *, where: str, split: str, start: int, shares: Sequence[str]) -> pl.DataFrame:
    """One piece in the common shape. `start` is the number of its first row, for releases without ids."""
    text = _first(frame, TEXT_NAMES, where)
    target = _first(frame, TARGET_NAMES, where)
    rows = pl.int_range(start, start + pl.len())
    own_id = pl.col("id").cast(pl.String) if "id" in frame.columns else pl.format("{}-{}", pl.lit(split or "row"), rows)
    own_split = pl.col("split").cast(pl.String) if "split" in frame.columns else pl.lit(split or None, pl.String)
    try:
        return frame.select(
            pl.col(text).cast(pl.String).alias("comment_text"),
            _share(frame, target, "target"),
            *(_share(frame, name, name) for name in shares),
            own_id.alias("id"),
            own_split.alias("split"),
        )
    except pl.exceptions.InvalidOperationError as error:
        raise InputError(
            f"{where} has a word where a share between 0 and 1 belongs, in target, a sub-type or an identity."
        ) from error


def _first(frame: pl.DataFrame, names: Sequence[str], where: str) -> str:
    for name in names:
        if name in frame.columns:
            return name
    require_columns(frame.columns, names[:1], where)
    raise AssertionError("require_columns raises")


def _share(frame: pl.DataFrame, name: str, alias: str) -> pl.Expr:
    if name not in frame.columns:
        return pl.lit(None, pl.Float64).alias(alias)
    return pl.col(name).cast(pl.Float64).alias(alias)
