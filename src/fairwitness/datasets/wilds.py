"""CivilComments-WILDS: the 448,000 comments annotated for identities, with the WILDS splits and its eight groups."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import jigsaw_shape
from fairwitness.datasets.card import Card, Dataset, HubFiles
from fairwitness.datasets.raw import RawCopy

GROUPS = ("LGBTQ", "other_religions", "asian_latino_etc", "disability_any")
REVISION = "3fbfeca80bad0f3aec37e72fa07eff222b6e752f"

CARD = Card(
    name="wilds",
    title="CivilComments-WILDS",
    licence="CC0",
    citation="Koh et al. (2021). WILDS: A Benchmark of in-the-Wild Distribution Shifts. ICML. arXiv:2012.07421",
    warning="real comments; some insult, threaten or demean people for who they are",
    counts={"comments": 448_000},
    counted_on="the release's own figures; no copy was at hand",
    columns={
        **jigsaw_shape.COLUMNS,
        "LGBTQ, other_religions, asian_latino_etc, disability_any": "the groups that WILDS joins, 0 to 1",
    },
    layouts=("all_data_with_identities.csv", ".gz too"),
    remotes=(
        HubFiles(
            repo="shlomihod/civil-comments-wilds",
            revision=REVISION,
            patterns=("all_data_with_identities.csv",),
            hashes={"all_data_with_identities.csv": "403e638c83a225d738a937ff98b61fd0631e30f710d57928c7766d413526b77f"},
        ),
    ),
    dead={"https://worksheets.codalab.org (the WILDS bundle)": "answered HTTP 500 when last tried"},
    revision=REVISION,
    notes="The repository's loading script is not used, its CSV (273 MB) is. WILDS calls the validation split 'val'.",
)


def _read(copy: RawCopy, split: str) -> Iterator[pl.DataFrame]:
    return jigsaw_shape.comments(copy, split, "all_data_with_identities.csv", "*.csv", "*.parquet", more_identities=GROUPS)


DATASET = Dataset(
    card=CARD, tables={"comments": _read}, splits=("train", "validation", "test"), identities=(*jigsaw_shape.IDENTITIES, *GROUPS)
)
