"""What a report says about zero-shot scoring: how much was scored, how scores lie, and what the explained rows rest on."""

import polars as pl

from fairwitness.report.content import Block, Example, Interval, IntervalChart, Section, Table, Word
from fairwitness.report.recorded import Recorded

MOST_EXAMPLES = 25
FEW, MOST_LINES = 5, 24


def section(recorded: Recorded) -> Section:
    """The section of one zero-shot audit."""
    question, counts = recorded.question, recorded.counts
    asked, failed = counts.get("asked", 0), counts.get("failed", 0)
    labels = " or ".join(question.get("labels", []))
    lede = [f"{question.get('model', 'A model')} was asked, about {asked:,} texts, whether each is {labels}."]
    done = "All of them" if not failed else f"{asked - failed:,} of them"
    corrected = question.get("calibrate", "none")
    behind = "" if corrected == "none" else f", corrected by --calibrate {corrected}"
    lede.append(f"{done} could be scored. The score is the log-probability of the first label minus that of the second{behind}.")
    frame = recorded.table(".parquet")
    frame = recorded.table(".csv") if frame is None else frame
    limits = [f"{counts['failed']:,} texts could not be scored."] if failed else []
    cut = recorded.entry.get("truncated")
    if isinstance(cut, int) and cut:
        limits.append(f"{cut:,} texts were longer than the model's context and were cut.")
    return Section("Zero-shot classification", lede, (), _spread(frame), limits=limits)


def explained_section(recorded: Recorded) -> Section:
    """The section of the rows that were explained with Integrated Gradients."""
    table = recorded.table(".ig.parquet")
    if table is None:
        return Section("Explanations", ["The attributions can no longer be read; run the audit again."])
    converged = table["converged"].sum() if "converged" in table.columns else None
    lede = [
        f"{table.height:,} rows were explained by Integrated Gradients: each word's share of the margin, the log-probability of "
        "the first label minus that of the second, before any correction of the score."
    ]
    limits = []
    if converged is not None and converged < table.height:
        limits.append(f"{table.height - converged:,} of {table.height:,} explanations did not converge; they are marked.")
    shares = _shares(recorded)
    return Section("Explanations", lede, (), shares, examples=explained_examples(table), limits=limits)


def _spread(frame: pl.DataFrame | None) -> list[Block]:
    """Where the scores lie: quartiles by true label, so that the reader sees how well the two come apart."""
    if frame is None or "score" not in frame.columns or not frame["score"].count():
        return []
    label = next((name for name in ("target", "label", "toxic") if name in frame.columns and frame.schema[name].is_numeric()), None)
    groups = {"all texts": frame}
    if label:
        groups |= {f"{label} ≥ 0.5": frame.filter(pl.col(label) >= 0.5), f"{label} < 0.5": frame.filter(pl.col(label) < 0.5)}
    lines = []
    for name, part in groups.items():
        score = part["score"].drop_nulls()
        if len(score):
            ends = score.quantile(0.05), score.quantile(0.95)
            lines.append(Interval(name, score.median(), *ends, len(score), between="middle 90 %"))  # type: ignore[arg-type]
    note = "Medians, and the middle 90 % of the texts (not an interval of the median)."
    return [IntervalChart("Where the scores lie", lines, "score", note=note)]


def _shares(recorded: Recorded) -> list[Block]:
    """How much of the decisions rests on words that name an identity; and how far attributions agree with marked words."""
    blocks: list[Block] = []
    shares, agreement = recorded.table(".ig_identity.csv"), recorded.table(".ig_rationale.csv")
    if shares is not None and {"group", "outcome", "n", "share", "low", "high"} <= set(shares.columns):
        seen = shares.filter(pl.col("n") > 0)
        whole = seen.filter(pl.col("outcome") == "all").unique("group", keep="first", maintain_order=True)
        lines = [
            Interval(row["group"], row["share"], row["low"], row["high"], row["n"], muted=row["n"] < FEW)
            for row in whole.sort("n", "share", descending=True, maintain_order=True).head(MOST_LINES).iter_rows(named=True)
        ]
        note = "Share of a row's attribution that lies on identity words, averaged over a group's rows."
        name, hollow = "share of attribution on identity words", f"Hollow: under {FEW} rows."
        blocks.append(
            IntervalChart("How much rests on words that name an identity", lines, name, ideal=None, note=note, legend=hollow)
        )
        names = [name.replace("_", " ") for name in seen.columns]
        blocks.append(Table("The same by outcome", names, seen.rows(), folded=True))
    if agreement is not None:
        names = [name.replace("_", " ") for name in agreement.columns]
        blocks.append(Table("Agreement with the words that people marked", names, agreement.rows()))
    return blocks


def explained_examples(table: pl.DataFrame) -> list[Example]:
    """Explained rows with their words' weights; rows that failed have none."""
    examples = []
    for row in table.head(MOST_EXAMPLES).iter_rows(named=True):
        words, weights = row.get("words"), row.get("word_weights")
        if not words or not weights:
            continue
        marked = row.get("identity") or [False] * len(words)
        shown = [Word(text, weight, bool(flag)) for text, weight, flag in zip(words, weights, marked, strict=False)]
        gap = f"completeness gap {row['gap']:.1%} in {row['steps']} steps" if row.get("gap") is not None else ""
        unsure = "" if row.get("converged", True) else " · did not converge, do not rely on it"
        heading = f"row {row['idx']}: margin {row['explained']:+.2f}" if row.get("explained") is not None else f"row {row['idx']}"
        examples.append(Example(heading, " ".join(words), shown, f"{gap}{unsure}"))
    return examples
