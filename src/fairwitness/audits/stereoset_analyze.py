"""`stereoset analyze`: a result CSV in tables, in words, in examples and in two pictures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import runs
from fairwitness.audits import stereoset_analysis as analysis
from fairwitness.audits import stereoset_numbers as numbers
from fairwitness.audits.result import AuditResult
from fairwitness.audits.stereoset_score import check_draws
from fairwitness.audits.stereoset_words import interpret
from fairwitness.datasets.stereoset_items import SUBSETS
from fairwitness.datasets.stereoset_published import published
from fairwitness.errors import EvidenceError, InputError
from fairwitness.files import file_hash, require_file
from fairwitness.metrics.stereoset import METRICS, Cell
from fairwitness.options import Options

NOTE = "Bars: 95% bootstrap intervals."
NOTE_INTERSENTENCE = "Published figures between sentences come from next-sentence heads, not from likelihood."


@dataclass(frozen=True, kw_only=True)
class AnalyzeConfig(Options):
    """Everything `stereoset analyze` can be told."""

    csv: Path = Path("stereoset_results.csv")
    """A result of `stereoset eval` (or of the Gemma 3 evaluation script)."""
    output_plot: Path = Path("stereoset_bias_analysis.png")
    """Where the bar chart goes (.png or .svg); the scatter goes beside it as NAME_published."""
    top_n: int = 3
    """Examples to show per domain and direction."""
    draws: int = 1000
    """Bootstrap draws for the intervals."""
    seed: int = 0
    """Seed of the bootstrap."""


def analyze(config: AnalyzeConfig) -> AuditResult:
    """Tables of LMS, SS and ICAT with intervals, words that reflect them, the top examples, and both charts."""
    check_draws(config.draws)
    if config.top_n < 0:
        raise InputError(f"--top_n is {config.top_n}; give 0 or more.")
    if Path(config.output_plot).suffix.lower() not in (".png", ".svg"):
        raise InputError(f"--output_plot {config.output_plot}: end it in .png or .svg.")
    wide = analysis.read_results(require_file(Path(config.csv)))
    if not wide["complete"].any():
        raise EvidenceError(f"{config.csv} has {wide.height} items and none of them was scored.")
    cells = numbers.measure_cells(wide, draws=config.draws, seed=config.seed)
    table = numbers.measurements(wide, cells, draws=config.draws, seed=config.seed)
    facts = analysis.analysis_json(wide, cells, num_examples=config.top_n)
    files = draw(cells, Path(config.output_plot), model=model_name(Path(config.csv)))
    complete = int(wide["complete"].sum())
    counts = {"asked": wide.height, "scored": complete, "failed": wide.height - complete}
    csv = file_hash(Path(config.csv))
    asked = {"top_n": config.top_n, "draws": config.draws, "seed": config.seed, "csv": csv}
    runs.note(
        Path(config.output_plot), "stereoset analyze", asked, files, counts=counts, data={"csv": csv}, inputs={"csv": config.csv}
    )
    return AuditResult({"cells": cell_table(cells), "measurements": table}, facts, files)


def draw(cells: dict[tuple[str, str], Cell], path: Path, *, model: str) -> list[Path]:
    """Both charts: the bars at `path`, the scatter among published models beside it."""
    from fairwitness.report import stereoset_charts as charts

    bars = charts.bars(_bar_rows(cells), path, title=f"StereoSet: {model}")
    beside = path.with_name(f"{path.stem}_published{path.suffix}")
    title = f"{model} beside the published models"
    note = f"{NOTE}\n{NOTE_INTERSENTENCE}" if any(subset != SUBSETS[0] for subset, _ in cells) else NOTE
    return [bars, charts.beside_published(_points(cells, model), published(), beside, title=title, note=note)]


def cell_table(cells: dict[tuple[str, str], Cell]) -> pl.DataFrame:
    """One row per cell: support, the three numbers with their ends by the reference definition, and by argmax."""
    rows = []
    for (subset, domain), cell in cells.items():
        row: dict[str, Any] = {"subset": subset, "domain": domain, "items": cell.n, "terms": cell.n_terms}
        for metric in METRICS:
            measure = cell.measures["reference", metric]
            row |= {metric: measure.value, f"{metric}_low": measure.low, f"{metric}_high": measure.high}
        row |= {f"argmax_{metric}": cell.measures["argmax", metric].value for metric in METRICS}
        rows.append({**row, "words": interpret(cell.measures["reference", "ss"], cell.n)})
    return pl.DataFrame(rows)


def model_name(csv: Path) -> str:
    """The model that a result CSV says it is from, else the file's name."""
    from fairwitness import tables

    if "model" in tables.columns_of(csv):
        return str(tables.read(csv, ["model"], rows=1)["model"].item())
    return csv.stem


def _bar_rows(cells: dict[tuple[str, str], Cell]) -> pl.DataFrame:
    rows = [
        {"subset": subset, "domain": domain, "metric": metric, "value": m.value, "low": m.low, "high": m.high, "n": cell.n}
        for (subset, domain), cell in cells.items()
        if subset != numbers.POOLED
        for metric in METRICS
        for m in [cell.measures["reference", metric]]
    ]
    return pl.DataFrame(rows)


def _points(cells: dict[tuple[str, str], Cell], model: str) -> pl.DataFrame:
    table = cell_table(cells).filter(pl.col("domain") == numbers.OVERALL)
    return table.with_columns(model=pl.lit(model))
