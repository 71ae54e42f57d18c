"""What an audit hands back in Python: its tables, how to turn them into JSON or a report, and how they show in a notebook."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.report.content import Section, Table
from fairwitness.runs import MANIFEST
from fairwitness.tables import read


class TablesOnDisk(Mapping[str, pl.DataFrame]):
    """Tables by name, each read when it is looked at: a million predictions need not be held to say how many there are."""

    def __init__(self, sources: Mapping[str, Path | pl.DataFrame]) -> None:
        self.sources = dict(sources)

    @classmethod
    def joined(cls, *several: Mapping[str, pl.DataFrame]) -> "TablesOnDisk":
        """All of several, still unread."""
        sources: dict[str, Path | pl.DataFrame] = {}
        for tables in several:
            sources.update(tables.sources if isinstance(tables, cls) else tables)
        return cls(sources)

    def __getitem__(self, name: str) -> pl.DataFrame:
        source = self.sources[name]
        if isinstance(source, Path):
            source = self.sources[name] = read(source)
        return source

    def __iter__(self) -> Iterator[str]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True, repr=False)
class AuditResult:
    """Tables by name, the first being the main one, and the facts that are not tables (counts, files written)."""

    tables: Mapping[str, pl.DataFrame]
    facts: dict[str, Any] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)

    @property
    def table(self) -> pl.DataFrame:
        """The main table."""
        return next(iter(self.tables.values()))

    def to_json(self) -> str:
        """Facts and all tables as JSON; what is undefined is null."""
        tables = {name: _plain_rows(table) for name, table in self.tables.items()}
        return json.dumps({**self.facts, **tables}, ensure_ascii=False, default=str)

    def report(self, path: Path | str, *, title: str = "Fair Witness report") -> Path:
        """Write a report as HTML, Markdown or JSON, by the ending of `path`.

        It covers the run folder that the result was written to; a result that lives in memory only is written from its tables.
        """
        from fairwitness.audits.reporting import ReportConfig, write_report, write_sections

        config = ReportConfig(out=Path(path), title=title)
        folders = self.run_folders()
        return write_report(folders, config) if folders else write_sections(self.sections(), config)

    def run_folders(self) -> list[Path]:
        """The folders of the runs that the result's files belong to."""
        parents = dict.fromkeys(Path(file).parent for file in self.files)
        return [folder for folder in parents if (folder / MANIFEST).is_file()]

    def sections(self) -> Sequence[Section]:
        """What a report says of a result that lives in memory only: its tables as they are."""
        return [Section("Result", blocks=[Table(name, table.columns, table.rows()) for name, table in self.tables.items()])]

    def __repr__(self) -> str:
        # Names alone: a table may still lie on the disk, with a million rows.
        facts = f"; facts: {', '.join(self.facts)}" if self.facts else ""
        return f"{type(self).__name__}(tables: {', '.join(self.tables)}{facts})"

    def _short_facts(self) -> Iterator[tuple[str, str]]:
        for name, value in self.facts.items():
            if isinstance(value, str | int | float):
                yield name, f"{value:.4g}" if isinstance(value, float) else str(value)

    def _repr_html_(self) -> str:
        facts = " · ".join(f"{escape(name)}: {escape(value)}" for name, value in self._short_facts())
        heads = {name: f"{escape(name)} ({table.height:,} × {table.width})" for name, table in self.tables.items()}
        tables = "".join(f"<h4>{heads[name]}</h4>{table._repr_html_()}" for name, table in self.tables.items())
        return f"<p>{facts}</p>{tables}" if facts else tables


def _plain_rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    # JSON has neither NaN nor infinity.
    numbers = pl.selectors.float()
    return table.with_columns(pl.when(numbers.is_finite()).then(numbers)).to_dicts()
