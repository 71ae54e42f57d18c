"""Opening raw copies as their authors laid them out: a file, a folder, an archive, packed or not, on this disk or streamed.

Everything here walks through a file in pieces, so that two million rows never stand in memory together. What the columns
mean is each dataset's own business.
"""

import gzip
import io
import json
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from fairwitness.errors import InputError, listing
from fairwitness.files import json_value, require_file

BLOCK_BYTES = 8 << 20
"""A piece of CSV that is parsed at once; a single row may be as long."""

ARCHIVES = (".zip", ".tgz", ".tar.gz", ".tar")


@dataclass(frozen=True)
class RawFile:
    """One file of a raw copy. `name` is its path inside the copy, without `.gz`; `shown` is what an error calls it."""

    name: str
    shown: str
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True)
class RawCopy:
    """The files of one raw copy, wherever they lie."""

    files: tuple[RawFile, ...]
    shown: str

    def find(self, *patterns: str) -> list[RawFile]:
        """The files whose last name fits one of the patterns, in the order of the patterns, case ignored."""
        found: dict[str, RawFile] = {}
        for pattern in patterns:
            for file in self.files:
                if fnmatch(last_name(file.name).lower(), pattern.lower()):
                    found.setdefault(file.shown, file)
        return list(found.values())

    def need(self, what: str, *patterns: str) -> list[RawFile]:
        """Like `find`, but an error that says what was looked for when there is none."""
        found = self.find(*patterns)
        if not found:
            there = listing([last_name(file.name) for file in self.files]) or "nothing"
            raise InputError(f"{self.shown} holds no {what}: looked for {', '.join(patterns)}; found {there}.")
        return found

    def only(self, files: Sequence[RawFile]) -> "RawCopy":
        """The same copy, narrowed."""
        return RawCopy(tuple(files), self.shown)


def last_name(name: str) -> str:
    """The part behind the last slash.

    >>> last_name("data/train.csv")
    'train.csv'
    """
    return name.rsplit("/", 1)[-1]


def open_copy(source: Path, beside: Sequence[str] = ()) -> RawCopy:
    """The raw copy at `source`: a file (with those named `beside` it, where they are), an archive, or a folder of both."""
    source = Path(source)
    if not source.is_dir():
        require_file(source)
        along = [source.parent / name for name in beside if (source.parent / name).is_file() and name != source.name]
        return RawCopy(tuple(file for path in (source, *along) for file in _files_of(path, path.name)), str(source))
    paths = sorted(path for path in source.rglob("*") if path.is_file() and not path.name.startswith("."))
    if not paths:
        raise InputError(f"{source} is an empty folder.")
    found = [file for path in paths for file in _files_of(path, path.relative_to(source).as_posix())]
    return RawCopy(tuple(found), str(source))


def csv_batches(
    file: RawFile, *, separator: str = ",", names: Sequence[str] | None = None, quotes: bool = True
) -> Iterator[pl.DataFrame]:
    """Walk through a CSV file; every column is text, an empty cell is null. `names` is for files without a header."""
    import pyarrow.csv as arrow_csv

    with readable(file), file.open() as stream:
        header = list(names) if names else _header(stream, separator)
        _refuse_duplicates(header, file)
        read = arrow_csv.ReadOptions(block_size=BLOCK_BYTES, column_names=header)
        parse = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=quotes, quote_char='"' if quotes else False)
        types = dict.fromkeys(header, "string")
        convert = arrow_csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, null_values=[""], quoted_strings_can_be_null=True
        )
        try:
            batches = arrow_csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert)
        except ValueError as error:
            if "Empty CSV file" not in str(error):
                raise
            batches = []  # a header and no rows: that is the caller's to judge, by its columns first
            yield pl.DataFrame(schema=dict.fromkeys(header, pl.String))
        for batch in batches:
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            yield frame


def parquet_batches(file: RawFile, *, rows: int = 65_536) -> Iterator[pl.DataFrame]:
    """Walk through a Parquet file."""
    import pyarrow.parquet as parquet

    with readable(file), file.open() as stream:
        table = parquet.ParquetFile(stream, pre_buffer=False)
        # One row group after another: asked for all at once, the reader would fetch a streamed file whole.
        for group in range(table.num_row_groups):
            for batch in table.iter_batches(batch_size=rows, row_groups=[group]):
                frame = pl.from_arrow(batch)
                assert isinstance(frame, pl.DataFrame)
                yield frame


def table_batches(file: RawFile) -> Iterator[pl.DataFrame]:
    """Walk through a Parquet, CSV, TSV or JSON-lines file, by its name."""
    name = file.name.lower()
    if name.endswith(".parquet"):
        return parquet_batches(file)
    if name.endswith((".jsonl", ".ndjson")):
        return json_line_batches(file)
    return csv_batches(file, separator="\t" if name.endswith(".tsv") else ",")


def json_line_batches(file: RawFile, *, rows: int = 8192) -> Iterator[pl.DataFrame]:
    """Walk through a file of one JSON object a line."""
    with readable(file), file.open() as stream:
        held: list[dict[str, Any]] = []
        for line in io.TextIOWrapper(stream, encoding="utf-8-sig"):
            if line.strip():
                held.append(json.loads(line))
            if len(held) == rows:
                yield pl.DataFrame(held, infer_schema_length=None)
                held = []
        if held:
            yield pl.DataFrame(held, infer_schema_length=None)


def read_json(file: RawFile) -> Any:
    """The whole of a JSON file."""
    with readable(file), file.open() as stream:
        return json_value(stream.read())


def read_table(file: RawFile) -> pl.DataFrame:
    """The whole of a small table file."""
    frames = list(table_batches(file))
    if not frames:
        raise InputError(f"{file.shown} has no rows.")
    return pl.concat(frames)


@contextmanager
def readable(file: RawFile) -> Iterator[None]:
    """Turn what the readers beneath say of a damaged file into one line. No text of the file is repeated: it may offend."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise _not_utf8(file) from error
    except (OSError, EOFError, ValueError, RecursionError, zlib.error, tarfile.TarError, zipfile.BadZipFile) as error:
        words = str(error).split("\n")[0]
        if "utf8" in words.lower() or "utf-8" in words.lower():
            raise _not_utf8(file) from error
        if "straddl" in words:
            raise InputError(f"{file.shown} has a row longer than {BLOCK_BYTES >> 20} MB, or a quote that never closes.") from error
        words = words.split(": ")[1] if words.startswith("CSV parse error: Expected") else words
        raise InputError(f"{file.shown} cannot be read; it may be damaged or cut short ({words[:120]}).") from error


def _not_utf8(file: RawFile) -> InputError:
    name = last_name(file.name)
    return InputError(f"{file.shown} is not UTF-8. Convert it first: iconv -f LATIN1 -t UTF-8 {name} > utf8_{name}")


def _header(stream: IO[bytes], separator: str) -> list[str]:
    """Read the header off the stream, so that pyarrow sees rows only and never merges two columns of one name."""
    import csv

    line = b""
    while True:
        piece = stream.readline()
        line += piece
        # A quoted name may hold a line break: the header ends where its quotes are closed.
        if not piece or line.count(b'"') % 2 == 0:
            break
    try:
        names = next(csv.reader(io.StringIO(line.decode("utf-8-sig")), delimiter=separator), [])
    except csv.Error as error:
        raise ValueError(f"its header cannot be read: {error}") from error
    if not names:
        raise ValueError("it has no header")
    return names


def _refuse_duplicates(names: Sequence[str], file: RawFile) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{file.shown} has more than one column named '{twice[0]}'. Rename one of them.")


def _files_of(path: Path, name: str) -> Iterator[RawFile]:
    """The files a path stands for: itself, or the members of an archive."""
    lower = path.name.lower()
    packed = RawFile(name, str(path), lambda: path.open("rb"))
    if lower.endswith(".zip"):
        with readable(packed), zipfile.ZipFile(path) as archive:
            members = [info.filename for info in archive.infolist() if not info.is_dir()]
        yield from _members(path, members, _zip_member)
    elif lower.endswith(ARCHIVES):
        with readable(packed), tarfile.open(path) as tar:
            members = [info.name for info in tar.getmembers() if info.isfile()]
        yield from _members(path, members, _tar_member)
    elif lower.endswith(".gz"):
        yield RawFile(name[:-3], str(path), lambda: _unpacked(path))
    else:
        yield packed


def _members(path: Path, members: Sequence[str], open_member: Callable[[Path, str], IO[bytes]]) -> Iterator[RawFile]:
    for member in members:
        if not last_name(member).startswith(".") and "__MACOSX" not in member:
            yield RawFile(member, f"{path}/{member}", partial(open_member, path, member))


# The archive behind an open member is closed when the member is, by the garbage collector at the latest.
def _zip_member(path: Path, member: str) -> IO[bytes]:
    return zipfile.ZipFile(path).open(member)


def _tar_member(path: Path, member: str) -> IO[bytes]:
    stream = tarfile.open(path).extractfile(member)  # noqa: SIM115
    assert stream is not None
    return stream


def _unpacked(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb"))


def from_bytes(contents: Mapping[str, bytes], shown: str = "memory") -> RawCopy:
    """A raw copy held in memory, for tests and small documents.

    >>> from_bytes({"a.csv": b"x"}).find("*.csv")[0].name
    'a.csv'
    """

    def opener(data: bytes) -> Callable[[], IO[bytes]]:
        return lambda: io.BytesIO(data)

    return RawCopy(tuple(RawFile(name, name, opener(data)) for name, data in contents.items()), shown)
