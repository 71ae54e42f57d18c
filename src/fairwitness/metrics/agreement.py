"""How far several annotators agree: Krippendorff's α, Cohen's κ between two, and what the majority says. Arrays in, numbers out."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

Value = TypeVar("Value", bound=Hashable)
# One annotator's answers: item → value. An item that is missing was not answered.
Answers = Mapping[Any, Hashable]


def krippendorff_alpha(annotators: Sequence[Answers]) -> float:
    """Krippendorff's α for nominal values: 1 − observed / expected disagreement.

    Krippendorff (2004), with any number of annotators and missing answers. Range: 1 full agreement, 0 what chance gives, negative
    below it. **Undefined (NaN)** when no item has two answers, or when only one value was ever given (chance cannot disagree).

    >>> krippendorff_alpha([{1: "a", 2: "b", 3: "a"}, {1: "a", 2: "b", 3: "b"}])
    0.4444444444444444
    >>> krippendorff_alpha([{1: "a"}])
    nan
    """
    units = _units(annotators)
    totals: Counter[Hashable] = Counter()
    observed = 0.0
    for values in units:
        counts = Counter(values)
        totals.update(counts)
        size = len(values)
        observed += (size * size - sum(count * count for count in counts.values())) / (size - 1)
    number = sum(totals.values())
    expected = number * number - sum(count * count for count in totals.values())
    if number == 0 or expected == 0:
        return math.nan
    return 1.0 - observed * (number - 1) / expected


def cohen_kappa(one: Answers, other: Answers) -> float:
    """Cohen's κ of two annotators over the items both answered: (p_o − p_e) / (1 − p_e).

    Range −1 to 1. **Undefined (NaN)** without a common item, or when both gave one and the same value throughout (p_e = 1).

    >>> cohen_kappa({1: "a", 2: "b", 3: "a", 4: "b"}, {1: "a", 2: "b", 3: "b", 4: "b"})
    0.5
    """
    common = [item for item in one if item in other]
    if not common:
        return math.nan
    observed = sum(one[item] == other[item] for item in common) / len(common)
    first, second = Counter(one[item] for item in common), Counter(other[item] for item in common)
    expected = sum(first[value] * second[value] for value in first) / len(common) ** 2
    return math.nan if expected == 1.0 else (observed - expected) / (1.0 - expected)


def pairwise_kappa(annotators: Mapping[str, Answers]) -> list[dict[str, Any]]:
    """Cohen's κ of every two annotators, with the number of items both answered: rows of `one`, `other`, `value`, `n`."""
    return [
        {
            "one": one,
            "other": other,
            "value": cohen_kappa(annotators[one], annotators[other]),
            "n": len(annotators[one].keys() & annotators[other].keys()),
        }
        for one, other in combinations(annotators, 2)
    ]


def majority(values: Sequence[Value]) -> Value | None:
    """The value that more than half of the annotators gave; None when there is none (a tie, or no answers).

    >>> majority(["safe", "unsafe", "safe"]), majority(["safe", "unsafe"]), majority([])
    ('safe', None, None)
    """
    if not values:
        return None
    value, count = Counter(values).most_common(1)[0]
    return value if 2 * count > len(values) else None


def _units(annotators: Sequence[Answers]) -> list[list[Hashable]]:
    """The answers of each item that has at least two: only those can be compared."""
    by_item: dict[Any, list[Hashable]] = {}
    for answers in annotators:
        for item, value in answers.items():
            by_item.setdefault(item, []).append(value)
    return [values for values in by_item.values() if len(values) > 1]
