"""CrowS-Pairs: pairs of sentences that differ only in the group they speak of, one more stereotypical than the other."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets.card import Card, Dataset, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, csv_batches
from fairwitness.tables import require_columns

COMMIT = "8aaac11c485473159ec9328a65253a5be9a479dc"

CARD = Card(
    name="crows_pairs",
    title="CrowS-Pairs",
    licence="CC BY-SA 4.0",
    citation="Nangia, Vania, Bhalerao, Bowman (2020). CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in Masked "
    "Language Models. EMNLP",
    warning="sentences that state stereotypes about nine kinds of groups",
    counts={"pairs": 1_508, "sentences": 3_016, "stereo": 1_290, "antistereo": 218, "kinds of bias": 9},
    counted_on="a real copy of crows_pairs_anonymized.csv",
    columns={
        "id": "pair and role",
        "text": "the sentence",
        "context": "always null",
        "label, role": "more or less: which of the pair is the more stereotypical",
        "unit": "the pair's number",
        "direction": "stereo or antistereo",
        "bias_type": "one of nine kinds",
    },
    layouts=("crows_pairs_anonymized.csv", "any CSV or TSV with sent_more, sent_less, stereo_antistereo, bias_type", ".gz too"),
    remotes=(
        WebFiles(
            (
                WebFile(
                    url=f"https://raw.githubusercontent.com/nyu-mll/crows-pairs/{COMMIT}/data/crows_pairs_anonymized.csv",
                    name="crows_pairs_anonymized.csv",
                ),
            )
        ),
    ),
    revision=COMMIT,
    notes="Known to hold flawed pairs (Blodgett et al. 2021); revised editions can be read with --source.",
)


def _read(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    file = copy.need("CrowS-Pairs", "crows_pairs_anonymized.csv", "*.csv", "*.tsv")[0]
    separator = "\t" if _first_line(file.open().readline()) else ","
    start = 0
    for frame in csv_batches(file, separator=separator):
        require_columns(frame.columns, ("sent_more", "sent_less", "stereo_antistereo", "bias_type"), file.shown)
        pairs = frame.with_columns(pl.int_range(start, start + pl.len()).cast(pl.String).alias("unit"))
        start += frame.height
        roles = [_role(pairs, role) for role in ("more", "less")]
        yield pl.concat(roles).sort(pl.col("unit").cast(pl.Int64), maintain_order=True)


def _role(pairs: pl.DataFrame, role: str) -> pl.DataFrame:
    return pairs.select(
        pl.format("{}-{}", "unit", pl.lit(role)).alias("id"),
        pl.col(f"sent_{role}").alias("text"),
        pl.lit(None, pl.String).alias("context"),
        pl.lit(role).alias("label"),
        "unit",
        pl.lit(role).alias("role"),
        pl.col("stereo_antistereo").alias("direction"),
        "bias_type",
    )


def _first_line(line: bytes) -> bool:
    """Whether a header is separated by tabs: one revised edition is, under the name .csv."""
    return line.count(b"\t") > line.count(b",")


DATASET = Dataset(card=CARD, tables={"sentences": _read}, item="unit")
