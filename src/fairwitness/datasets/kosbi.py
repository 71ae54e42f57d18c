"""KoSBi: Korean contexts and sentences about social groups, labelled safe or unsafe."""

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from fairwitness.datasets import splits
from fairwitness.datasets.card import Card, Dataset, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, read_json
from fairwitness.errors import InputError
from fairwitness.files import content_hash

COMMIT = "e32837cd19c45564ab00083fbb2a4b89ecdf83f3"
GITHUB = f"https://raw.githubusercontent.com/naver-ai/korean-safety-benchmarks/{COMMIT}/data/KoSBi"
OWN = ("demographic_category", "demographic_group", "context", "sentence", "context_label", "sentence_label")
SCHEMA: dict[str, Any] = {
    "comment_text": pl.String,
    "target": pl.Int64,
    "id": pl.String,
    "text": pl.String,
    "context": pl.String,
    "label": pl.String,
    "unit": pl.String,
    "role": pl.String,
    "demographic_category": pl.String,
    "demographic_group": pl.String,
    "text_en": pl.String,
    "context_en": pl.String,
    "context_label": pl.String,
    "context_sub_label": pl.String,
    "sentence_sub_label": pl.List(pl.String),
    "annotated_demo": pl.String,
    "split": pl.String,
}

CARD = Card(
    name="kosbi",
    title="KoSBi: Korean Social Bias",
    licence="MIT",
    citation="Lee, Hong, Park, Kim, Kim, Ha (2023). KoSBi: A Dataset for Mitigating Social Bias Risks Towards Safer Large Language "
    "Model Applications. ACL Industry Track",
    warning="Korean sentences, half of them stereotypes of or prejudice against social groups",
    counts={
        "validation": 3_421,
        "validation safe": 1_754,
        "validation unsafe": 1_667,
        "test": 3_423,
        "test safe": 1_705,
        "test unsafe": 1_718,
        "demographic categories": 15,
    },
    counted_on="a real copy of valid and test; no copy of train was at hand",
    columns={
        "comment_text": "context and sentence, joined by a space",
        "target": "1 unsafe, 0 safe; null where undecided",
        "id": "split and row",
        "text, context": "the sentence; the context before it",
        "label, role": "safe or unsafe, as annotated",
        "unit": "hash of the context: sentences of one context are compared",
        "demographic_category, demographic_group": "whom it is about, in Korean",
        "text_en, context_en": "the authors' English translations",
        "context_label, context_sub_label, sentence_sub_label": "further labels",
        "annotated_demo": "the groups annotators saw, as JSON",
        "split": "train, validation or test",
    },
    layouts=("kosbi_{train,valid,test}.json", "kosbi_v2_{train,valid,test}.json", "a folder of them", ".gz too"),
    remotes=(
        WebFiles(
            tuple(
                WebFile(url=f"{GITHUB}/kosbi_{name}.json", name=f"kosbi_{name}.json", split=splits.canonical(name))
                for name in ("train", "valid", "test")
            )
        ),
    ),
    revision=COMMIT,
    notes="A folder that also holds version 2 is read as version 1; name a kosbi_v2 file to read that.",
)


def _read(copy: RawCopy, split: str) -> Iterator[pl.DataFrame]:
    files = copy.need("KoSBi", "kosbi_train.json", "kosbi_valid.json", "kosbi_test.json", "kosbi_v2_*.json", "*.json")
    files = [file for file in files if splits.of_file(file.name)] or files[:1]
    first_version = [file for file in files if "_v2_" not in file.name]
    for file in splits.choose(copy, first_version or files, split):
        rows = read_json(file)
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and set(OWN) <= set(row) for row in rows):
            raise InputError(f"{file.shown} is not a KoSBi file: a list of objects with {', '.join(OWN)} was expected.")
        named = splits.of_file(file.name)
        yield pl.DataFrame([_row(row, index, named) for index, row in enumerate(rows)], schema=SCHEMA)


def _row(row: dict[str, Any], index: int, split: str) -> dict[str, Any]:
    label = row["sentence_label"]
    return {
        "comment_text": f"{row['context']} {row['sentence']}",
        "target": {"unsafe": 1, "safe": 0}.get(label),
        "id": f"kosbi-{split or 'row'}-{index}",
        "text": row["sentence"],
        "label": label,
        "role": label,
        "unit": content_hash(row["context"])[:16],
        "text_en": row.get("sentence_en"),
        "annotated_demo": json.dumps(row["annotated_demo"], ensure_ascii=False) if row.get("annotated_demo") else None,
        "split": split or None,
        **{name: row.get(name) for name in ("context", "context_en", "demographic_category", "demographic_group")},
        **{name: row.get(name) for name in ("context_label", "context_sub_label", "sentence_sub_label")},
    }


DATASET = Dataset(card=CARD, tables={"sentences": _read}, splits=("train", "validation", "test"))
