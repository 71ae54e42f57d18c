"""A recorded scorer: its answers as a versioned Parquet file, served again without network.

One row an answer: `text_hash`, `text` (optional), `attribute`, `score`, `error`, `model_version`, `recorded_at`. The
recorded scorer's identity and the format's version are in the metadata. What was not recorded is an error, never a guess.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.errors import InputError, listing, suggestion
from fairwitness.files import content_hash, file_hash, replacing, require_file

FORMAT = "fairwitness-cassette/1"
COLUMNS = {
    "text_hash": pl.String,
    "text": pl.String,
    "attribute": pl.String,
    "score": pl.Float64,
    "error": pl.String,
    "model_version": pl.String,
    "recorded_at": pl.String,
}
_NOT_ATTRIBUTES = ("error", "truncated", "answered_by")


@dataclass(frozen=True, kw_only=True)
class Cassette:
    """Serves recorded scores: `cassette:old_perspective.parquet`, or `…@INSULT` for another of its attributes."""

    path: Path
    attribute: str = ""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on: the file's bytes."""
        return {"scorer": "cassette/1", "file": file_hash(require_file(self.path)), "attribute": self._attribute}

    @property
    def rows_per_part(self) -> int:
        """Looking up is quick."""
        return 16_384

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """`score`, or why there is none."""
        answers = [self._answers.get(text_hash(text)) for text in items]
        return {
            "score": [None if answer is None else answer[0] for answer in answers],
            "error": ["not in the cassette" if answer is None else answer[1] for answer in answers],
        }

    @cached_property
    def table(self) -> pl.DataFrame:
        """Every recorded row."""
        return read_cassette(self.path)[0]

    @cached_property
    def _attribute(self) -> str:
        names = self.table["attribute"].unique(maintain_order=True).to_list()
        if self.attribute and self.attribute not in names:
            raise InputError(
                f"{self.path} has no attribute '{self.attribute}'. It has: {listing(names)}.{suggestion(self.attribute, names)}"
            )
        return str(self.attribute or names[0])

    @cached_property
    def _answers(self) -> dict[str, tuple[float | None, str | None]]:
        rows = self.table.filter(pl.col("attribute") == self._attribute).select("text_hash", "score", "error")
        return {name: (score, error) for name, score, error in rows.iter_rows()}


def text_hash(text: str) -> str:
    """The name of a text in a cassette."""
    return content_hash(text)


def rows_of(texts: Sequence[str], scored: pl.DataFrame, *, attribute: str, version: str, keep_text: bool) -> pl.DataFrame:
    """Scores of texts as cassette rows: one for the score, and one for each further number the scorer gave."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    versions = scored["answered_by"] if "answered_by" in scored.columns else pl.Series([version] * scored.height, dtype=pl.String)
    base = pl.DataFrame({"text_hash": [text_hash(text) for text in texts], "text": texts if keep_text else [None] * len(texts)})
    further = [name for name in scored.columns if name not in ("score", *_NOT_ATTRIBUTES) and scored[name].dtype.is_numeric()]
    pieces = [
        base.with_columns(
            attribute=pl.lit(attribute if name == "score" else name.upper() if attribute.isupper() else name),
            score=scored[name].cast(pl.Float64),
            error=scored["error"],
            model_version=versions.fill_null(version),
            recorded_at=pl.lit(now),
        )
        for name in ("score", *further)
    ]
    return pl.concat(pieces).cast(COLUMNS).select(list(COLUMNS))  # type: ignore[arg-type]


def write_cassette(path: Path, pieces: Iterable[pl.DataFrame], about: Mapping[str, Any]) -> Path:
    """Write a cassette, atomically. `about` is the recorded scorer's identity and whatever else is worth knowing."""
    import pyarrow.parquet as pq

    table = pl.concat([*pieces, pl.DataFrame(schema=COLUMNS)]).to_arrow(compat_level=pl.CompatLevel.oldest())
    facts = json.dumps({"format": FORMAT, **about}, ensure_ascii=False, default=str)
    with replacing(Path(path)) as temporary:
        pq.write_table(table.replace_schema_metadata({"fairwitness": facts}), temporary, compression="zstd")
    return Path(path)


def read_cassette(path: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A cassette's rows and what its metadata says. Another file is an InputError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(require_file(Path(path)))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} cannot be read as a cassette; it may be damaged ({str(error)[:120]}).") from error
    about = _facts_of((table.schema.metadata or {}).get(b"fairwitness"))
    if about.get("format") != FORMAT:
        raise InputError(f"{path} is not a cassette ({FORMAT}). Record one with: fairwitness counterfactual record")
    try:
        # The columns alone: names and notes beside them may be no text, on which polars ends the process.
        rows = pa.table({name: table.column(name) for name in COLUMNS})
        rows.validate(full=True)
        return pl.DataFrame(rows), about
    except (KeyError, pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is a cassette that lacks a column or holds no text; it may be damaged ({str(error)[:120]})."
        ) from error


def _facts_of(metadata: bytes | None) -> dict[str, Any]:
    """What the file says of itself, or nothing where that is not ours or was damaged."""
    try:
        found = json.loads(metadata or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def batches_of(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Texts in pieces."""
    return (texts[start : start + size] for start in range(0, len(texts), size))
