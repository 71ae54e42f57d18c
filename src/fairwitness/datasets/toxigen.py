"""ToxiGen's human-annotated part: machine-written statements about thirteen groups, rated by people."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import splits
from fairwitness.datasets.card import Card, Dataset, HubFiles
from fairwitness.datasets.raw import RawCopy, read_table
from fairwitness.tables import require_columns

IDENTITIES = (
    *("asian", "black", "chinese", "jewish", "latino", "lgbtq", "mental_dis", "mexican", "middle_east", "muslim"),
    *("native_american", "physical_dis", "women"),
)

CARD = Card(
    name="toxigen",
    title="ToxiGen, human-annotated",
    licence="MIT",
    citation="Hartvigsen, Gabriel, Palangi, Sap, Ray, Kamar (2022). ToxiGen: A Large-Scale Machine-Generated Dataset for "
    "Adversarial and Implicit Hate Speech Detection. ACL",
    warning="machine-written statements, many of them prejudiced against one of thirteen groups",
    counts={"train": 8_960, "train toxic": 3_368, "groups": 13},
    counted_on="a real copy of the annotated train part; the test part (940 rows) was not at hand",
    columns={
        "comment_text": "the statement",
        "target": "1 where toxicity_ai + toxicity_human > 5.5 (the authors' rule), else 0; null where a rating is missing",
        "asian … women": "13 groups: 1 where the statement was prompted to be about it, else 0",
        "toxicity_human, toxicity_ai": "ratings, 1 to 5",
        "prompt_label": "hate or neutral: what the prompt asked for",
        "role": "the group",
        "id": "split and row",
        "split": "train or test",
    },
    layouts=("the annotated CSV or Parquet, with text, target_group, toxicity_ai, toxicity_human", ".gz too"),
    remotes=(HubFiles(repo="toxigen/toxigen-data", revision="refs/convert/parquet", patterns=("annotated/{split}/*.parquet",)),),
    notes="The Hub asks for its terms to be accepted (HF_TOKEN). The Hub path was not run against the live repository.",
)


def _read(copy: RawCopy, split: str) -> Iterator[pl.DataFrame]:
    files = copy.need("annotated ToxiGen", "*annotated*", "*.parquet", "*.csv")
    tables = [file for file in files if file.name.lower().endswith((".csv", ".parquet"))]
    for file in splits.choose(copy, tables, split):
        frame = read_table(file)
        require_columns(frame.columns, ("text", "target_group", "toxicity_ai", "toxicity_human"), file.shown)
        yield _columns(frame, splits.of_file(file.name))


def _columns(frame: pl.DataFrame, split: str) -> pl.DataFrame:
    group = pl.col("target_group").str.to_lowercase().str.replace_all(r"[ /]+", "_")
    ratings = pl.col("toxicity_ai", "toxicity_human").cast(pl.Float64, strict=False)
    frame = frame.with_columns(ratings, group.alias("role"))
    return frame.select(
        pl.col("text").alias("comment_text"),
        (pl.col("toxicity_ai") + pl.col("toxicity_human") > 5.5).cast(pl.Int64).alias("target"),
        *(pl.col("role").eq_missing(name).cast(pl.Float64).alias(name) for name in IDENTITIES),
        "toxicity_human",
        "toxicity_ai",
        (pl.col("label") if "label" in frame.columns else pl.lit(None, pl.String)).alias("prompt_label"),
        "role",
        pl.format("{}-{}", pl.lit(split or "row"), pl.int_range(pl.len())).alias("id"),
        pl.lit(split or None, pl.String).alias("split"),
    )


DATASET = Dataset(card=CARD, tables={"statements": _read}, splits=("train", "test"), identities=IDENTITIES)
