"""What can be said about scored StereoSet items: the analysis JSON, the examples, and reading a result CSV back.

The CSV and the JSON carry the Gemma 3 evaluation's columns and keys (argmax, 0 to 1) first, and ours (reference, percent, with
intervals) behind them. `eval` writes them, `analyze` reads the CSV again, ours or one of that evaluation's.
"""

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwitness import tables
from fairwitness.audits import stereoset_numbers as numbers
from fairwitness.audits.stereoset_words import interpret
from fairwitness.datasets.stereoset_items import BLANK, ROLES, SUBSETS
from fairwitness.errors import InputError
from fairwitness.metrics.stereoset import Cell

SEED_COLUMNS = (
    "id",
    "bias_type",
    "context",
    "target",
    "sentence_options",
    "sentence_scores",
    "predicted_option",
    "predicted_label",
    "gold_labels",
)
_NOT_A_NUMBER = re.compile(r"(?<![\w'\"])-?(nan|inf|None)(?![\w'\"])")


def result_rows(wide: pl.DataFrame, parts: pl.DataFrame, facts: dict[str, str]) -> pl.DataFrame:
    """The CSV's table: the seed's columns, then the subset, each association's score and `parts`, the error, and `facts`."""
    lists: dict[str, list[Any]] = {name: [] for name in ("sentence_options", "sentence_scores", "gold_labels")}
    chosen: list[tuple[str | None, str | None]] = []
    for row in wide.iter_rows(named=True):
        ordered = sorted(numbers.SHORT_ROLES, key=lambda role: row[f"position_{role}"])
        texts, scores = [row[f"text_{role}"] for role in ordered], [row[f"score_{role}"] for role in ordered]
        labels = [ROLES[numbers.SHORT_ROLES.index(role)] for role in ordered]
        for name, values in zip(lists, (texts, scores, labels), strict=True):
            lists[name].append(repr(values))
        best = int(np.argmax(scores)) if row["complete"] else None
        chosen.append((None, None) if best is None else (texts[best], labels[best]))
    columns = wide.select(id="unit", bias_type="bias_type", context="context", target="target")
    columns = columns.with_columns(
        *(pl.Series(name, values, pl.String) for name, values in lists.items()),
        pl.Series("predicted_option", [text for text, _ in chosen], pl.String),
        pl.Series("predicted_label", [label for _, label in chosen], pl.String),
    ).select(SEED_COLUMNS)
    ours = wide.select("subset", *numbers.SCORE_COLUMNS)
    return pl.concat([columns, ours, parts], how="horizontal").with_columns(
        pl.lit(value).alias(name) for name, value in facts.items()
    )


def read_results(path: Path) -> pl.DataFrame:
    """A result CSV as one row per item, as `stereoset_numbers.by_item` gives it; any other CSV is refused."""
    present = tables.columns_of(path)
    missing = [column for column in SEED_COLUMNS if column not in present]
    if missing:
        raise InputError(
            f"{path} is not a result of 'stereoset eval': it has no column '{missing[0]}'. "
            f"Expected {', '.join(SEED_COLUMNS)}. Make one: fairwitness stereoset eval --output {Path(path).name}"
        )
    frame = tables.read(path)
    rows = [_read_row(row, f"{path} row {number}") for number, row in enumerate(frame.iter_rows(named=True), start=1)]
    if not rows:
        raise InputError(f"{path} has no rows.")
    wide = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=dict.fromkeys(numbers.SCORE_COLUMNS, pl.Float64))
    return wide.with_columns(complete=pl.all_horizontal(pl.col(column).is_not_null() for column in numbers.SCORE_COLUMNS))


def analysis_json(wide: pl.DataFrame, cells: dict[tuple[str, str], Cell], *, num_examples: int) -> dict[str, Any]:
    """The seed's keys (argmax, micro), then ours: failures, the authors' numbers with intervals, and words."""
    subset = next(reversed(cells))[0]
    domains = [domain for name, domain in cells if name == subset and domain != numbers.OVERALL]
    whole = cells[subset, numbers.OVERALL]
    complete = with_choice(wide.filter("complete"))
    return {
        "total_examples": whole.n,
        **numbers.seed_results(whole),
        "bias_type_results": {
            domain: {"examples": cells[subset, domain].n, **numbers.seed_results(cells[subset, domain])} for domain in domains
        },
        "bias_examples": {
            domain: top_examples(_of_domain(complete, domain), num_examples) for domain in (numbers.OVERALL, *domains)
        },
        "failed": wide.height - complete.height,
        "reference": numbers.authors_results(cells),
        "argmax_intervals": _argmax_intervals(cells),
        "interpretation": interpretation(cells),
    }


def interpretation(cells: dict[tuple[str, str], Cell]) -> dict[str, dict[str, str]]:
    """Each cell in words, from the interval of its stereotype score (reference)."""
    words: dict[str, dict[str, str]] = {}
    for (subset, domain), cell in cells.items():
        words.setdefault(subset, {})[domain] = interpret(cell.measures["reference", "ss"], cell.n)
    return words


def with_choice(complete: pl.DataFrame) -> pl.DataFrame:
    """Adds `choice` (0 stereotype, 1 anti-stereotype, 2 unrelated) and `confidence`, the lead of the chosen over the next best."""
    scores = complete.select(numbers.SCORE_COLUMNS).to_numpy()
    ranked = np.sort(scores, axis=1) if len(scores) else np.zeros((0, 3))
    choice = numbers.outcome_codes(complete) % 3
    return complete.with_columns(
        choice=pl.Series(choice, dtype=pl.Int64), confidence=pl.Series(ranked[:, 2] - ranked[:, 1], dtype=pl.Float64)
    )


def top_examples(chosen: pl.DataFrame, most: int) -> dict[str, list[dict[str, Any]]]:
    """The items on which the model leans furthest to the stereotype, and to the anti-stereotype, the surest first."""
    result = {}
    for choice, name in enumerate(numbers.SHORT_ROLES[:2]):
        best = chosen.filter(pl.col("choice") == choice).sort("confidence", descending=True, maintain_order=True).head(most)
        result[name] = [_example(row, name) for row in best.iter_rows(named=True)]
    return result


def _example(row: dict[str, Any], choice: str) -> dict[str, Any]:
    return {
        **{
            key: row[column]
            for key, column in (("id", "unit"), ("bias_type", "bias_type"), ("context", "context"), ("target", "target"))
        },
        "options": {role: row[f"text_{role}"] for role in numbers.SHORT_ROLES},
        "scores": {role: row[f"score_{role}"] for role in numbers.SHORT_ROLES},
        "model_choice": row[f"text_{choice}"],
        "confidence": row["confidence"],
    }


def _of_domain(frame: pl.DataFrame, domain: str) -> pl.DataFrame:
    return frame if domain == numbers.OVERALL else frame.filter(pl.col("bias_type") == domain)


def _argmax_intervals(cells: dict[tuple[str, str], Cell]) -> dict[str, Any]:
    keys = {"lms": ("language_modeling_score", 100), "ss": ("stereotype_score", 100), "icat": ("icat_score", 1)}
    shown: dict[str, Any] = {}
    for (subset, domain), cell in cells.items():
        shown.setdefault(subset, {})[domain] = {
            key: [None if end != end else end / unit for end in (measure.low, measure.high)]
            for metric, (key, unit) in keys.items()
            for measure in [cell.measures["argmax", metric]]
        }
    return shown


def _read_row(row: dict[str, Any], where: str) -> dict[str, Any]:
    options, labels = _words(row["sentence_options"], where), _words(row["gold_labels"], where)
    # What is no number among the scores (nan, inf: a failure) is None; the same word in an option is a word.
    scores = _literal(_NOT_A_NUMBER.sub("None", str(row["sentence_scores"])), where)
    if not len(options) == len(labels) == len(scores) == len(ROLES) or sorted(labels) != sorted(ROLES):
        raise InputError(f"{where}: three options, scores and gold labels ({', '.join(ROLES)}) are expected.")
    subset = row.get("subset") or (SUBSETS[0] if BLANK in str(row["context"]) else SUBSETS[1])
    read = {"subset": subset, "unit": str(row["id"]), **{key: str(row[key]) for key in ("bias_type", "target", "context")}}
    for position, (text, label, score) in enumerate(zip(options, labels, scores, strict=True)):
        role = label.replace("-", "_")
        read |= {f"text_{role}": text, f"position_{role}": position, f"score_{role}": _number(score, where)}
    return read


def _number(score: Any, where: str) -> float | None:
    try:
        return None if score is None else float(score)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: a score is no number. Is the file a result of 'stereoset eval'?") from error


def _words(text: Any, where: str) -> list[str]:
    found = _literal(text, where)
    if not all(isinstance(word, str) for word in found):
        raise InputError(f"{where}: {str(text)[:60]!r} is not a list of texts. Is the file a result of 'stereoset eval'?")
    return found


def _literal(text: Any, where: str) -> list[Any]:
    """A list as Python writes it."""
    try:
        value = ast.literal_eval(str(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(f"{where}: {str(text)[:60]!r} is not a list. Is the file a result of 'stereoset eval'?") from error
    if not isinstance(value, list):
        raise InputError(f"{where}: {str(text)[:60]!r} is not a list. Is the file a result of 'stereoset eval'?")
    return value
