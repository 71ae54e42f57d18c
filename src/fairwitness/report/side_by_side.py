"""What several runs say of the same thing, side by side: the main measurements of audits of one kind, a line for each run.

Nothing is tested here; whether a difference is beyond noise is audits/compare.py's, for two runs.
"""

from collections.abc import Sequence

import polars as pl

from fairwitness.report.content import Block, Interval, IntervalChart, Section, Table
from fairwitness.report.directions import direction
from fairwitness.report.recorded import Recorded

# kind of audit → what it is known by
MAIN = {
    "fairness": ("statistical_parity_difference", "false_positive_rate_difference", "equal_opportunity_difference"),
    "stereoset eval": ("reference_ss", "reference_lms", "reference_icat"),
    "stereoset score": ("reference_ss", "reference_lms", "reference_icat"),
    "crows": ("stereotype_share",),
    "counterfactual analyze": ("paired_gap",),
}
MOST_PLACES = 12
KEYS = ("metric", "attribute", "group")


def side_by_side(audits: Sequence[Recorded]) -> Section | None:
    """One section over all audits of which there are several of a kind; None where there are none."""
    names = _names(audits)
    blocks: list[Block] = []
    for kind, metrics in MAIN.items():
        same = [each for each in audits if each.kind == kind and each.finished]
        tables = {names[id(each)]: _main(each, metrics) for each in same}
        present = {name: table for name, table in tables.items() if table is not None}
        charts = [chart for metric in metrics if (chart := _chart(metric, present)) is not None] if len(present) > 1 else []
        blocks += [*charts, _table(kind, present)] if charts else []
    if not blocks:
        return None
    several = len({each.folder for each in audits})
    lede = [f"{several} runs, a line for each, where they measured the same thing."]
    note = "Runs side by side are not tested against each other here: 'fairwitness compare A B' does that for two."
    return Section("Side by side", lede, (), blocks, limits=[note] if several > 2 else [], anchor="side-by-side")


def _names(audits: Sequence[Recorded]) -> dict[int, str]:
    """A run is called after its folder, and after more of its path where two folders have one name."""
    folders = list(dict.fromkeys(each.folder.resolve() for each in audits))
    short = [folder.name for folder in folders]
    called = {folder: folder.name if short.count(folder.name) == 1 else f"{folder.parent.name}/{folder.name}" for folder in folders}
    places = [(each.folder.resolve(), each.kind) for each in audits]
    return {
        id(each): called[place[0]] if places.count(place) == 1 else f"{called[place[0]]}/{each.name}"
        for each, place in zip(audits, places, strict=True)
    }


def _main(recorded: Recorded, metrics: Sequence[str]) -> pl.DataFrame | None:
    table = recorded.table("measurements.parquet")
    if table is None:
        return None
    whole = pl.col("class").is_null() | pl.col("class").is_in(["", "all"]) if "class" in table.columns else pl.lit(True)
    found = table.filter(pl.col("metric").is_in(metrics), whole)
    return found.select(*(pl.col(key).cast(pl.String).fill_null("") for key in KEYS), "value", "low", "high", "n")


def _chart(metric: str, runs: dict[str, pl.DataFrame]) -> IntervalChart | None:
    every = pl.concat([frame.with_columns(run=pl.lit(name)) for name, frame in runs.items()]).filter(pl.col("metric") == metric)
    target = direction(metric).target
    far = (pl.col("value") - (target or 0.0)).abs().max().alias("far")
    places = every.group_by("attribute", "group", maintain_order=True).agg(far, pl.len()).filter(pl.col("len") > 1)
    places = places.sort("far", descending=True, nulls_last=True)
    lines = []
    for attribute, group, _, _ in places.head(MOST_PLACES).iter_rows():
        label = " · ".join(filter(None, (attribute, group))) or metric
        here = every.filter(pl.col("attribute") == attribute, pl.col("group") == group)
        columns = here.select("value", "low", "high", "n", "run")
        lines += [Interval(label, value, low, high, n, series=run) for value, low, high, n, run in columns.iter_rows()]
    name = metric.replace("_", " ")
    note = f"The {MOST_PLACES} furthest from the ideal." if places.height > MOST_PLACES else ""
    return IntervalChart(f"{name.capitalize()}, by run", lines, name, ideal=target, note=note) if lines else None


def _table(kind: str, runs: dict[str, pl.DataFrame]) -> Table:
    joined: pl.DataFrame | None = None
    for name, frame in runs.items():
        own = frame.unique(KEYS, keep="first", maintain_order=True).select(*KEYS, pl.col("value").alias(name))
        joined = own if joined is None else joined.join(own, on=KEYS, how="full", coalesce=True, maintain_order="left_right")
    assert joined is not None
    return Table(f"All values: {kind}", [*KEYS, *runs], joined.rows())
