"""Seeds in which one value is another: files that are right in everything but one place, where most readers look last.

Half a wrong file is refused at its first fault. To see what stands behind, all else must be right.
"""

import csv
import io
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st
from tests.fuzz.reader import Reader

Values = st.SearchStrategy[Any]
_COLUMNS = [
    [None] * 9,
    ["x", "", None],
    [1.5, math.inf, -math.inf, math.nan],
    [2**63 - 1, -1],
    [True, None],
    [[1], []],
    [{"a": 1}],
    [b"\xff"],
]


def displaced(reader: Reader, values: Values) -> st.SearchStrategy[bytes] | None:
    """Such files, or None for a reader of something that is no table and no tree."""
    suffix = Path(reader.name).suffix
    trees = {".json": (json.loads, _json), ".jsonl": (_lines, _json_lines), ".toml": (_toml_tree, _toml)}
    if suffix in trees:
        read, write = trees[suffix]
        return st.sampled_from([read(seed) for seed in reader.seeds if _reads(read, seed)]).flatmap(
            lambda tree: _changed(tree, values).map(write)
        )
    if suffix in (".csv", ".tsv"):
        separator = "\t" if suffix == ".tsv" else ","
        return st.sampled_from([_cells(seed, separator) for seed in reader.seeds]).flatmap(
            lambda rows: _changed(rows, values.map(str), deepest=2).map(lambda changed: _csv(changed, separator))
        )
    if suffix == ".parquet":
        return st.sampled_from(reader.seeds[:1]).flatmap(_parquet)
    return None


@st.composite
def _changed(draw: st.DrawFn, tree: Any, values: Values, deepest: int = 9) -> Any:
    """The tree with the value at some place replaced, or gone."""
    if deepest and isinstance(tree, dict | list) and tree and draw(st.integers(0, 9)):
        copy = tree.copy()
        place = draw(st.sampled_from(sorted(copy) if isinstance(copy, dict) else range(len(copy))))
        if draw(st.integers(0, 9)) == 0:
            del copy[place]
        else:
            copy[place] = draw(_changed(copy[place], values, deepest - 1))
        return copy
    return draw(values)


@st.composite
def _parquet(draw: st.DrawFn, seed: bytes) -> bytes:
    frame = pl.read_parquet(io.BytesIO(seed))
    name, odd = draw(st.sampled_from(frame.columns)), draw(st.sampled_from(_COLUMNS))
    column = pl.Series(name, [odd[row % len(odd)] for row in range(frame.height)], strict=False)
    stream = io.BytesIO()
    frame.with_columns(column).write_parquet(stream)
    return stream.getvalue()


def _reads(read: Any, seed: bytes) -> bool:
    try:
        return bool(read(seed))
    except ValueError:
        return False


def _lines(seed: bytes) -> list[Any]:
    return [json.loads(line) for line in seed.splitlines()]


def _cells(seed: bytes, separator: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(seed.decode("utf-8", "replace")), delimiter=separator))


def _csv(rows: Any, separator: str) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator="\n").writerows(row if isinstance(row, list) else [row] for row in rows)
    return stream.getvalue().encode("utf-8", "replace")


def _json(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def _json_lines(rows: Any) -> bytes:
    return b"\n".join(_json(row) for row in (rows if isinstance(rows, list) else [rows]))


def _toml_tree(seed: bytes) -> Any:
    return tomllib.loads(seed.decode())


def _toml(tree: Any) -> bytes:
    lines = (f"{json.dumps(str(key))} = {_inline(value)}" for key, value in tree.items()) if isinstance(tree, dict) else [str(tree)]
    return "\n".join(lines).encode("utf-8", "replace")


def _inline(value: Any) -> str:
    """A value as TOML writes it within a line; it has no null, so that is an empty text."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_inline(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    return json.dumps("" if value is None else value if isinstance(value, str | int | float) else str(value))
