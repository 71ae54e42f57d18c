"""A long CSV file in blocks of whole rows, so that its types are learned and its rows are walked through without holding it.

polars learns types from all rows only when it holds them all. Here each block is read by polars, and what the blocks say of a
column is put together by polars' own rules (but for whole numbers, fractions and numbers beyond 64 bits all in one column, which
are numbers here and text there). Short files need none of this; tables.py decides.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

BLOCK = 4 << 20
_WHOLE = {pl.Int64(), pl.Int128()}


def schema_of(path: Path, *, separator: str) -> dict[str, pl.DataType]:
    """The types of all columns, as polars would infer them from every row. Learned once as long as the file stays the same."""
    state = path.stat()
    return dict(_learned(path, separator, state.st_size, state.st_mtime_ns, BLOCK))


def batches(
    path: Path, schema: dict[str, pl.DataType], columns: Sequence[str], *, rows: int, separator: str
) -> Iterator[pl.DataFrame]:
    """The file's rows in order, `rows` at a time."""
    held: list[pl.DataFrame] = []
    waiting = 0
    for block in blocks(path):
        frame = pl.read_csv(block, separator=separator, schema=schema).select(columns)
        held.append(frame)
        waiting += frame.height
        if waiting >= rows:
            together = pl.concat(held)
            whole = waiting // rows * rows
            yield from together.head(whole).iter_slices(rows)
            held, waiting = [together.slice(whole)], waiting - whole
    if waiting:
        yield pl.concat(held)


def blocks(path: Path) -> Iterator[bytes]:
    """The header and some whole rows, again and again. A row ends at a line end that no quotes enclose."""
    with path.open("rb") as stream:
        header, held = _first_row(stream)
        while more := stream.read(BLOCK):
            held += more
            cut = _last_row_end(held)
            if cut:
                yield header + held[:cut]
                held = held[cut:]
        yield header + held


@lru_cache(maxsize=32)
def _learned(path: Path, separator: str, size: int, changed: int, block: int) -> tuple[tuple[str, pl.DataType], ...]:
    seen: dict[str, set[Any]] = {}
    for piece in blocks(path):
        frame = pl.read_csv(piece, separator=separator, infer_schema_length=None)
        for name, kind in frame.schema.items():
            # A column that is empty so far may hold anything.
            empty = frame[name].null_count() == frame.height
            seen.setdefault(name, set()).update([] if empty else [kind])
    return tuple((name, _together(kinds)) for name, kinds in seen.items())


def _together(kinds: set[Any]) -> pl.DataType:
    if len(kinds) == 1:
        return next(iter(kinds))  # type: ignore[no-any-return]
    if kinds and kinds <= _WHOLE:
        return pl.Int128()
    return pl.Float64() if kinds and kinds <= {*_WHOLE, pl.Float64()} else pl.String()


def _first_row(stream: BinaryIO) -> tuple[bytes, bytes]:
    """The first row, and what was read behind it."""
    held = stream.read(BLOCK)
    while not (cut := _first_row_end(held)) and (more := stream.read(BLOCK)):
        held += more
    cut = cut or len(held)
    return held[:cut], held[cut:]


def _first_row_end(held: bytes) -> int:
    """The place behind the first row; 0 when it does not end."""
    place, quotes, start = held.find(b"\n"), 0, 0
    while place >= 0:
        quotes += held.count(b'"', start, place)
        if quotes % 2 == 0:
            return place + 1
        start, place = place, held.find(b"\n", place + 1)
    return 0


def _last_row_end(held: bytes) -> int:
    """The place behind the last row that ends; 0 when none does."""
    before, end = held.count(b'"'), len(held)
    place = held.rfind(b"\n")
    while place >= 0:
        before -= held.count(b'"', place, end)
        if before % 2 == 0:
            return place + 1
        end, place = place, held.rfind(b"\n", 0, place)
    return 0
