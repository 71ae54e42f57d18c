"""What a report says about a counterfactual audit: the same sentences with another identity in them, and how the scores moved."""

import base64
from typing import Any

import polars as pl

from fairwitness.report.content import Block, Example, Finding, Interval, IntervalChart, Picture, Section, Table
from fairwitness.report.recorded import Recorded

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
PAIR_COLUMNS = ("a", "b", "n", "difference", "low", "high", "p_adjusted", "effect_dz", "share_apart", "flip_rate", "ratio")
# From here on the study speaks of a difference between two groups' means; the same marks as in metrics/mean_tables.py.
DIFFERENCE_MARK, RATIO_MARK = 0.1, 0.8


def section(recorded: Recorded) -> Section:
    """The section of one counterfactual analysis."""
    measured = recorded.table("measurements.parquet")
    counts = recorded.counts
    who = f" by {recorded.model}" if recorded.model else ""
    lede = [f"The same sentences were scored{who} with different groups named in them: {counts.get('asked', 0):,} texts in all."]
    if counts.get("failed"):
        lede.append(f"{counts['failed']:,} could not be scored; pairs with one of them are in no difference.")
    if measured is None:
        return Section("Counterfactual identities", lede)
    everything = measured.filter(pl.col("class") == "all")
    blocks: list[Block] = []
    for (category,), part in everything.group_by("attribute", maintain_order=True):
        blocks += [*_category(str(category), part), *_templates(recorded, str(category)), *_pairs(recorded, str(category))]
    blocks += [*_means(recorded), *_mitigation(recorded)]
    gaps = everything.filter(pl.col("metric") == "paired_gap").drop_nulls(["value", "low", "high"])
    findings = _findings(gaps, recorded.model or "The scorer")
    examples = _worst(recorded)
    return Section(
        "Counterfactual identities", lede, findings, blocks, examples=examples, definitions=DEFINITIONS, judged=gaps.height
    )


def _category(category: str, part: pl.DataFrame) -> list[Block]:
    name = category.replace("_", " ")
    means = part.filter(pl.col("metric") == "mean_score").sort("value", descending=True, nulls_last=True)
    lines = [
        Interval(row["group"] or "control", row["value"], row["low"], row["high"], row["n"]) for row in means.iter_rows(named=True)
    ]
    blocks: list[Block] = [IntervalChart(f"Mean score by group: {name}", lines, "mean score", ideal=None)]
    gaps = part.filter(pl.col("metric") == "paired_gap").sort(pl.col("value").abs(), descending=True, nulls_last=True)
    pairs = [_positive(row) for row in gaps.head(MOST_PAIRS).iter_rows(named=True)]
    note = "Largest first; the group that scores higher is named first."
    legend = "Hollow: not sure after adjusting for the number of pairs."
    return [*blocks, IntervalChart(f"Difference on the same sentences: {name}", pairs, "paired gap", note=note, legend=legend)]


def _positive(row: dict[str, Any]) -> Interval:
    """A pair with the higher-scoring group first."""
    value, low, high, name = row["value"], row["low"], row["high"], str(row["group"])
    if value is not None and value < 0:
        first, _, second = name.partition(" − ")
        value, low, high = -value, None if high is None else -high, None if low is None else -low
        name = f"{second} − {first}"
    return Interval(name, value, low, high, row["n"], muted=not _sure(row))


def _templates(recorded: Recorded, category: str) -> list[Block]:
    """Every template's score in every group, as it was drawn."""
    alt = f"A panel for each group of {category.replace('_', ' ')}: the score of every template, a line for each sentiment"
    return _picture(recorded, f"{category.replace('*', '_x_')}_lines.png", f"Template by template: {_plain(category)}", alt)


def _pairs(recorded: Recorded, category: str) -> list[Block]:
    table = recorded.table("pairs.csv")
    if table is None or not set(PAIR_COLUMNS) <= set(table.columns):
        return []
    own = table.filter(pl.col("category") == category, pl.col("sentiment") == "all", pl.col("a") < pl.col("b"))
    names = [name.replace("_", " ") for name in PAIR_COLUMNS]
    note = "Bold: a difference of 0.1 or more."
    title = f"All pairs: {_plain(category)}"
    return [Table(title, names, own.select(PAIR_COLUMNS).rows(), note, marks={"difference": DIFFERENCE_MARK}, folded=True)]


def _means(recorded: Recorded) -> list[Block]:
    """The study's own tables: means by group and sentiment, and their differences and ratios in every order of two groups."""
    words = {
        "by_group.csv": ("Means by group and sentiment", "", {}),
        "differences.csv": (
            "Differences of means",
            f"Bold: more than {DIFFERENCE_MARK}, which the study calls out.",
            dict.fromkeys(("neutral", "negative", "positive", "all"), DIFFERENCE_MARK + 1e-12),
        ),
        "ratios.csv": ("Ratios of means", f"Below {RATIO_MARK} is what the study calls out.", {}),
    }
    blocks: list[Block] = []
    for file, (title, note, marks) in words.items():
        table = recorded.table(file)
        if table is not None and table.height:
            names = [name.replace("_", " ") for name in table.columns]
            blocks.append(Table(title, names, table.rows(), note, marks=marks, folded=True))
    return blocks


def _plain(category: str) -> str:
    return category.replace("_", " ")


def _picture(recorded: Recorded, file: str, title: str, alt: str) -> list[Block]:
    if not recorded.has(file):
        return []
    data = base64.b64encode(recorded.path(file).read_bytes()).decode()
    return [Picture(title, f"data:image/png;base64,{data}", alt)]


def _findings(gaps: pl.DataFrame, scorer: str) -> list[Finding]:
    found = []
    for row in gaps.iter_rows(named=True):
        if not _sure(row) or "control" in str(row["group"]):
            continue
        first, _, second = str(row["group"]).partition(" − ")
        if row["value"] < 0:
            first, second = second, first
        low, high = sorted((abs(row["low"]), abs(row["high"])))
        words = f"{scorer} scores the same sentence {abs(row['value']):.2f} higher with '{first}' than with '{second}'"
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
    note = (
        "Measured on the half of the labelled templates that fitted nothing. Averaging (or the control) gives all variants of a "
        "comment one score; per-group thresholds bring each group's false positive rate to that of everybody. Read the gap "
        f"together with accuracy and AUC. {recommendation(table)}"
    )
    names = [name.replace("_", " ") for name in table.columns]
    drawn = _picture(recorded, "mitigation.png", "Mitigation", "Gap and accuracy before and after each mitigation")
    return [Table("Mitigation without retraining, before and after", names, table.rows(), note.strip()), *drawn]


def recommendation(mitigation: pl.DataFrame) -> str:
    """For each category the mitigation with the least gap in false positives among those that cost at most 0.01 of accuracy."""
    words = []
    for some in mitigation.partition_by("category", "rows", maintain_order=True):
        rows = some.to_dicts()
        before = rows[0]
        usable = [row for row in rows if row["false_positive_gap"] is not None and row["accuracy"] >= before["accuracy"] - 0.01]
        if not usable or before["false_positive_gap"] is None:
            continue
        best = min(usable, key=lambda row: (row["false_positive_gap"], -(row["auc"] or 0)))
        gap = f"gap in false positives {before['false_positive_gap']:.3f} → {best['false_positive_gap']:.3f}"
        accuracy = f"accuracy {before['accuracy']:.3f} → {best['accuracy']:.3f}"
        words.append(f"{before['category']} ({before['rows']}): {best['mitigation']} ({gap}, {accuracy})")
    return "Least gap at no more than 0.01 of accuracy: " + "; ".join(words) + "." if words else ""


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
