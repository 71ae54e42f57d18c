"""A folder of many runs, as the viewer reads it: which runs there are, and the rows of an audit, kept while they are looked at.

Nothing is written. A path given by a browser is only ever looked up below the folder; what a row is and how rows are filtered is
rows.py's.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

import polars as pl

from fairwitness.errors import InputError
from fairwitness.report.recorded import Recorded, recorded_in
from fairwitness.runs import MANIFEST
from fairwitness.web.rows import Query, Rows, condition, load_rows, source_of


@dataclass
class Shelf:
    """The runs below one folder, and the rows that were looked at last."""

    root: Path
    most_kept: int = 2
    _kept: "OrderedDict[tuple[Any, ...], Rows]" = field(default_factory=OrderedDict)
    _picks: "OrderedDict[tuple[Any, ...], pl.Series]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def names(self) -> list[str]:
        """The folders that hold a run, as paths below the root, in order."""
        found = [path.parent for path in self.root.rglob(MANIFEST)]
        names = ["." if path == self.root else path.relative_to(self.root).as_posix() for path in found]
        return sorted(name for name in names if self._is_here(name))

    def audits(self, name: str) -> list[Recorded]:
        """The audits of one run. A name that is not one of `names` is an InputError, wherever it points."""
        if not self._is_here(name):
            raise InputError(f"There is no run '{name}' here.")
        return recorded_in(self.root / name)

    def audit(self, name: str, audit: str) -> Recorded:
        """One audit of a run."""
        found = next((each for each in self.audits(name) if each.name == audit), None)
        if found is None:
            raise InputError(f"There is no audit '{audit}' in the run '{name}'.")
        return found

    def rows(self, name: str, audit: str) -> Rows:
        """The rows of an audit, read once and kept for the next question."""
        return self._stamped(name, audit)[1]

    def find(self, name: str, audit: str, query: Query, start: int, count: int) -> tuple[int, pl.DataFrame]:
        """How many rows match, and those from `start`. A repeated query is answered from what was found before."""
        key, rows = self._stamped(name, audit)
        with self._lock:
            picked = self._picks.get((*key, query))
        if picked is None:
            picked = rows.frame.select(pl.arg_where(condition(rows, query))).to_series()
            self._keep(self._picks, (*key, query), picked, 16)
        return len(picked), rows.frame[picked.slice(start, count)]

    def _stamped(self, name: str, audit: str) -> tuple[tuple[Any, ...], Rows]:
        recorded = self.audit(name, audit)
        path = source_of(recorded)
        if path is None:
            raise InputError(f"'{audit}' in the run '{name}' has no rows to show, or they are no longer where they were.")
        key = (name, audit, path.stat().st_mtime_ns)
        with self._lock:
            rows = self._kept.get(key)
        if rows is None:
            rows = load_rows(path, recorded, self.audits(name))
            self._keep(self._kept, key, rows, self.most_kept)
        return key, rows

    def _keep(self, among: "OrderedDict[tuple[Any, ...], Any]", key: tuple[Any, ...], value: object, most: int) -> None:
        with self._lock:
            among[key] = value
            while len(among) > most:
                among.popitem(last=False)

    def _is_here(self, name: str) -> bool:
        words = PurePosixPath(name)
        if not name or words.is_absolute() or ".." in words.parts or "\0" in name:
            return False
        folder = self.root / words
        try:
            return folder.resolve().is_relative_to(self.root.resolve()) and (folder / MANIFEST).is_file()
        except OSError:
            return False  # no folder can have such a name
