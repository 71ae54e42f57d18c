"""Civil Comments: the Hub's Parquet (labels only), and the public zip with identity columns for the comments that have them."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import jigsaw_shape
from fairwitness.datasets.card import Card, Dataset, HubFiles, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy
from fairwitness.errors import InputError

CITATION = (
    "Borkan, Dixon, Sorensen, Thain, Vasserman (2019). Nuanced Metrics for Measuring Unintended Bias with Real Data "
    "for Text Classification. arXiv:1903.04561"
)
LAYOUTS = ("civil_comments_v1.2.zip", "civil_comments.csv", "the Hub's Parquet folder (data/train-*.parquet)", ".gz too")
ZIP = WebFile(
    url="https://storage.googleapis.com/jigsaw-unintended-bias-in-toxicity-classification/civil_comments_v1.2.zip",
    name="civil_comments_v1.2.zip",
    sha256="89a60573acbbfaf189b2c77278115eefcbc1654dbd8235dd8fbecc1b83f1585c",
    size=448_174_578,
)

CARD = Card(
    name="civil",
    title="Civil Comments",
    licence="CC0",
    citation=CITATION,
    warning="real comments; some insult, threaten or demean people for who they are",
    counts={"train": 1_804_874, "validation": 97_320, "test": 97_320},
    counted_on="the release's own figures; no copy was at hand",
    columns=jigsaw_shape.COLUMNS,
    layouts=LAYOUTS,
    remotes=(
        HubFiles(
            repo="google/civil_comments",
            revision="f2970eb3a55777454c94069077cc8d9b5866312d",
            patterns=("data/{split}-*.parquet",),
        ),
    ),
    revision="f2970eb3a55777454c94069077cc8d9b5866312d",
    notes="The Hub's copy has no identity columns; with --source civil_comments_v1.2.zip they are read. "
    "In the zip, test_public is our validation and test_private our test, as TensorFlow Datasets has it. "
    "A stream comes with ids made of split and row, because the Hub's copy has none.",
)

CARD_IDENTITIES = Card(
    name="civil_identities",
    title="Civil Comments, the comments annotated for identities",
    licence="CC0",
    citation=CITATION,
    warning="real comments; some insult, threaten or demean people for who they are",
    counts={"all splits before the filter": 1_999_514},
    counted_on="the release's own figures; no copy was at hand",
    columns=jigsaw_shape.COLUMNS,
    layouts=LAYOUTS,
    remotes=(WebFiles((ZIP,)),),
    revision=f"sha256 {ZIP.sha256}",
    notes="The zip (448 MB) is taken from its public bucket; some networks report that it refuses (HTTP 403). Only rows whose "
    "identities were annotated are kept, roughly a quarter.",
)

PATTERNS = ("civil_comments*.csv", "*.parquet", "*.csv", "*.tsv")


def _read(copy: RawCopy, split: str) -> Iterator[pl.DataFrame]:
    return jigsaw_shape.comments(copy, split, *PATTERNS)


def _read_identities(copy: RawCopy, split: str) -> Iterator[pl.DataFrame]:
    for frame in jigsaw_shape.comments(copy, split, *PATTERNS):
        present = [name for name in jigsaw_shape.IDENTITIES if name in frame.columns]
        if not present:
            raise InputError(
                f"{copy.shown} has no identity columns. They are in civil_comments_v1.2.zip; without them: --dataset civil."
            )
        yield frame.filter(pl.any_horizontal(pl.col(present).is_not_null()))


DATASET = Dataset(card=CARD, tables={"comments": _read}, splits=("train", "validation", "test"), identities=jigsaw_shape.IDENTITIES)
IDENTITIES = Dataset(
    card=CARD_IDENTITIES,
    tables={"comments": _read_identities},
    splits=("train", "validation", "test"),
    identities=jigsaw_shape.IDENTITIES,
)
