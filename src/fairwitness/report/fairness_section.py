"""What a report says about group fairness: every identity's gaps with their intervals, and the rates behind them."""

from typing import Any

import polars as pl

from fairwitness.report.content import Block, Finding, Interval, IntervalChart, Section, Table
from fairwitness.report.multigroup_blocks import heat_maps, spread_charts, spread_findings, spreads_judged
from fairwitness.report.recorded import Recorded

# gap → (its name for a reader, what a positive value means in a sentence)
GAPS = {
    "statistical_parity_difference": ("Difference in how often rows are flagged", "flagged {points} points {more} often"),
    "false_positive_rate_difference": ("Difference in false alarms", "wrongly flagged {points} points {more} often"),
    "equal_opportunity_difference": ("Difference in true detections", "rightly flagged {points} points {more} often"),
}
FOLD_FROM, MOST_LINES = 12, 30
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
    facts = recorded.facts
    lede = [_opening(facts)]
    if measured is None:
        return Section("Group fairness", [*lede, "Its measurements can no longer be read; run the audit again."])
    gaps = measured.filter(pl.col("metric").is_in(list(GAPS)))
    skipped = _skipped(recorded.table(".csv"))
    charts = [_gap_chart(gaps.filter(pl.col("metric") == metric), name) for metric, (name, _) in GAPS.items()]
    blocks: list[Block] = [chart for chart in charts if chart is not None]
    blocks += [*spread_charts(measured), *_tables(recorded), *heat_maps(recorded)]
    limits = list(facts.get("notes", []))[:6]
    if skipped:
        limits.append(f"Too few rows to say anything of: {', '.join(skipped)}.")
    findings = [*_findings(gaps), *spread_findings(measured)]
    judged = gaps.drop_nulls(["value", "low", "high"]).height + spreads_judged(measured).height
    return Section("Group fairness", lede, findings, blocks, definitions=DEFINITIONS, limits=limits, judged=judged)


def _opening(facts: dict[str, Any]) -> str:
    measured, rows = facts.get("n_measured"), facts.get("n_rows")
    if not isinstance(measured, int) or not isinstance(rows, int):
        return "Rates of predictions by group, and the gaps between groups."
    rest = "" if measured == rows else "; the others have no prediction or no label and are in no number"
    return f"Rates and gaps by group from {measured:,} of {rows:,} rows{rest}."


def _findings(gaps: pl.DataFrame) -> list[Finding]:
    """Gaps whose interval stays clear of zero and that survive the adjustment for how many were looked at."""
    found = []
    for row in gaps.drop_nulls(["value", "low", "high"]).iter_rows(named=True):
        if not _is_clear(row):
            continue
        phrase = GAPS[row["metric"]][1].format(points=f"{abs(row['value']) * 100:.0f}", more="more" if row["value"] > 0 else "less")
        low, high = sorted((abs(row["low"]) * 100, abs(row["high"]) * 100))
        words = f"Rows that name '{row['attribute']}' are {phrase} than the others (95 % interval {low:.0f} to {high:.0f} points)."
        found.append(Finding(words, min(abs(row["low"]), abs(row["high"])), subject=row["attribute"]))
    return found


def _is_clear(row: dict[str, Any]) -> bool:
    """Whether a gap's interval stays clear of zero and its p-value, adjusted for how many were looked at, is below 0.05."""
    low, high, p = row["low"], row["high"], row["p_adjusted"]
    return low is not None and high is not None and (low > 0 or high < 0) and (p is None or p <= 0.05)


def _gap_chart(gaps: pl.DataFrame, name: str) -> IntervalChart | None:
    if gaps.is_empty():
        return None
    ordered = gaps.sort(pl.col("value").fill_null(float("-inf")), descending=True)
    cut = f"Of {ordered.height:,} identities, those at both ends." if ordered.height > 2 * MOST_LINES else ""
    ordered = pl.concat([ordered.head(MOST_LINES), ordered.slice(max(MOST_LINES, ordered.height - MOST_LINES))])
    lines = [
        Interval(r["attribute"], r["value"], r["low"], r["high"], r["n"], muted=not _is_clear(r))
        for r in ordered.iter_rows(named=True)
    ]
    legend = "Dots are values, bars 95 % intervals, the dashed line is no difference. Hollow: not clear, adjusted for all tests."
    return IntervalChart(f"{name}, by identity", lines, f"{name} (identity named − not named)", note=cut, legend=legend)


def _tables(recorded: Recorded) -> list[Block]:
    blocks: list[Block] = []
    groups = recorded.table(".csv")
    if groups is not None:
        columns = ["group", "n", "acc", "f1", "tpr", "false_positive_rate", "pos_rate"]
        names = ["group", "rows", "accuracy", "F1", "true positive rate", "false positive rate", "positive rate"]
        present = [column for column in columns if column in groups.columns]
        # Of several classes there is no true positive rate; a column that is empty from top to bottom is left out.
        present = [column for column in present if column in ("group", "n") or groups[column].count()]
        shown = [names[columns.index(column)] for column in present]
        note = "Empty cells are undefined: too few rows, or no row of the class."
        blocks.append(Table("Rates by group", shown, groups.select(present).rows(), note, folded=groups.height > FOLD_FROM))
    aucs = recorded.table(".bias_auc.csv")
    if aucs is not None:
        wanted = ["identity", "n_subgroup", "subgroup_auc", "bpsn_auc", "bnsp_auc", "positive_aeg", "negative_aeg"]
        present = [column for column in wanted if column in aucs.columns]
        names = ["identity", "rows", "subgroup AUC", "BPSN AUC", "BNSP AUC", "positive AEG", "negative AEG"]
        shown = [names[wanted.index(column)] for column in present]
        blocks.append(Table("Bias AUCs by identity", shown, aucs.select(present).rows(), folded=aucs.height > FOLD_FROM))
    return blocks


def _skipped(groups: pl.DataFrame | None) -> list[str]:
    if groups is None or "skipped" not in groups.columns:
        return []
    return [f"{group} ({n})" for group, n in groups.filter(pl.col("skipped")).select("group", "n").rows()][:10]
