"""Tables for attributes with several groups and outcomes with several classes, and what a binarised view of them hides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from fairwitness.audits.fairness_tables import Settings
from fairwitness.metrics.combined import spread_interval
from fairwitness.metrics.counts import MEMBER, NONMEMBER, Counts
from fairwitness.metrics.gaps import earlier_binary, earlier_binary_intervals
from fairwitness.metrics.multigroup import BY_CLASS, METRICS, OneAgainstRest, interval, one_against_rest, shares, spread
from fairwitness.metrics.rates import FloatArray
from fairwitness.metrics.significance import minimum_detectable, spread_test

COLUMNS = ("metric", "attribute", "class", "group", "value", "low", "high", "n")
# The four gaps of the earlier paper under the names it prints.
BINARY_NAMES = {"stat_parity": "SPD", "equal_opp": "EOD", "oae_diff": "OAED", "te_diff": "TED"}
_SCHEMA = dict.fromkeys(COLUMNS[:4], pl.String) | dict.fromkeys(COLUMNS[4:7], pl.Float64) | {"n": pl.Int64}
_BINARISED = {f"{name}_{what}": pl.String for name in ("statistical_parity", "equal_opportunity") for what in ("pair", "class")}
_TESTED = ("statistical_parity", "equal_opportunity", "group_accuracy")


@dataclass(frozen=True)
class Multigroup:
    """One attribute's table in the order of COLUMNS, and the p-value of each spread that was tested (row number → p)."""

    table: pl.DataFrame
    p: dict[int, float]


def multigroup(counts: Counts, settings: Settings) -> Multigroup:
    """Every metric of every class and group with its interval, then the spread over groups with its worst pair per class.

    Small groups keep their values, whose intervals say how little they are worth; spreads are over groups of at least the
    smallest size only. In a spread's row `group` is 'highest - lowest'. Behind a spread that is tested stands the smallest gap
    that this pair could have shown.
    """
    cells = one_against_rest(counts.cells)
    frames = [_cells_of(name, counts, cells, settings) for name in METRICS]
    rows: list[dict[str, Any]] = []
    p: dict[int, float] = {}
    start = sum(frame.height for frame in frames)
    for name in METRICS:
        for row, chance in _spreads_of(name, counts, cells, settings):
            if chance is not None:
                p[start + len(rows)] = chance
            rows.append(row)
    if len(counts.groups) == 2 and counts.classes == (NONMEMBER, MEMBER):
        rows += _earlier(counts, settings)
    frame = pl.concat([*frames, pl.DataFrame(rows, schema=_SCHEMA, orient="row")])
    return Multigroup(frame.with_columns(pl.selectors.float().fill_nan(None)), p)


def _cells_of(name: str, counts: Counts, cells: OneAgainstRest, settings: Settings) -> pl.DataFrame:
    values = METRICS[name](cells)
    low, high = interval(name, cells, confidence=settings.confidence)
    classes: Sequence[str | None] = counts.classes if name in BY_CLASS else [None]
    columns = {
        "metric": [name] * values.size,
        "attribute": [counts.attribute] * values.size,
        "class": [class_ for class_ in classes for _ in counts.groups],
        "group": list(counts.groups) * len(classes),
        "value": values.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "n": np.ravel(support(name, cells)),
    }
    return pl.DataFrame(columns, schema=_SCHEMA)


def support(name: str, cells: OneAgainstRest) -> Any:
    """The rows a metric's cell rests on: its denominator's, or those of the class for quotients of rates, or the group's."""
    found = shares(cells)
    if name in found:
        return found[name][1]
    return cells.positives if name in BY_CLASS else found["group_accuracy"][1]


def _spreads_of(
    name: str, counts: Counts, cells: OneAgainstRest, settings: Settings
) -> Iterable[tuple[dict[str, Any], float | None]]:
    kept = np.flatnonzero(counts.sizes >= settings.min_group_size)
    names = [counts.groups[index] for index in kept]
    classes: Sequence[str | None] = counts.classes if name in BY_CLASS else [None]
    for m, class_ in enumerate(classes):
        # One class at a time, since how many groups have a value differs from class to class; all of them for a sum of classes.
        part = cells[m : m + 1, kept] if name in BY_CLASS else cells[:, kept]
        values = METRICS[name](part).ravel()
        found = spread(values)
        pair = None if np.isnan(found.value) else f"{names[found.highest]} - {names[found.lowest]}"
        low, high = spread_interval(values, partial(_ends, name, part), confidence=settings.confidence)
        n = np.sum(support(name, part))
        row = _row(f"{name}_spread", counts.attribute, class_, pair, found.value, low, high, n)
        yield row, _chance(name, part, settings) if pair is not None else None
        if name in _TESTED and pair is not None:
            smallest, rows = _detectable(name, part, (int(found.highest), int(found.lowest)), settings)
            yield _row(f"{name}_min_detectable", counts.attribute, class_, pair, smallest, np.nan, np.nan, rows), None


def _ends(name: str, cells: OneAgainstRest, confidence: float) -> tuple[FloatArray, FloatArray]:
    low, high = interval(name, cells, confidence=confidence)
    return low.ravel(), high.ravel()


def _chance(name: str, cells: OneAgainstRest, settings: Settings) -> float | None:
    if name not in _TESTED:
        return None
    above, below = (np.ravel(part) for part in shares(cells)[name])
    return spread_test(above, below, replicates=settings.replicates, seed=settings.seed)


def _detectable(name: str, cells: OneAgainstRest, pair: tuple[int, int], settings: Settings) -> tuple[float, int]:
    """The smallest gap that two groups of the worst pair's sizes would have shown, when all pairs are looked at; and their rows."""
    above, below = (np.ravel(part)[list(pair)] for part in shares(cells)[name])
    groups = np.count_nonzero(np.ravel(shares(cells)[name][1]))
    each = 1 - (1 - settings.confidence) / (groups * (groups - 1) / 2)
    return float(minimum_detectable(above, below, confidence=each)), int(below.sum())


def _earlier(counts: Counts, settings: Settings) -> list[dict[str, Any]]:
    values = earlier_binary(counts.cells)
    ends = earlier_binary_intervals(counts.cells, confidence=settings.confidence)
    pair = f"{counts.groups[0]} - {counts.groups[1]}"
    return [
        _row(name, counts.attribute, MEMBER, pair, values[key], *ends[key], counts.sizes.sum())
        for key, name in BINARY_NAMES.items()
    ]


def binarised(counts: Counts, settings: Settings, *, classes: Sequence[str] = (), groups: Sequence[str] = ()) -> pl.DataFrame:
    """The same predictions seen through two classes and two groups, beside the full view: what binarising hides.

    Without `classes` each class is set against the rest in turn, without `groups` each group of at least the smallest size.
    `SPD`, `EOD`, `OAED`, `TED` are the earlier paper's gaps of the binarised view; `*_spread` and `*_pair` what the full view
    shows for the classes called positive (the largest over them); `*_hidden` how much of that the binarised gap does not show.
    """
    kept = np.flatnonzero(counts.sizes >= settings.min_group_size)
    ones = ["|".join(groups)] if groups else [counts.groups[index] for index in kept]
    full = {name: _full_view(name, counts, settings) for name in ("statistical_parity", "equal_opportunity")}
    frames = []
    for positive in [tuple(classes)] if classes else [(name,) for name in counts.classes]:
        two_classes = counts.binary(positive)
        inside = two_classes.fold(groups).cells[None, 1] if groups else two_classes.cells[kept]
        folded = np.stack([two_classes.cells.sum(axis=0) - inside, inside], axis=1)
        sizes = folded.sum(axis=(2, 3))
        columns: dict[str, Any] = {"attribute": [counts.attribute] * len(ones), "positive": ["|".join(positive)] * len(ones)}
        columns |= {"group_1": ones, "n_0": sizes[:, 0], "n_1": sizes[:, 1]}
        gaps = {BINARY_NAMES[key]: value for key, value in earlier_binary(folded).items()}
        ends = earlier_binary_intervals(folded, confidence=settings.confidence)
        surely = {
            f"{BINARY_NAMES[key]}_{side}": end
            for key, pair in ends.items()
            for side, end in zip(("low", "high"), pair, strict=True)
        }
        frames.append(pl.DataFrame(columns | gaps | _beside(full, positive, gaps) | surely, schema_overrides=_BINARISED))
    return pl.concat(frames).with_columns(pl.selectors.float().fill_nan(None))


def _full_view(name: str, counts: Counts, settings: Settings) -> dict[str, tuple[float, str | None]]:
    kept = np.flatnonzero(counts.sizes >= settings.min_group_size)
    found = spread(BY_CLASS[name](counts.cells)[:, kept])
    names = [counts.groups[index] for index in kept]
    return {
        class_: (float(value), None if np.isnan(value) else f"{names[high]} - {names[low]}")
        for class_, value, high, low in zip(counts.classes, found.value, found.highest, found.lowest, strict=True)
    }


def _beside(
    full: Mapping[str, Mapping[str, tuple[float, str | None]]], positive: Sequence[str], gaps: Mapping[str, FloatArray]
) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, gap in (("statistical_parity", "SPD"), ("equal_opportunity", "EOD")):
        seen = [(*full[name][class_], class_) for class_ in positive if not np.isnan(full[name][class_][0])]
        value, pair, class_ = max(seen, key=lambda found: found[0]) if seen else (float("nan"), None, None)
        rows = len(gaps[gap])
        columns |= {f"{name}_spread": [value] * rows, f"{name}_pair": [pair] * rows, f"{name}_class": [class_] * rows}
        columns[f"{gap}_hidden"] = value - gaps[gap]
    return columns


def _row(
    metric: str, attribute: str, class_: str | None, group: str | None, value: Any, low: Any, high: Any, n: Any
) -> dict[str, Any]:
    ends = {"value": float(value), "low": float(low), "high": float(high)}
    return {"metric": metric, "attribute": attribute, "class": class_, "group": group, **ends, "n": int(n)}
