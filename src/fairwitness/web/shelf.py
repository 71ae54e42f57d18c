"""A folder of many runs, as the viewer reads it: which runs there are, and the rows of one, searched and filtered.

Nothing is written. A path given by a browser is only ever looked up among the runs that were found below the folder.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from fairwitness import tables
from fairwitness.errors import FairWitnessError, InputError
from fairwitness.report.recorded import Recorded, recorded_in
from fairwitness.runs import MANIFEST

OUTCOMES = {
    "true positive": (1, 1),
    "false positive": (1, 0),
    "true negative": (0, 0),
    "false negative": (0, 1),
}


@dataclass(frozen=True)
class Query:
    """What of a run's rows is wanted."""

    text: str = ""
    group: str = ""
    outcome: str = ""
    error: str = ""


@dataclass
class Shelf:
    """The runs below one folder, and the rows that were looked at last."""

    root: Path
    most_kept: int = 2
    _frames: "OrderedDict[tuple[str, str, int], pl.DataFrame]" = field(default_factory=OrderedDict)
    _picks: "OrderedDict[tuple[Any, ...], pl.Series]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def names(self) -> list[str]:
        """The folders that hold a run, as paths below the root, in order."""
        found = [path.parent for path in self.root.rglob(MANIFEST) if path.resolve().is_relative_to(self.root.resolve())]
        return sorted("." if path == self.root else str(path.relative_to(self.root)) for path in found)

    def audits(self, name: str) -> list[Recorded]:
        """The audits of one run. A name that is not among `names` is an InputError, wherever it points."""
        if name not in self.names():
            raise InputError(f"There is no run '{name}' here.")
        return recorded_in(self.root / name)

    def rows(self, name: str, audit: str, query: Query, start: int, count: int) -> tuple[int, pl.DataFrame]:
        """How many rows match, and those from `start`. A repeated query is answered from what was found before."""
        frame, stamp = self._frame(name, audit)
        key = (name, audit, stamp, query)
        with self._lock:
            picked = self._picks.get(key)
        if picked is None:
            picked = frame.select(pl.arg_where(_condition(frame, query))).to_series()
            with self._lock:
                self._picks[key] = picked
                while len(self._picks) > 16:
                    self._picks.popitem(last=False)
        return len(picked), frame[picked.slice(start, count)]

    def columns(self, name: str, audit: str) -> list[str]:
        """The columns that rows of this audit have."""
        return self._frame(name, audit)[0].columns

    def identities(self, name: str, audit: str) -> list[str]:
        """Columns that say whether a row names a group: numbers that stay between 0 and 1, other than the scores."""
        frame, _ = self._frame(name, audit)
        reserved = {"idx", "pred", "score", "label", "target", "lp_pos", "lp_neg", "truncated"}
        numeric = [c for c in frame.columns if c not in reserved and frame.schema[c].is_numeric()]
        bounds = frame.select(pl.col(numeric).min().name.prefix("l:"), pl.col(numeric).max().name.prefix("h:")).row(0, named=True)
        return [c for c in numeric if bounds[f"l:{c}"] is not None and bounds[f"l:{c}"] >= 0 and bounds[f"h:{c}"] <= 1]

    def _frame(self, name: str, audit: str) -> tuple[pl.DataFrame, int]:
        recorded = next((each for each in self.audits(name) if each.name == audit), None)
        if recorded is None:
            raise InputError(f"There is no audit '{audit}' in the run '{name}'.")
        path = recorded.path(".parquet") if recorded.has(".parquet") else recorded.path(".csv")
        stamp = path.stat().st_mtime_ns
        with self._lock:
            kept = self._frames.get((name, audit, stamp))
        if kept is None:
            kept = _with_outcome(_with_texts(tables.read(path), recorded), recorded)
            with self._lock:
                self._frames[(name, audit, stamp)] = kept
                while len(self._frames) > self.most_kept:
                    self._frames.popitem(last=False)
        return kept, stamp


def _with_texts(frame: pl.DataFrame, recorded: Recorded) -> pl.DataFrame:
    """Put the scored texts beside their scores where the input file is still where it was; else the scores stand alone."""
    question = recorded.question
    source, column = question.get("in"), question.get("text_col")
    if "text" in frame.columns or not source or not column or "idx" not in frame.columns:
        return frame
    try:
        texts = tables.read(source, [str(column)], rows=int(frame["idx"].max() or 0) + 1)  # type: ignore[arg-type]
    except FairWitnessError:
        return frame
    texts = texts.select(
        pl.int_range(pl.len()).cast(frame.schema["idx"]).alias("idx"), pl.col(str(column)).cast(pl.String).alias("text")
    )
    return frame.join(texts, on="idx", how="left", maintain_order="left")


def _with_outcome(frame: pl.DataFrame, recorded: Recorded) -> pl.DataFrame:
    label = str(recorded.question.get("label_col") or "label")
    if label not in frame.columns or "pred" not in frame.columns or not frame.schema[label].is_numeric():
        return frame
    truth = (pl.col(label).fill_nan(None) >= 0.5).cast(pl.Int8) if frame.schema[label].is_float() else pl.col(label).cast(pl.Int8)
    outcome = pl.lit(None, pl.String)
    for name, (predicted, true) in OUTCOMES.items():
        outcome = pl.when((pl.col("pred") == predicted) & (truth == true)).then(pl.lit(name)).otherwise(outcome)
    return frame.with_columns(outcome=outcome.cast(pl.Categorical))


def _condition(frame: pl.DataFrame, query: Query) -> pl.Expr:
    condition = pl.lit(True).repeat_by(1).list.first() if frame.height == 0 else pl.repeat(True, frame.height)
    if query.text and "text" in frame.columns:
        condition = condition & pl.col("text").str.contains_any([query.text], ascii_case_insensitive=True).fill_null(False)
    if query.group and query.group in frame.columns:
        condition = condition & (pl.col(query.group) >= 0.5).fill_null(False)
    if query.outcome and "outcome" in frame.columns:
        condition = condition & (pl.col("outcome") == query.outcome).fill_null(False)
    if query.error and "error" in frame.columns:
        condition = condition & (pl.col("error").is_not_null() if query.error == "failed" else pl.col("error").is_null())
    return condition
