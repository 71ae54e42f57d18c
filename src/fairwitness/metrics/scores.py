"""Scores sorted once: what the AUCs, the threshold sweeps and the calibration of every identity are read from.

Up to `EXACT_ROWS` rows everything is exact: an identity then costs a few looks at its own members. Beyond, scores fall into
bins (quantiles of a sample), rows of one bin count as ties in an AUC, and memory stays flat however long the file is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairwitness.metrics.auc_variance import influence, moved_by_identity
from fairwitness.metrics.bias_auc import AUCS, GroupScores, auc, bias_aucs
from fairwitness.metrics.counts import BoolArray, bitmap, from_bitmap
from fairwitness.metrics.rates import FloatArray
from fairwitness.metrics.sweeps import cut_points

EXACT_ROWS = 5_000_000
BINS = 65_536


@dataclass(frozen=True)
class ScorePart:
    """Some rows that have a score and a truth: identities as bitmaps over them (`unknown` where it is not known who belongs)."""

    score: FloatArray
    positive: BoolArray
    members: Mapping[str, NDArray[Any]]
    unknown: Mapping[str, NDArray[Any] | None]

    def thinned(self, every: int) -> "ScorePart":
        """One row of so many."""
        rows = len(self.score)

        def some(bits: NDArray[Any]) -> NDArray[Any]:
            return bitmap(from_bitmap(bits, rows)[::every])

        members = {name: some(bits) for name, bits in self.members.items()}
        unknown = {name: None if bits is None else some(bits) for name, bits in self.unknown.items()}
        return ScorePart(self.score[::every], self.positive[::every], members, unknown)


@dataclass(frozen=True)
class Side:
    """One group's rows per bin of scores: how many positives and negatives, and the sum of their scores."""

    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    score_sum: FloatArray

    @property
    def n(self) -> int:
        return int(self.positive.sum() + self.negative.sum())

    def __sub__(self, other: "Side") -> "Side":
        return Side(self.positive - other.positive, self.negative - other.negative, self.score_sum - other.score_sum)


class ScoreTable:
    """Scores of everyone and of each identity. `edges` are the bins' lower ends, ascending; thresholds among them are exact."""

    edges: FloatArray
    names: list[str]
    lowest: float
    highest: float

    def overall(self) -> Side:
        """Everyone."""
        raise NotImplementedError

    def sides(self, name: str) -> tuple[Side, Side]:
        """Known non-members and members of one identity."""
        raise NotImplementedError

    def bias(self, name: str) -> dict[str, float]:
        """The bias AUCs and equality gaps of one identity, as defined in bias_auc.py."""
        raise NotImplementedError

    def auc(self) -> float:
        """The AUC of all rows."""
        raise NotImplementedError

    def histograms(self, name: str) -> GroupScores:
        """One identity's and its background's rows per fine bin, of which there are enough for variances."""
        raise NotImplementedError

    def everyone(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All positives and all negatives per fine bin."""
        raise NotImplementedError

    def variances(self, weights: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        """Variances of `overall`, of the sum of each bias AUC over identities with these weights, and of `all` four together."""
        raise NotImplementedError


class ExactScores(ScoreTable):
    """All rows kept, sorted by score. Sums over pairs of rows come from ranks, and only members are ever looked at."""

    def __init__(self, parts: Iterable[ScorePart]) -> None:
        self._parts = list(parts)
        self.names = list(dict.fromkeys(name for part in self._parts for name in part.members))
        score = np.concatenate([part.score for part in self._parts]) if self._parts else np.array([])
        self._order = np.argsort(score, kind="stable")
        self._score = score[self._order]
        self._positive = np.concatenate([part.positive for part in self._parts])[self._order] if self._parts else np.array([], bool)
        self.lowest, self.highest = (float(self._score[0]), float(self._score[-1])) if len(score) else (np.nan, np.nan)
        self.edges = cut_points(self._score)
        self._bin = (np.searchsorted(self.edges, self._score, side="right") - 1).astype(np.int32)
        self._rank, self._below = _ranks(self._score, self._positive)
        self._fine, self._fine_bins = _fine_bins(self._rank, BINS), min(BINS, len(score))
        self._unknowns: dict[bytes, NDArray[np.int64]] = {}
        self._last: tuple[str, NDArray[np.int64]] = ("", np.array([], np.int64))
        self._everyone: Side | None = None
        self._all_fine: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def overall(self) -> Side:
        if self._everyone is None:
            self._everyone = self._side(slice(None))
        return self._everyone

    def sides(self, name: str) -> tuple[Side, Side]:
        members = self._side(self._members(name))
        return self.overall() - members - self._side(self._unknown(name)), members

    def auc(self) -> float:
        ones, zeros = int(self._positive.sum()), int((~self._positive).sum())
        above = float(self._below[0][self._rank[self._positive]].sum())
        return above / (ones * zeros) if ones * zeros else float("nan")

    def bias(self, name: str) -> dict[str, float]:
        subgroup, unknown = self._split(self._members(name)), self._split(self._unknown(name))
        totals = [int((~self._positive).sum()), int(self._positive.sum())]
        background = [totals[k] - len(subgroup[k]) - len(unknown[k]) for k in (0, 1)]

        def above_background(ranks: NDArray[Any], truth: int) -> float:
            """Share of pairs in which one of `ranks` beats one of the background: all, less the subgroup's and the unknown."""
            pairs = len(ranks) * background[truth]
            beaten = self._below[truth][ranks].sum() - _beaten(ranks, subgroup[truth]) - _beaten(ranks, unknown[truth])
            return float(beaten) / pairs if pairs else float("nan")

        pairs = len(subgroup[0]) * len(subgroup[1])
        return {
            "subgroup_auc": _beaten(subgroup[1], subgroup[0]) / pairs if pairs else float("nan"),
            "bpsn_auc": 1 - above_background(subgroup[0], 1),
            "bnsp_auc": above_background(subgroup[1], 0),
            "positive_aeg": above_background(subgroup[1], 1) - 0.5,
            "negative_aeg": above_background(subgroup[0], 0) - 0.5,
        }

    def histograms(self, name: str) -> GroupScores:
        inside, unknown = self._fine_counts(self._members(name)), self._fine_counts(self._unknown(name))
        rest = [whole - one - other for whole, one, other in zip(self.everyone(), inside, unknown, strict=True)]
        return GroupScores(*inside, *rest)

    def everyone(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self._all_fine is None:
            self._all_fine = self._fine_counts(slice(None))
        return self._all_fine

    def variances(self, weights: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        moved = self._moved(weights)
        ones = np.count_nonzero(self._positive)
        table = np.stack(influence(*self.everyone())[::-1])
        moved["overall"] = table.ravel()[self._codes()] if 0 < ones < len(self._positive) else np.full(len(self._positive), np.nan)
        found = {name: float(rows @ rows) for name, rows in moved.items()}
        together = np.sum(list(moved.values()), axis=0)
        return {**found, "all": float(together @ together)}

    def _moved(self, weights: Mapping[str, Mapping[str, float]]) -> dict[str, FloatArray]:
        """What each row moves in the weighted sum of each bias AUC: as one of the background everywhere, mended where it is not."""
        codes = self._codes()
        total = {name: np.zeros(len(codes)) for name in AUCS}
        background = {name: np.zeros((2, self._fine_bins)) for name in AUCS}
        strangers: dict[int, tuple[NDArray[np.int64], dict[str, FloatArray]]] = {}
        for identity, share in weights.items():
            members, unknown = self._members(identity), self._unknown(identity)
            _, less = strangers.setdefault(id(unknown), (unknown, dict.fromkeys(AUCS, np.zeros(()))))
            for name, (inside, rest) in moved_by_identity(self.histograms(identity), share).items():
                background[name] += rest
                less[name] = less[name] + rest
                total[name][members] += (inside - rest).ravel()[codes[members]]
        for name, rows in total.items():
            rows += background[name].ravel()[codes]
            for unknown, less in strangers.values():
                rows[unknown] -= less[name].ravel()[codes[unknown]]
        return total

    def _codes(self) -> NDArray[np.int64]:
        return self._positive * self._fine_bins + self._fine

    def _fine_counts(self, places: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        bins, positive = self._fine[places], self._positive[places]
        ones = np.bincount(bins[positive], minlength=self._fine_bins)
        return ones, np.bincount(bins, minlength=self._fine_bins) - ones

    def _split(self, places: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Ranks of negatives and of positives among some rows, ascending."""
        ranks, positive = self._rank[places], self._positive[places]
        return ranks[~positive], ranks[positive]

    def _side(self, places: Any) -> Side:
        bins, positive = self._bin[places], self._positive[places]
        ones = np.bincount(bins[positive], minlength=len(self.edges))
        everyone = np.bincount(bins, minlength=len(self.edges))
        return Side(ones, everyone - ones, np.bincount(bins, self._score[places], minlength=len(self.edges)).astype(float))

    def _members(self, name: str) -> NDArray[np.int64]:
        if self._last[0] != name:
            self._last = name, self._places([part.members.get(name) for part in self._parts])
        return self._last[1]

    def _unknown(self, name: str) -> NDArray[np.int64]:
        maps = [part.unknown.get(name) for part in self._parts]
        # Identities are mostly unknown together (a comment was annotated or not), so the same rows are found again.
        key = b"".join(b"" if bits is None else bits.tobytes() for bits in maps)
        if key not in self._unknowns:
            self._unknowns[key] = self._places(maps)
        return self._unknowns[key]

    def _places(self, maps: list[NDArray[Any] | None]) -> NDArray[np.int64]:
        if all(bits is None for bits in maps):
            return np.array([], np.int64)
        pieces = [
            from_bitmap(bits, len(part.score)) if bits is not None else np.zeros(len(part.score), bool)
            for bits, part in zip(maps, self._parts, strict=True)
        ]
        return np.flatnonzero(np.concatenate(pieces)[self._order])


@dataclass
class BinnedScores(ScoreTable):
    """Counts per bin, added up part by part; scores within a bin count as ties."""

    edges: FloatArray
    every: int = 1  # of so many rows one is kept, for variances of what rests on overlapping identities
    names: list[str] = field(default_factory=list)
    lowest: float = np.inf
    highest: float = -np.inf
    _sample: list[ScorePart] = field(default_factory=list)
    _everyone: Side | None = None
    _members: dict[str, Side] = field(default_factory=dict)
    _unknown: dict[str, Side] = field(default_factory=dict)

    def add(self, part: ScorePart) -> None:
        """Count one more part."""
        if not len(part.score):
            return
        self.lowest, self.highest = min(self.lowest, float(part.score.min())), max(self.highest, float(part.score.max()))
        self._sample.append(part.thinned(self.every))
        bins = np.clip(np.searchsorted(self.edges, part.score, side="right") - 1, 0, None)
        self._everyone = _plus(self._everyone, self._side(part, bins, slice(None)))
        for name, bits in part.members.items():
            self._members[name] = _plus(self._members.get(name), self._side(part, bins, from_bitmap(bits, len(bins))))
        for name, unknown in part.unknown.items():
            if unknown is not None:
                self._unknown[name] = _plus(self._unknown.get(name), self._side(part, bins, from_bitmap(unknown, len(bins))))
        self.names = list(self._members)

    def merge(self, other: "BinnedScores") -> None:
        """Add what was counted over the same bins elsewhere."""
        assert np.array_equal(self.edges, other.edges)
        self.lowest, self.highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        self._sample += other._sample
        if other._everyone is not None:
            self._everyone = _plus(self._everyone, other._everyone)
        for mine, theirs in ((self._members, other._members), (self._unknown, other._unknown)):
            for name, found in theirs.items():
                mine[name] = _plus(mine.get(name), found)
        self.names = list(self._members)

    def overall(self) -> Side:
        return self._everyone or self._empty()

    def sides(self, name: str) -> tuple[Side, Side]:
        members = self._members[name]
        return self.overall() - members - self._unknown.get(name, self._empty()), members

    def auc(self) -> float:
        return auc(self.overall().positive, self.overall().negative)

    def bias(self, name: str) -> dict[str, float]:
        return bias_aucs(self.histograms(name))

    def histograms(self, name: str) -> GroupScores:
        rest, members = self.sides(name)
        return GroupScores(members.positive, members.negative, rest.positive, rest.negative)

    def everyone(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.overall().positive, self.overall().negative

    def variances(self, weights: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        # A variance falls as rows grow, so the sample's is scaled to all rows.
        sample = ExactScores(self._sample)
        share = sample.overall().n / max(self.overall().n, 1)
        return {name: share * value for name, value in sample.variances(weights).items()}

    def _side(self, part: ScorePart, bins: NDArray[Any], mask: Any) -> Side:
        places, positive, score = bins[mask], part.positive[mask], part.score[mask]
        ones = np.bincount(places[positive], minlength=len(self.edges))
        everyone = np.bincount(places, minlength=len(self.edges))
        return Side(ones, everyone - ones, np.bincount(places, score, minlength=len(self.edges)).astype(float))

    def _empty(self) -> Side:
        nothing = np.zeros(len(self.edges), np.int64)
        return Side(nothing, nothing, nothing.astype(float))


def bin_edges(sample: Any, *, bins: int = BINS) -> FloatArray:
    """Lower edges of bins that hold about equally many of a sample's scores, and those of all thresholds that are swept.

    >>> bool(np.isin([0.1, 0.5, 0.9], bin_edges([0.1, 0.2, 0.9], bins=2)).all())
    True
    """
    ranked = np.sort(np.asarray(sample, float))
    if not len(ranked):
        return np.array([])
    places = np.linspace(0, len(ranked), bins, endpoint=False).astype(int)
    return np.union1d(ranked[places], cut_points(ranked))


def score_part(score: Any, positive: Any, members: Mapping[str, Any], unknown: Mapping[str, Any] | None = None) -> ScorePart:
    """A part from plain masks, as small callers have them.

    >>> table = ExactScores([score_part([0.1, 0.4, 0.3, 0.8], [0, 1, 0, 1], {"women": [1, 1, 0, 0]})])
    >>> table.bias("women")["bnsp_auc"]
    1.0
    """
    return ScorePart(
        np.asarray(score, float),
        np.asarray(positive, bool),
        {name: bitmap(mask) for name, mask in members.items()},
        {name: None if mask is None else bitmap(mask) for name, mask in (unknown or {}).items()},
    )


def _ranks(score: FloatArray, positive: BoolArray) -> tuple[NDArray[Any], tuple[FloatArray, FloatArray]]:
    """The rank of each sorted row (equal scores share one), and per rank how many negatives and positives lie below, ties half."""
    first = np.ones(len(score), bool)
    first[1:] = score[1:] != score[:-1]
    rank = np.cumsum(first) - 1
    size = int(rank[-1]) + 1 if len(rank) else 0
    ones = np.bincount(rank[positive], minlength=size).astype(float)
    zeros = np.bincount(rank, minlength=size) - ones
    return rank, (np.cumsum(zeros) - zeros / 2, np.cumsum(ones) - ones / 2)


def _fine_bins(rank: NDArray[Any], bins: int) -> NDArray[np.int64]:
    """A bin for each sorted row: as many rows in each as equal scores, which share a bin, allow; one per score if few rows."""
    rows = len(rank)
    starts = np.searchsorted(rank, np.arange(int(rank[-1]) + 1)) if rows else rank
    return np.asarray((starts * min(bins, rows) // max(rows, 1))[rank], np.int64)


def _beaten(ranks: NDArray[Any], others: NDArray[Any]) -> float:
    """Pairs in which one of `ranks` lies above one of `others`, ties one half; both ascending."""
    if not len(ranks) or not len(others):
        return 0.0
    if ranks is others:
        return len(ranks) ** 2 / 2
    below, not_above = (np.searchsorted(others, ranks, side=side) for side in ("left", "right"))
    return float(below.sum() + not_above.sum()) / 2


def _plus(one: Side | None, other: Side) -> Side:
    if one is None:
        return other
    return Side(one.positive + other.positive, one.negative + other.negative, one.score_sum + other.score_sum)
