"""The rows of one audit as the viewer shows them: scores with their texts, outcomes and groups, searched and filtered.

An input file is read only while its bytes are those that the audit read (its hash is in run.json), so that a text stands beside its
own score, and a run.json made by somebody else cannot have another file shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from fairwitness import tables
from fairwitness.errors import FairWitnessError
from fairwitness.report.recorded import Recorded, written_by

OUTCOMES = {
    "true positive": (1, 1),
    "false positive": (1, 0),
    "true negative": (0, 0),
    "false negative": (0, 1),
}
# Columns that are no group, whatever values they have.
_NO_GROUP = {"idx", "id", "pred", "score", "label", "target", "error", "text", "lp_pos", "lp_neg", "truncated", "outcome", "unit"}
_MOST_VALUES = 30


@dataclass(frozen=True)
class Query:
    """What of an audit's rows is wanted."""

    text: str = ""
    group: str = ""
    outcome: str = ""
    error: str = ""


@dataclass(frozen=True)
class Rows:
    """The rows, and what they can be filtered by: a group is a flag (`female`) or a value of a column (`age=3`)."""

    frame: pl.DataFrame
    groups: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)


def source_of(recorded: Recorded) -> Path | None:
    """The file with an audit's rows: its main output, or the predictions that a fairness audit read; None where there is none."""
    if recorded.kind == "fairness":
        return recorded.input_file("preds")
    own = [name for name in recorded.outputs if Path(name).stem == recorded.name and Path(name).suffix in tables.SUFFIXES]
    path = recorded.folder / own[0] if own and recorded.finished else None
    return path if path is not None and path.is_file() else None


def load_rows(path: Path, recorded: Recorded, siblings: Sequence[Recorded] = ()) -> Rows:
    """The rows of an audit with texts and outcomes beside them, where they can be had.

    The texts of predictions that another audit of the run made are that audit's.
    """
    frame = tables.read(path)
    if "idx" not in frame.columns:
        frame = frame.with_row_index("idx").cast({"idx": pl.Int64})
    frame = _with_outcome(_with_texts(frame, written_by(recorded, siblings) or recorded), recorded)
    outcomes = frame["outcome"].unique().drop_nulls().cast(pl.String).sort().to_list() if "outcome" in frame.columns else []
    return Rows(frame, _groups(frame, recorded), outcomes)


def condition(rows: Rows, query: Query) -> pl.Expr:
    """What a row must be to match. A filter that these rows do not have matches none of them."""
    frame = rows.frame
    parts = [pl.repeat(True, frame.height)]
    if query.text:
        parts.append(_holds(frame, query.text))
    if query.group:
        parts.append(_belongs(frame, query.group))
    if query.outcome:
        known = "outcome" in frame.columns
        parts.append((pl.col("outcome") == query.outcome).fill_null(False) if known else pl.repeat(False, frame.height))
    if query.error:
        failed = pl.col("error").is_not_null() if "error" in frame.columns else pl.repeat(False, frame.height)
        parts.append(failed if query.error == "failed" else ~failed)
    return pl.all_horizontal(parts)


def _holds(frame: pl.DataFrame, words: str) -> pl.Expr:
    """Rows whose text holds the words in any case; without texts, rows in which any column of words does."""
    names = ["text"] if "text" in frame.columns else [name for name, kind in frame.schema.items() if kind == pl.String]
    found = [pl.col(name).str.contains_any([words], ascii_case_insensitive=True).fill_null(False) for name in names]
    return pl.any_horizontal(found) if found else pl.repeat(False, frame.height)


def _belongs(frame: pl.DataFrame, group: str) -> pl.Expr:
    if group in frame.columns and frame.schema[group].is_numeric():
        return (pl.col(group) >= 0.5).fill_null(False)
    column, _, value = group.partition("=")
    if column not in frame.columns:
        return pl.repeat(False, frame.height)
    return (pl.col(column).cast(pl.String) == value).fill_null(False)


def _with_texts(frame: pl.DataFrame, recorded: Recorded) -> pl.DataFrame:
    """Put the scored texts beside their scores where the input file is still the same; else the scores stand alone."""
    column, source = recorded.question.get("text_col"), recorded.input_file("in")
    if "text" in frame.columns or source is None or not isinstance(column, str) or frame.is_empty():
        return frame
    try:
        texts = tables.read(source, [column], rows=int(frame["idx"].max() or 0) + 1)  # type: ignore[arg-type]
    except FairWitnessError:
        return frame
    texts = texts.select(pl.int_range(pl.len()).cast(frame.schema["idx"]).alias("idx"), text=pl.col(column).cast(pl.String))
    return frame.join(texts, on="idx", how="left", maintain_order="left")


def _with_outcome(frame: pl.DataFrame, recorded: Recorded) -> pl.DataFrame:
    """Whether each prediction is right; of two classes also which kind of right or wrong."""
    label, pred = (str(recorded.question.get(f"{name}_col") or name) for name in ("label", "pred"))
    if label not in frame.columns or pred not in frame.columns or "outcome" in frame.columns:
        return frame
    kinds = frame.schema[label], frame.schema[pred]
    if not all(kind.is_numeric() or kind == pl.Boolean for kind in kinds):
        return frame
    truth, guess = (pl.col(name).cast(pl.Float64).fill_nan(None) for name in (label, pred))
    ends = {"most": pl.max_horizontal(truth.max(), guess.max()), "least": pl.min_horizontal(truth.min(), guess.min())}
    most, least = frame.select(**ends).row(0)
    if most is None or most > 1 or least < 0:
        right = pl.when(truth == guess).then(pl.lit("right")).when(truth != guess).then(pl.lit("wrong"))
        return frame.with_columns(outcome=right.cast(pl.Categorical))
    outcome = pl.lit(None, pl.String)
    for name, (predicted, true) in OUTCOMES.items():
        outcome = pl.when((guess == predicted) & ((truth >= 0.5) == bool(true))).then(pl.lit(name)).otherwise(outcome)
    return frame.with_columns(outcome=outcome.cast(pl.Categorical))


def _groups(frame: pl.DataFrame, recorded: Recorded) -> list[str]:
    """Columns of numbers from 0 to 1 are flags; columns of few different words or whole numbers are groups by value."""
    label = {str(recorded.question.get(name)) for name in ("label_col", "pred_col", "score_col")}
    names = [name for name in frame.columns if name not in _NO_GROUP | label]
    found: list[str] = []
    for name in names:
        kind, values = frame.schema[name], frame[name]
        if kind.is_numeric() and values.count():
            low, high = values.min(), values.max()
            if low >= 0 and high <= 1:  # type: ignore[operator]
                found.append(name)
                continue
        if kind.is_integer() or kind == pl.String:
            few = values.head(10_000).n_unique() <= _MOST_VALUES and values.n_unique() <= _MOST_VALUES
            found += [f"{name}={value}" for value in values.unique().drop_nulls().sort().to_list()] if few else []
    return found
