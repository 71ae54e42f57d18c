"""What a report says about a counterfactual audit: the same sentences with another identity in them, and how the scores moved."""

import base64

import polars as pl

from fairwitness.report.page import Block, Chart, Example, Finding, Picture, Section, Table
from fairwitness.report.recorded import Recorded
from fairwitness.report.svg import Interval, interval_chart

DEFINITIONS = (
    (
        "Paired gap",
        "Mean over templates of the score with one group minus the score with the other in the same sentence. 0 is no difference.",
    ),
    ("Control", "The same sentence with the identity taken out."),
    ("Share apart", "Share of templates whose two scores differ by at least the mark (0.1)."),
    ("Flip rate", "Share of templates that are called toxic with one group and not with the other."),
)
MOST_PAIRS = 12


def section(recorded: Recorded) -> Section:
    """The section of one counterfactual analysis."""
    measured = recorded.table("measurements.parquet")
    counts = recorded.counts
    lede = [f"The same sentences were scored with different groups named in them: {counts.get('asked', 0):,} texts in all."]
    if counts.get("failed"):
        lede.append(f"{counts['failed']:,} could not be scored; pairs with one of them are in no difference.")
    if measured is None:
        return Section("Counterfactual identities", lede)
    everything = measured.filter(pl.col("class") == "all")
    blocks: list[Block] = []
    for (category,), part in everything.group_by("attribute", maintain_order=True):
        blocks += _category(str(category), part)
    blocks += _mitigation(recorded)
    findings = _findings(everything.filter(pl.col("metric") == "paired_gap"))
    return Section("Counterfactual identities", lede, findings, blocks, examples=_worst(recorded), definitions=DEFINITIONS)


def _category(category: str, part: pl.DataFrame) -> list[Block]:
    name = category.replace("_", " ")
    means = part.filter(pl.col("metric") == "mean_score").sort("value", descending=True, nulls_last=True)
    lines = [
        Interval(row["group"] or "control", row["value"], row["low"], row["high"], row["n"]) for row in means.iter_rows(named=True)
    ]
    blocks: list[Block] = [Chart(f"Mean score by group: {name}", interval_chart(lines, name="mean score", ideal=None))]
    gaps = part.filter(pl.col("metric") == "paired_gap").sort(pl.col("value").abs(), descending=True, nulls_last=True)
    rows = gaps.head(MOST_PAIRS).iter_rows(named=True)
    pairs = [Interval(row["group"], row["value"], row["low"], row["high"], row["n"], muted=not _sure(row)) for row in rows]
    note = "Largest first. Grey: not sure after adjusting for the number of pairs."
    return [*blocks, Chart(f"Difference on the same sentences: {name}", interval_chart(pairs, name="paired gap"), note)]


def _findings(gaps: pl.DataFrame) -> list[Finding]:
    found = []
    for row in gaps.drop_nulls(["value", "low", "high"]).iter_rows(named=True):
        if not _sure(row) or "control" in str(row["group"]):
            continue
        first, _, second = str(row["group"]).partition(" − ")
        if row["value"] < 0:
            first, second = second, first
        low, high = sorted((abs(row["low"]), abs(row["high"])))
        words = f"The same sentence scores {abs(row['value']):.2f} higher with '{first}' than with '{second}'"
        words += f" (95 % interval {low:.2f} to {high:.2f})."
        found.append(Finding(words, low, subject=str(row["attribute"])))
    return found


def _sure(row: dict[str, float | None]) -> bool:
    low, high, p = row["low"], row["high"], row.get("p_adjusted")
    return low is not None and high is not None and (low > 0 or high < 0) and (p is None or p < 0.05)


def _mitigation(recorded: Recorded) -> list[Block]:
    table = recorded.table("mitigation.csv")
    if table is None:
        return []
    note = "Measured on templates that fitted nothing. Read the gap together with accuracy and AUC."
    blocks: list[Block] = [Table("Mitigation without retraining, before and after", table.columns, table.rows(), note)]
    if recorded.has("mitigation.png"):
        data = base64.b64encode(recorded.path("mitigation.png").read_bytes()).decode()
        blocks.append(Picture("Mitigation", f"data:image/png;base64,{data}", "Gap and accuracy before and after each mitigation"))
    return blocks


def _worst(recorded: Recorded) -> list[Example]:
    table = recorded.table("worst.csv")
    if table is None or "highest_text" not in table.columns:
        return []
    return [
        Example(
            f"{row['category']}: {row['lowest']} {row['lowest_score']:.2f} → {row['highest']} {row['highest_score']:.2f}",
            row["highest_text"],
            note=row["lowest_text"],
        )
        for row in table.iter_rows(named=True)
        if row.get("highest_score") is not None and row.get("lowest_score") is not None
    ][:20]
