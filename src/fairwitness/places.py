"""Folders that are not on this machine: `s3://…`, `gs://…`, `hdfs://…`, whatever pyarrow or fsspec reaches.

An audit works on files of this machine. A folder elsewhere therefore has a mirror in the user cache: `local(url)` brings what is
there already, runs.py sends a run's record and its outputs, and its parts lie there from the first (parts.py). Such a place must
offer listing, reading, writing and removing whole files; it needs no renaming and no locks.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from fairwitness.errors import InputError, RunError
from fairwitness.files import cache_folder, content_hash, file_hash, replacing, write_text

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# In a mirror's root: the address it mirrors, and for each file its hash when it was last the same on both sides.
RECORD = ".elsewhere.json"
PIECE = 8 * 2**20


def is_url(word: str) -> bool:
    """Whether a word names a place elsewhere.

    >>> is_url("s3://bucket/run"), is_url("runs/a.parquet"), is_url("C://x")
    (True, False, False)
    """
    return bool(_URL.match(word))


@dataclass(frozen=True)
class Place:
    """A folder on some file system. Every fault of it is one sentence."""

    url: str
    files: Any
    path: str
    made: set[str] = field(default_factory=set, compare=False)

    def names(self, inside: str = "") -> Iterator[str]:
        """Names of the files that lie directly in it, or in a folder of it."""
        from pyarrow.fs import FileSelector, FileType

        with self._explained():
            found = self.files.get_file_info(FileSelector(self._at(inside), allow_not_found=True))
        yield from (info.base_name for info in found if info.type == FileType.File)

    def read(self, name: str) -> bytes | None:
        """A file's bytes, or None where there is none."""
        try:
            with self._explained(), self.files.open_input_stream(self._at(name)) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def fetch(self, name: str, path: Path) -> bool:
        """Copy a file to this machine, piece by piece; whether there was one."""
        try:
            with (
                self._explained(),
                self.files.open_input_stream(self._at(name)) as stream,
                replacing(path) as temporary,
                temporary.open("wb") as copy,
            ):
                shutil.copyfileobj(stream, copy, PIECE)
        except FileNotFoundError:
            return False
        return True

    def send(self, name: str, path: Path) -> None:
        """Copy a file of this machine there, piece by piece."""
        with path.open("rb") as original, self._writing(name) as stream:
            shutil.copyfileobj(original, stream, PIECE)

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file."""
        with self._writing(name) as stream:
            stream.write(data)

    @contextmanager
    def _writing(self, name: str) -> Iterator[Any]:
        folder = str(PurePosixPath(self._at(name)).parent)
        with self._explained():
            if folder not in self.made:
                self.files.create_dir(folder, recursive=True)
                self.made.add(folder)
            with self.files.open_output_stream(self._at(name)) as stream:
                yield stream

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError), self._explained():
            self.files.delete_file(self._at(name))

    def clear(self, inside: str) -> None:
        """Remove a folder of it with all that is in it."""
        self.made.clear()
        with suppress(FileNotFoundError), self._explained():
            self.files.delete_dir(self._at(inside))

    def has(self, name: str) -> bool:
        """Whether a file of this name is there."""
        from pyarrow.fs import FileType

        with self._explained():
            return bool(self.files.get_file_info(self._at(name)).type == FileType.File)

    def is_folder(self) -> bool:
        """Whether a folder of this name is there."""
        from pyarrow.fs import FileType

        with self._explained():
            return bool(self.files.get_file_info(self.path).type == FileType.Directory)

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}" if name else self.path

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            words = " ".join(str(error).split())[:300]
            raise RunError(f"{self.url} cannot be used: {words}. What was answered before is still there.") from error


def open_place(url: str) -> Place:
    """The folder behind a URL: on pyarrow's own file system where it has one, else on fsspec's."""
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    if "@" in url.partition("://")[2].partition("/")[0]:
        raise InputError("A URL must not hold a key or a password: it would be written to run.json. Set them in the environment.")
    try:
        files, path = FileSystem.from_uri(url)
    except (ArrowException, OSError, ValueError) as first:
        try:
            from fsspec.core import url_to_fs  # it comes with huggingface_hub

            inner, path = url_to_fs(url)
        except (ImportError, ValueError, OSError) as error:
            raise InputError(f"{url} is not a place that can be reached: {first}; {error}.") from error
        files = PyFileSystem(FSSpecHandler(inner))
    return Place(url, files, str(path).rstrip("/"))


@dataclass(frozen=True)
class Mirror:
    """A folder of this machine and the place it stands for."""

    folder: Path
    place: Place

    def bring(self, name: str) -> bool:
        """Fetch a file; whether it was there."""
        found = self.place.fetch(name, self.folder / name)
        if found:
            self._note(name)
        return found

    def bring_run(self, folder: Path) -> None:
        """Fetch the record of a run in this folder or one in it, and the outputs it names that are not here as it says.

        What is there counts: a run that was removed there is not gone on with from here.
        """
        name = (folder / "run.json").relative_to(self.folder).as_posix()
        if not self.bring(name):
            (folder / "run.json").unlink(missing_ok=True)
        for output, digest in _outputs(folder).items():
            path = folder / output
            name = path.relative_to(self.folder).as_posix()
            if not self.place.has(name):
                path.unlink(missing_ok=True)
            elif not path.is_file() or file_hash(path) != digest:
                self.bring(name)

    def send(self, path: Path) -> None:
        """Put a file of the mirror where it belongs."""
        name = path.relative_to(self.folder).as_posix()
        self.place.send(name, path)
        self._note(name)

    def send_changed(self) -> None:
        """Send what was written here and is not there yet: charts, pages, tables that no run lists."""
        known = _record(self.folder)["files"]
        for path in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            name = path.relative_to(self.folder)
            hidden = any(part.startswith(".") for part in name.parts)
            if not hidden and known.get(name.as_posix()) != file_hash(path):
                self.send(path)

    def _note(self, name: str) -> None:
        record = _record(self.folder)
        record["files"][name] = file_hash(self.folder / name)
        write_text(self.folder / RECORD, json.dumps(record))


def local(url: str) -> Path:
    """The path on this machine that stands for a file or folder elsewhere, with what is there already.

    A name with an ending is a file: its folder is mirrored, and the file comes with the run's record and the outputs named in
    it. A name without one is a folder, and comes whole but for its parts.
    """
    parent, _, last = url.rpartition("/")
    named = "" if open_place(url).is_folder() or not PurePosixPath(last).suffix else last
    place = open_place(parent if named else url.rstrip("/"))
    folder = cache_folder() / "places" / content_hash(place.url)[:16]
    mirror = Mirror(folder, place)
    if _record(folder)["url"] != place.url:
        write_text(folder / RECORD, json.dumps({"url": place.url, "files": {}}))
    mirror.bring_run(folder)
    for name in ({named} if named else set(place.names())) - {"run.json", *_outputs(folder)}:
        if not mirror.bring(name):
            (folder / name).unlink(missing_ok=True)
    return folder / named if named else folder


def mirror_of(path: Path) -> Mirror | None:
    """The mirror that a folder is, or lies in; None for a folder that is simply here."""
    root = cache_folder() / "places"
    if root not in path.parents:
        return None
    folder = root / path.relative_to(root).parts[0]
    url = _record(folder)["url"]
    return Mirror(folder, open_place(url)) if url else None


def _record(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return {"url": str(found["url"]), "files": dict(found["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"url": "", "files": {}}


def _outputs(folder: Path) -> dict[str, str]:
    """The outputs that the run's record names, with their hashes. The record is data: no name of it leads out of the folder."""
    try:
        audits = json.loads((folder / "run.json").read_text(encoding="utf-8"))["audits"].values()
        named = {str(name): str(digest) for entry in audits for name, digest in entry["outputs"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return {name: digest for name, digest in named.items() if _stays_inside(name)}


def _stays_inside(name: str) -> bool:
    """Whether a recorded name can be that of a file in the folder. Half a character (a lone surrogate) is in no file's name."""
    path = Path(name)
    return bool(path.name) and ".." not in path.parts and not path.is_absolute() and name.isprintable()
