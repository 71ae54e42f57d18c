"""What an audit hands back in Python: its tables, how to turn them into JSON, and how they show in a notebook."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl


@dataclass(frozen=True)
class AuditResult:
    """Tables by name, the first being the main one, and the facts that are not tables (counts, files written)."""

    tables: dict[str, pl.DataFrame]
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

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{name}</h4>{table._repr_html_()}" for name, table in self.tables.items())


def _plain_rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    # JSON has neither NaN nor infinity.
    numbers = pl.selectors.float()
    return table.with_columns(pl.when(numbers.is_finite()).then(numbers)).to_dicts()
