"""Two runs side by side: which gaps changed beyond noise, which did not, and a refusal where the two are not alike.

Group-fairness audits of the same rows are compared row by row (paired); of different rows, from their counts; everything else
from its intervals. Which rows are the same is compare_rows.py's, the arithmetic metrics/change.py's and spread_change.py's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwitness import tables
from fairwitness.audits.compare_rows import Paired, paired_counts
from fairwitness.audits.fairness_files import counts_from_table
from fairwitness.audits.fairness_input import OVERALL
from fairwitness.audits.result import AuditResult
from fairwitness.errors import EvidenceError, InputError
from fairwitness.metrics.change import Change, interval_change, paired_changes, unpaired_changes
from fairwitness.metrics.counts import MEMBER, NONMEMBER, Counts, IntArray, ordered
from fairwitness.metrics.significance import benjamini_hochberg
from fairwitness.metrics.spread_change import SpreadChange, paired_spread_changes, unpaired_spread_changes
from fairwitness.options import Options, require_config
from fairwitness.report.comparison_section import section
from fairwitness.report.content import Section
from fairwitness.report.recorded import Recorded, recorded_in

# What two fairness audits must have asked alike; a difference in any makes their gaps different things.
ALIKE = ("label_col", "positive_label", "group_threshold", "missing")
_BINARY = (NONMEMBER, MEMBER)


@dataclass(frozen=True, kw_only=True)
class CompareConfig(Options):
    """How two runs are compared."""

    replicates: int = 1000
    """Bootstrap replicates."""
    seed: int = 0
    """Seed of the bootstrap."""
    confidence: float = 0.95
    """Confidence of the intervals."""


@dataclass(frozen=True, repr=False)
class CompareResult(AuditResult):
    """One table, `changes`: a row for each measurement that both runs have."""

    def sections(self) -> list[Section]:
        """What a report says of the two."""
        return [section(self.table, self.facts)]


def compare(a: Path, b: Path, config: CompareConfig | None = None) -> CompareResult:
    """Compare two run folders. Rows: metric, attribute, group, class, before, after, change, low, high, p, p_adjusted, verdict."""
    config = CompareConfig() if config is None else config
    require_config(config, CompareConfig)
    _check(config)
    pairs = _matching(recorded_in(a), recorded_in(b), a, b)
    rows: list[dict[str, Any]] = []
    how, matched = {}, {}
    for one, other in pairs:
        fair = one.kind == "fairness"
        said, changes = _fairness(one, other, config) if fair else ("from intervals", list(_measured(one, other, config)))
        how[one.name] = changes[0]["how"] if changes else "nothing in common"
        matched[one.name] = said if changes else "nothing in common"
        rows += changes
    if not rows:
        raise InputError(f"{a} and {b} have no measurement in common, so there is nothing to compare.")
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.selectors.float().fill_nan(None))
    adjusted = benjamini_hochberg(table["p"].cast(pl.Float64).fill_null(float("nan")).to_numpy())
    table = table.with_columns(p_adjusted=pl.Series(adjusted, nan_to_null=True)).with_columns(verdict=_verdict())
    return CompareResult({"changes": table}, {"a": str(a), "b": str(b), "how": how, "matched": matched})


def _check(config: CompareConfig) -> None:
    if config.replicates < 1 or config.seed < 0:
        raise InputError("--replicates must be at least 1, and --seed at least 0.")
    if not 0 < config.confidence < 1:
        raise InputError(f"--confidence is {config.confidence:g}; a number between 0 and 1 was expected, such as 0.95.")


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


def _fairness(one: Recorded, other: Recorded, config: CompareConfig) -> tuple[str, list[dict[str, Any]]]:
    """How the two were compared, in words, and the rows of the table."""
    for name in ALIKE:
        if one.question.get(name) != other.question.get(name):
            raise _unlike(f"{name} is", (one, repr(one.question.get(name))), (other, repr(other.question.get(name))))
    flags, groups = (_shared(one, other, kind) for kind in ("id_cols", "group_cols"))
    if not flags and not groups:
        raise InputError(f"{one.folder} and {other.folder} have no identity column (--id_cols) and no --group_cols in common.")
    before, after = (_counts_of(each) for each in (one, other))
    if one.question.get("positive_label") == 0 and _is_binary(before) != _is_binary(after):
        raise _unlike("the labels are", *((each, ", ".join(has[OVERALL].classes)) for each, has in ((one, before), (other, after))))
    least = max(int(each.question.get("min_group_size", 1)) for each in (one, other))
    paired = paired_counts(one, other, [*flags, *groups], before)
    if isinstance(paired, str):
        return f"unpaired: {paired}", [*_apart(before, after, flags, groups, least, config)]
    return f"paired by {paired.by}", [*_together(paired, flags, groups, least, config)]


def _unlike(what: str, *sides: tuple[Recorded, str]) -> InputError:
    (one, here), (other, there) = sides
    return InputError(f"These are unlike things: {what} {here} in {one.folder} and {there} in {other.folder}.")


def _shared(one: Recorded, other: Recorded, kind: str) -> list[str]:
    return [name for name in one.question.get(kind, []) if name in other.question.get(kind, [])]


def _counts_of(recorded: Recorded) -> dict[str, Counts]:
    counts = counts_from_table(tables.read(recorded.path(".counts.parquet")))
    if not counts[OVERALL].sizes.sum():
        raise EvidenceError(
            f"Nothing was measured in {recorded.folder}: no row has both a label and a prediction, so there is nothing to compare. "
            f"Make predictions for its rows and run 'fairwitness fairness' on them first."
        )
    return counts


def _is_binary(counts: dict[str, Counts]) -> bool:
    return set(counts[OVERALL].classes) <= {NONMEMBER, MEMBER}


def _together(paired: Paired, flags: list[str], groups: list[str], least: int, config: CompareConfig) -> Iterator[dict[str, Any]]:
    settings = asdict(config)
    for flag in flags:
        _, joint = paired.counts[flag]
        changes = _large(paired_changes(joint.dense(), **settings), joint.sizes, least)
        yield from _rows(flag, changes, int(joint.sizes.sum()), "paired")
    for name in groups:
        called, joint = paired.counts[name]
        kept = np.flatnonzero(joint.sizes >= least)
        spreads = paired_spread_changes(joint.only(kept), **settings)
        yield from _spreads(
            name, spreads, [called[place] for place in kept], paired.classes, int(joint.sizes[kept].sum()), "paired"
        )


def _apart(
    before: dict[str, Counts], after: dict[str, Counts], flags: list[str], groups: list[str], least: int, config: CompareConfig
) -> Iterator[dict[str, Any]]:
    settings = asdict(config)
    for flag in flags:
        one, other = (each[flag].spread_over(_BINARY, _BINARY) for each in (before, after))
        changes = _large(unpaired_changes(one.cells, other.cells, **settings), np.minimum(one.sizes, other.sizes), least)
        yield from _rows(flag, changes, int(one.sizes.sum() + other.sizes.sum()), "unpaired")
    for name in groups:
        classes = ordered([*before[name].classes, *after[name].classes])
        # A spread over other groups is another thing: those count that are large enough in both.
        called = ordered(_large_groups(before[name], least) & _large_groups(after[name], least))
        cells = [_some(each[name], called, classes) for each in (before, after)]
        spreads = unpaired_spread_changes(*cells, **settings)
        yield from _spreads(name, spreads, called, classes, int(cells[0].sum() + cells[1].sum()), "unpaired")


def _large_groups(counts: Counts, least: int) -> set[str]:
    return {counts.groups[place] for place in np.flatnonzero(counts.sizes >= least)}


def _some(counts: Counts, groups: Sequence[str], classes: Sequence[str]) -> IntArray:
    whole = counts.spread_over(counts.groups, classes)
    return whole.cells[[counts.groups.index(name) for name in groups]]


def _large(changes: dict[str, Change], sizes: IntArray, least: int) -> dict[str, Change]:
    """The changes; undefined where a group is smaller than the audits' smallest size, as the gaps themselves are."""
    return changes if (sizes >= least).all() else dict.fromkeys(changes, Change(*[np.nan] * 6))


def _spreads(
    attribute: str, found: list[SpreadChange], groups: Sequence[str], classes: Sequence[str], n: int, how: str
) -> Iterator[dict[str, Any]]:
    """Rows of the table. As in the audit, `group` is 'highest - lowest': the groups furthest apart after."""
    for one in found:
        pair = f"{groups[one.highest]} - {groups[one.lowest]}" if one.highest >= 0 else None
        place = {"attribute": attribute, "group": pair, "class": None if one.class_ is None else classes[one.class_]}
        yield {"metric": f"{one.metric}_spread", **place, **_columns(one.change), "n": n, "how": how}


def _measured(one: Recorded, other: Recorded, config: CompareConfig) -> Iterator[dict[str, Any]]:
    """Any other audit: value against value with their intervals, where both measured the same thing on the same data."""
    for name in sorted(set(one.data) & set(other.data)):
        if one.data[name] != other.data[name]:
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
