"""The Social Bias Inference Corpus: one row per annotation and target as released, one row per post as read here."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import splits
from fairwitness.datasets.card import Card, Dataset, HubFiles, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, RawFile, read_table
from fairwitness.tables import require_columns

ANSWERS = ("offensiveYN", "intentYN", "sexYN", "whoTarget")
CATEGORIES = ("body", "culture", "disabled", "gender", "race", "social", "victim")
TARGETS = ("targetMinority", "targetCategory", "targetStereotype")
# One annotator fills one form and gives it several targets. Without WorkerId the form is known by who filled it and how.
PERSON = ("annotatorGender", "annotatorMinority", "annotatorPolitics", "annotatorRace", "annotatorAge")
FORM = ("intentYN", "sexYN", "sexReason", "offensiveYN", "sexPhrase", "speakerMinorityYN")

CARD = Card(
    name="sbic",
    title="Social Bias Inference Corpus (SBIC) v2",
    licence="CC BY 4.0",
    citation="Sap, Gabriel, Qin, Jurafsky, Smith, Choi (2020). Social Bias Frames: Reasoning about Social and Power Implications "
    "of Language. ACL",
    warning="real posts, many of them hateful or lewd, and the stereotypes they imply spelt out",
    counts={
        "validation annotations": 16_738,
        "validation posts": 4_673,
        "validation posts offensive": 2_612,
        "train annotations": 112_900,
        "test annotations": 17_501,
    },
    counted_on="a real copy of the dev annotations; train and test are the release's own figures",
    columns={
        "comment_text": "the post",
        "target": "1 where the mean of offensiveYN is 0.5 or more, else 0; null where no annotator answered",
        "offensiveYN, intentYN, sexYN, whoTarget": "mean over annotators (each annotator's own mean first), 0 to 1",
        "body … victim": "7 target categories: share of annotators who named one, 0 to 1",
        "targetMinority, targetCategory, targetStereotype": "what annotators wrote, sorted, without repetition",
        "has_implication": "1 where any annotator wrote a stereotype",
        "n_annotators": "how many annotators",
        "id": "hash of the post",
        "split": "train, validation or test",
    },
    layouts=("SBIC.v2.tgz", "SBIC.v2.{trn,dev,tst}.csv", "the Hub's Parquet folder (default/train/0000.parquet)", ".gz too"),
    remotes=(
        WebFiles((WebFile(url="https://maartensap.com/social-bias-frames/SBIC.v2.tgz", name="SBIC.v2.tgz"),)),
        WebFiles((WebFile(url="https://homes.cs.washington.edu/~msap/social-bias-frames/SBIC.v2.tgz", name="SBIC.v2.tgz"),)),
        HubFiles(
            repo="allenai/social_bias_frames",
            revision="refs/convert/parquet",
            patterns=("default/{split}/*.parquet",),
        ),
    ),
    dead={"hf://datasets/allenai/social_bias_frames@main": "a loading script; the live copy is refs/convert/parquet"},
    revision="v2",
    notes="There is no offenseScore "
    "in this corpus. Copies without WorkerId are joined by annotator demographics and answers: on the dev set that changes "
    "intentYN for 2 of 4,673 posts and n_annotators for 19.",
)


def _read(copy: RawCopy, split: str) -> Iterator[pl.DataFrame]:
    files = copy.need("table of annotations", "SBIC.v2.*.csv", "*.csv", "*.tsv", "*.parquet")
    # The release also holds the authors' own aggregation (agg), which has no annotator in it.
    plain = [file for file in files if "agg" not in file.name.lower().rsplit("/", 1)[-1]]
    for file in splits.choose(copy, plain or files, split):
        yield _posts(read_table(file), file)


def _posts(rows: pl.DataFrame, file: RawFile) -> pl.DataFrame:
    require_columns(rows.columns, ("post", *ANSWERS, *TARGETS), file.shown)
    people = ["WorkerId"] if "WorkerId" in rows.columns else [name for name in (*PERSON, *FORM) if name in rows.columns]
    rows = rows.with_columns(pl.col(name).cast(pl.String).replace("", None) for name in rows.columns)
    rows = rows.with_columns(pl.concat_str(pl.col(people).fill_null(""), separator="\x1f").alias("annotator"))
    rows = rows.with_columns(pl.col(ANSWERS).cast(pl.Float64, strict=False))
    forms = rows.group_by("post", "annotator", maintain_order=True).agg(
        pl.col(ANSWERS).mean(),
        *((pl.col("targetCategory") == name).any().fill_null(False).cast(pl.Float64).alias(name) for name in CATEGORIES),
    )
    posts = forms.group_by("post", maintain_order=True).agg(
        pl.col((*ANSWERS, *CATEGORIES)).mean(), pl.len().cast(pl.Int64).alias("n_annotators")
    )
    written = rows.group_by("post").agg(pl.col(name).drop_nulls().unique().sort() for name in TARGETS)
    return _columns(posts.join(written, on="post", how="left", maintain_order="left"), splits.of_file(file.name))


def _columns(posts: pl.DataFrame, split: str) -> pl.DataFrame:
    from fairwitness.files import content_hash

    return posts.select(
        pl.col("post").alias("comment_text"),
        (pl.col("offensiveYN") >= 0.5).cast(pl.Int64).alias("target"),
        *ANSWERS,
        *CATEGORIES,
        *TARGETS,
        (pl.col("targetStereotype").list.len() > 0).cast(pl.Int64).alias("has_implication"),
        "n_annotators",
        pl.Series("id", [content_hash(text or "")[:16] for text in posts["post"]]),
        pl.lit(split or None, pl.String).alias("split"),
    )


DATASET = Dataset(card=CARD, tables={"posts": _read}, splits=("train", "validation", "test"), identities=CATEGORIES)
