"""The count tensor [group × true class × predicted class] that every rate, gap and interval is made from.

Tensors of parts add up to the tensor of the whole, whatever groups and classes each part happened to see. What the numbers in
the cells mean is rates.py's, gaps.py's and multigroup.py's business.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# The code of a row without a truth, a prediction or a group.
NONE = -1
MEMBER, NONMEMBER = "1", "0"
# Up to this many cells, counting bits cell by cell beats counting codes row by row (measured: 0.04 ms a cell against 10 ms).
_MOST_CELLS_FOR_BITS = 128


@dataclass(frozen=True)
class Counts:
    """How often each prediction was made for each truth in each group of one attribute.

    `cells[g, t, p]` counts rows of group g with true class t that were predicted p; `failed[g]` those that have a truth and no
    prediction; `missing` those whose group is not known. Failed and missing rows are in no cell.
    """

    attribute: str
    groups: tuple[str, ...]
    classes: tuple[str, ...]
    cells: IntArray
    failed: IntArray
    missing: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """The counts of both parts together, over the union of their groups and classes."""
        assert self.attribute == other.attribute, f"counts of '{self.attribute}' and '{other.attribute}' cannot be added"
        if self.groups == other.groups and self.classes == other.classes:
            # The usual case by far: parts of one file see the same groups. No names need sorting.
            cells, failed = self.cells + other.cells, self.failed + other.failed
            return Counts(self.attribute, self.groups, self.classes, cells, failed, self.missing + other.missing)
        groups, classes = _union(self.groups, other.groups), _union(self.classes, other.classes)
        one, two = self.spread_over(groups, classes), other.spread_over(groups, classes)
        return Counts(self.attribute, groups, classes, one.cells + two.cells, one.failed + two.failed, self.missing + other.missing)

    @property
    def sizes(self) -> IntArray:
        """Rows with a truth and a prediction, per group."""
        return np.asarray(self.cells.sum(axis=(1, 2)), np.int64)

    def spread_over(self, groups: Sequence[str], classes: Sequence[str]) -> "Counts":
        """The same counts with more groups or classes, the new ones empty, in the order given."""
        if tuple(groups) == self.groups and tuple(classes) == self.classes:
            return self
        cells = np.zeros((len(groups), len(classes), len(classes)), np.int64)
        failed = np.zeros(len(groups), np.int64)
        rows, columns = _places(self.groups, groups), _places(self.classes, classes)
        np.add.at(cells, np.ix_(rows, columns, columns), self.cells)
        np.add.at(failed, rows, self.failed)
        return Counts(self.attribute, tuple(groups), tuple(classes), cells, failed, self.missing)

    def in_order(self) -> "Counts":
        """The same counts with groups and classes in the order a person expects, whatever part came first."""
        return self.spread_over(ordered(self.groups), ordered(self.classes))

    def binary(self, positive: Iterable[str]) -> "Counts":
        """The same rows seen through two classes: those named `positive` against all others.

        >>> names = {"attribute": "age", "groups": ["a", "b"], "classes": ["0", "1", "2"]}
        >>> counts = count_groups([0, 1, 2, 2], [0, 2, 2, 1], [0, 0, 1, 1], **names)
        >>> counts.binary(["2"]).cells.tolist()
        [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]
        """
        wanted = set(positive)
        inside = np.array([name in wanted for name in self.classes], np.int64)
        side = np.stack([1 - inside, inside])
        cells = side @ self.cells @ side.T
        return Counts(self.attribute, self.groups, (NONMEMBER, MEMBER), cells, self.failed, self.missing)

    def fold(self, ones: Iterable[str]) -> "Counts":
        """The same rows seen through two groups: those named in `ones` (member) against all others (non-member)."""
        wanted = set(ones)
        inside = np.array([name in wanted for name in self.groups], bool)
        cells = np.stack([self.cells[~inside].sum(axis=0), self.cells[inside].sum(axis=0)])
        failed = np.array([self.failed[~inside].sum(), self.failed[inside].sum()])
        return Counts(self.attribute, (NONMEMBER, MEMBER), self.classes, cells, failed, self.missing)


def merge(parts: Iterable[Counts]) -> Counts:
    """The counts of all parts together. Counting in parts and adding gives what counting at once gives."""
    return reduce(Counts.__add__, parts)


def count_groups(
    truth: Any, predicted: Any, group: Any, *, attribute: str, groups: Sequence[str], classes: Sequence[str]
) -> Counts:
    """Count one attribute whose groups do not overlap. All three are arrays of codes, NONE where there is none.

    Rows without a truth are left out; rows without a prediction are `failed`; rows without a group are `missing`.

    >>> count_groups([0, 1, 1], [0, 1, -1], [0, 0, 0], attribute="age", groups=["young"], classes=["0", "1"])
    Counts(attribute='age', groups=('young',), classes=('0', '1'), cells=array([[[1, 0],
            [0, 1]]]), failed=array([1]), missing=0)
    """
    size, width = len(classes), len(classes) + 1
    cell = cell_codes(truth, predicted, classes=size)
    group = np.asarray(group)
    known = (group != NONE) & (cell != NONE)
    joint = group[known].astype(np.int64) * (size * width) + cell[known]
    tensor = np.bincount(joint, minlength=len(groups) * size * width).reshape(len(groups), size, width)
    missing = int(np.count_nonzero((group == NONE) & (cell != NONE)))
    cells = np.ascontiguousarray(tensor[:, :, :size])
    return Counts(attribute, tuple(groups), tuple(classes), cells, tensor[:, :, size].sum(axis=1), missing)


def cell_codes(truth: Any, predicted: Any, *, classes: int) -> NDArray[Any]:
    """One code per row: truth × (classes + 1) + prediction, a failed prediction being the last; NONE without a truth."""
    small = classes * (classes + 1) <= np.iinfo(np.int8).max
    kind = np.int8 if small else np.int32
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    column = np.where(predicted == NONE, classes, predicted).astype(kind)
    cell: NDArray[Any] = truth.astype(kind) * kind(classes + 1) + column
    cell[truth == NONE] = NONE
    return cell


class FlagCounter:
    """Counts overlapping yes/no attributes over the same rows, one flag after the other, without a pass per cell over bytes.

    Rows become bits: a cell and a flag are bitmaps, and their count is the number of ones in the AND of the two.
    """

    def __init__(self, truth: Any, predicted: Any, *, classes: Sequence[str] = (NONMEMBER, MEMBER)) -> None:
        self._classes = tuple(classes)
        self._codes = cell_codes(truth, predicted, classes=len(self._classes))
        self._kinds = len(self._classes) * (len(self._classes) + 1)
        few = self._kinds <= _MOST_CELLS_FOR_BITS
        self._maps = [bitmap(self._codes == code) for code in range(self._kinds)] if few else []
        self._total = self._tally(bitmap(np.ones(len(self._codes), bool)))

    def count(self, attribute: str, member: NDArray[Any], missing: NDArray[Any] | None = None) -> Counts:
        """The counts of one flag, given as bitmaps of its members and of the rows where it is not known."""
        unknown = self._tally(missing) if missing is not None else np.zeros_like(self._total)
        inside = self._tally(member)
        tensor = np.stack([self._total - inside - unknown, inside])
        size = len(self._classes)
        cells = np.ascontiguousarray(tensor[:, :, :size])
        return Counts(attribute, (NONMEMBER, MEMBER), self._classes, cells, tensor[:, :, size].sum(axis=1), int(unknown.sum()))

    def everyone(self, attribute: str) -> Counts:
        """The counts of all rows as one group."""
        size = len(self._classes)
        failed = np.array([self._total[:, size].sum()])
        return Counts(attribute, ("all",), self._classes, np.ascontiguousarray(self._total[None, :, :size]), failed)

    def _tally(self, bits: NDArray[Any]) -> IntArray:
        if self._maps:
            found = [int(np.bitwise_count(bits & cell).sum(dtype=np.int64)) for cell in self._maps]
        else:
            codes = self._codes[from_bitmap(bits, len(self._codes))]
            found = np.bincount(codes[codes != NONE], minlength=self._kinds).tolist()
        return np.array(found, np.int64).reshape(len(self._classes), -1)


def bitmap(mask: Any) -> NDArray[Any]:
    """A mask as bits, padded with zeros to whole 64-bit words.

    >>> int(np.bitwise_count(bitmap([True, False, True])).sum())
    2
    """
    packed = np.packbits(np.asarray(mask, bool))
    padded = np.zeros(-(-len(packed) // 8) * 8, np.uint8)
    padded[: len(packed)] = packed
    return padded.view(np.uint64)


def from_bitmap(bits: NDArray[Any], rows: int) -> BoolArray:
    """The mask that a bitmap stands for."""
    return np.unpackbits(bits.view(np.uint8), count=rows).view(bool)


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Names in the order a person expects: numbers by value, then words; those of crossed columns by one after the other.

    >>> ordered(["10", "9", "b", "a"]), ordered(["b*10", "a*10", "a*9"])
    (('9', '10', 'a', 'b'), ('a*9', 'a*10', 'b*10'))
    """
    names = set(names)
    if all(name.isdecimal() for name in names):
        # Thousands of numbered groups are nothing unusual.
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names, key=lambda name: [_order(part) for part in name.split("*")]))


def _union(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """All names of both. Where the second brings no new ones, as most parts of a table, nothing need be sorted."""
    return names if set(names).issuperset(more) else ordered([*names, *more])


def _order(name: str) -> tuple[int, float, str]:
    try:
        number = float(name)
    except ValueError:
        return (1, 0.0, name)
    # "nan" and "inf" are words here: nothing is in order beside a NaN.
    return (0, number, name) if math.isfinite(number) else (1, 0.0, name)


def _places(names: Sequence[str], among: Sequence[str]) -> list[int]:
    place = {name: index for index, name in enumerate(among)}
    return [place[name] for name in names]
