"""What a run folder recorded about one audit, as the drawing side reads it: its entry in run.json and its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import tables
from fairwitness.errors import FairWitnessError, InputError
from fairwitness.files import can_be_named, file_hash
from fairwitness.runs import read_manifest


@dataclass(frozen=True)
class Recorded:
    """One audit of a run folder; or of none, with its tables in `frames` by the ending that their files would have."""

    folder: Path
    name: str
    entry: dict[str, Any]
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Which audit it was."""
        return str(self.entry.get("kind", ""))

    @property
    def finished(self) -> bool:
        """Whether its outputs were sealed."""
        return self.entry.get("status") == "done"

    @property
    def question(self) -> dict[str, Any]:
        """What was asked."""
        return self._mapping("question")

    @property
    def inputs(self) -> dict[str, str]:
        """Where the files that were read lay, by the option that named them."""
        return {name: path for name, path in self._mapping("inputs").items() if isinstance(path, str)}

    def input_file(self, name: str) -> Path | None:
        """A file that was read, if it is still the same: where it lay, or in the run's folder, which may have moved since."""
        path, digest = self.inputs.get(name), self.data.get(name)
        places = [Path(path), self.folder / Path(path).name] if path and digest else []
        return next((place for place in places if digest and is_intact(place, digest)), None)

    @property
    def model(self) -> str:
        """The model or scorer that was asked; empty where the audit has none of its own."""
        named = self.question.get("model") or self.entry.get("scorer") or ""
        return named if isinstance(named, str) else ""

    @property
    def data(self) -> dict[str, str]:
        """Hashes of what was read, by name."""
        return {name: str(digest) for name, digest in self._mapping("data").items()}

    @property
    def facts(self) -> dict[str, Any]:
        """What the audit saw beside its tables."""
        return self._mapping("facts")

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the packages that the audit ran with."""
        return {name: str(version) for name, version in self._mapping("versions").items()}

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were asked, scored and failed."""
        return {name: count for name, count in self._mapping("counts").items() if isinstance(count, int)}

    @property
    def outputs(self) -> list[str]:
        """The names of what was written."""
        return list(self.sealed)

    @property
    def sealed(self) -> dict[str, str]:
        """What was written, with the hash of each. A name that no file can have is none."""
        return {name: str(digest) for name, digest in self._mapping("outputs").items() if can_be_named(name)}

    def has(self, suffix: str) -> bool:
        """Whether an output whose name ends so was written."""
        return self._path(suffix) is not None

    def path(self, suffix: str) -> Path:
        """The output whose name ends so."""
        found = self._path(suffix)
        if found is None:
            raise InputError(f"{self.folder} records no output ending in '{suffix}' for '{self.name}'. Run the audit again.")
        return found

    def table(self, suffix: str) -> pl.DataFrame | None:
        """The output whose name ends so, as a table; None where it was not written or is no longer what was written."""
        if self.frames:
            return next((self.frames[name] for name in sorted(self.frames, key=len) if name.endswith(suffix)), None)
        found = self._path(suffix)
        if found is None or found.relative_to(self.folder).as_posix() in self.damaged:
            return None
        try:
            return tables.read(found)
        except FairWitnessError:
            return None

    @property
    def damaged(self) -> list[str]:
        """Outputs of a finished audit that are gone, or whose bytes are not those that were sealed."""
        return [
            name for name, digest in (self.sealed if self.finished else {}).items() if not is_intact(self.folder / name, digest)
        ]

    def _path(self, suffix: str) -> Path | None:
        names = [name for name in self.outputs if name.endswith(suffix)]
        # Of zs.parquet and zs.ig.parquet the first is meant by ".parquet": the shortest name wins.
        path = self.folder / min(names, key=len) if names else None
        return path if path is not None and path.is_file() else None

    def _mapping(self, key: str) -> dict[str, Any]:
        # run.json may have been edited by hand; what is not a table there says nothing.
        value = self.entry.get(key)
        return dict(value) if isinstance(value, dict) else {}


def is_intact(path: Path, digest: str) -> bool:
    """Whether a file is there and its bytes have this hash. A file that has not changed is hashed once."""
    return path.is_file() and _hash_of(path, path.stat().st_mtime_ns) == digest


@lru_cache(256)
def _hash_of(path: Path, _changed: int) -> str:
    return file_hash(path)


def recorded_in(folder: Path) -> list[Recorded]:
    """All audits of a run folder in the order they were begun. A folder without any is an error that says what to run."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Name the folder of a run, the one that holds run.json.")
    entries = read_manifest(folder)
    if not entries:
        raise InputError(f"{folder} holds no run: there is no run.json in it. Run an audit with --out {folder}/… first.")
    order = sorted(entries, key=lambda name: str(entries[name].get("started", "")))
    return [Recorded(folder, name, entries[name]) for name in order]


def written_by(recorded: Recorded, siblings: Sequence[Recorded]) -> Recorded | None:
    """The audit of the same run that wrote what this one read; None where it read something else."""
    paths, digests = set(recorded.inputs.values()), set(recorded.data.values())
    others = [other for other in siblings if str(other.entry.get("started", "")) <= str(recorded.entry.get("started", ""))]
    for other in others:
        written = {str((other.folder / name).resolve()): digest for name, digest in other.sealed.items()}
        if other is not recorded and (paths & set(written) or digests & set(written.values())):
            return other
    return None
