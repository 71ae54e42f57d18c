"""StereoSet's development set: contexts with a stereotype, an anti-stereotype and an unrelated sentence."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from fairwitness.datasets.card import Card, Dataset, HubFiles, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, RawFile, parquet_batches, read_json
from fairwitness.errors import InputError

SUBSETS = ("intersentence", "intrasentence")
GOLD = ("anti-stereotype", "stereotype", "unrelated")  # the Hub's Parquet stores the position in these orders
HUMAN = ("anti-stereotype", "stereotype", "unrelated", "related")
COLUMNS = ("id", "text", "context", "label", "unit", "role", "target", "bias_type", "subset")
INTERSENTENCE_SHA256 = "2ddf1a94ef6612c411f1d43a811d3526c61a11cf9af913ea211943beae6cedcb"
REVISION = "bf6e7ce50491784d094fb7afe60a70ecccb89035"

CARD = Card(
    name="stereoset",
    title="StereoSet, development set",
    licence="CC BY-SA 4.0",
    citation="Nadeem, Bethke, Reddy (2021). StereoSet: Measuring stereotypical bias in pretrained language models. ACL",
    warning="sentences that state stereotypes about gender, profession, race and religion",
    counts={
        "intersentence items": 2_123,
        "intrasentence items": 2_106,
        "sentences": 12_687,
        "target terms": 79,
        "intersentence gender": 242,
        "intersentence profession": 827,
        "intersentence race": 976,
        "intersentence religion": 78,
        "intrasentence gender": 255,
        "intrasentence profession": 810,
        "intrasentence race": 962,
        "intrasentence religion": 79,
    },
    counted_on="a real copy, rebuilt and verified against the published scores",
    columns={
        "id": "the sentence's id",
        "text": "the sentence",
        "context": "the context (with BLANK in intrasentence items)",
        "label, role": "stereotype, anti-stereotype or unrelated",
        "unit": "the item's id, shared by its three sentences",
        "target": "the target term",
        "bias_type": "gender, profession, race or religion",
        "subset": "intersentence or intrasentence",
    },
    layouts=("dev.json", "the Hub's Parquet folder (intersentence/validation-*.parquet)", ".gz too"),
    remotes=(
        HubFiles(
            repo="McGill-NLP/stereoset",
            revision=REVISION,
            patterns=("intersentence/validation-*.parquet", "intrasentence/validation-*.parquet"),
            hashes={"intersentence/validation-00000-of-00001.parquet": INTERSENTENCE_SHA256},
        ),
        WebFiles((WebFile(url="https://raw.githubusercontent.com/moinnadeem/StereoSet/master/data/dev.json", name="dev.json"),)),
    ),
    revision=REVISION,
    notes="--out dev.json writes the authors' own JSON, which `fairwitness stereoset` reads; any other ending writes the sentences "
    "as a table. The hidden test set was never published.",
)


def items(copy: RawCopy) -> dict[str, list[dict[str, Any]]]:
    """The items of both subsets in the authors' own form."""
    tables = copy.find("*.parquet")
    if tables:
        return _hub_items(tables)
    file = copy.need("StereoSet", "dev.json", "*.json")[0]
    document = read_json(file)
    data = document.get("data") if isinstance(document, dict) else None
    found = {name: data[name] for name in SUBSETS if name in data} if isinstance(data, dict) else {}
    if not found or not all(isinstance(some, list) for some in found.values()):
        raise InputError(f"{file.shown} is not StereoSet's dev.json: 'data' with {' and '.join(SUBSETS)} was expected.")
    return found


def document(copy: RawCopy) -> bytes:
    """The authors' dev.json: the very bytes where the copy is one, else rebuilt from the Hub's Parquet."""
    if copy.find("*.parquet"):
        return json.dumps({"version": "1.0", "data": items(copy)}, ensure_ascii=False).encode()
    items(copy)
    with copy.need("StereoSet", "dev.json", "*.json")[0].open() as stream:
        return stream.read()


def _read(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    rows = [row for subset, found in items(copy).items() for item in found for row in _rows(item, subset, copy)]
    yield pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String))


def _rows(item: Mapping[str, Any], subset: str, copy: RawCopy) -> Iterator[dict[str, Any]]:
    shared = ("context", "target", "bias_type")
    try:
        for sentence in item["sentences"]:
            yield {
                "id": sentence["id"],
                "text": sentence["sentence"],
                "label": sentence["gold_label"],
                "unit": item["id"],
                "role": sentence["gold_label"],
                "subset": subset,
                **{name: item[name] for name in shared},
            }
    except (KeyError, TypeError) as error:
        raise InputError(f"{copy.shown} is not StereoSet: an item of {subset} lacks {error}.") from error


def _hub_items(tables: list[RawFile]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for file in tables:
        subset = next((name for name in SUBSETS if name in file.name), None)
        if subset is None:
            raise InputError(f"{file.shown}: a folder named {' or '.join(SUBSETS)} was expected around it.")
        for frame in parquet_batches(file):
            found.setdefault(subset, []).extend(_hub_item(row) for row in frame.iter_rows(named=True))
    return found


def _hub_item(row: Mapping[str, Any]) -> dict[str, Any]:
    columns = row["sentences"]
    keys = list(columns)
    sentences = [dict(zip(keys, values, strict=True)) for values in zip(*(columns[key] for key in keys), strict=True)]
    for sentence in sentences:
        sentence["gold_label"] = _word(sentence["gold_label"], GOLD)
        if sentence.get("labels") is not None:
            people = sentence["labels"]
            sentence["labels"] = [
                {"label": _word(label, HUMAN), "human_id": human}
                for label, human in zip(people["label"], people["human_id"], strict=True)
            ]
    return {**{key: row[key] for key in ("id", "target", "bias_type", "context")}, "sentences": sentences}


def _word(value: Any, words: tuple[str, ...]) -> str:
    return words[value] if isinstance(value, int) else str(value)


DATASET = Dataset(card=CARD, tables={"sentences": _read}, item="unit", splits=("validation",), document=document)
