"""Two runs side by side: which gaps changed beyond noise, which did not, and a refusal where the two are not alike.

Group-fairness audits of the same rows are compared row by row (paired); of different rows, from their counts; everything else
from its intervals. The arithmetic is metrics/change.py's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import tables
from fairwitness.audits.fairness_files import counts_from_table
from fairwitness.audits.fairness_input import count
from fairwitness.audits.fairness_join import open_predictions
from fairwitness.audits.fairness_reading import Reading
from fairwitness.audits.result import AuditResult
from fairwitness.errors import FairWitnessError, InputError
from fairwitness.metrics.change import Change, interval_change, paired_changes, unpaired_changes
from fairwitness.metrics.counts import Counts
from fairwitness.metrics.significance import benjamini_hochberg
from fairwitness.report.comparison_section import section
from fairwitness.report.content import Section
from fairwitness.report.recorded import Recorded, recorded_in

# What two fairness audits must have asked alike; a difference in any makes their gaps different things.
ALIKE = ("label_col", "positive_label", "group_threshold", "missing")


@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """How two runs are compared."""

    replicates: int = 1000
    """Bootstrap replicates."""
    seed: int = 0
    """Seed of the bootstrap."""
    confidence: float = 0.95
    """Confidence of the intervals."""


@dataclass(frozen=True)
class CompareResult(AuditResult):
    """One table, `changes`: a row for each measurement that both runs have."""

    def sections(self) -> list[Section]:
        """What a report says of the two."""
        return [section(self.table, self.facts)]


def compare(a: Path, b: Path, config: CompareConfig | None = None) -> CompareResult:
    """Compare two run folders. Rows: metric, attribute, group, class, before, after, change, low, high, p, p_adjusted, verdict."""
    config = config or CompareConfig()
    pairs = _matching(recorded_in(a), recorded_in(b), a, b)
    rows: list[dict[str, Any]] = []
    how = {}
    for one, other in pairs:
        changes = list(_fairness(one, other, config) if one.kind == "fairness" else _measured(one, other, config))
        how[one.name] = changes[0]["how"] if changes else "nothing in common"
        rows += changes
    if not rows:
        raise InputError(f"{a} and {b} have no measurement in common, so there is nothing to compare.")
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.selectors.float().fill_nan(None))
    adjusted = benjamini_hochberg(table["p"].cast(pl.Float64).fill_null(float("nan")).to_numpy())
    table = table.with_columns(p_adjusted=pl.Series(adjusted, nan_to_null=True)).with_columns(verdict=_verdict())
    return CompareResult({"changes": table}, {"a": str(a), "b": str(b), "how": how})


def _verdict() -> pl.Expr:
    clear = (pl.col("p_adjusted") < 0.05) & ((pl.col("low") > 0) | (pl.col("high") < 0))
    said = pl.when(clear).then(pl.lit("changed")).otherwise(pl.lit("no clear change"))
    return pl.when(pl.col("change").is_null()).then(pl.lit("undefined")).otherwise(said)


def _matching(ours: list[Recorded], theirs: list[Recorded], a: Path, b: Path) -> list[tuple[Recorded, Recorded]]:
    """Audits of the same kind, by name where several are; unfinished ones are refused."""
    for where, each in [*((a, one) for one in ours), *((b, one) for one in theirs)]:
        if not each.finished and each.kind:
            raise InputError(f"'{each.name}' in {where} has not finished. Run its command again before comparing.")
        broken = [name for name in each.damaged if name.endswith((".measurements.parquet", ".counts.parquet"))]
        if broken:
            raise InputError(f"{where / broken[0]} is gone or was changed since it was written. Run '{each.name}' again first.")
    pairs = []
    for one in ours:
        same = [other for other in theirs if other.kind == one.kind and other.has("measurements.parquet")]
        named = [other for other in same if other.name == one.name] or same
        if one.has("measurements.parquet") and named:
            pairs.append((one, named[0]))
    if not pairs:
        kinds = [
            sorted({each.kind for each in side if each.has("measurements.parquet")}) or ["nothing measured"]
            for side in (ours, theirs)
        ]
        raise InputError(f"These are unlike things: {a} holds {', '.join(kinds[0])}; {b} holds {', '.join(kinds[1])}.")
    return pairs


def _fairness(one: Recorded, other: Recorded, config: CompareConfig) -> Iterator[dict[str, Any]]:
    for name in ALIKE:
        if one.question.get(name) != other.question.get(name):
            raise InputError(
                f"These are unlike things: {name} is {one.question.get(name)!r} in {one.folder} and "
                f"{other.question.get(name)!r} in {other.folder}."
            )
    flags = [name for name in one.question.get("id_cols", []) if name in other.question.get("id_cols", [])]
    if not flags:
        raise InputError(f"{one.folder} and {other.folder} have no identity column in common.")
    settings: dict[str, Any] = {"replicates": config.replicates, "seed": config.seed, "confidence": config.confidence}
    joint = _joint_counts(one, other, flags)
    if joint is not None:
        for flag, counts in joint.items():
            yield from _rows(flag, paired_changes(_as_joint(counts), **settings), int(counts.sizes.sum()), "paired")
        return
    before, after = (counts_from_table(tables.read(each.path(".counts.parquet"))) for each in (one, other))
    for flag in flags:
        found = unpaired_changes(before[flag].cells, after[flag].cells, **settings)
        yield from _rows(flag, found, int(before[flag].sizes.sum() + after[flag].sizes.sum()), "unpaired")


def _joint_counts(one: Recorded, other: Recorded, flags: list[str]) -> dict[str, Counts] | None:
    """Counts by truth and by both predictions at once, or None where the two did not judge the same rows."""
    try:
        frames = [_predictions(each, flags) for each in (one, other)]
    except FairWitnessError:
        return None  # the predictions are no longer where they were; the counts still are
    if any("idx" not in frame.columns for frame in frames) or frames[0].height != frames[1].height:
        return None
    both = frames[0].join(frames[1].select("idx", pl.col("truth").alias("truth_b"), pl.col("pred").alias("pred_b")), on="idx")
    if both.height != frames[0].height or not both["truth"].eq_missing(both["truth_b"]).all():
        return None
    # Complete pairs only: a row that either failed has no joint prediction and is counted as failed.
    # The letters keep the names from being read as numbers, where "0" and "00" would be the same.
    frame = both.select(*flags, truth="t" + pl.col("truth"), joint="p" + pl.col("pred") + pl.col("pred_b"))
    question = one.question
    reading = Reading(
        label="truth", pred="joint", flags=tuple(flags), group_threshold=question["group_threshold"], missing=question["missing"],
        named_classes=True,
    )  # fmt: skip
    tally, _ = count(frame, reading)
    return {flag: tally.counts[flag] for flag in flags}


def _predictions(recorded: Recorded, flags: list[str]) -> pl.DataFrame:
    """idx, truth and prediction as "0" and "1", and the identities, as the audit read them."""
    question, inputs = recorded.question, recorded.entry.get("inputs", {})
    preds, labels = Path(str(inputs.get("preds"))), inputs.get("labels_file")
    own = set(tables.columns_of(preds))
    threshold, error = question.get("score_threshold"), "error" if "error" in own else None
    pred = None if threshold is not None else str(question["pred_col"])
    score = str(question["score_col"]) if threshold is not None else None
    reading = Reading(label=str(question["label_col"]), pred=pred, score=score, error=error, flags=tuple(flags))
    frame = open_predictions(preds, Path(labels) if labels else None, reading).lazy().collect()
    if "idx" in own:
        frame = frame.with_columns(tables.read(preds, ["idx"])["idx"])
    guessed = pl.col(pred).cast(pl.Float64) >= 0.5 if pred else pl.col(str(score)) >= threshold
    if error:
        guessed = pl.when(pl.col(error).is_null()).then(guessed)
    truth = pl.col(reading.label).cast(pl.Float64).fill_nan(None) >= 0.5
    if question.get("positive_label") == 0:
        guessed, truth = ~guessed, ~truth
    return frame.with_columns(truth=truth.cast(pl.Int8).cast(pl.String), pred=guessed.cast(pl.Int8).cast(pl.String))


def _as_joint(counts: Counts) -> Any:
    """Counts by truths t0, t1 and predictions p00, p01, p10, p11 as [group, truth, prediction A, prediction B]."""
    truths, joints = ("t0", "t1"), ("p00", "p01", "p10", "p11")
    spread = counts.spread_over(("0", "1"), (*truths, *joints))
    return spread.cells[:, :2, 2:].reshape(2, 2, 2, 2)


def _measured(one: Recorded, other: Recorded, config: CompareConfig) -> Iterator[dict[str, Any]]:
    """Any other audit: value against value with their intervals, where both measured the same thing on the same data."""
    for name in sorted(set(one.entry.get("data", {})) & set(other.entry.get("data", {}))):
        if one.entry["data"][name] != other.entry["data"][name]:
            raise InputError(f"These are unlike things: '{name}' is another file in {other.folder} than in {one.folder}.")
    keys = ["metric", "attribute", "group", "class"]
    ours, theirs = one.table("measurements.parquet"), other.table("measurements.parquet")
    if ours is None or theirs is None:
        return
    both = ours.join(theirs, on=keys, suffix="_b", nulls_equal=True).drop_nulls(
        ["value", "low", "high", "value_b", "low_b", "high_b"]
    )
    for row in both.iter_rows(named=True):
        ends = ((row["value"], row["low"], row["high"]), (row["value_b"], row["low_b"], row["high_b"]))
        change = interval_change(*ends, confidence=config.confidence)
        place = {key: row[key] for key in keys}
        yield {**place, **_columns(change), "n": row["n"], "how": "from intervals"}


def _rows(flag: str, changes: dict[str, Change], n: int, how: str) -> Iterator[dict[str, Any]]:
    for metric, change in changes.items():
        yield {"metric": metric, "attribute": flag, "group": None, "class": None, **_columns(change), "n": n, "how": how}


def _columns(change: Change) -> dict[str, float]:
    ends = {"low": change.low, "high": change.high, "p": change.p}
    return {"before": change.before, "after": change.after, "change": change.change, **ends}
