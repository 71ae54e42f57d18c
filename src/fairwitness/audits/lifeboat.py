"""The lifeboat for a scorer that will end: record its answers, serve them again, fit a local scorer to them, compare scorers.

A cassette is the recorded truth; a calibration is a stand-in with its known faults. Neither needs the network afterwards.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.counterfactual_score import ScoreConfig, budget_of, score
from fairwitness.audits.result import AuditResult
from fairwitness.engine.choose import map_parts
from fairwitness.engine.options import EngineOptions, check_engine
from fairwitness.errors import EvidenceError, InputError
from fairwitness.files import file_hash, require_file, write_text
from fairwitness.metrics import scorer_agreement
from fairwitness.options import Options
from fairwitness.progress import progress, say
from fairwitness.scorers import cassette
from fairwitness.scorers.by_name import ScorerSettings, TextScorer, scorer_by_name
from fairwitness.scorers.service_options import ServiceOptions

_TEXT_COLUMNS = ("text", "comment_text", "comment", "test_case", "phrase")


@dataclass(frozen=True, kw_only=True)
class RecordConfig(ServiceOptions, EngineOptions):
    """What is recorded."""

    in_: Path
    """A table of texts: the output of `expand`, or your own."""
    out: Path = Path("counterfactual/cassette.parquet")
    """The cassette."""
    scorer: str = "perspective"
    """Whose answers to keep."""
    text_col: str = ""
    """The column with the texts. Unset: text, comment_text, comment, whichever is there."""
    keep_text: bool = False
    """Keep the texts too, not only their hashes."""
    version: str = ""
    """The version of the model behind the service, where you know it."""
    device: str = "auto"
    """cpu, cuda, or auto, for models that run here."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


@dataclass(frozen=True, kw_only=True)
class ReplayConfig(Options):
    """Scoring from a cassette."""

    in_: Path
    """The texts: the output of `expand`."""
    cassette: Path
    """What `record` wrote."""
    out: Path = Path("counterfactual/scores.parquet")
    """Where the scores go."""
    attribute: str = ""
    """Which recorded attribute; unset: the first."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


@dataclass(frozen=True, kw_only=True)
class CalibrateConfig(EngineOptions):
    """Fitting a local scorer to a recorded one."""

    cassette: Path
    """The recorded scorer: what `record --keep_text` wrote, or a cassette whose texts are in --in."""
    scorer: str = "profanity"
    """The local scorer to fit."""
    in_: Path | None = None
    """The texts, with `role` and `category` if disagreement by group is wanted. Unset: the texts in the cassette."""
    out: Path = Path("counterfactual/calibration.json")
    """The fitted steps and the report; use it as the scorer calibrated:FILE."""
    attribute: str = ""
    """Which recorded attribute; unset: the first."""
    folds: int = 5
    """Folds of the cross-validation, by the text's hash."""
    device: str = "auto"
    """cpu, cuda, or auto, for models that run here."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


@dataclass(frozen=True, kw_only=True)
class CompareConfig(ServiceOptions, EngineOptions):
    """Several scorers on the same texts."""

    in_: Path
    """The texts: the output of `expand`, or your own."""
    scorers: tuple[str, ...] = ()
    """Two or more scorers."""
    out: Path = Path("counterfactual/compared.parquet")
    """One row a text, one column a scorer."""
    text_col: str = ""
    """The column with the texts. Unset: text, comment_text, comment, whichever is there."""
    threshold: float = 0.5
    """Where decisions are compared."""
    device: str = "auto"
    """cpu, cuda, or auto, for models that run here."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


def record(config: RecordConfig) -> AuditResult:
    """Keep a scorer's answers to these texts as a cassette."""
    check_engine(config)
    column = text_column(config.in_, config.text_col)
    scorer = scorer_by_name(config.scorer, ScorerSettings.of(config))
    data = {str(config.in_): file_hash(config.in_)}
    question = {
        "step": "record",
        "scorer": scorer.identity,
        "texts": data[str(config.in_)],
        "column": column,
        "keep_text": config.keep_text,
    }
    inputs = {"in": config.in_}
    with runs.open_run(config.out, "counterfactual record", question, restart=config.restart, data=data, inputs=inputs) as run:
        if not run.sealed:
            if column == "text" and {"unit", "role", "category", "sentiment"} <= set(tables.columns_of(config.in_)):
                say(budget_of(scorer, config.in_)["line"])
            texts = _texts(config.in_, column)
            pieces = list(_recorded(config, scorer, texts, run))
            about = {"scorer": config.scorer, "identity": scorer.identity, "version": config.version}
            cassette.write_cassette(config.out, pieces, about)
            failed = sum(piece.filter(pl.col("attribute") == piece["attribute"][0])["error"].count() for piece in pieces)
            run.seal([config.out], {"asked": len(texts), "scored": len(texts) - failed, "failed": failed})
        table, about = cassette.read_cassette(config.out)
        return AuditResult({"cassette": table.head(1000)}, {**run.entry["counts"], **about}, [config.out])


def replay(config: ReplayConfig) -> AuditResult:
    """Score texts from a cassette, without network. What was not recorded is an error of its row."""
    name = f"cassette:{config.cassette}" + (f"@{config.attribute}" if config.attribute else "")
    return score(ScoreConfig(in_=config.in_, out=config.out, scorer=name, restart=config.restart))


def calibrate(config: CalibrateConfig) -> AuditResult:
    """Fit a local scorer to a recorded one with isotonic regression, cross-validated, and say what it cannot replace."""
    check_engine(config)
    if config.folds < 2:
        raise InputError(f"--folds is {config.folds}; at least 2 are needed.")
    recorded = cassette.Cassette(path=config.cassette, attribute=config.attribute)
    scorer = scorer_by_name(config.scorer, ScorerSettings(device=config.device))
    data = {str(config.cassette): file_hash(require_file(config.cassette))}
    if config.in_ is not None:
        data[str(config.in_)] = file_hash(require_file(config.in_))
    question = {
        "step": "calibrate",
        "local": scorer.identity,
        "recorded": recorded.identity,
        "folds": config.folds,
        "in": sorted(data.values()),
    }
    inputs = {"cassette": config.cassette, "in": config.in_}
    with runs.open_run(config.out, "counterfactual calibrate", question, restart=config.restart, data=data, inputs=inputs) as run:
        if run.sealed:
            facts = json.loads(config.out.read_text(encoding="utf-8"))
        else:
            rows = _both(config, recorded, scorer, run)
            found, fitted = _fit(rows, config)
            facts = _report(config, rows, found, fitted)
            write_text(config.out, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
            count = {"asked": rows.height, "scored": found.height, "failed": rows.height - found.height}
            run.seal([config.out], count, agreement=facts["after"])
        result = {
            "thresholds": pl.DataFrame(facts["thresholds"]),
            "by_group": pl.DataFrame(facts["by_group"]),
            "largest_disagreements": pl.DataFrame(facts["largest_disagreements"]),
        }
        return AuditResult(result, {name: facts[name] for name in ("before", "after", "cannot_be_replaced")}, [config.out])


def compare(config: CompareConfig) -> AuditResult:
    """Scorers side by side on the same texts: correlation, same decisions, and means by group."""
    check_engine(config)
    if len(config.scorers) < 2:
        raise InputError("Comparing needs two scorers or more: --scorers profanity hf:unitary/toxic-bert")
    column = text_column(config.in_, config.text_col)
    scorers = [scorer_by_name(name, ScorerSettings.of(config)) for name in dict.fromkeys(config.scorers)]
    data = {str(config.in_): file_hash(config.in_)}
    question = {"step": "compare", "scorers": {each.name: each.identity for each in scorers}, "texts": data[str(config.in_)]}
    inputs = {"in": config.in_}
    with runs.open_run(config.out, "counterfactual compare", question, restart=config.restart, data=data, inputs=inputs) as run:
        frame = tables.read(config.out) if run.sealed else _side_by_side(config, column, scorers, run)
        pairs = _compare_pairs(frame, [each.name for each in scorers], config.threshold)
        return AuditResult({"pairs": pairs, "means": _means(frame, scorers)}, run.entry["counts"], [config.out])


def _side_by_side(config: CompareConfig, column: str, scorers: list[TextScorer], run: runs.Run) -> pl.DataFrame:
    kept = [name for name in ("id", "unit", "role", "category", "sentiment", "label") if name in tables.columns_of(config.in_)]
    frame = tables.read(config.in_, [*kept, column])
    texts = frame[column].cast(pl.String).to_list()
    for each in scorers:
        frame = frame.with_columns(pl.Series(each.name, _score_all(each, texts, run, config)["score"], dtype=pl.Float64))
    tables.write(frame, config.out)
    total, missing = frame.height * len(scorers), sum(frame[each.name].null_count() for each in scorers)
    run.seal([config.out], {"asked": total, "scored": total - missing, "failed": missing})
    return frame


def text_column(path: Path, named: str) -> str:
    """The column with the texts: the one named, else the first usual one."""
    columns = tables.columns_of(require_file(Path(path)))
    column = named or next((name for name in _TEXT_COLUMNS if name in columns), "text")
    tables.require_columns(columns, [column], path, flag="--text_col")
    return column


def _texts(path: Path, column: str) -> list[str]:
    texts = tables.read(path, [column])[column].cast(pl.String).drop_nulls().unique(maintain_order=True)
    found = texts.filter(texts.str.strip_chars() != "").to_list()
    if not found:
        raise InputError(f"Column '{column}' of {path} has no texts.")
    return found


def _recorded(config: RecordConfig, scorer: TextScorer, texts: list[str], run: runs.Run) -> Iterator[pl.DataFrame]:
    batches = list(cassette.batches_of(texts, scorer.rows_per_part))
    with progress(f"recording {scorer.name}", len(texts)) as advance:
        for some, scored in zip(batches, map_parts(scorer, batches, run.parts, options=config, advance=advance), strict=True):
            yield cassette.rows_of(some, scored, attribute=scorer.attribute, version=config.version, keep_text=config.keep_text)


def _score_all(scorer: TextScorer, texts: list[Any], run: runs.Run, options: EngineOptions) -> pl.DataFrame:
    batches = list(cassette.batches_of(texts, scorer.rows_per_part))
    with progress(f"scoring with {scorer.name}", len(texts)) as advance:
        return pl.concat(list(map_parts(scorer, batches, run.parts, options=options, advance=advance)), how="diagonal_relaxed")


def _both(config: CalibrateConfig, recorded: cassette.Cassette, scorer: TextScorer, run: runs.Run) -> pl.DataFrame:
    """Each text with its recorded and its local score."""
    if config.in_ is None:
        frame = recorded.table.select("text").drop_nulls().unique(maintain_order=True)
        if frame.is_empty():
            raise InputError(f"{config.cassette} has no texts (it was recorded without --keep_text). Give them with --in.")
    else:
        column = text_column(config.in_, "")
        groups = [name for name in ("role", "category") if name in tables.columns_of(config.in_)]
        frame = tables.read(config.in_, [column, *groups]).rename({column: "text"}).unique("text", maintain_order=True)
    texts = frame["text"].to_list()
    local = _score_all(scorer, texts, run, config)["score"]
    return frame.with_columns(recorded=pl.Series(recorded.score(texts)["score"], dtype=pl.Float64), local=local)


def _fit(rows: pl.DataFrame, config: CalibrateConfig) -> tuple[pl.DataFrame, tuple[Any, Any]]:
    found = rows.drop_nulls(["recorded", "local"])
    if found.height < 10 * config.folds:
        raise EvidenceError(f"Only {found.height} texts have both scores; {10 * config.folds} are needed for {config.folds} folds.")
    x, y = found["local"].to_numpy(), found["recorded"].to_numpy()
    folds = np.array([int(cassette.text_hash(text)[:8], 16) % config.folds for text in found["text"].to_list()])
    fitted = scorer_agreement.isotonic(x, y)
    return found.with_columns(fitted=scorer_agreement.cross_validated(x, y, folds)), fitted


def _report(config: CalibrateConfig, rows: pl.DataFrame, found: pl.DataFrame, fitted: tuple[Any, Any]) -> dict[str, Any]:
    from fairwitness.scorers.calibrated import FORMAT

    recorded, local, mapped = (found[name].to_numpy() for name in ("recorded", "local", "fitted"))
    thresholds = scorer_agreement.at_thresholds(recorded, mapped)
    raw = [scorer_agreement.local_threshold(*fitted, value) for value in thresholds["threshold"].to_list()]
    groups = _group_names(found)
    largest = found.with_columns(off=(pl.col("fitted") - pl.col("recorded")).abs()).sort("off", descending=True).head(10)
    after = scorer_agreement.agreement(recorded, mapped)
    return {
        "format": FORMAT,
        "scorer": config.scorer,
        "recorded": str(config.cassette.name),
        "x": [float(value) for value in fitted[0]],
        "y": [float(value) for value in fitted[1]],
        "texts": rows.height,
        "before": scorer_agreement.agreement(recorded, local),
        "after": after,
        "thresholds": thresholds.with_columns(local_threshold=pl.Series(raw, dtype=pl.Float64)).to_dicts(),
        "by_group": scorer_agreement.by_group(recorded, mapped, groups).to_dicts() if groups else [],
        "largest_disagreements": largest.select("text", "recorded", "fitted").to_dicts(),
        "cannot_be_replaced": cannot_be_replaced(after, thresholds, float(fitted[1][-1])),
    }


def _group_names(found: pl.DataFrame) -> list[str]:
    """Each row's group as "category: group"; empty where the texts have no groups."""
    if "role" not in found.columns:
        return []
    roles = [role or "control" for role in found["role"].to_list()]
    if "category" not in found.columns:
        return roles
    return [f"{category}: {role}" for category, role in zip(found["category"].to_list(), roles, strict=True)]


def cannot_be_replaced(after: dict[str, float | None], thresholds: pl.DataFrame, highest: float) -> list[str]:
    """In words: what of the recorded scorer the stand-in does not give."""
    words = []
    if after["explained"] is not None and after["explained"] < 0.8:
        words.append(
            f"{1 - max(0.0, after['explained']):.0%} of the variance of the recorded scores is not explained by the local scorer"
        )
    weak = [row["threshold"] for row in thresholds.to_dicts() if row["kappa"] is not None and row["kappa"] < 0.6]
    if weak:
        shown = ", ".join(f"{value:g}" for value in weak)
        words.append(f"decisions at the thresholds {shown} agree too little (Cohen's kappa below 0.6)")
    never = [row["threshold"] for row in thresholds.to_dicts() if row["threshold"] > highest and (row["above_recorded"] or 0) > 0]
    if never:
        shown = ", ".join(f"{value:g}" for value in never)
        words.append(f"no local score reaches the old thresholds {shown}; the curve ends at {highest:.2f}")
    words.append("other attributes, other languages and context are not covered by a calibration of one attribute")
    return words


def _compare_pairs(frame: pl.DataFrame, names: list[str], threshold: float) -> pl.DataFrame:
    rows = []
    for a, b in combinations(names, 2):
        both = frame.select(a, b).drop_nulls()
        x, y = both[a].to_numpy(), both[b].to_numpy()
        decided = scorer_agreement.at_thresholds(x, y, [threshold]).row(0, named=True)
        rows.append(
            {"a": a, "b": b, **scorer_agreement.agreement(x, y), **{name: decided[name] for name in ("same_decision", "kappa")}}
        )
    return pl.DataFrame(rows)


def _means(frame: pl.DataFrame, scorers: list[TextScorer]) -> pl.DataFrame:
    by = [name for name in ("category", "role") if name in frame.columns]
    means = [pl.col(each.name).mean() for each in scorers]
    if not by:
        return frame.select(pl.len().alias("n"), *means)
    return frame.group_by(by, maintain_order=True).agg(pl.len().alias("n"), *means)
