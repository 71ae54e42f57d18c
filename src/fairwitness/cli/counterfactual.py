"""`fairwitness counterfactual …`: the same sentence said of different groups, and what a scorer makes of it."""

from typing import Annotated, Any

import polars as pl
from cyclopts import Parameter

from fairwitness.audits import counterfactual as audit
from fairwitness.audits import counterfactual_expand, counterfactual_score, counterfactual_templates, lifeboat
from fairwitness.audits.result import AuditResult
from fairwitness.cli.failures import reasons
from fairwitness.cli.printed import console

_ALL = Parameter(name="*")
_Json = Annotated[bool, Parameter(help="Print the result as JSON.")]
_TEMPLATES, _RUN = counterfactual_templates.TemplatesConfig(), audit.CounterfactualConfig()


def templates(config: Annotated[counterfactual_templates.TemplatesConfig, _ALL] = _TEMPLATES, *, json: _Json = False) -> None:
    """Find identity words in comments and put placeholders in their place."""
    result = counterfactual_templates.make_templates(config)
    counts = result.table.group_by("category", "sentiment").len("templates").sort("category", "sentiment")
    left = result.facts.get("left_out") or {}
    _show(result, json, counts, *(f"left out: {count:,} × {reason}" for reason, count in left.items()))


def expand(config: Annotated[counterfactual_expand.ExpandConfig, _ALL], *, json: _Json = False) -> None:
    """Fill templates: every group of the category, and the control."""
    result = counterfactual_expand.expand(config)
    left = result.facts.get("left_out") or {}
    lines = (f"not made: {count:,} × {reason}" for reason, count in left.items())
    _show(result, json, result.table.select("unit", "role", "text").head(9), f"{result.facts['counts']['asked']:,} texts", *lines)


def score(config: Annotated[counterfactual_score.ScoreConfig, _ALL], *, json: _Json = False) -> None:
    """Score filled texts with any scorer."""
    result = counterfactual_score.score(config)
    counts = result.facts["counts"]
    _show(result, json, None, f"{counts['scored']:,} scored, {counts['failed']:,} failed", *reasons(config.out))


def analyze(config: Annotated[audit.AnalyzeConfig, _ALL], *, json: _Json = False) -> None:
    """Means, paired gaps, tests, worst templates, mitigation, charts."""
    result = audit.analyze(config)
    _show(result, json, pl.DataFrame(result.facts["headline"]), *_failed(result))


def run(config: Annotated[audit.CounterfactualConfig, _ALL] = _RUN, *, json: _Json = False) -> None:
    """From comments (or our own templates) to report.html."""
    result = audit.counterfactual(config)
    why = reasons(config.out / "scores.parquet")
    _show(result, json, pl.DataFrame(result.facts["headline"]), *_failed(result), *why)


def record(config: Annotated[lifeboat.RecordConfig, _ALL], *, json: _Json = False) -> None:
    """Keep a scorer's answers as a cassette."""
    result = lifeboat.record(config)
    _show(result, json, None, f"{result.facts['scored']:,} recorded, {result.facts['failed']:,} failed")


def replay(config: Annotated[lifeboat.ReplayConfig, _ALL], *, json: _Json = False) -> None:
    """Score texts from a cassette, without network."""
    result = lifeboat.replay(config)
    counts = result.facts["counts"]
    _show(result, json, None, f"{counts['scored']:,} served, {counts['failed']:,} not in the cassette")


def calibrate(config: Annotated[lifeboat.CalibrateConfig, _ALL], *, json: _Json = False) -> None:
    """Fit a local scorer to a recorded one, so that old thresholds keep their meaning."""
    result = lifeboat.calibrate(config)
    _show(result, json, result.table, *(f"cannot be replaced: {line}" for line in result.facts["cannot_be_replaced"]))


def compare(config: Annotated[lifeboat.CompareConfig, _ALL], *, json: _Json = False) -> None:
    """Several scorers side by side on the same texts."""
    result = lifeboat.compare(config)
    _show(result, json, result.table)


def _failed(result: AuditResult) -> list[str]:
    facts = result.facts
    line = f"{facts['scored']:,} of {facts['asked']:,} texts scored, {facts['failed']:,} failed. Only complete pairs are compared."
    return [line] if facts["failed"] else []


def _show(result: AuditResult, as_json: bool, table: Any, *lines: str) -> None:
    if as_json:
        print(result.to_json())
        return
    if table is not None and not table.is_empty():
        _print_table(table)
    for line in lines:
        print(line)
    for path in result.files[:1]:
        print(f"written: {path}")
    for path in result.files:
        if path.name == "report.html":
            print(f"report: {path}")


def _print_table(frame: pl.DataFrame) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name, dtype in frame.schema.items():
        table.add_column(name.replace("_", " "), justify="right" if dtype.is_numeric() else "left")
    for row in frame.head(40).iter_rows():
        table.add_row(*(_cell(value) for value in row))
    console().print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"
    return str(value)
