"""What a report says about a graph user model: how well it predicts. What it does to groups is the fairness section's.

A model that was trained with several seeds has a folder for each; what they have in common is said here.
"""

import polars as pl

from fairwitness import tables
from fairwitness.report.content import Block, Finding, Interval, IntervalChart, Section, Table
from fairwitness.report.multigroup_blocks import MOST_LINES, SPREADS, spreads_judged
from fairwitness.report.recorded import Recorded


def section(recorded: Recorded) -> Section:
    """The section of one trained user model."""
    question, facts = recorded.question, recorded.facts
    parts = ", ".join(f"{facts[name]:,} {words}" for name, words in _PARTS.items() if name in facts)
    lede = [
        f"{question.get('model')} learned to predict '{question.get('label')}' of users, "
        f"in a graph of {question.get('dataset')}'s layout ({parts})."
    ]
    performance = recorded.table("performance.csv")
    blocks: list[Block] = []
    if performance is not None:
        overall = performance.filter(pl.col("class").is_null()) if "class" in performance.columns else performance
        lines = [
            Interval(row["metric"], row["value"], row.get("low"), row.get("high"), row.get("n"))
            for row in overall.iter_rows(named=True)
        ]
        blocks.append(IntervalChart("How well it predicts, on the test users", lines, "value", ideal=None))
        blocks.append(Table("By class", performance.columns, performance.rows()))
    tested = facts.get("n_test", 0)
    limits = [f"The test part has only {tested:,} users: most gaps between groups cannot show."] if tested and tested < 200 else []
    return Section("Graph user model", lede, (), blocks, limits=limits)


def seeds_section(recorded: Recorded) -> Section:
    """The section of a user model trained several times: means and ranges over seeds, and what stood out how often."""
    question, summary = recorded.question, recorded.table("seeds.csv")
    seeds = [str(seed) for seed in question.get("seeds", [])]
    lede = [
        f"{question.get('model')} learned to predict '{question.get('label')}' of users, "
        f"in a graph of {question.get('dataset')}'s layout, {len(seeds)} times, with the seeds {', '.join(seeds)}; "
        "each has a folder with its own audit."
    ]
    if summary is None:
        return Section("Graph user model, several seeds", [*lede, "Its summary can no longer be read."])
    well = summary.filter(pl.col("attribute").is_null())
    blocks: list[Block] = [_over_seeds(well, "How well it predicts, on the test users", None)]
    for metric, (name, _) in SPREADS.items():
        part = summary.filter(pl.col("metric") == metric)
        blocks += [_over_seeds(part, name, 0.0)] if part.height else []
    columns = [name.replace("_", " ") for name in summary.columns]
    blocks.append(Table("All numbers over seeds", columns, summary.rows(), folded=True))
    judged = _judged_by_seed(recorded, seeds)
    return Section("Graph user model, several seeds", lede, _often(judged, len(seeds)), blocks, judged=judged.height)


def _judged_by_seed(recorded: Recorded, seeds: list[str]) -> pl.DataFrame:
    """The spreads that were tested in the fairness audits of all seeds, as far as those still are there."""
    found = [recorded.folder / f"seed_{seed}" / "fairness.measurements.parquet" for seed in seeds]
    nothing = pl.DataFrame(
        schema=dict.fromkeys(("metric", "attribute", "class"), pl.String) | {"value": pl.Float64, "p_adjusted": pl.Float64}
    )
    frames = [spreads_judged(tables.read(path)).select(nothing.columns) for path in found if path.is_file()]
    return pl.concat([nothing, *frames], how="vertical_relaxed")


def _over_seeds(rows: pl.DataFrame, name: str, ideal: float | None) -> IntervalChart:
    lines = []
    for row in rows.sort("mean", descending=True, nulls_last=True).head(MOST_LINES).iter_rows(named=True):
        place = ", ".join(str(row[part]) for part in ("attribute", "class") if row[part] is not None)
        label = place or row["metric"].replace("_", " ")
        lines.append(Interval(label, row["mean"], row["min"], row["max"], row["n_seeds"], between="over seeds from"))
    return IntervalChart(name, lines, name, ideal=ideal, note="Mean over seeds; the line goes from the lowest seed to the highest.")


def _often(judged: pl.DataFrame, seeds: int) -> list[Finding]:
    """Spreads beyond chance in at least half of the seeds."""
    found = []
    for (metric, attribute, name), rows in judged.group_by("metric", "attribute", "class", maintain_order=True):
        often = rows.filter(pl.col("p_adjusted") < 0.05).height
        if 2 * often < seeds:
            continue
        values = rows["value"].to_numpy() * 100
        words = f"{SPREADS[str(metric)][1].format(one=name)} {values.mean():.0f} points more often for one group of {attribute}"
        words += f" than for another, on average over {seeds} seeds ({values.min():.0f} to {values.max():.0f});"
        found.append(Finding(f"{words} beyond chance in {often} of them.", values.min() / 100, subject=str(attribute)))
    return found


_PARTS = {"n_train": "to learn from", "n_validation": "to choose with", "n_test": "to test on"}
