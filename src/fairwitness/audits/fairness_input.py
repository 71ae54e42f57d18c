"""From a table of predictions to counts: checking every value, telling groups apart, counting part by part.

What is wrong with the input is said here, in words, before any number is made. What the counts mean is fairness_tables.py's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwitness import tables
from fairwitness.audits.fairness_columns import MOST_GROUPS, encode, numbers
from fairwitness.audits.fairness_outcomes import outcomes, values_of
from fairwitness.audits.fairness_reading import ROWS_PER_PART, FileRows, Reading, Rows, parts_of
from fairwitness.engine.map_reduce import on_cluster
from fairwitness.engine.options import LOCAL, ClusterOptions
from fairwitness.errors import InputError
from fairwitness.metrics.counts import NONE, Counts, FlagCounter, bitmap, count_groups, from_bitmap
from fairwitness.metrics.scores import BINS, EXACT_ROWS, BinnedScores, ExactScores, ScorePart, ScoreTable, bin_edges

BACKGROUND = "background"
OVERALL = "overall"
MISSING = "(missing)"
# AUCs, sweeps and calibration are made for each value of a group column up to this many values.
MOST_GROUPS_WITH_SCORES = 50
# Combinations of crossed columns' values up to which a table of them all is quicker than a search.
_MOST_POSSIBLE = 100_000
# On a cluster a part is larger: starting a task there costs some milliseconds.
ROWS_PER_TASK = 8 * ROWS_PER_PART


@dataclass
class Tally:
    """What was counted so far. Two tallies of two parts add up to that of both."""

    counts: dict[str, Counts] = field(default_factory=dict)
    n_rows: int = 0
    n_failed: int = 0
    n_unlabelled: int = 0
    n_without_score: int = 0
    n_infinite_score: int = 0

    def add(self, counts: Counts) -> None:
        """Add one attribute's counts of one more part."""
        name = counts.attribute
        self.counts[name] = self.counts[name] + counts if name in self.counts else counts
        groups = len(self.counts[name].groups)
        if groups > MOST_GROUPS:
            raise InputError(
                f"--group_cols {name} has more than {MOST_GROUPS:,} distinct values ({groups:,} so far), too many to compare. "
                f"Put them into bins first (such as ages into ranges), and name the column of bins."
            )

    def merge(self, other: "Tally") -> None:
        """Add all that was counted in another part."""
        for counts in other.counts.values():
            self.add(counts)
        for name in ("n_rows", "n_failed", "n_unlabelled", "n_without_score", "n_infinite_score"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def count(rows: Rows, reading: Reading, *, options: ClusterOptions = LOCAL) -> tuple[Tally, ScoreTable | None]:
    """Count everything in one pass, part by part; on a cluster, each part where there is room, and the counts added up here."""
    _check_flags(rows, reading)
    tally = Tally()
    keeper = _score_keeper(rows, reading)
    found: Iterator[tuple[Tally, ScorePart | BinnedScores | None]]
    if options.engine == "ray" and isinstance(rows, FileRows):
        found = on_cluster(partial(_count_rows, rows, reading, keeper.edges, keeper.every), _row_ranges(rows), options=options)
    else:
        found = (_count_part(part, reading) for part in parts_of(rows, reading.columns))
    for counted, scores in found:
        tally.merge(counted)
        keeper.append(scores)
    if not tally.n_rows:
        raise InputError("The predictions have no rows, so there is nothing to measure.")
    tally.counts = {name: one.in_order() for name, one in tally.counts.items()}
    return tally, keeper.table() if reading.score is not None else None


def _count_part(part: pl.DataFrame, reading: Reading) -> tuple[Tally, ScorePart | None]:
    tally = Tally(n_rows=part.height)
    truth, predicted, classes = outcomes(part, reading)
    tally.n_unlabelled = int(np.count_nonzero(truth == NONE))
    tally.n_failed = int(np.count_nonzero((predicted == NONE) & (truth != NONE)))
    counter = FlagCounter(truth, predicted, classes=classes)
    tally.add(counter.everyone(OVERALL))
    members = _count_flags(part, reading, counter, tally)
    codes = _count_columns(part, reading, truth, predicted, classes, tally, members)
    if reading.score is None:
        return tally, None
    return tally, _scored(part, reading, truth, predicted, members, codes, tally)


def _count_rows(
    rows: FileRows, reading: Reading, edges: NDArray[Any] | None, every: int, some: tuple[int, int]
) -> tuple[Tally, ScorePart | BinnedScores | None]:
    """Count some rows: from which, and how many. Scores are binned here already, so that what is sent back stays small."""
    tally, scores = _count_part(rows.lazy().slice(*some).collect(), reading)
    if scores is None or edges is None:
        return tally, scores
    binned = BinnedScores(edges, every)
    binned.add(scores)
    return tally, binned


def _row_ranges(rows: FileRows) -> list[tuple[int, int]]:
    return [(first, ROWS_PER_TASK) for first in range(0, tables.count_rows(rows.path), ROWS_PER_TASK)]


class _Keeper:
    """Collects scores: all of them, or per bin when they are too many to hold."""

    def __init__(self, edges: NDArray[Any] | None, every: int = 1) -> None:
        self.edges, self.every = edges, every
        self._parts: list[ScorePart] = []
        self._binned = BinnedScores(edges, every) if edges is not None else None

    def append(self, part: ScorePart | BinnedScores | None) -> None:
        if isinstance(part, BinnedScores):
            assert self._binned is not None
            self._binned.merge(part)
        elif part is not None and self._binned is not None:
            self._binned.add(part)
        elif part is not None:
            self._parts.append(part)

    def table(self) -> ScoreTable:
        return self._binned if self._binned is not None else ExactScores(self._parts)


def _score_keeper(rows: Rows, reading: Reading) -> _Keeper:
    if reading.score is None:
        return _Keeper(None)
    number = int(rows.lazy().select(pl.len()).collect().item())
    if number <= EXACT_ROWS:
        return _Keeper(None)
    every = -(-number // (16 * BINS))
    looks = [numbers(part[reading.score][::every], f"--score_col {reading.score}") for part in parts_of(rows, [reading.score])]
    sample = np.concatenate(looks)
    return _Keeper(bin_edges(reading.turned(sample[np.isfinite(sample)])), every)


def _check_flags(rows: Rows, reading: Reading) -> None:
    schema = rows.lazy().collect_schema()
    for name in reading.flags:
        kind = schema[name]
        if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
            continue
        word = values_of(rows, name).word
        if word is not None:
            raise InputError(
                f"--id_cols {name} holds text ('{word[:40]}'); a number from 0 to 1 or true/false was expected. "
                f"If it names groups, use --group_cols {name}."
            )


@dataclass
class _Membership:
    """One identity over one part: who belongs, and for whom it is not known."""

    member: NDArray[Any]
    unknown: NDArray[Any] | None


def _count_flags(part: pl.DataFrame, reading: Reading, counter: FlagCounter, tally: Tally) -> dict[str, _Membership]:
    found = {name: _membership(part[name], reading) for name in reading.flags}
    if len(found) > 1:
        found[BACKGROUND] = _nobody(list(found.values()))
    for name, who in found.items():
        tally.add(counter.count(name, who.member, who.unknown))
    return found


def _membership(column: pl.Series, reading: Reading) -> _Membership:
    values = numbers(column, f"--id_cols {column.name}")
    member = bitmap(values >= reading.group_threshold)
    # The smallest value is NaN when any is: one quick look spares most columns the search.
    if reading.missing == "nonmember" or not len(values) or not np.isnan(values.min()):
        return _Membership(member, None)
    return _Membership(member, bitmap(np.isnan(values)))


def _nobody(everyone: list[_Membership]) -> _Membership:
    """Background: rows that name no identity. Not known where none is named and one is not known."""
    named = np.bitwise_or.reduce([who.member for who in everyone])
    maps = [who.unknown for who in everyone if who.unknown is not None]
    unknown = np.bitwise_or.reduce(maps) & ~named if maps else None
    return _Membership(~named if unknown is None else ~(named | unknown), unknown)


def _count_columns(
    part: pl.DataFrame, reading: Reading, truth: Any, predicted: Any, classes: Sequence[str], tally: Tally,
    members: dict[str, _Membership],
) -> dict[str, tuple[NDArray[Any], list[str]]]:  # fmt: skip
    encoded: dict[str, tuple[NDArray[Any], list[str]]] = {}
    found: dict[str, tuple[NDArray[Any], list[str]]] = {}
    for attribute in reading.groups:
        for name in attribute.split("*"):
            if name not in encoded:
                encoded[name] = _group_codes(part, name, reading, members)
        codes, groups = _cross([encoded[name] for name in attribute.split("*")], attribute)
        tally.add(count_groups(truth, predicted, codes, attribute=attribute, groups=groups, classes=classes))
        found[attribute] = codes, groups
    return found


def group_codes(part: pl.DataFrame, reading: Reading) -> dict[str, tuple[NDArray[Any], list[str]]]:
    """Each row's group in every attribute as the audit tells them apart: codes, NONE where it is not known, and the names."""
    members = {name: _membership(part[name], reading) for name in reading.flags}
    return {
        attribute: _cross([_group_codes(part, name, reading, members) for name in attribute.split("*")], attribute)
        for attribute in (*reading.flags, *reading.groups)
    }


def _group_codes(
    part: pl.DataFrame, name: str, reading: Reading, members: dict[str, _Membership]
) -> tuple[NDArray[Any], list[str]]:
    """A column's groups; a column that is also an identity flag has two, cut at the threshold like the flag."""
    if name in members:
        codes = from_bitmap(members[name].member, part.height).astype(np.int32)
        unknown = members[name].unknown
        if unknown is not None:
            codes[from_bitmap(unknown, part.height)] = NONE
        return codes, ["0", "1"]
    codes, names = encode(part[name])
    if reading.missing == "nonmember" and (codes == NONE).any():
        names = names if MISSING in names else [*names, MISSING]  # a value that is spelt like that says the same
        return np.where(codes == NONE, names.index(MISSING), codes), names
    return codes, names


def _cross(parts: list[tuple[NDArray[Any], list[str]]], attribute: str) -> tuple[NDArray[Any], list[str]]:
    """The combinations that occur, of several columns' groups."""
    if len(parts) == 1:
        return parts[0]
    joint = np.zeros(len(parts[0][0]), np.int64)
    unknown = np.zeros(len(joint), bool)
    for codes, names in parts:
        joint = joint * len(names) + codes
        unknown |= codes == NONE
    joint[unknown] = NONE
    sizes = [len(names) for _, names in parts]
    present, places = _present(joint, unknown, int(np.prod(sizes)))
    if len(present) > MOST_GROUPS:
        raise InputError(
            f"--group_cols {attribute} has {len(present):,} combinations, more than the {MOST_GROUPS:,} that can be compared. "
            f"Put the values into bins first (such as ages into ranges)."
        )
    found = np.unravel_index(present, sizes) if len(present) else [np.array([], int)] * len(parts)
    own = [[names[place] for place in column.tolist()] for (_, names), column in zip(parts, found, strict=True)]
    return np.where(unknown, NONE, places), ["*".join(map(_quoted, name)) for name in zip(*own, strict=True)]


def _quoted(name: str) -> str:
    """A group's name within a crossed one: in quotes where a star of its own could be taken for the crossing.

    >>> [_quoted(name) for name in ("young", "a*b", 'a"b')]
    ['young', '"a*b"', '"a""b"']
    """
    return '"' + name.replace('"', '""') + '"' if "*" in name or '"' in name else name


def _present(joint: NDArray[Any], unknown: NDArray[Any], possible: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The joint codes that occur, and each row's place among them: by a table of those possible, unless they are too many."""
    if possible > _MOST_POSSIBLE:
        present = np.unique(joint[~unknown])
        return present, np.searchsorted(present, joint)
    occurs = np.bincount(joint[~unknown], minlength=possible) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[joint] if possible else joint


def _scored(
    part: pl.DataFrame, reading: Reading, truth: Any, predicted: Any, members: dict[str, _Membership],
    codes: dict[str, tuple[NDArray[Any], list[str]]], tally: Tally,
) -> ScorePart:  # fmt: skip
    assert reading.score is not None
    score = numbers(part[reading.score], f"--score_col {reading.score}")
    asked = (truth != NONE) & (predicted != NONE)
    tally.n_without_score += int(np.count_nonzero(asked & np.isnan(score)))
    tally.n_infinite_score += int(np.count_nonzero(asked & np.isinf(score)))
    kept = asked & np.isfinite(score)
    rows = part.height
    inside = {name: from_bitmap(who.member, rows) for name, who in members.items()}
    unknown = {name: None if who.unknown is None else from_bitmap(who.unknown, rows) for name, who in members.items()}
    for attribute, (places, groups) in codes.items():
        if len(groups) <= MOST_GROUPS_WITH_SCORES:
            for index, group in enumerate(groups):
                inside[f"{attribute}={group}"] = places == index
                unknown[f"{attribute}={group}"] = places == NONE
    unknown = _with_background(inside, unknown, reading)
    return ScorePart(
        reading.turned(score[kept]),
        truth[kept] == 1,
        {name: bitmap(mask[kept]) for name, mask in inside.items()},
        {name: None if mask is None else bitmap(mask[kept]) for name, mask in unknown.items()},
    )


def _with_background(inside: dict[str, Any], unknown: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """Leave out of each identity's background what `auc_background` says: everyone named or unnamed, as far as not a member."""
    if reading.auc_background == "rest" or BACKGROUND not in inside:
        return unknown
    nobody = inside[BACKGROUND]
    left_out = nobody if reading.auc_background == "identities" else ~nobody
    return {name: left_out & ~inside[name] if mask is None else mask | (left_out & ~inside[name]) for name, mask in unknown.items()}
