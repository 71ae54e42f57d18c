"""The parts of one output that are answered so far: written once, read back checked, forgotten when the output is sealed.

A part's file is named by its key (the hash of what it answers) and the checksum of its bytes, so that a damaged part is noticed,
dropped and done again. Parts lie in the run's folder, or in any place that places.py can reach (`s3://…`, `gs://…`). One process
writes them: whoever holds the run's folder.
"""

import hashlib
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import polars as pl

from fairwitness.files import disk_errors, write_bytes
from fairwitness.places import Place

SUFFIX = ".parquet"


class Parts:
    """The parts of one output. `damaged` counts those whose bytes did not match their name."""

    def __init__(self, folder: Path, *, label: str = "") -> None:
        self.folder = folder
        self.damaged = 0
        self._kept: set[str] = set()
        self._reused: dict[str, int] = {}
        self._label = label or folder.name
        self._shelf: _Shelf = _Folder(folder)
        # key → names of its files. Listing the folder for every key would take time that grows with the square of the parts.
        self._names: dict[str, list[str]] | None = None

    def keep_at(self, place: Place, *, inside: str = "") -> None:
        """Keep the parts elsewhere from now on, in a folder of `place` that belongs to this question alone."""
        self._shelf, self._names = _Elsewhere(place, f"{inside}{self._label}"), None

    @property
    def empty(self) -> bool:
        """Whether nothing was answered yet, and nothing else waits here (a training's checkpoint, say)."""
        return not self._index() and not self.folder.is_dir()

    @property
    def reused(self) -> int:
        """The rows that an earlier call had answered, and this one read."""
        return sum(self._reused.values())

    def read(self, key: str) -> pl.DataFrame | None:
        """The part, or None where there is none yet. One whose bytes do not match its name is removed and counts as none."""
        data = self._checked(key)
        if data is None:
            return None
        frame = decode(data)
        if key not in self._kept:
            self._reused[key] = frame.height
        return frame

    def holds(self, key: str) -> bool:
        """Whether the part is there and undamaged."""
        return self._checked(key) is not None

    def write(self, key: str, frame: pl.DataFrame) -> None:
        """Keep a part. It is on the disk, whole, when this returns."""
        self.keep(key, encode(frame))

    def keep(self, key: str, data: bytes) -> None:
        """Keep a part that was encoded elsewhere."""
        name = f"{key}-{_checksum(data)}{SUFFIX}"
        self._shelf.write(name, data)
        self._index().setdefault(key, []).append(name)
        self._kept.add(key)

    def clear(self) -> None:
        """Forget all parts, also those from before they were kept elsewhere."""
        self._shelf.clear()
        _Folder(self.folder).clear()
        self._names = None

    def _checked(self, key: str) -> bytes | None:
        names = self._index().get(key, [])
        while names:
            data = self._shelf.read(names[-1])
            if data is not None and _checksum(data) == names[-1].removeprefix(f"{key}-").removesuffix(SUFFIX):
                return data
            self._shelf.remove(names.pop())
            self.damaged += data is not None
        return None

    def _index(self) -> dict[str, list[str]]:
        if self._names is None:
            self._names = {}
            for name in self._shelf.names():
                if name.endswith(SUFFIX) and not name.startswith("."):
                    self._names.setdefault(name.partition("-")[0], []).append(name)
        return self._names


def encode(frame: pl.DataFrame) -> bytes:
    """A part as the bytes that are kept."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def decode(data: bytes) -> pl.DataFrame:
    """The part that these bytes are."""
    return pl.read_parquet(io.BytesIO(data))


class _Shelf(Protocol):
    """A place for named bytes."""

    def names(self) -> Iterator[str]: ...
    def read(self, name: str) -> bytes | None: ...
    def write(self, name: str, data: bytes) -> None: ...
    def remove(self, name: str) -> None: ...
    def clear(self) -> None: ...


class _Folder:
    """A local folder; a part appears in it whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> Iterator[str]:
        if self._folder.is_dir():
            with os.scandir(self._folder) as entries:
                yield from (entry.name for entry in entries)

    def read(self, name: str) -> bytes | None:
        path = self._folder / name
        return path.read_bytes() if path.is_file() else None

    def write(self, name: str, data: bytes) -> None:
        write_bytes(self._folder / name, data)

    def remove(self, name: str) -> None:
        with disk_errors(self._folder):
            (self._folder / name).unlink(missing_ok=True)

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._folder.parent.is_dir() and not any(self._folder.parent.iterdir()):
            self._folder.parent.rmdir()


class _Elsewhere:
    """A folder on any file system of pyarrow or fsspec. A half-written part is caught by the checksum in its name."""

    def __init__(self, place: Place, label: str) -> None:
        self._place, self._label = place, label

    def names(self) -> Iterator[str]:
        return self._place.names(self._label)

    def read(self, name: str) -> bytes | None:
        return self._place.read(f"{self._label}/{name}")

    def write(self, name: str, data: bytes) -> None:
        self._place.write(f"{self._label}/{name}", data)

    def remove(self, name: str) -> None:
        self._place.remove(f"{self._label}/{name}")

    def clear(self) -> None:
        self._place.clear(self._label)


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
