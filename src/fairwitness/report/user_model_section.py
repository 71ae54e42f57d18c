"""What a report says about a graph user model: how well it predicts. What it does to groups is the fairness section's."""

import polars as pl

from fairwitness.report.content import Block, Interval, IntervalChart, Section, Table
from fairwitness.report.recorded import Recorded


def section(recorded: Recorded) -> Section:
    """The section of one trained user model."""
    question, facts = recorded.question, recorded.entry.get("facts", {})
    parts = ", ".join(f"{facts[name]:,} {words}" for name, words in _PARTS.items() if name in facts)
    lede = [
        f"{question.get('model')} learned to predict '{question.get('label')}' of users of {question.get('dataset')} ({parts})."
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


_PARTS = {"n_train": "to learn from", "n_validation": "to choose with", "n_test": "to test on"}
