"""What a report says about two runs side by side: the changes with their intervals, those beyond noise first."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from fairwitness.report.content import Block, Finding, Interval, IntervalChart, Section, Table
from fairwitness.report.side_by_side import MAIN

# How rows were compared → in a sentence; in {} by what they were matched, or why they could not be.
HOW = {
    "paired": "Both judged the same rows, so rows are compared with themselves (paired bootstrap, rows matched by {}).",
    "unpaired": "{}, so the two are compared as independent samples.",
    "from intervals": "Values are compared through their intervals, as if the samples were independent, which is cautious.",
}
MAIN_SPREADS = ("statistical_parity_spread", "equal_opportunity_spread")
MOST_LINES = 40


def section(changes: pl.DataFrame, facts: dict[str, Any]) -> Section:
    """The section of one comparison."""
    clear = changes.filter(pl.col("verdict") == "changed")
    lede = [f"{clear.height} of {changes.height} measurements changed beyond noise between {facts['a']} and {facts['b']}."]
    lede += dict.fromkeys(_sentence(how, facts["matched"][audit]) for audit, how in facts["how"].items() if how in HOW)
    charts = [_chart(str(metric), part) for (metric,), part in changes.group_by("metric", maintain_order=True)]
    blocks: list[Block] = [*(chart for chart in charts if chart), _table(changes)]
    return Section("What changed", lede, _findings(clear), blocks, anchor="changes", judged=changes["change"].count())


def place(row: Mapping[str, Any]) -> str:
    """Where a change was measured; for a spread the attribute, the class, and the two groups that lie furthest apart after."""
    if str(row["metric"]).endswith("_spread") and row["group"]:
        return f"{row['attribute']}{f', class {one}' if (one := row['class']) is not None else ''}: {row['group']}"
    return "/".join(str(row[name]) for name in ("attribute", "group", "class") if row[name])


def _sentence(how: str, matched: str) -> str:
    return HOW[how].format(matched.removeprefix("paired by ").removeprefix("unpaired: "))


def _table(changes: pl.DataFrame) -> Table:
    places = [name for name in ("attribute", "group", "class") if changes[name].count()]
    columns = ["verdict", "metric", *places, "before", "after", "change", "low", "high", "p_adjusted", "n"]
    ordered = changes.sort("verdict", "p_adjusted", nulls_last=True).with_columns(pl.col("metric").str.replace_all("_", " "))
    return Table("All changes", [name.replace("_", " ") for name in columns], ordered.select(columns).rows())


def _findings(clear: pl.DataFrame) -> list[Finding]:
    known = [metric for metrics in (*MAIN.values(), MAIN_SPREADS) for metric in metrics]
    main = clear.filter(pl.col("metric").is_in(known))
    found = []
    # A ratio moves by more than a difference does without mattering more, so what audits are known by speaks first.
    for row in (main if main.height else clear).iter_rows(named=True):
        where = place(row)
        name = row["metric"].replace("_", " ").capitalize()
        words = f"{name} of '{where}' went from {row['before']:+.3f} to {row['after']:+.3f} "
        words += f"(change {row['change']:+.3f}, 95 % interval {row['low']:+.3f} to {row['high']:+.3f})."
        found.append(
            Finding(
                words, min(abs(row["low"]), abs(row["high"])), subject=row["attribute"] if row["metric"] in MAIN_SPREADS else where
            )
        )
    return found


def _chart(metric: str, part: pl.DataFrame) -> IntervalChart | None:
    rows = part.drop_nulls("change").sort("change", descending=True).head(MOST_LINES)
    if rows.is_empty():
        return None
    lines = [
        Interval(
            place(row) or metric, row["change"], row["low"], row["high"], row["n"], muted=row["verdict"] != "changed",
        )
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip
    name = metric.replace("_", " ")
    return IntervalChart(f"Change of {name}", lines, f"change of {name} (after − before)", legend="Hollow: no clear change.")
