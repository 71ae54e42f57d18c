"""`stereoset score`: the official numbers from any prediction file in the authors' format.

Reproduces the authors' published figures from their published files, and adds intervals, target terms and the argmax variant.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from fairwitness import tables
from fairwitness.audits import stereoset_numbers as numbers
from fairwitness.audits.result import AuditResult
from fairwitness.datasets.stereoset_items import BUILT_IN, read_items, read_predictions, subset_names
from fairwitness.errors import InputError, listing
from fairwitness.files import file_hash, require_file, write_text
from fairwitness.options import Options
from fairwitness.runs import open_run


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(Options):
    """Everything `stereoset score` can be told."""

    predictions: Path
    """A prediction file in the authors' format, plain or gzipped."""
    data: str = BUILT_IN
    """StereoSet's dev.json, its Parquet copy, or a table of `data download`; `builtin` is our own twenty items."""
    out: Path = Path("stereoset_scores.json")
    """Where the numbers go (JSON); the table of measurements goes beside it."""
    subset: Literal["both", "intrasentence", "intersentence"] = "both"
    """Which of the two tests the file answers."""
    allow_missing: bool = False
    """Score the items that are complete and report the coverage, instead of refusing."""
    draws: int = 1000
    """Bootstrap draws for the intervals."""
    seed: int = 0
    """Seed of the bootstrap."""
    restart: bool = False
    """Throw away another question's results at --out."""


def score_predictions(config: ScoreConfig) -> AuditResult:
    """Score a prediction file: LMS, SS and ICAT per subset, domain and target term, by both definitions."""
    subset_names(config.subset)
    check_draws(config.draws)
    items = read_items(config.data, subset=config.subset)
    predictions = read_predictions(require_file(Path(config.predictions)))
    joined, coverage = _join(items, predictions, config)
    wide = numbers.by_item(joined)
    coverage["items_complete"] = int(wide["complete"].sum())
    if not coverage["items_complete"]:
        raise InputError(f"{config.predictions} scores no item of {config.data} completely. Is it a file for other data?")
    cells = numbers.measure_cells(wide, draws=config.draws, seed=config.seed)
    table = numbers.measurements(wide, cells, draws=config.draws, seed=config.seed)
    result = {**numbers.authors_results(cells), "argmax": _argmax(cells), "coverage": coverage}
    files = _write(config, result, table, wide)
    return AuditResult({"measurements": table}, result, files)


def data_hash(data: str) -> str:
    """What names the items in a run's question: the file's hash, or `builtin`."""
    return BUILT_IN if data == BUILT_IN else file_hash(require_file(Path(data)))


def check_draws(draws: int) -> None:
    """Refuse a bootstrap too small to give an interval."""
    if draws < 100:
        raise InputError(f"--draws {draws} is too few for a 95% interval; 1000 is usual and 100 the least.")


def _join(items: pl.DataFrame, predictions: pl.DataFrame, config: ScoreConfig) -> tuple[pl.DataFrame, dict[str, Any]]:
    joined = items.join(predictions.select("id", "score", answered=pl.lit(True)), on="id", how="left", maintain_order="left")
    missing = joined.filter(pl.col("answered").is_null())
    broken = joined.filter(pl.col("answered") & ~(pl.col("score").is_not_null() & pl.col("score").is_finite().fill_null(False)))
    unknown = predictions.join(items, on="id", how="anti").filter(pl.col("subset").is_in(subset_names(config.subset)))
    if missing.height == joined.height:
        raise InputError(
            f"{config.predictions} scores none of the {joined.height} sentences of {config.data}. Is it a file for other data?"
        )
    if not config.allow_missing:
        _refuse_missing(missing, items, config)
        _refuse_broken(broken, config)
    coverage = {
        "sentences": joined.height,
        "sentences_missing": missing.height,
        "sentences_without_a_finite_score": broken.height,
        "predictions_not_in_the_data": unknown.height,
        "items": items["unit"].n_unique(),
    }
    return joined.drop("answered"), coverage


def _refuse_missing(missing: pl.DataFrame, items: pl.DataFrame, config: ScoreConfig) -> None:
    if missing.is_empty():
        return
    words = f"{config.predictions} misses {missing.height} of {items.height} sentence ids: {listing(missing['id'].to_list(), 5)}."
    for subset in missing["subset"].unique(maintain_order=True).to_list():
        of_subset = items.filter(pl.col("subset") == subset).height
        if missing.filter(pl.col("subset") == subset).height == of_subset:
            other = next(name for name in subset_names("both") if name != subset)
            raise InputError(
                f"{words} Nothing of {subset} is in it: score the other test alone with --subset {other}, or add --allow_missing."
            )
    raise InputError(f"{words} To score the complete items only and report the coverage, add --allow_missing.")


def _refuse_broken(broken: pl.DataFrame, config: ScoreConfig) -> None:
    if not broken.is_empty():
        raise InputError(
            f"{config.predictions} has {broken.height} scores that are no finite number: {listing(broken['id'].to_list(), 5)}. "
            "A failure is not a score. Score those sentences again, or leave their items out with --allow_missing."
        )


def _argmax(cells: dict[tuple[str, str], Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for (subset, domain), cell in cells.items():
        shown.setdefault(subset, {})[domain] = {"examples": cell.n, **numbers.seed_results(cell)}
    return shown


def _write(config: ScoreConfig, result: dict[str, Any], table: pl.DataFrame, wide: pl.DataFrame) -> list[Path]:
    out = Path(config.out)
    question: dict[str, Any] = {
        "data": data_hash(config.data),
        "predictions": file_hash(config.predictions),
        "subset": config.subset,
        "allow_missing": config.allow_missing,
        "draws": config.draws,
        "seed": config.seed,
    }
    files = [out, out.with_suffix(".measurements.parquet")]
    data = {"predictions": question["predictions"]}
    inputs = {"data": None if config.data == BUILT_IN else config.data, "predictions": config.predictions}
    with open_run(out, "stereoset score", question, restart=config.restart, data=data, inputs=inputs) as run:
        if not run.sealed:
            write_text(files[0], json.dumps({"predictions": str(config.predictions), **result}, indent=2) + "\n")
            tables.write(table, files[1])
            complete = int(wide["complete"].sum())
            run.seal(
                files, {"asked": wide.height, "scored": complete, "failed": wide.height - complete}, coverage=result["coverage"]
            )
    return files
