"""What a report says about group fairness: every identity's gaps with their intervals, and the rates behind them."""

from typing import Any

import polars as pl

from fairwitness.report.content import Block, Finding, HeatMap, Interval, IntervalChart, Section, Table
from fairwitness.report.recorded import Recorded

# gap → (its name for a reader, what a positive value means in a sentence)
GAPS = {
    "statistical_parity_difference": ("Difference in how often rows are flagged", "flagged {points} points {more} often"),
    "false_positive_rate_difference": ("Difference in false alarms", "wrongly flagged {points} points {more} often"),
    "equal_opportunity_difference": ("Difference in true detections", "rightly flagged {points} points {more} often"),
}
DEFINITIONS = (
    ("Flagged", "The prediction is the positive class, for example toxic."),
    (
        "Difference in how often rows are flagged (SPD)",
        "Positive rate of rows that name the identity minus that of the others. 0 is no difference.",
    ),
    ("Difference in false alarms", "False positive rate of rows that name the identity minus that of the others."),
    ("Difference in true detections (EOpp)", "True positive rate of rows that name the identity minus that of the others."),
    (
        "95 % interval",
        "Where the value would lie in 95 of 100 repetitions of this sampling. Across 0 it shows no clear direction.",
    ),
    (
        "Subgroup, BPSN and BNSP AUC",
        "How well scores separate positive from negative rows: within the identity; its negative rows against others' positive "
        "rows; its positive rows against others' negative rows. 0.5 is a coin, 1 is perfect.",
    ),
)


def section(recorded: Recorded) -> Section:
    """The section of one fairness audit."""
    measured = recorded.table("measurements.parquet")
    facts = recorded.entry.get("facts", {})
    lede = [_opening(facts)]
    if measured is None:
        return Section("Group fairness", [*lede, "Its measurements can no longer be read; run the audit again."])
    gaps = measured.filter(pl.col("metric").is_in(list(GAPS)))
    skipped = _skipped(recorded.table(".csv"))
    charts = [_gap_chart(gaps.filter(pl.col("metric") == metric), name) for metric, (name, _) in GAPS.items()]
    blocks: list[Block] = [chart for chart in charts if chart is not None]
    blocks += _tables(recorded) + _multigroup(recorded)
    limits = list(facts.get("notes", []))[:6]
    if skipped:
        limits.append(f"Too few rows to say anything of: {', '.join(skipped)}.")
    return Section("Group fairness", lede, _findings(gaps), blocks, definitions=DEFINITIONS, limits=limits)


def _opening(facts: dict[str, Any]) -> str:
    measured, rows = facts.get("n_measured"), facts.get("n_rows")
    if measured is None:
        return "Rates of predictions by group, and the gaps between groups."
    rest = "" if measured == rows else "; the others have no prediction or no label and are in no number"
    return f"Rates and gaps by group from {measured:,} of {rows:,} rows{rest}."


def _findings(gaps: pl.DataFrame) -> list[Finding]:
    """Gaps whose interval stays clear of zero and that survive the adjustment for how many were looked at."""
    found = []
    for row in gaps.drop_nulls(["value", "low", "high"]).iter_rows(named=True):
        clear = row["low"] > 0 or row["high"] < 0
        if not clear or (row["p_adjusted"] is not None and row["p_adjusted"] > 0.05):
            continue
        phrase = GAPS[row["metric"]][1].format(points=f"{abs(row['value']) * 100:.0f}", more="more" if row["value"] > 0 else "less")
        low, high = sorted((abs(row["low"]) * 100, abs(row["high"]) * 100))
        words = f"Rows that name '{row['attribute']}' are {phrase} than the others (95 % interval {low:.0f} to {high:.0f} points)."
        found.append(Finding(words, min(abs(row["low"]), abs(row["high"])), subject=row["attribute"]))
    return found


def _gap_chart(gaps: pl.DataFrame, name: str) -> IntervalChart | None:
    if gaps.is_empty():
        return None
    ordered = gaps.sort(pl.col("value").fill_null(float("-inf")), descending=True)
    lines = [
        Interval(r["attribute"], r["value"], r["low"], r["high"], r["n"], muted=r["value"] is None)
        for r in ordered.iter_rows(named=True)
    ]
    note = "Dots are values, bars 95 % intervals, the dashed line is no difference. Identities with too few rows are undefined."
    return IntervalChart(f"{name}, by identity", lines, f"{name} (identity named − not named)", note=note)


def _tables(recorded: Recorded) -> list[Block]:
    blocks: list[Block] = []
    groups = recorded.table(".csv")
    if groups is not None:
        columns = ["group", "n", "acc", "f1", "tpr", "false_positive_rate", "pos_rate"]
        names = ["group", "rows", "accuracy", "F1", "true positive rate", "false positive rate", "positive rate"]
        present = [column for column in columns if column in groups.columns]
        shown = [names[columns.index(column)] for column in present]
        note = "Click a heading to sort. Empty cells are undefined: too few rows, or no row of the class."
        blocks.append(Table("Rates by group", shown, groups.select(present).rows(), note))
    aucs = recorded.table(".bias_auc.csv")
    if aucs is not None:
        wanted = ["identity", "n_subgroup", "subgroup_auc", "bpsn_auc", "bnsp_auc", "positive_aeg", "negative_aeg"]
        present = [column for column in wanted if column in aucs.columns]
        blocks.append(Table("Bias AUCs by identity", [column.replace("_", " ") for column in present], aucs.select(present).rows()))
    return blocks


def _multigroup(recorded: Recorded) -> list[Block]:
    """Class × group heat maps of the multiclass metrics, where groups were given as columns."""
    table = recorded.table(".multigroup.csv")
    if table is None:
        return []
    blocks: list[Block] = []
    measured = table.filter(pl.col("metric").is_in(["statistical_parity", "equal_opportunity"]), pl.col("group").is_not_null())
    for (metric, attribute), part in measured.group_by(["metric", "attribute"], maintain_order=True):
        groups, classes = (part[name].cast(pl.String).unique(maintain_order=True).to_list() for name in ("group", "class"))
        by_place = {(str(r["class"]), str(r["group"])): r for r in part.iter_rows(named=True)}
        cells = [[_grid_cell(by_place.get((one, group)), one, group) for group in groups] for one in classes]
        title = f"{str(metric).replace('_', ' ').capitalize()}: class by {attribute}"
        blocks.append(HeatMap(title, [f"class {one}" for one in classes], groups, cells))
    return blocks


def _grid_cell(row: dict[str, Any] | None, one: str, group: str) -> Interval:
    row = row or dict.fromkeys(("value", "low", "high", "n"))
    return Interval(f"class {one}, group {group}", row["value"], row["low"], row["high"], row["n"])


def _skipped(groups: pl.DataFrame | None) -> list[str]:
    if groups is None or "skipped" not in groups.columns:
        return []
    return [f"{group} ({n})" for group, n in groups.filter(pl.col("skipped")).select("group", "n").rows()][:10]
