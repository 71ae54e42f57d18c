"""The files of a fairness audit: how they are named after R.csv, written, and read back when the same question is asked again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwitness import tables
from fairwitness.audits.fairness_result import ENDINGS, FairnessResult
from fairwitness.errors import InputError
from fairwitness.metrics.counts import Counts, ordered

_NAMES = ("identity", "group", "attribute", "metric", "class", "positive", "group_1")
# How further columns of names end: where a worst case comes from, and a widest spread.
_NAMED = ("_identity", "_group", "_class", "_pair")
_COUNTS = dict.fromkeys(("attribute", "group", "truth", "predicted"), pl.String) | {"n": pl.Int64}


def write(result: FairnessResult, out: Path, *, charts: bool) -> list[Path]:
    """Write every table beside `out`, and the charts; returns what was written."""
    if out.suffix != ".csv":
        raise InputError(f"--out {out} must end in .csv; the other files are named after it.")
    made = {**result.tables, "counts": counts_table(result.counts)}
    files = [tables.write(_as_the_seed_spells(frame), path_of(out, name)) for name, frame in made.items()]
    if charts:
        from fairwitness.report.fairness_charts import draw_fairness

        files += draw_fairness(result.tables, out)
    return files


def stored(out: Path, entry: Mapping[str, Any]) -> FairnessResult:
    """The result of a sealed run, from its files."""
    files = [out.parent / name for name in entry["outputs"]]
    found = {name: path_of(out, name) for name in ENDINGS if path_of(out, name) in files}
    frames = {name: _as_written(path) for name, path in found.items()}
    counts = counts_from_table(frames.pop("counts"))
    return FairnessResult(frames, dict(entry["facts"]), files, counts)


def path_of(out: Path, table: str) -> Path:
    """Where a table of the audit lies."""
    return out.with_name(f"{out.stem}{ENDINGS[table]}")


def counts_table(counts: Mapping[str, Counts]) -> pl.DataFrame:
    """All counts as rows: attribute, group, truth, predicted (null: failed or not known), n. Cells of 0 are left out."""
    return pl.concat([_rows_of(one) for one in counts.values()])


def _rows_of(counts: Counts) -> pl.DataFrame:
    groups, classes = (pl.Series(names, dtype=pl.String) for names in (counts.groups, counts.classes))
    group, truth, predicted = np.nonzero(counts.cells)
    missing = pl.DataFrame({"n": [counts.missing] * bool(counts.missing)}, schema={"n": pl.Int64})
    failed = pl.DataFrame({"group": groups, "n": counts.failed})
    cells = pl.DataFrame(
        {
            "group": groups.gather(group),
            "truth": classes.gather(truth),
            "predicted": classes.gather(predicted),
            "n": counts.cells[group, truth, predicted],
        }
    )
    nothing = pl.DataFrame(schema=_COUNTS)
    # Columns that a piece lacks are null in its rows.
    found = pl.concat([nothing, missing, failed, cells], how="diagonal_relaxed")
    return found.with_columns(pl.lit(counts.attribute).alias("attribute"))


def counts_from_table(table: pl.DataFrame) -> dict[str, Counts]:
    """The counts that `counts_table` wrote; tables of several parts may simply be concatenated."""
    found = {}
    classes = ordered({*table["truth"].drop_nulls(), *table["predicted"].drop_nulls()})
    for (attribute,), part in table.group_by("attribute", maintain_order=True):
        groups = ordered(part["group"].drop_nulls().unique())
        known = part.drop_nulls("group")
        cells, failed = np.zeros((len(groups), len(classes), len(classes)), np.int64), np.zeros(len(groups), np.int64)
        lost, counted = known.filter(pl.col("truth").is_null()), known.drop_nulls("truth")
        np.add.at(failed, _places(lost["group"], groups), lost["n"].to_numpy())
        axes = ((counted["group"], groups), (counted["truth"], classes), (counted["predicted"], classes))
        np.add.at(cells, tuple(_places(column, names) for column, names in axes), counted["n"].to_numpy())
        missing = int(part.filter(pl.col("group").is_null())["n"].sum())
        found[str(attribute)] = Counts(str(attribute), groups, classes, cells, failed, missing)
    return found


def _places(column: pl.Series, names: Sequence[str]) -> Any:
    # A column without any name has no type of its own, and places must be whole numbers also where there are none.
    known = column.cast(pl.String).replace_strict(pl.Series(names, dtype=pl.String), np.arange(len(names)), return_dtype=pl.Int64)
    return known.to_numpy().astype(np.int64)


def _as_the_seed_spells(frame: pl.DataFrame) -> pl.DataFrame:
    """True and False, as pandas writes them and the seed's readers expect."""
    if "skipped" not in frame.columns:
        return frame
    return frame.with_columns(pl.when("skipped").then(pl.lit("True")).otherwise(pl.lit("False")).alias("skipped"))


def _as_written(path: Path) -> pl.DataFrame:
    """Names of groups and classes are text as it stands ("007"), though a CSV file does not say so; `skipped` is true or false."""
    frame = tables.read(path)
    names = [name for name in frame.columns if name in _NAMES or name.endswith(_NAMED)]
    if path.suffix == ".csv" and names:
        frame = frame.with_columns(pl.read_csv(path, columns=names, infer_schema=False).get_columns())
    if "skipped" not in frame.columns:
        return frame
    return frame.with_columns(pl.col("skipped").cast(pl.String).str.to_lowercase() == "true")
