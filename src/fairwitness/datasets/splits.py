"""Which part of a dataset is which: the authors' many words for train, validation and test, and choosing among files by them."""

import re
from collections.abc import Sequence

import polars as pl

from fairwitness.datasets.raw import RawCopy, RawFile
from fairwitness.errors import InputError

TRAIN, VALIDATION, TEST, ALL = "train", "validation", "test", "all"

WORDS = {
    "train": TRAIN,
    "trn": TRAIN,
    "training": TRAIN,
    "validation": VALIDATION,
    "valid": VALIDATION,
    "val": VALIDATION,
    "dev": VALIDATION,
    "test_public": VALIDATION,
    "test": TEST,
    "tst": TEST,
    "test_private": TEST,
}


def canonical(word: str) -> str:
    """Our name for an authors' split, or the word itself.

    >>> canonical("dev"), canonical("tst"), canonical("test_public")
    ('validation', 'test', 'validation')
    """
    return WORDS.get(word.strip().lower(), word)


def check(split: str | None) -> str | None:
    """The wanted split in our words; an unknown one is an error."""
    if split is None:
        return None
    known = canonical(split)
    if known not in (TRAIN, VALIDATION, TEST, ALL):
        raise InputError(f"--split takes train, validation, test or all, not '{split}'.")
    return known


def of_file(name: str) -> str:
    """The split a file's path names, or nothing.

    >>> of_file("data/train-00000-of-00002.parquet"), of_file("SBIC.v2.agg.dev.csv"), of_file("all_data.csv")
    ('train', 'validation', '')
    >>> of_file("test_public_expanded.csv"), of_file("default/test/0000.parquet")
    ('validation', 'test')
    """
    for part in reversed(name.lower().split("/")):
        if part.startswith(("test_public", "test_private")):
            return WORDS[part[: len("test_public")] if part.startswith("test_public") else "test_private"]
        for word in re.split(r"[^a-z]+", part):
            if word in WORDS:
                return WORDS[word]
    return ""


def choose(copy: RawCopy, files: Sequence[RawFile], split: str, *, by_rows: bool = False) -> list[RawFile]:
    """The files of the wanted split. With `by_rows`, those that name none are left for their rows to tell.

    Without a wish (empty `split`): train where the copy keeps its splits in separate files, everything otherwise. A copy
    that names no split at all counts as train, as it does on the Hub.
    """
    named = {of_file(file.name) for file in files} - {""}
    if not named and not by_rows and split in (VALIDATION, TEST):
        raise InputError(f"{copy.shown} does not say which split it is. Leave --split out to read all of it.")
    if split == ALL or not named:
        return list(files)
    if not split:
        return [file for file in files if TRAIN not in named or of_file(file.name) == TRAIN]
    chosen = [file for file in files if of_file(file.name) == split or (by_rows and not of_file(file.name))]
    if not chosen:
        raise InputError(f"{copy.shown} has no {split} split; it has: {', '.join(sorted(named))}. Choose with --split.")
    return chosen


def rows_of(frame: pl.DataFrame, split: str) -> pl.DataFrame:
    """The rows of the wanted split, by the frame's `split` column, whose words become ours."""
    if "split" not in frame.columns:
        return frame
    frame = frame.with_columns(pl.col("split").str.to_lowercase().replace(WORDS))
    return frame if split in ("", ALL) else frame.filter(pl.col("split") == split)
