"""Group fairness of predictions that already exist: of a file with `audit_fairness`, of a table with `group_fairness`.

Both count once and make every table from the counts. No model is called here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from fairwitness import in_memory, runs, tables
from fairwitness.audits.fairness_files import stored, write
from fairwitness.audits.fairness_input import BACKGROUND, OVERALL, Tally, count
from fairwitness.audits.fairness_join import open_predictions
from fairwitness.audits.fairness_measurements import measurements, multigroup_measurements
from fairwitness.audits.fairness_multigroup import binarised, multigroup, require_known
from fairwitness.audits.fairness_outcomes import label_kind, refuse_strangers, values_of
from fairwitness.audits.fairness_reading import FileRows, Reading, Rows
from fairwitness.audits.fairness_result import FairnessResult
from fairwitness.audits.fairness_scores import score_facts, score_tables
from fairwitness.audits.fairness_tables import (
    Settings,
    adjust_together,
    group_table,
    identity_gaps,
    identity_table,
    overall_table,
    summary_table,
)
from fairwitness.engine.options import ENGINE_FIELDS, LOCAL, ClusterOptions, check_engine
from fairwitness.errors import InputError
from fairwitness.files import file_hash, require_file
from fairwitness.metrics.counts import Counts
from fairwitness.metrics.scores import ExactScores
from fairwitness.options import require_config

_SCORE = "score"
_ERROR = "error"


@dataclass(frozen=True, kw_only=True)
class FairnessConfig(ClusterOptions):
    """Everything that can be asked of `fairwitness fairness`, with its defaults."""

    preds: Path
    """Table of predictions: `pred` (0/1), `idx`, perhaps `score` and `error`, perhaps labels and identities."""

    label_col: str
    """Column of true labels: 0/1, or fractions (positive from 0.5). With --group_cols alone also names of several classes."""

    out: Path
    """Where the table of groups goes (R.csv); the other files are named after it."""

    id_cols: tuple[str, ...] = ()
    """Identity columns, which may overlap: 0/1, true/false or fractions."""

    group_cols: tuple[str, ...] = ()
    """Columns whose values are the groups; `age*gender` crosses two."""

    labels_file: Path | None = None
    """Table with the labels and identities that the predictions lack, joined on `idx`, or by row number when it has none."""

    positive_label: int = 1
    """Which label counts as positive, 1 or 0; 0 turns truth and prediction around together."""

    pred_col: str = "pred"
    """Column of predictions. An empty cell is a failed row: counted, never a prediction."""

    score_col: str = _SCORE
    """Column of scores, higher for the positive class; used when it is there."""

    score_threshold: float | None = None
    """Make the predictions from the score instead: positive from this score on."""

    min_group_size: int = 30
    """Groups with fewer rows are listed as skipped, and no gap is made with them."""

    group_threshold: float = 0.5
    """An identity column's value from which a row is a member."""

    missing: Literal["exclude", "nonmember"] = "exclude"
    """What an empty identity cell means: not known (the row is left out for that identity), or not a member."""

    auc_background: Literal["rest", "identities", "background"] = "rest"
    """Whom bias AUCs compare an identity with: all non-members, those who name another identity, or those who name none."""

    positive_classes: tuple[str, ...] = ()
    """For the binarised view: the classes called positive; without it, each in turn."""

    group_one: tuple[str, ...] = ()
    """For the binarised view: the groups called 1; without it, each in turn."""

    confidence: float = 0.95
    """Confidence of all intervals."""

    replicates: int = 1000
    """Bootstrap replicates of the counts."""

    seed: int = 0
    """Seed of bootstrap and permutation."""

    charts: bool = True
    """Draw the charts; --charts False leaves them out."""

    restart: bool = False
    """Start over where --out holds another question's answer."""


def audit_fairness(config: FairnessConfig) -> FairnessResult:
    """Measure a file of predictions and write R.csv and all that belongs to it. The same question again is read, not redone."""
    require_config(config, FairnessConfig)
    check_engine(config)
    reading, settings = _reading(config), _settings(config)
    data = {"preds": file_hash(require_file(config.preds))}
    if config.labels_file:
        data["labels_file"] = file_hash(require_file(config.labels_file))
    question = _question(config, data)
    # Before the run is opened: a wrong column must leave no trace of a run.
    frame = open_predictions(config.preds, config.labels_file, reading)
    inputs = {"preds": config.preds, "labels_file": config.labels_file}
    with runs.open_run(config.out, "fairness", question, restart=config.restart, data=data, inputs=inputs) as run:
        if run.sealed:
            return stored(config.out, run.entry)
        with tables.reading(config.preds):
            result = _measure(frame, reading, settings, classes=config.positive_classes, groups=config.group_one, options=config)
        files = write(result, config.out, charts=config.charts)
        asked, failed = result.facts["n_rows"], result.facts["n_failed"]
        run.seal(files, {"asked": asked, "scored": asked - failed, "failed": failed}, facts=result.facts)
    return FairnessResult(result.tables, result.facts, files, result.counts)


Column = str | Any


def group_fairness(
    table: Any = None,
    *,
    label: Column,
    pred: Column = None,
    score: Column = None,
    flags: Sequence[str] | Mapping[str, Any] = (),
    groups: Sequence[str] | Mapping[str, Any] = (),
    positive_label: int = 1,
    score_threshold: float | None = None,
    min_group_size: int = 30,
    group_threshold: float = 0.5,
    missing: Literal["exclude", "nonmember"] = "exclude",
    confidence: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> FairnessResult:
    """Measure predictions in memory, or in a table file that is read part by part.

    `table` is a polars, pandas or pyarrow table, a dict of columns, a numpy structured array, or a path; `label`, `pred` and
    `score` name its columns, or are arrays themselves, as may be the values of `flags` and `groups` given as a dict.

    >>> table = {"toxic": [1, 0, 1, 0], "pred": [1, 0, 0, 1], "male": [1, 1, 0, 0]}
    >>> result = group_fairness(table, label="toxic", pred="pred", flags=["male"], min_group_size=1)
    >>> result.per_identity["EOpp_diff"].to_list()
    [1.0]
    """
    frame, names = _frame_of(table, {"label": label, "pred": pred, "score": score}, {"flags": flags, "groups": groups})
    reading = Reading(
        **names,
        positive_label=positive_label,
        score_threshold=score_threshold,
        group_threshold=group_threshold,
        missing=missing,
    )
    settings = Settings(min_group_size=min_group_size, confidence=confidence, replicates=replicates, seed=seed)
    _check(reading, settings)
    present = frame.collect_schema().names()
    for name in reading.columns:
        tables.require_columns(present, [name], "the table")
    if _ERROR in present and _ERROR not in reading.columns:
        reading = replace(reading, error=_ERROR)
    with tables.reading(table if isinstance(table, str | Path) else "the table"):
        if isinstance(table, str | Path) and set(reading.columns) <= set(tables.columns_of(table)):
            return _measure(FileRows(Path(table), tuple(reading.columns)), reading, settings)
        return _measure(frame.select(reading.columns), reading, settings)


def _frame_of(
    table: Any, single: Mapping[str, Any], several: Mapping[str, Any]
) -> tuple[pl.LazyFrame | pl.DataFrame, dict[str, Any]]:
    """The table, with those columns added that were given as arrays, and the names of all."""
    if isinstance(table, np.ndarray) and table.dtype.names:
        table = {name: table[name] for name in table.dtype.names}
    if single["label"] is None:
        raise InputError("label is None; the name of the column of true labels was expected, or an array.")
    frame: Any = table if isinstance(table, pl.LazyFrame) else None
    names: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for role, given in single.items():
        names[role] = given if given is None or isinstance(given, str) else role
        if names[role] is not given:
            arrays[role] = given
    for role, given in several.items():
        names[role] = (given,) if isinstance(given, str) else tuple(given)
        if not all(isinstance(name, str) for name in names[role]):
            raise InputError(f"'{role}' holds names of columns of the table, or a dict of names and arrays.")
        if isinstance(given, Mapping):
            arrays |= given
    try:
        added = [in_memory.as_column(name, column) for name, column in arrays.items()]
        for column in added[1:]:
            if len(column) != len(added[0]):
                sizes = f"'{added[0].name}' has {len(added[0]):,} values and '{column.name}' has {len(column):,}"
                raise InputError(f"{sizes}; one value a row was expected of each.")
        if frame is None and isinstance(table, str | Path):
            frame = tables.scan(table)
        if frame is None:
            frame = pl.DataFrame(added) if table is None else in_memory.as_frame(table)
        return (frame.with_columns(added) if added else frame), names
    except pl.exceptions.PolarsError as error:
        raise InputError(f"The columns given as arrays do not fit together: {error}") from error


def _measure(
    rows: Rows,
    reading: Reading,
    settings: Settings,
    *,
    classes: Sequence[str] = (),
    groups: Sequence[str] = (),
    options: ClusterOptions = LOCAL,
) -> FairnessResult:
    _refuse_records(rows, reading)
    reading = _looked_at(rows, reading)
    tally, scores = count(rows, reading, options=options)
    counts = dict(tally.counts)
    overall = counts.pop(OVERALL)
    if reading.named_classes:
        refuse_strangers(overall)
    facts = _facts(tally, reading, settings)
    columns = {name: one for name, one in counts.items() if name in reading.groups}
    require_known(list(columns.values()), classes=classes, groups=groups)
    multi = [multigroup(one, settings) for one in columns.values()]
    found = identity_gaps(counts, reading.flags, settings) if reading.flags else None
    found, adjusted = adjust_together(found, np.array([p for one in multi for p in one.p.values()]))
    made = {"groups": group_table(counts, settings)}
    if found is not None:
        made["per_identity"] = identity_table(found, settings)
    spreads = pl.concat([one.table for one in multi]) if found is None else None
    made["summary"] = summary_table(counts, found, spreads, settings, _seen(facts))
    made["overall"] = overall_table(overall, settings)
    if scores is not None and len(scores.edges):
        made |= score_tables(scores, settings)
        facts |= score_facts(scores, made.get("bias_auc"), reading.flags, settings) | {
            "scores_exact": isinstance(scores, ExactScores)
        }
    long = measurements(made, counts, facts)
    if multi:
        made["multigroup"] = pl.concat([one.table for one in multi])
        made["binarised"] = pl.concat([binarised(one, settings, classes=classes, groups=groups) for one in columns.values()])
        long = pl.concat([long, multigroup_measurements(multi, adjusted, counts)])
    facts = {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in facts.items()}
    return FairnessResult({**made, "measurements": long}, facts, [], {OVERALL: overall, **counts})


def _refuse_records(rows: Rows, reading: Reading) -> None:
    schema = rows.lazy().collect_schema()
    for name in reading.columns:
        if schema[name].is_nested() or schema[name] in (pl.Binary, pl.Object):
            raise InputError(f"Column '{name}' holds lists or records ({schema[name]}); single values were expected.")


def _looked_at(rows: Rows, reading: Reading) -> Reading:
    """The reading, with what only the values can say: whether labels are classes, whether scores are probabilities."""
    if label_kind(rows, reading):
        # Several classes have no single score; their AUCs would need one score per class.
        unused = (
            *([f"The scores ('{reading.score}')"] if reading.score else []),
            *([] if reading.positive_label else ["positive_label 0"]),
        )
        return replace(reading, named_classes=True, score=None, unused=unused)
    if reading.score is None or reading.positive_label:
        return reading
    seen = values_of(rows, reading.score)
    return replace(reading, probabilities=seen.low >= 0 and seen.high <= 1)


def _facts(tally: Tally, reading: Reading, settings: Settings) -> dict[str, Any]:
    failed, unlabelled = tally.n_failed, tally.n_unlabelled
    facts: dict[str, Any] = {"n_rows": tally.n_rows, "n_failed": failed, "n_unlabelled": unlabelled}
    facts["n_measured"] = tally.n_rows - failed - unlabelled
    facts["n_skipped_groups"] = sum(int((one.sizes < settings.min_group_size).sum()) for one in tally.counts.values())
    if reading.score is not None:
        lost = tally.n_without_score + tally.n_infinite_score
        facts |= {"n_without_score": tally.n_without_score, "n_infinite_score": tally.n_infinite_score}
        facts["n_scored"] = facts["n_measured"] - lost
    facts["notes"] = _notes(tally, reading)
    return facts


def _seen(facts: Mapping[str, Any]) -> dict[str, int]:
    return {name: facts[name] for name in ("n_rows", "n_measured", "n_failed", "n_unlabelled", "n_skipped_groups")}


def _notes(tally: Tally, reading: Reading) -> list[str]:
    """What a reader must know before the numbers, in words."""
    notes = [f"{what} cannot be used: there are several classes, and none of them is the positive one." for what in reading.unused]
    if tally.n_failed:
        notes.append(f"{tally.n_failed:,} of {tally.n_rows:,} rows have no prediction and are in no number.")
    if tally.n_unlabelled:
        notes.append(f"{tally.n_unlabelled:,} of {tally.n_rows:,} rows have no label and are in no number.")
    if tally.n_infinite_score:
        notes.append(f"{tally.n_infinite_score:,} scores are infinite and are left out of AUCs, sweeps and calibration.")
    if tally.n_without_score:
        notes.append(
            f"{tally.n_without_score:,} rows have a prediction and no score; they are left out of AUCs, sweeps and calibration."
        )
    for name in reading.flags:
        notes += _flag_notes(tally.counts[name], reading)
    for name in reading.groups:
        if tally.counts[name].missing:
            notes.append(f"{tally.counts[name].missing:,} rows have no value in '{name}' and are in none of its groups.")
    return notes


def _flag_notes(counts: Counts, reading: Reading) -> list[str]:
    outside, inside = (int(n) for n in counts.sizes)
    if not outside + inside:
        return [f"Identity '{counts.attribute}' has no value in any measured row."]
    if not inside:
        return [f"Identity '{counts.attribute}' has no members: no value reaches --group_threshold {reading.group_threshold:g}."]
    if not outside:
        return [f"Identity '{counts.attribute}' has nobody but members, so there is nobody to compare them with."]
    return []


def _reading(config: FairnessConfig) -> Reading:
    own = tables.columns_of(config.preds)
    score = (
        config.score_col if config.score_col in own or config.score_col != _SCORE or config.score_threshold is not None else None
    )
    reading = Reading(
        label=config.label_col,
        pred=config.pred_col if config.score_threshold is None else None,
        score=score,
        error=_ERROR if _ERROR in own else None,
        flags=config.id_cols,
        groups=config.group_cols,
        positive_label=config.positive_label,
        score_threshold=config.score_threshold,
        group_threshold=config.group_threshold,
        missing=config.missing,
        auc_background=config.auc_background,
    )
    _check(reading, _settings(config))
    return reading


def _settings(config: FairnessConfig) -> Settings:
    return Settings(
        min_group_size=config.min_group_size, confidence=config.confidence, replicates=config.replicates, seed=config.seed
    )


def _check(reading: Reading, settings: Settings) -> None:
    if not reading.flags and not reading.groups:
        raise InputError(
            "No groups to compare. Name identity columns with --id_cols (in Python flags=[…]), "
            "or columns of groups with --group_cols (groups=[…])."
        )
    if reading.missing not in ("exclude", "nonmember"):
        raise InputError(f"--missing is '{reading.missing}'; exclude or nonmember was expected.")
    for attribute in (*reading.flags, *reading.groups):
        if not all(attribute.split("*")):
            raise InputError(f"'{attribute}' lacks the name of a column. Write --group_cols age, or age*gender to cross two.")
    for names, option in ((reading.flags, "--id_cols"), (reading.groups, "--group_cols")):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"{option} names '{twice[0]}' twice.")
    if both := sorted({*reading.flags} & {*reading.groups}):
        raise InputError(f"'{both[0]}' is named in --id_cols and in --group_cols. Name it in one of them.")
    if clash := sorted({BACKGROUND, OVERALL} & {*reading.flags, *reading.groups}):
        raise InputError(f"'{clash[0]}' is the name of another attribute of this audit. Rename the column.")
    if reading.positive_label not in (0, 1):
        raise InputError(f"--positive_label is {reading.positive_label}; 0 or 1 was expected.")
    if reading.pred is None and reading.score_threshold is None:
        raise InputError("No predictions: name their column (--pred_col), or make them from a score with --score_threshold.")
    if settings.min_group_size < 1 or settings.replicates < 1 or settings.seed < 0:
        raise InputError("--min_group_size and --replicates must be at least 1, and --seed at least 0.")
    if np.isnan(reading.group_threshold) or (reading.score_threshold is not None and np.isnan(reading.score_threshold)):
        raise InputError("--group_threshold and --score_threshold must be numbers, not nan.")
    if not 0 < settings.confidence < 1:
        raise InputError(f"--confidence is {settings.confidence:g}; a number between 0 and 1 was expected, such as 0.95.")


# Where the files lie and where they are counted change nothing.
_NOT_ASKED = {"out", "restart", "preds", "labels_file", *ENGINE_FIELDS}


def _question(config: FairnessConfig, data: Mapping[str, str]) -> dict[str, Any]:
    asked = {name: value for name, value in asdict(config).items() if name not in _NOT_ASKED}
    return {**asked, "data": dict(data)}
