"""What a run folder recorded about one audit, as the drawing side reads it: its entry in run.json and its tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import tables
from fairwitness.errors import FairWitnessError, InputError
from fairwitness.runs import read_manifest


@dataclass(frozen=True)
class Recorded:
    """One audit of a run folder."""

    folder: Path
    name: str
    entry: dict[str, Any]

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
        return dict(self.entry.get("question", {}))

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were asked, scored and failed."""
        return dict(self.entry.get("counts", {}))

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
        """The output whose name ends so, as a table; None where it was not written or cannot be read any more."""
        found = self._path(suffix)
        if found is None:
            return None
        try:
            return tables.read(found)
        except FairWitnessError:
            return None

    def _path(self, suffix: str) -> Path | None:
        names = [name for name in self.entry.get("outputs", {}) if name.endswith(suffix)]
        # Of zs.parquet and zs.ig.parquet the first is meant by ".parquet": the shortest name wins.
        path = self.folder / min(names, key=len) if names else None
        return path if path is not None and path.is_file() else None


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
