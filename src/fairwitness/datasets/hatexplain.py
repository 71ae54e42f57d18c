"""HateXplain: posts that three people labelled hatespeech, offensive or normal, with the communities they saw targeted."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from fairwitness.datasets import splits
from fairwitness.datasets.card import Card, Dataset, HubFiles, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, RawFile, parquet_batches, read_json
from fairwitness.errors import InputError

COMMUNITIES = (
    *("African", "Islam", "Women", "Jewish", "Homosexual", "Refugee", "Arab", "Caucasian", "Men", "Asian", "Hispanic"),
    *("Christian", "Disability", "Minority", "Heterosexual", "Economic", "Hindu", "Nonreligious", "Indigenous", "Indian"),
    *("Buddhism", "Bisexual", "Asexual"),
)
IDENTITIES = tuple(name.lower() for name in COMMUNITIES)
LABELS = ("hatespeech", "normal", "offensive")  # the Hub's Parquet stores the position in this order
SCHEMA: dict[str, Any] = {
    "comment_text": pl.String,
    "target": pl.Int64,
    "hate": pl.Int64,
    "toxicity": pl.Float64,
    **dict.fromkeys(IDENTITIES, pl.Float64),
    "majority_label": pl.String,
    "rationale": pl.List(pl.Float64),
    "id": pl.String,
    "split": pl.String,
}
GITHUB = "https://raw.githubusercontent.com/hate-alert/HateXplain/01d742279dac941981f53806154481c0e15ee686/Data"

CARD = Card(
    name="hatexplain",
    title="HateXplain",
    licence="MIT (authors' repository); the Hub's page says CC BY 4.0",
    citation="Mathew, Saha, Yimam, Biemann, Goyal, Mukherjee (2021). HateXplain: A Benchmark Dataset for Explainable Hate Speech "
    "Detection. AAAI",
    warning="real posts, many of them hateful, with slurs",
    counts={
        "posts": 20_148,
        "normal": 7_814,
        "hatespeech": 5_935,
        "offensive": 5_480,
        "undecided": 919,
        "train": 15_383,
        "validation": 1_922,
        "test": 1_924,
    },
    counted_on="a real copy of all posts and of the split file",
    columns={
        "comment_text": "the post's tokens, joined by spaces",
        "target": "1 where the majority of three said hatespeech or said offensive, 0 where it said normal; null where all differ",
        "hate": "1 where the majority said hatespeech; null where all differ",
        "toxicity": "share of annotators who did not say normal",
        "african … asexual": "23 communities: share of annotators who named it as a target, 0 to 1",
        "majority_label": "hatespeech, offensive, normal or undecided",
        "rationale": "per token, the share of rationales that mark it; null where nobody gave one",
        "id": "the authors' post id",
        "split": "train, validation or test; null for the undecided, which the authors leave out",
    },
    layouts=(
        "dataset.json with post_id_divisions.json beside it",
        "the Hub's Parquet folder (plain_text/train/0000.parquet)",
        ".gz too",
    ),
    remotes=(
        WebFiles(
            (
                WebFile(url=f"{GITHUB}/dataset.json", name="dataset.json"),
                WebFile(url=f"{GITHUB}/post_id_divisions.json", name="post_id_divisions.json"),
            )
        ),
        HubFiles(repo="Hate-speech-CNERG/hatexplain", revision="refs/convert/parquet", patterns=("plain_text/{split}/*.parquet",)),
    ),
    revision="01d742279dac941981f53806154481c0e15ee686",
    dead={"hf://datasets/Hate-speech-CNERG/hatexplain@main": "a loading script; the live copy is refs/convert/parquet"},
    notes="'normal' is not toxic. The Hub's copy lacks the undecided posts.",
)


def _read(copy: RawCopy, split: str) -> Iterator[pl.DataFrame]:
    tables = copy.find("*.parquet")
    if tables:
        for file in splits.choose(copy, tables, split):
            for frame in parquet_batches(file, rows=4096):
                yield _frame([_hub_row(row) for row in frame.iter_rows(named=True)], splits.of_file(file.name))
        return
    found = copy.need("HateXplain posts", "dataset*.json", "*.json")
    posts_file = next((file for file in found if "post_id_divisions" not in file.name), found[0])
    divisions = _divisions(copy)
    posts = read_json(posts_file)
    if not isinstance(posts, dict):
        raise InputError(f"{posts_file.shown} is not HateXplain's dataset.json: an object by post id was expected.")
    rows = [_row(post_id, post, divisions.get(post_id), posts_file) for post_id, post in posts.items()]
    if split not in ("", splits.ALL) and not divisions:
        raise InputError(f"{posts_file.shown} does not say which post is in which split: put post_id_divisions.json beside it.")
    yield splits.rows_of(_frame(rows, ""), split)


def _divisions(copy: RawCopy) -> dict[str, str]:
    files = copy.find("post_id_divisions.json")
    if not files:
        return {}
    return {post_id: splits.canonical(name) for name, ids in read_json(files[0]).items() for post_id in ids}


def _row(post_id: str, post: Mapping[str, Any], split: str | None, file: RawFile) -> dict[str, Any]:
    try:
        votes = [str(person["label"]) for person in post["annotators"]]
        named = [set(person["target"]) for person in post["annotators"]]
        return _measured(post_id, post["post_tokens"], votes, named, post["rationales"]) | {"split": split}
    except KeyError as error:
        raise InputError(f"{file.shown} is not HateXplain's dataset.json: post '{post_id}' lacks {error}.") from error
    except TypeError as error:
        raise InputError(f"{file.shown} is not HateXplain's dataset.json: '{post_id}' is no post.") from error


def _hub_row(row: Mapping[str, Any]) -> dict[str, Any]:
    people = row["annotators"]
    if isinstance(people, list):
        votes, named = [person["label"] for person in people], [set(person["target"]) for person in people]
    else:
        votes, named = people["label"], [set(target) for target in people["target"]]
    votes = [LABELS[vote] if isinstance(vote, int) else vote for vote in votes]
    return _measured(row["id"], row["post_tokens"], votes, named, row["rationales"])


def _measured(
    post_id: str, tokens: list[str], votes: list[str], named: list[set[str]], rationales: list[list[int]]
) -> dict[str, Any]:
    label, most = Counter(votes).most_common(1)[0]
    decided = most * 2 > len(votes)
    shares = {name.lower(): sum(name in one for one in named) / len(named) for name in COMMUNITIES}
    return {
        "comment_text": " ".join(tokens),
        "target": int(label != "normal") if decided else None,
        "hate": int(label == "hatespeech") if decided else None,
        "toxicity": sum(vote != "normal" for vote in votes) / len(votes),
        **shares,
        "majority_label": label if decided else "undecided",
        "rationale": _rationale(rationales, len(tokens)),
        "id": post_id,
    }


def _rationale(rationales: list[list[int]], length: int) -> list[float] | None:
    """One post's rationales are shorter than its tokens as stored: what cannot be aligned is left out."""
    fitting = [marks for marks in rationales if len(marks) == length]
    return [sum(marks) / len(fitting) for marks in zip(*fitting, strict=True)] if fitting else None


def _frame(rows: list[dict[str, Any]], split: str) -> pl.DataFrame:
    return pl.DataFrame([{"split": split or None} | row for row in rows], schema=SCHEMA)


DATASET = Dataset(
    card=CARD,
    tables={"posts": _read},
    splits=("train", "validation", "test"),
    beside=("post_id_divisions.json",),
    identities=IDENTITIES,
)
