"""StereoSet's items and prediction files: the authors' JSON, the hub's Parquet or our own table, checked item by item.

What comes out is one table, three rows per item in file order: `subset`, `unit` (the item), `id` (the sentence), `text`, `context`,
`role` (its gold label), `bias_type`, `target`, `position` (0, 1, 2 in the file). Where the file comes from is stereoset.py's.
"""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import tables
from fairwitness.errors import InputError, listing, suggestion
from fairwitness.files import json_value, require_file

SUBSETS = ("intrasentence", "intersentence")
ROLES = ("stereotype", "anti-stereotype", "unrelated")
DOMAINS = ("gender", "profession", "race", "religion")
BLANK = "BLANK"
BUILT_IN = "builtin"

COLUMNS = {
    "subset": pl.String,
    "unit": pl.String,
    "id": pl.String,
    "text": pl.String,
    "context": pl.String,
    "role": pl.String,
    "bias_type": pl.String,
    "target": pl.String,
    "position": pl.Int8,
}
# The hub's copy stores the gold label as a number.
_HUB_LABELS = ("anti-stereotype", "stereotype", "unrelated")


def read_items(path: Path | str = BUILT_IN, *, subset: str = "both") -> pl.DataFrame:
    """All items of one subset, or of both, as a checked table; `builtin` names the twenty items of our own."""
    wanted = subset_names(subset)
    where = str(path)
    found = list(_built_in() if where == BUILT_IN else _raw_items(Path(path)))
    frame = check_items([(name, item) for name, item in found if name in wanted], where)
    if frame.is_empty():
        held = sorted({name for name, _ in found})
        raise InputError(f"{where} has no {' or '.join(wanted)} items. It has: {listing(held) or 'none'}.")
    return frame


def subset_names(subset: str) -> tuple[str, ...]:
    """The subsets that a --subset names.

    >>> subset_names("both")
    ('intrasentence', 'intersentence')
    """
    if subset == "both":
        return SUBSETS
    if subset not in SUBSETS:
        raise InputError(
            f"Unknown subset '{subset}'. It is one of intersentence, intrasentence, both.{suggestion(subset, (*SUBSETS, 'both'))}"
        )
    return (subset,)


def check_items(items: Iterable[tuple[str, Any]], where: str) -> pl.DataFrame:
    """The table of (subset, item) pairs in the authors' schema. The first faulty item is an InputError that names it."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    units: set[str] = set()
    sentences: set[str] = set()
    numbers: Counter[str] = Counter()
    for subset, item in items:
        numbers[subset] += 1
        name = f"{where}: {subset} item {numbers[subset]}" + (
            f" (id {item['id']})" if isinstance(item, dict) and item.get("id") else ""
        )
        _check_item(item, subset, name)
        _refuse_twice(str(item["id"]), units, f"{name}: the item id occurs before; ids must be unique.")
        for position, sentence in enumerate(item["sentences"]):
            _refuse_twice(
                str(sentence["id"]), sentences, f"{name}: the sentence id {sentence['id']} occurs before; ids must be unique."
            )
            row = (subset, str(item["id"]), str(sentence["id"]), sentence["sentence"], item["context"], sentence["gold_label"])
            for column, value in zip(COLUMNS, (*row, item["bias_type"], item["target"], position), strict=True):
                columns[column].append(value)
    return pl.DataFrame(columns, schema=COLUMNS)


def read_predictions(path: Path | str) -> pl.DataFrame:
    """A prediction file in the authors' format, {subset: [{id, score}, …]}, plain or gzipped, as `subset`, `id`, `score`.

    A score that is null or not finite stays as it is (null for null); what to do about it is the audit's decision.
    """
    content = read_json(Path(path))
    known = _subsets_held(content, path)
    rows = [(subset, *_prediction(entry, subset, path)) for subset in known for entry in content[subset]]
    # An id that is listed again with the same score says nothing new; two scores for one id would be a choice.
    held = pl.DataFrame(rows, schema={"subset": pl.String, "id": pl.String, "score": pl.Float64}, orient="row")
    frame = held.unique(["id", "score"], keep="first", maintain_order=True)
    twice = frame.filter(pl.col("id").is_duplicated())["id"].unique(maintain_order=True).to_list()
    if twice:
        raise InputError(f"{path} scores {len(twice)} ids more than once: {listing(twice, 5)}. Keep one score per sentence.")
    return frame


def _subsets_held(content: Any, path: Path | str) -> list[str]:
    """The subsets a prediction file holds; anything that is not one of the authors' two names is an error."""
    if not isinstance(content, dict) or not content:
        raise InputError(
            f'{path} is no StereoSet prediction file. Expected {{"intrasentence": [{{"id", "score"}}, …], "intersentence": […]}}.'
        )
    for name, entries in content.items():
        if name not in SUBSETS:
            raise InputError(
                f"{path}: unknown subset '{name}'. Expected intrasentence and intersentence.{suggestion(name, SUBSETS)}"
            )
        if not isinstance(entries, list):
            raise InputError(f'{path}: "{name}" must be a list of {{"id", "score"}}, not {type(entries).__name__}.')
    return list(content)


def read_json(path: Path) -> Any:
    """What a JSON file holds, plain or gzipped."""
    path = require_file(path)
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return json_value(data)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not readable JSON; it may be damaged or cut short ({error}).") from error


def _built_in() -> Iterator[tuple[str, Any]]:
    text = (resources.files("fairwitness.datasets") / "builtin" / "stereoset_items.json").read_text(encoding="utf-8")
    return _from_authors(json.loads(text), BUILT_IN)


def _raw_items(path: Path) -> Iterator[tuple[str, Any]]:
    if path.name.endswith((".json", ".json.gz")):
        return _from_authors(read_json(path), str(path))
    columns = tables.columns_of(path)
    return _from_hub(path) if "sentences" in columns else _from_table(path, columns)


def _from_authors(content: Any, where: str) -> Iterator[tuple[str, Any]]:
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, dict):
        raise InputError(f'{where} is not StereoSet\'s JSON. Expected {{"data": {{"intrasentence": […], "intersentence": […]}}}}.')
    for subset, items in data.items():
        if subset not in SUBSETS:
            raise InputError(
                f"{where}: unknown subset '{subset}'. Expected intrasentence and intersentence.{suggestion(subset, SUBSETS)}"
            )
        if not isinstance(items, list):
            raise InputError(f'{where}: "{subset}" must be a list of items, not {type(items).__name__}.')
        yield from ((subset, item) for item in items)


def _from_hub(path: Path) -> Iterator[tuple[str, Any]]:
    frame = tables.read(path, ["id", "target", "bias_type", "context", "sentences"])
    for row in frame.iter_rows(named=True):
        held = row["sentences"]
        if isinstance(held, dict):
            held = [dict(zip(held, values, strict=False)) for values in zip(*held.values(), strict=False)]
        sentences = [{**sentence, "gold_label": _label(sentence.get("gold_label"))} for sentence in held]
        yield (SUBSETS[0] if BLANK in (row["context"] or "") else SUBSETS[1]), {**row, "sentences": sentences}


def _label(value: Any) -> Any:
    return _HUB_LABELS[value] if isinstance(value, int) and 0 <= value < len(_HUB_LABELS) else value


def _from_table(path: Path, columns: list[str]) -> Iterator[tuple[str, Any]]:
    role = "role" if "role" in columns else "gold_label"
    tables.require_columns(columns, ["unit", "id", "text", "context", role, "bias_type", "target"], path, flag="--data")
    frame = tables.read(path)
    if "subset" not in columns:
        blank = pl.col("context").str.contains(BLANK, literal=True)
        frame = frame.with_columns(subset=pl.when(blank).then(pl.lit(SUBSETS[0])).otherwise(pl.lit(SUBSETS[1])))
    for unit in frame.partition_by(["subset", "unit"], maintain_order=True):
        first = unit.row(0, named=True)
        sentences = [
            {"id": i, "sentence": text, "gold_label": gold} for i, text, gold in unit.select("id", "text", role).iter_rows()
        ]
        yield first["subset"], {**first, "id": first["unit"], "sentences": sentences}


def _check_item(item: Any, subset: str, name: str) -> None:
    if not isinstance(item, dict):
        raise InputError(f"{name} is not an object but {type(item).__name__}.")
    for key in ("id", "target", "bias_type", "context", "sentences"):
        if key not in item:
            raise InputError(f"{name} has no '{key}'.{suggestion(key, item)}")
    for key in ("id", "target", "bias_type", "context"):
        if not isinstance(item[key], str) or not item[key].strip():
            raise InputError(f"{name}: '{key}' is empty or not text. Every item needs one.")
    if subset == SUBSETS[0] and BLANK not in item["context"]:
        raise InputError(
            f"{name}: the context has no {BLANK}. Write {BLANK} where the association belongs, or move the item to intersentence."
        )
    _check_sentences(item["sentences"], name)


def _check_sentences(sentences: Any, name: str) -> None:
    if not isinstance(sentences, list) or len(sentences) != len(ROLES):
        seen = len(sentences) if isinstance(sentences, list) else type(sentences).__name__
        raise InputError(f"{name}: {seen} associations; exactly 3 are expected ({', '.join(ROLES)}).")
    for sentence in sentences:
        if not isinstance(sentence, dict) or not sentence.get("id"):
            raise InputError(f"{name}: an association without an 'id'.")
        if not isinstance(sentence.get("sentence"), str) or not sentence["sentence"].strip():
            raise InputError(f"{name}: the association {sentence['id']} has no 'sentence'.")
        gold = sentence.get("gold_label")
        if gold not in ROLES:
            raise InputError(f"{name}: gold_label {gold!r} is not one of {', '.join(ROLES)}.{suggestion(str(gold), ROLES)}")
    labels = [sentence["gold_label"] for sentence in sentences]
    missing = [role for role in ROLES if role not in labels]
    if missing:
        twice = next(role for role in ROLES if labels.count(role) > 1)
        raise InputError(f"{name}: the gold label '{twice}' occurs {labels.count(twice)} times and '{missing[0]}' is missing.")


def _refuse_twice(value: str, seen: set[str], message: str) -> None:
    if value in seen:
        raise InputError(message)
    seen.add(value)


def _prediction(entry: Any, subset: str, path: Path | str) -> tuple[str, float | None]:
    if not isinstance(entry, dict) or "id" not in entry or "score" not in entry:
        raise InputError(f'{path}: an entry of "{subset}" is not {{"id", "score"}}: {json.dumps(entry)[:80]}')
    score = entry["score"]
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise InputError(f"{path}: the score of {entry['id']} is {json.dumps(score)[:40]}; a number was expected.")
    return str(entry["id"]), None if score is None else float(score)
