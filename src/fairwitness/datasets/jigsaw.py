"""Jigsaw Unintended Bias in Toxicity Classification: the Kaggle files, two million comments, read in pieces."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import jigsaw_shape, splits
from fairwitness.datasets.card import Card, Dataset, Manual
from fairwitness.datasets.raw import RawCopy, last_name

UNLABELLED = ("test.csv", "sample_submission.csv")

CARD = Card(
    name="jigsaw",
    title="Jigsaw Unintended Bias in Toxicity Classification",
    licence="CC0 (comments and labels)",
    citation="Borkan, Dixon, Sorensen, Thain, Vasserman (2019). Nuanced Metrics for Measuring Unintended Bias with Real Data "
    "for Text Classification. arXiv:1903.04561",
    warning="real comments; some insult, threaten or demean people for who they are",
    counts={"train": 1_804_874, "public test": 97_320, "private test": 97_320},
    counted_on="the release's own figures; no copy was at hand",
    columns=jigsaw_shape.COLUMNS,
    layouts=(
        "all_data.csv",
        "train.csv",
        "test_public_expanded.csv",
        "test_private_expanded.csv",
        "a folder or zip of them, .gz too",
    ),
    remotes=(
        Manual(
            address="https://www.kaggle.com/c/jigsaw-unintended-bias-in-toxicity-classification/data",
            how="Kaggle asks for a log-in and for its rules to be accepted. Download the files there, then add "
            "--source all_data.csv. The same comments without a log-in: --dataset civil_identities, or civil for labels only",
        ),
    ),
    dead={"hf://datasets/google/jigsaw_unintended_bias": "a loading script without data, and loading scripts are no longer run"},
    notes="About a quarter of the comments were annotated for identities; in the others the identity columns are null.",
)


def _read(copy: RawCopy, split: str) -> Iterator[pl.DataFrame]:
    files = copy.need("Jigsaw table", "all_data.*", "train.*", "test_p*_expanded.*", "*.csv", "*.parquet")
    files = [file for file in files if last_name(file.name) not in UNLABELLED] or files
    whole = [file for file in files if last_name(file.name).startswith("all_data")]
    if whole:
        # all_data.csv holds what the other files of the Kaggle folder hold; together every comment would come twice.
        separate = [file for file in files if splits.of_file(file.name) == (split or splits.TRAIN)]
        files = separate or whole
    return jigsaw_shape.comments(copy.only(files), split, "*")


DATASET = Dataset(card=CARD, tables={"comments": _read}, splits=("train", "validation", "test"), identities=jigsaw_shape.IDENTITIES)
