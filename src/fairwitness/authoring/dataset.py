"""The finished dataset: rows in the published schema, split into train, valid and test so that no context is in two of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from fairwitness.authoring.records import Row, look_up, write_rows
from fairwitness.authoring.sampling import plain
from fairwitness.authoring.schema import Schema
from fairwitness.errors import EvidenceError

PARTS = ("train", "valid", "test")


def finished_rows(schema: Schema, rows: Sequence[Row]) -> list[Row]:
    """The labelled rows in the published fields; rows without a decided label are left out."""
    kind = schema.second
    carried = [name for name in kind.carry if name != schema.group_set]
    names = [*(name for name in carried if name not in kind.match), kind.text, *kind.match, kind.label, kind.sub_label]
    names += [] if "annotated_demo" in names else ["annotated_demo"]
    return [{name: look_up(row, name) for name in names} for row in rows if row.get(kind.label) is not None]


def split(
    schema: Schema, rows: Sequence[Row], *, shares: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 42
) -> dict[str, list[Row]]:
    """Rows by part. All rows of one context (and of contexts that are the same but for spelling) go to one part.

    Whole contexts are dealt, largest first, to the part that is furthest below its share; equal sizes in an order drawn by `seed`.
    """
    units: dict[str, list[Row]] = {}
    for row in rows:
        units.setdefault(plain(str(row[schema.first.text])), []).append(row)
    if len(units) < len(PARTS):
        raise EvidenceError(f"{len(units)} different {schema.first.name}s cannot be split into {', '.join(PARTS)}. Author more.")
    order = sorted(units)
    Random(seed).shuffle(order)
    order.sort(key=lambda unit: -len(units[unit]))
    parts: dict[str, list[Row]] = {part: [] for part in PARTS}
    wanted = dict(zip(PARTS, (share / sum(shares) for share in shares), strict=True))
    for done, unit in enumerate(order):
        empty = [part for part in PARTS if not parts[part]]
        # The last contexts go where there is nothing yet, so that no part stays empty.
        open_parts = empty if empty and len(order) - done <= len(empty) else PARTS
        total = sum(map(len, parts.values())) + len(units[unit])
        part = max(open_parts, key=lambda name: wanted[name] * total - len(parts[name]))
        parts[part] += units[unit]
    return parts


def write_parts(folder: Path, name: str, parts: Mapping[str, Sequence[Row]]) -> dict[str, Path]:
    """Write `<name>_train.json` and the others."""
    return {part: write_rows(folder / f"{name}_{part}.json", rows) for part, rows in parts.items()}


def count_rows(schema: Schema, parts: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """Rows per part, category, group and label."""
    counts: dict[tuple[str, str, str, str], int] = {}
    for part, rows in parts.items():
        for row in rows:
            label = str(schema.second.label_of(row[schema.second.label]))
            key = (part, str(look_up(row, schema.second.category)), str(look_up(row, schema.group)), label)
            counts[key] = counts.get(key, 0) + 1
    return [
        {"part": part, "category": category, "group": group, "label": label, "n": n}
        for (part, category, group, label), n in sorted(counts.items())
    ]
