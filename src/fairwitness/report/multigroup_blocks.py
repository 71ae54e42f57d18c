"""What a fairness section says of several classes and groups: the spreads between groups, and class × group heat maps."""

from typing import Any

import polars as pl

from fairwitness.report.content import Block, Finding, HeatMap, Interval, IntervalChart
from fairwitness.report.recorded import Recorded

# spread over the groups of a column → (its name for a reader, how a finding begins)
SPREADS = {
    "statistical_parity_spread": ("Largest difference in how often a class is predicted", "Class {one} is predicted"),
    "equal_opportunity_spread": ("Largest difference in how often a class is recognised", "Class {one}, where true, is predicted"),
    "group_accuracy_spread": ("Largest difference in how often the prediction is right", "The prediction is right"),
}
HEAT_MAPS = {
    "statistical_parity": (
        "How often each class is predicted",
        "Share of a group's rows that get the class; each column adds up to 1.",
    ),
    "equal_opportunity": (
        "How often each class is recognised",
        "Share of a group's rows of the class that get it. Dashed: no such row.",
    ),
}
MOST_LINES, MOST_GROUPS = 24, 24


def spreads_judged(measured: pl.DataFrame) -> pl.DataFrame:
    """The spreads that there was a test of."""
    return measured.filter(pl.col("metric").is_in(list(SPREADS))).drop_nulls(["value", "low", "high", "p_adjusted"])


def spread_findings(measured: pl.DataFrame) -> list[Finding]:
    """Spreads that chance alone would not give, after the adjustment; a spread's interval never reaches 0, so the test decides."""
    found = []
    for row in spreads_judged(measured).filter(pl.col("p_adjusted") < 0.05).iter_rows(named=True):
        first, _, second = str(row["group"]).partition(" - ")
        value, low, high = (f"{row[name] * 100:.0f}" for name in ("value", "low", "high"))
        words = (
            f"{SPREADS[row['metric']][1].format(one=row['class'])} {value} points more often where {row['attribute']} is {first}"
        )
        words += f" than where it is {second} (95 % interval {low} to {high})."
        found.append(Finding(words, row["low"], subject=row["attribute"]))
    return found


def spread_charts(measured: pl.DataFrame) -> list[Block]:
    """For each class the two groups furthest apart."""
    blocks: list[Block] = []
    for metric, (name, _) in SPREADS.items():
        rows = measured.filter(pl.col("metric") == metric).sort("value", descending=True, nulls_last=True).head(MOST_LINES)
        lines = [_spread_line(row) for row in rows.iter_rows(named=True)]
        note, legend = (
            "The two groups stand behind the colon, the higher one first.",
            "Hollow: chance alone could give a spread like this.",
        )
        if lines:
            blocks.append(IntervalChart(f"{name}, between two groups", lines, "largest difference", note=note, legend=legend))
    return blocks


def _spread_line(row: dict[str, Any]) -> Interval:
    which = "" if row["class"] is None else f", class {row['class']}"
    label = f"{row['attribute']}{which}: {row['group'] or 'too few'}"
    unsure = row["p_adjusted"] is None or not row["p_adjusted"] < 0.05
    return Interval(label, row["value"], row["low"], row["high"], row["n"], muted=unsure)


def heat_maps(recorded: Recorded) -> list[Block]:
    """Class × group heat maps of the multiclass metrics, where groups were given as columns."""
    table = recorded.table(".multigroup.csv")
    if table is None:
        return []
    blocks: list[Block] = []
    measured = table.filter(pl.col("metric").is_in(list(HEAT_MAPS)), pl.col("group").is_not_null())
    for (metric, attribute), part in measured.group_by(["metric", "attribute"], maintain_order=True):
        groups, classes = (part[name].cast(pl.String).unique(maintain_order=True).to_list() for name in ("group", "class"))
        cut = f" The first {MOST_GROUPS} of {len(groups):,} groups." if len(groups) > MOST_GROUPS else ""
        groups, classes = groups[:MOST_GROUPS], classes[:MOST_GROUPS]
        by_place = {(str(row["class"]), str(row["group"])): row for row in part.iter_rows(named=True)}
        cells = [[_cell(by_place.get((one, group)), one, f"{attribute} {group}") for group in groups] for one in classes]
        title, note = HEAT_MAPS[str(metric)]
        named = [f"{attribute} {group}" for group in groups]
        blocks.append(HeatMap(f"{title}, by {attribute}", [f"class {one}" for one in classes], named, cells, note + cut))
    return blocks


def _cell(row: dict[str, Any] | None, one: str, group: str) -> Interval:
    row = row or dict.fromkeys(("value", "low", "high", "n"))
    return Interval(f"class {one}, {group}", row["value"], row["low"], row["high"], row["n"])
