"""What a report says about StereoSet and CrowS-Pairs: how often a model prefers the stereotype, by domain, with intervals."""

import polars as pl

from fairwitness.report.content import Block, Finding, Interval, IntervalChart, Section, Table
from fairwitness.report.recorded import Recorded

CHARTS = {
    "reference_ss": ("Stereotype score (SS): 50 is no preference", 50.0),
    "reference_lms": ("Language score (LMS): 100 is best", 100.0),
    "reference_icat": ("Both together (ICAT): 100 is best", 100.0),
}
DEFINITIONS = (
    ("LMS", "How often a meaningful sentence is likelier than an unrelated one, in percent, averaged over target terms."),
    (
        "SS",
        "How often the stereotype is likelier than the anti-stereotype, in percent, averaged over terms. 50 is no preference.",
    ),
    ("ICAT", "LMS × min(SS, 100 − SS) / 50: 100 for a model that knows the language and prefers neither side."),
    (
        "reference, argmax",
        "The benchmark authors' pairwise definition, and the one that takes the best of three sentences; they differ.",
    ),
)


def section(recorded: Recorded) -> Section:
    """The section of one StereoSet evaluation."""
    measured = recorded.table("measurements.parquet")
    model, subset = recorded.question.get("model", "A prediction file"), recorded.question.get("subset", "")
    counts = recorded.counts
    lede = [f"{model} was asked which of three sentences is likeliest, on {counts.get('asked', 0):,} StereoSet items ({subset})."]
    if counts.get("failed"):
        lede.append(f"{counts['failed']:,} could not be scored; their items are in no number.")
    if measured is None:
        return Section("StereoSet", lede)
    cells = measured.filter(pl.col("class").is_null())
    blocks: list[Block] = [_chart(cells.filter(pl.col("metric") == metric), *words) for metric, words in CHARTS.items()]
    blocks.append(_table(cells))
    few = cells.filter((pl.col("group") == "overall") & (pl.col("n") < 200))
    limits = ["StereoSet was judged by so few items that only large preferences show."] if few.height else []
    preferences = _judged(cells.filter(pl.col("metric") == "reference_ss"))
    findings = _findings(preferences, f"{model} finds", "StereoSet items", "stereoset")
    return Section("StereoSet", lede, findings, blocks, definitions=DEFINITIONS, limits=limits, judged=preferences.height)


def crows_section(recorded: Recorded) -> Section:
    """The section of one CrowS-Pairs evaluation."""
    measured = recorded.table("measurements.parquet")
    model = recorded.question.get("model", "")
    lede = [f"{model} was asked which of two sentences is likelier, on {recorded.counts.get('asked', 0):,} pairs of CrowS-Pairs."]
    if measured is None:
        return Section("CrowS-Pairs", lede)
    name = "Share of pairs in which the stereotype is likelier: 50 is no preference"
    chosen = measured.filter(pl.col("metric").str.contains("stereotype"))
    rows = [Interval(_place(row), row["value"], row["low"], row["high"], row["n"]) for row in chosen.iter_rows(named=True)]
    ideal = 50.0 if any((line.value or 0) > 1 for line in rows) else 0.5
    preferences = _judged(chosen.with_columns(pl.col("value", "low", "high") * (50 / ideal)))
    findings = _findings(preferences, f"{model} finds", "pairs of CrowS-Pairs", "crows")
    return Section("CrowS-Pairs", lede, findings, [IntervalChart(name, rows, name, ideal=ideal)], judged=preferences.height)


def _judged(preferences: pl.DataFrame) -> pl.DataFrame:
    """Those with an interval and enough items to say anything."""
    return preferences.drop_nulls(["value", "low", "high"]).filter(pl.col("n") >= 30)


def _chart(rows: pl.DataFrame, name: str, ideal: float) -> IntervalChart:
    lines = [
        Interval(_place(row), row["value"], row["low"], row["high"], row["n"], muted=(row["n"] or 0) < 30, series=row["attribute"])
        for row in rows.iter_rows(named=True)
    ]
    return IntervalChart(name, lines, name, ideal=ideal, legend="The dashed line is the ideal. Hollow: fewer than 30 items.")


def _table(cells: pl.DataFrame) -> Table:
    keys = ["attribute", "group", "n"]
    wide = cells.pivot(on="metric", index=keys, values="value", maintain_order=True)
    names = [name for name in wide.columns if name not in keys]
    short = [" ".join(part if part in ("argmax", "reference") else part.upper() for part in name.split("_")) for name in names]
    shown = [name.removeprefix("reference ") for name in short]
    rows = wide.select(*keys, *names).rows()
    return Table("All numbers", ["subset", "domain", "items", *shown], rows, digits=1)


def _findings(preferences: pl.DataFrame, who: str, items: str, subject: str) -> list[Finding]:
    """Preferences, in per cent, whose interval stays clear of 50."""
    found = []
    for row in preferences.iter_rows(named=True):
        if row["low"] <= 50 <= row["high"]:
            continue
        side = "the stereotype" if row["value"] > 50 else "the anti-stereotype"
        share = max(row["value"], 100 - row["value"])
        low, high = sorted((max(row["low"], 100 - row["low"]), max(row["high"], 100 - row["high"])))
        words = f"{who} {side} likelier in {share:.0f} of 100 {items}"
        words += f" ({_place(row)}; 95 % interval {low:.0f} to {high:.0f})."
        found.append(Finding(words, min(abs(row["low"] - 50), abs(row["high"] - 50)) / 100, subject=subject))
    return found


def _place(row: dict[str, object]) -> str:
    return ", ".join(str(row[name]) for name in ("group", "attribute") if row.get(name))
