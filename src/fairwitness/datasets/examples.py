"""The built-in examples: mild comments of our own, toxic and not, crossed with identity mentions.

The file is made by scripts/make_examples.py.
"""

from collections.abc import Iterator
from importlib.resources import files
from typing import IO

import polars as pl

from fairwitness.datasets.card import BuiltIn, Card, Dataset
from fairwitness.datasets.raw import RawCopy, RawFile, parquet_batches

NAME = "examples.parquet"
ADDRESS = "fairwitness/datasets/builtin/examples.parquet"
CATEGORIES = {
    "disability": ("physical_disability", "intellectual_or_learning_disability", "psychiatric_or_mental_illness"),
    "gender": ("male", "female", "transgender"),
    "race": ("black", "white", "asian", "latino"),
    "religion": ("christian", "jewish", "muslim", "hindu", "buddhist", "atheist"),
    "sexual_orientation": ("heterosexual", "homosexual_gay_or_lesbian", "bisexual"),
}
IDENTITIES = tuple(name for group in CATEGORIES.values() for name in group)

CARD = Card(
    name="examples",
    title="Fair Witness built-in examples",
    licence="MIT, part of this package",
    citation="Fair Witness",
    warning="mild rudeness towards people of every group",
    counts={"comments": 680, "toxic": 340, "identities": 19, "comments without an identity": 72},
    counted_on="the file in this package",
    columns={
        "comment_text": "the comment",
        "target": "1 toxic, 0 not",
        "male … psychiatric_or_mental_illness": "19 identities in five categories: 1 where the comment mentions it, else 0",
        "id": "template and identity",
        "unit": "the template: comments of one unit differ only in who is mentioned",
        "role": "the identity mentioned, or 'none'",
        "category": "disability, gender, race, religion, sexual_orientation, or null",
    },
    layouts=("inside the package",),
    remotes=(BuiltIn(address=ADDRESS),),
    notes="Written for this package, so that a first audit needs no download. Too small and too uniform to conclude anything "
    "about a model beyond 'look closer'.",
)


def built_in() -> RawCopy:
    """The file inside this package, also where the package is a zip."""

    def open_inside() -> IO[bytes]:
        return files("fairwitness.datasets").joinpath("builtin", NAME).open("rb")

    return RawCopy((RawFile(NAME, ADDRESS, open_inside),), "the built-in examples")


def table() -> pl.DataFrame:
    """The built-in examples."""
    return pl.concat(_read(built_in(), ""))


def recorded_scores() -> pl.DataFrame:
    """What the built-in model said of the examples when this version was made (scripts/record_example_scores.py)."""
    with files("fairwitness.datasets").joinpath("builtin", "examples_smollm2.parquet").open("rb") as stream:
        return pl.read_parquet(stream)


def _read(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    for file in copy.need("examples", NAME, "*.parquet"):
        yield from parquet_batches(file)


DATASET = Dataset(card=CARD, tables={"comments": _read}, identities=IDENTITIES)
