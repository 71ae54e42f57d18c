"""The four tables that everything in flight is, and how any table gets on and off the disk.

Names of columns are written here once. A table in memory is a polars frame; on disk it is Parquet, CSV, TSV, JSON lines or
JSON, by the name of the file. What a column means to an audit is the audit's business.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import csv_blocks
from fairwitness.errors import InputError, listing, suggestion
from fairwitness.files import decoded, named_by, replacing, require_file

EXAMPLES = ("id", "text", "context", "label", "unit", "role")
SCORES = ("id", "score", "pred", "error")
ATTRIBUTIONS = ("id", "tokens", "weights", "explained", "gap", "steps")
MEASUREMENTS = ("metric", "attribute", "group", "class", "value", "low", "high", "n", "n_failed", "p", "p_adjusted")

# Bytes from which a CSV file is read block by block.
LONG_CSV = 16 * csv_blocks.BLOCK

SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".json")

# What the readers beneath us raise on a damaged file. Our own mistakes are not among them and keep their traceback.
_UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)

# The same where our own code runs within reach: nothing that a mistake of ours would raise.
_DAMAGED = (pl.exceptions.ComputeError, pl.exceptions.NoDataError, pl.exceptions.PanicException, OSError)


def read(path: Path | str, columns: Sequence[str] | None = None, *, rows: int | None = None) -> pl.DataFrame:
    """Read a table, or some of its columns, or its first rows. Every fault of the file is an InputError that says what to do."""
    path = Path(path)
    if columns is not None:
        require_columns(columns_of(path), columns, path)
        columns = list(dict.fromkeys(columns))
    frame = scan(path)
    try:
        if columns is not None:
            frame = frame.select(columns)
        if rows is not None:
            frame = frame.head(rows)
        return frame.collect()
    except _UNREADABLE as error:
        raise _unreadable(path, error) from error


def batches(path: Path | str, columns: Sequence[str] | None = None, *, rows: int = 65_536) -> Iterator[pl.DataFrame]:
    """Walk through a table in file order, `rows` at a time, without ever holding all of it."""
    path = Path(path)
    frame = scan(path)
    if columns is not None:
        require_columns(frame.collect_schema().names(), columns, path)
        frame = frame.select(list(dict.fromkeys(columns)))
    try:
        if _suffix(path) == ".parquet":
            yield from _parquet_batches(path, frame.collect_schema().names(), rows)
        elif _is_long_csv(path):
            separator = _separator(_suffix(path))
            schema = csv_blocks.schema_of(path, separator=separator)
            yield from csv_blocks.batches(path, schema, frame.collect_schema().names(), rows=rows, separator=separator)
        else:
            yield from frame.collect_batches(chunk_size=rows, maintain_order=True)
    except _UNREADABLE as error:
        raise _unreadable(path, error) from error


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Hold this around whatever consumes a lazy view: a damaged row shows only then, and is an InputError like any other."""
    try:
        yield
    except _DAMAGED as error:
        raise _unreadable(Path(path), error) from error


def _parquet_batches(path: Path, columns: list[str], rows: int) -> Iterator[pl.DataFrame]:
    import pyarrow.parquet as pq

    # pyarrow rather than polars: it reads no further ahead than asked, so that memory stays flat however long the file is.
    for part in named_by(path):
        with pq.ParquetFile(part, memory_map=False, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=rows, columns=columns):
                yield pl.DataFrame(batch).select(columns)


def scan(path: Path | str) -> pl.LazyFrame:
    """A lazy view of a table file; nothing but its schema is read yet. Consume it within `reading`."""
    path = require_file(Path(path))
    suffix = _suffix(path)
    try:
        if suffix == ".parquet":
            frame = pl.scan_parquet(named_by(path), glob=False)
        elif named_by(path) != [path]:
            raise InputError(f"{path}: only Parquet files may be named with a star. Join the others into one file first.")
        elif suffix == ".jsonl":
            frame = pl.scan_ndjson(_in_utf8(path), infer_schema_length=None)
        elif suffix == ".json":
            frame = pl.read_json(_in_utf8(path), infer_schema_length=None).lazy()
        else:
            separator = _separator(suffix)
            _refuse_duplicates(path, separator=separator)
            # Types are learned from every row; of a long file block by block, so that it is never held as a whole.
            known = csv_blocks.schema_of(path, separator=separator) if _is_long_csv(path) else None
            frame = pl.scan_csv(path, separator=separator, schema=known, infer_schema_length=None, glob=False)
        frame.collect_schema()
        return frame
    except _UNREADABLE as error:
        raise _unreadable(path, error) from error


def columns_of(path: Path | str) -> list[str]:
    """The column names of a table file."""
    path = require_file(Path(path))
    if _suffix(path) not in (".csv", ".tsv") or named_by(path) != [path]:
        return scan(path).collect_schema().names()
    # Types are learned from every row of a CSV file; names stand in its first line, which is all that is read here.
    try:
        return _refuse_duplicates(path, separator=_separator(_suffix(path)))
    except _UNREADABLE as error:
        raise _unreadable(path, error) from error


def count_rows(path: Path | str) -> int:
    """How many rows a table file has, without reading the rest of it."""
    try:
        return int(scan(path).select(pl.len()).collect().item())
    except _UNREADABLE as error:
        raise _unreadable(Path(path), error) from error


def require_columns(present: Iterable[str], wanted: Iterable[str], where: Path | str, *, flag: str = "") -> None:
    """Raise for the first wanted column that is not there, naming what is there and the near one.

    `flag` is the option that named the column, so that the message can show what to type.
    """
    present = list(present)
    for column in wanted:
        if column in present:
            continue
        hint = suggestion(column, present)
        if flag:
            near = hint.replace("'", "").replace("Did you mean ", f"Did you mean {flag} ")
            hint = near or f" Name one of them with {flag}."
        raise InputError(f"Column '{column}' is not in {where}. It has: {listing(present)}.{hint}")


def write(frame: pl.DataFrame, path: Path | str) -> Path:
    """Write a table atomically, in the format its name says. In Parquet NaN and null stay apart; in CSV both are an empty cell."""
    path = Path(path)
    with writer(path) as append:
        append(frame)
    return path


class writer:  # noqa: N801 - used as a function, like open
    """Write a table piece by piece, atomically: `with writer(path) as append: append(frame)`.

    The file appears under its name only when the block ends well. Pieces must share one schema; a file of no pieces is refused.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._suffix = _suffix(self._path)
        self._replacing = replacing(self._path)
        self._sink: Any = None
        self._temporary = Path()

    def __enter__(self) -> "writer":
        self._temporary = self._replacing.__enter__()
        return self

    def __call__(self, frame: pl.DataFrame) -> None:
        if self._suffix == ".parquet":
            self._append_parquet(frame)
        elif self._sink is None and self._suffix == ".json":
            self._sink = [frame]
        elif self._suffix == ".json":
            self._sink.append(frame)
        else:
            self._append_text(frame)

    def __exit__(self, *failure: Any) -> bool | None:
        try:
            if self._sink is not None:
                self._close()
            elif failure[0] is None:
                raise ValueError(f"Nothing was written to {self._path}.")
        except BaseException as error:
            if not self._replacing.__exit__(type(error), error, error.__traceback__):
                raise
            return None
        return self._replacing.__exit__(*failure)

    def _append_parquet(self, frame: pl.DataFrame) -> None:
        import pyarrow.parquet as pq

        # pyarrow rather than polars: it writes row groups one after another and keeps the bytes independent of threads.
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        if self._sink is None:
            self._sink = pq.ParquetWriter(self._temporary, table.schema, compression="zstd")
        self._sink.write_table(table.cast(self._sink.schema))

    def _append_text(self, frame: pl.DataFrame) -> None:
        first = self._sink is None
        if first:
            self._sink = self._temporary.open("wb")
        if self._suffix == ".jsonl":
            frame.write_ndjson(self._sink)
            return
        # A CSV cell has no way to say NaN that every reader understands: undefined is empty.
        plain = frame.with_columns(pl.selectors.float().fill_nan(None))
        lists = [name for name, dtype in plain.schema.items() if isinstance(dtype, pl.List | pl.Struct | pl.Array)]
        plain = plain.with_columns(_as_json(plain[name]) for name in lists)
        plain.write_csv(self._sink, include_header=first, separator=_separator(self._suffix))

    def _close(self) -> None:
        if self._suffix == ".json":
            pl.concat(self._sink).write_json(self._temporary)
        else:
            self._sink.close()


def _as_json(column: pl.Series) -> pl.Series:
    import json

    return pl.Series(column.name, [None if v is None else json.dumps(v, ensure_ascii=False) for v in column.to_list()], pl.String)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: the ending '{suffix}' is not one of {', '.join(SUFFIXES)}, so its format is not known.")
    return suffix


def _is_long_csv(path: Path) -> bool:
    return _suffix(path) in (".csv", ".tsv") and path.stat().st_size > LONG_CSV


def _separator(suffix: str) -> str:
    return "\t" if suffix == ".tsv" else ","


def _in_utf8(path: Path) -> Path | bytes:
    """JSON readers refuse the byte-order mark that some editors put first; such a file is taken into memory without it."""
    with path.open("rb") as stream:
        first = stream.read(3)
        marked = first == b"\xef\xbb\xbf" or first[:2] in (b"\xff\xfe", b"\xfe\xff")
        return decoded(first + stream.read()).encode("utf-8") if marked else path


def _refuse_duplicates(path: Path, *, separator: str) -> list[str]:
    """The names in a CSV file's first line; two of one name are an error."""
    first = next(csv_blocks.blocks(path))
    header = pl.read_csv(first, has_header=False, n_rows=1, separator=separator, infer_schema=False, truncate_ragged_lines=True)
    names = ["" if name is None else str(name) for name in header.row(0)]
    if not any(names):
        raise InputError(f"{path} is empty.")
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise InputError(f"{path} has more than one column named '{twice[0]}'. Rename one of them.")
    return names


def _unreadable(path: Path, error: BaseException) -> InputError:
    if isinstance(error, InputError):
        return error
    # Readers quote the cell they stumbled over. It may be somebody's comment, and does not belong on a screen or in a log.
    words = re.sub(r"`[^`]*(`|$)", "a cell", str(error).strip().split("\n")[0])
    if "utf-8" in words.lower() or "utf8" in words.lower():
        return InputError(f"{path} is not UTF-8. Convert it first: iconv -f LATIN1 -t UTF-8 {path.name} > utf8_{path.name}")
    if isinstance(error, pl.exceptions.NoDataError):
        return InputError(f"{path} is empty.")
    kind = path.suffix.lstrip(".").upper()
    return InputError(f"{path} cannot be read as {kind}; it may be damaged or cut short ({words[:160]}).")
