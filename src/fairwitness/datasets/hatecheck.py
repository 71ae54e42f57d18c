"""HateCheck: short cases written to test hate-speech detectors, one functionality at a time, for seven groups."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets.card import Card, Dataset, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, csv_batches
from fairwitness.tables import require_columns

COMMIT = "d84302298ceeb34f4b0dde2d8a1f4932c2caa612"
GROUPS = ("women", "trans people", "gay people", "black people", "disabled people", "Muslims", "immigrants")
IDENTITIES = tuple(name.lower().replace(" ", "_") for name in GROUPS)

CARD = Card(
    name="hatecheck",
    title="HateCheck",
    licence="CC BY 4.0",
    citation="Röttger, Vidgen, Nguyen, Waseem, Margetts, Pierrehumbert (2021). HateCheck: Functional Tests for Hate Speech "
    "Detection Models. ACL",
    warning="hateful sentences, some with slurs, written as test cases",
    counts={"cases": 3_728, "hateful": 2_563, "non-hateful": 1_165, "functionalities": 29, "without a target": 292},
    counted_on="a real copy of test_suite_cases.csv",
    columns={
        "comment_text": "the case",
        "target": "1 hateful, 0 not",
        "women … immigrants": "7 groups: 1 where the case is about it, else 0",
        "functionality": "what the case tests",
        "unit": "the template's id: cases of one template differ only in the group",
        "role": "the group, or null",
        "direction": "the authors' direction of hate",
        "id": "the case's id",
    },
    layouts=("test_suite_cases.csv", ".gz too"),
    remotes=(
        WebFiles(
            (
                WebFile(
                    url=f"https://raw.githubusercontent.com/paul-rottger/hatecheck-data/{COMMIT}/test_suite_cases.csv",
                    name="test_suite_cases.csv",
                ),
            )
        ),
    ),
    revision=COMMIT,
)


def _read(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    file = copy.need("HateCheck cases", "test_suite_cases.csv", "*.csv")[0]
    for frame in csv_batches(file):
        require_columns(
            frame.columns, ("test_case", "label_gold", "target_ident", "functionality", "case_id", "templ_id"), file.shown
        )
        group = pl.col("target_ident")
        yield frame.select(
            pl.col("test_case").alias("comment_text"),
            (pl.col("label_gold") == "hateful").cast(pl.Int64).alias("target"),
            *(group.eq_missing(name).cast(pl.Float64).alias(own) for name, own in zip(GROUPS, IDENTITIES, strict=True)),
            "functionality",
            pl.col("templ_id").alias("unit"),
            group.alias("role"),
            pl.col("direction") if "direction" in frame.columns else pl.lit(None, pl.String).alias("direction"),
            pl.col("case_id").alias("id"),
        )


DATASET = Dataset(card=CARD, tables={"cases": _read}, identities=IDENTITIES)
