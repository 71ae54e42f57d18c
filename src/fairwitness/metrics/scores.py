"""Scores sorted once: what the AUCs, the threshold sweeps and the calibration of every identity are read from.

Up to `EXACT_ROWS` rows every distinct score keeps its own place, so all that follows is exact. Beyond, scores fall into bins
given beforehand (quantiles of a sample), rows of one bin count as ties, and memory stays flat however long the file is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairwitness.metrics.bias_auc import GroupScores, Histogram
from fairwitness.metrics.counts import BoolArray, bitmap, from_bitmap
from fairwitness.metrics.rates import FloatArray

EXACT_ROWS = 5_000_000
BINS = 65_536


@dataclass(frozen=True)
class ScorePart:
    """Some rows that have a score and a truth: identities as bitmaps over them (`unknown` where it is not known who belongs)."""

    score: FloatArray
    positive: BoolArray
    members: Mapping[str, NDArray[Any]]
    unknown: Mapping[str, NDArray[Any] | None]


class ScoreTable:
    """Histograms over ascending `values`, of everyone and of each identity."""

    values: FloatArray

    @property
    def names(self) -> list[str]:
        raise NotImplementedError

    def overall(self) -> tuple[Histogram, Histogram]:
        """Positives and negatives per value."""
        raise NotImplementedError

    def group(self, name: str) -> GroupScores:
        """Members and known non-members of one identity, positives and negatives, per value."""
        raise NotImplementedError


class ExactScores(ScoreTable):
    """All rows kept, sorted by score; a histogram is made when it is asked for."""

    def __init__(self, parts: Iterable[ScorePart]) -> None:
        self._parts = list(parts)
        score = np.concatenate([part.score for part in self._parts]) if self._parts else np.array([])
        positive = np.concatenate([part.positive for part in self._parts]) if self._parts else np.array([], bool)
        self._order = np.argsort(score, kind="stable")
        ranked = score[self._order]
        first = np.ones(len(ranked), bool)
        first[1:] = ranked[1:] != ranked[:-1]
        self._starts = np.flatnonzero(first)
        self.values = ranked[self._starts]
        self._positive = positive[self._order]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for part in self._parts for name in part.members))

    def overall(self) -> tuple[Histogram, Histogram]:
        return self._histogram(self._positive), self._histogram(~self._positive)

    def group(self, name: str) -> GroupScores:
        member = self._mask(name, [part.members.get(name) for part in self._parts], absent=False)
        unknown = self._mask(name, [part.unknown.get(name) for part in self._parts], absent=False)
        rest = ~(member | unknown)
        positive, negative = self._positive, ~self._positive
        sets = (member & positive, member & negative, rest & positive, rest & negative)
        return GroupScores(*(self._histogram(mask) for mask in sets))

    def _mask(self, name: str, maps: list[NDArray[Any] | None], *, absent: bool) -> BoolArray:
        pieces = [
            from_bitmap(bits, len(part.score)) if bits is not None else np.full(len(part.score), absent)
            for bits, part in zip(maps, self._parts, strict=True)
        ]
        return np.concatenate(pieces)[self._order] if pieces else np.array([], bool)

    def _histogram(self, mask: BoolArray) -> Histogram:
        if len(self._starts) == len(mask):
            return mask
        return np.add.reduceat(mask, self._starts, dtype=np.int64)


@dataclass
class BinnedScores(ScoreTable):
    """Counts per bin, added up part by part. `values` are the bins' lower edges."""

    values: FloatArray
    _positive: Histogram = field(init=False)
    _negative: Histogram = field(init=False)
    _members: dict[str, Histogram] = field(default_factory=dict)
    _unknown: dict[str, Histogram] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._positive = np.zeros(len(self.values), np.int64)
        self._negative = np.zeros(len(self.values), np.int64)

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def add(self, part: ScorePart) -> None:
        """Count one more part."""
        code = np.clip(np.searchsorted(self.values, part.score, side="right") - 1, 0, None) * 2 + part.positive
        self._positive += self._bins(code)[1]
        self._negative += self._bins(code)[0]
        for name, bits in part.members.items():
            self._count(self._members, name, code[from_bitmap(bits, len(code))])
        for name, unknown in part.unknown.items():
            if unknown is not None:
                self._count(self._unknown, name, code[from_bitmap(unknown, len(code))])

    def overall(self) -> tuple[Histogram, Histogram]:
        return self._positive, self._negative

    def group(self, name: str) -> GroupScores:
        inside = self._members[name]
        unknown = self._unknown.get(name, np.zeros_like(inside))
        rest = np.stack([self._negative, self._positive]) - inside - unknown
        return GroupScores(inside[1], inside[0], rest[1], rest[0])

    def _count(self, into: dict[str, Histogram], name: str, code: NDArray[Any]) -> None:
        found = self._bins(code)
        into[name] = into[name] + found if name in into else found

    def _bins(self, code: NDArray[Any]) -> Histogram:
        counts = np.bincount(code, minlength=2 * len(self.values))
        return np.ascontiguousarray(counts.reshape(-1, 2).T)


def bin_edges(sample: Any, *, bins: int = BINS) -> FloatArray:
    """Lower edges of bins that hold about equally many of a sample's scores.

    >>> bin_edges([1.0, 2.0, 3.0, 4.0], bins=2).tolist()
    [1.0, 3.0]
    """
    ranked = np.sort(np.asarray(sample, float))
    places = np.linspace(0, len(ranked), bins, endpoint=False).astype(int)
    return np.unique(ranked[places]) if len(ranked) else np.array([])


def score_part(score: Any, positive: Any, members: Mapping[str, Any], unknown: Mapping[str, Any]) -> ScorePart:
    """A part from plain masks, as tests and small callers have them."""
    return ScorePart(
        np.asarray(score, float),
        np.asarray(positive, bool),
        {name: bitmap(mask) for name, mask in members.items()},
        {name: None if mask is None else bitmap(mask) for name, mask in unknown.items()},
    )
