"""Tables for attributes with several groups and outcomes with several classes, and what a binarised view of them hides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from fairwitness.audits.fairness_tables import Settings
from fairwitness.errors import InputError, listing, suggestion
from fairwitness.metrics.combined import spread_interval
from fairwitness.metrics.counts import MEMBER, NONMEMBER, Counts, IntArray
from fairwitness.metrics.gaps import earlier_binary, earlier_binary_intervals
from fairwitness.metrics.multigroup import BY_CLASS, METRICS, SHARES, OneAgainstRest, interval, one_against_rest, share, spread
from fairwitness.metrics.rates import FloatArray
from fairwitness.metrics.significance import minimum_detectable, spread_tests

COLUMNS = ("metric", "attribute", "class", "group", "value", "low", "high", "n")
# The four gaps of the earlier paper under the names it prints.
BINARY_NAMES = {"stat_parity": "SPD", "equal_opp": "EOD", "oae_diff": "OAED", "te_diff": "TED"}
_SCHEMA = dict.fromkeys(COLUMNS[:4], pl.String) | dict.fromkeys(COLUMNS[4:7], pl.Float64) | {"n": pl.Int64}
_BESIDE = {"spread": pl.Float64, "pair": pl.String, "class": pl.String}
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
    found = _cells(counts, cells, settings)
    rows: list[dict[str, Any]] = []
    p: dict[int, float] = {}
    for name in METRICS:
        for row, chance in _spreads_of(name, counts, cells, settings):
            if chance is not None:
                p[found.height + len(rows)] = chance
            rows.append(row)
    if len(counts.groups) == 2 and counts.classes == (NONMEMBER, MEMBER):
        rows += _earlier(counts, settings)
    frame = pl.concat([found, pl.DataFrame(rows, schema=_SCHEMA, orient="row")])
    return Multigroup(frame.with_columns(pl.selectors.float().fill_nan(None)), p)


def _cells(counts: Counts, cells: OneAgainstRest, settings: Settings) -> pl.DataFrame:
    """Metric by metric and class by class, all groups. Made of whole columns, as there may be thousands of groups."""
    blocks = [(name, class_) for name in METRICS for class_ in _classes_of(name, counts)]
    block = np.repeat(np.arange(len(blocks)), len(counts.groups))
    group = np.tile(np.arange(len(counts.groups)), len(blocks))
    ends = [interval(name, cells, confidence=settings.confidence) for name in METRICS]
    columns = {
        "metric": pl.Series([name for name, _ in blocks], dtype=pl.String).gather(block),
        "attribute": pl.repeat(counts.attribute, len(block), eager=True),
        "class": pl.Series([class_ for _, class_ in blocks], dtype=pl.String).gather(block),
        "group": pl.Series(counts.groups, dtype=pl.String).gather(group),
        "value": np.concatenate([metric(cells).ravel() for metric in METRICS.values()]),
        "low": np.concatenate([low.ravel() for low, _ in ends]),
        "high": np.concatenate([high.ravel() for _, high in ends]),
        "n": np.concatenate([np.ravel(support(name, cells)) for name in METRICS]),
    }
    return pl.DataFrame(columns, schema=_SCHEMA)


def _classes_of(name: str, counts: Counts) -> Sequence[str | None]:
    return counts.classes if name in BY_CLASS else [None]


def support(name: str, cells: OneAgainstRest) -> Any:
    """The rows a metric's cell rests on: its denominator's, or those of the class for quotients of rates, or the group's."""
    if name in SHARES:
        return share(name, cells)[1]
    return cells.positives if name in BY_CLASS else share("group_accuracy", cells)[1]


def _spreads_of(
    name: str, counts: Counts, cells: OneAgainstRest, settings: Settings
) -> Iterable[tuple[dict[str, Any], float | None]]:
    """The spread of every class, or the one of a metric without classes; behind one that is tested what it could have shown."""
    kept = np.flatnonzero(counts.sizes >= settings.min_group_size)
    large = cells[:, kept]
    # Of the values as they are listed: some depend on which other groups are there, so they are not made anew for the large ones.
    values = np.atleast_2d(METRICS[name](cells))[:, kept]
    found = spread(values)
    low, high = spread_interval(values, partial(_ends, name, cells, kept), confidence=settings.confidence)
    n = np.atleast_2d(support(name, large)).sum(axis=-1)
    chances = _chances(name, large, settings) if name in _TESTED else None
    for m, class_ in enumerate(_classes_of(name, counts)):
        worst = int(found.highest[m]), int(found.lowest[m])
        defined = not np.isnan(found.value[m])
        pair = " - ".join(counts.groups[kept[index]] for index in worst) if defined else None
        row = _row(f"{name}_spread", counts.attribute, class_, pair, found.value[m], low[m], high[m], n[m])
        yield row, float(chances[m]) if chances is not None and defined else None
        if chances is not None and defined:
            smallest, rows = _detectable(name, large, m, worst, settings)
            yield _row(f"{name}_min_detectable", counts.attribute, class_, pair, smallest, np.nan, np.nan, rows), None


def _ends(name: str, cells: OneAgainstRest, kept: IntArray, confidence: Any) -> tuple[FloatArray, FloatArray]:
    low, high = interval(name, cells, confidence=confidence)
    return np.atleast_2d(low)[:, kept], np.atleast_2d(high)[:, kept]


def _chances(name: str, cells: OneAgainstRest, settings: Settings) -> FloatArray:
    above, below = (np.atleast_2d(part) for part in share(name, cells))
    return spread_tests(above, below, replicates=settings.replicates, seed=settings.seed)


def _detectable(name: str, cells: OneAgainstRest, m: int, pair: tuple[int, int], settings: Settings) -> tuple[float, int]:
    """The smallest gap that two groups of the worst pair's sizes would have shown, when all pairs are looked at; and their rows."""
    above, below = (np.atleast_2d(part)[m] for part in share(name, cells))
    groups = np.count_nonzero(below)
    each = 1 - (1 - settings.confidence) / (groups * (groups - 1) / 2)
    seen = list(pair)
    return float(minimum_detectable(above[seen], below[seen], confidence=each)), int(below[seen].sum())


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
    positives = [tuple(classes)] if classes else [(name,) for name in counts.classes]
    two_classes = [counts.binary(positive) for positive in positives]
    inside = np.stack([one.fold(groups).cells[None, 1] if groups else one.cells[kept] for one in two_classes])
    everyone = np.stack([one.cells.sum(axis=0) for one in two_classes])
    # [positive classes, group called 1, the rest or that group, truth, prediction]
    folded = np.stack([everyone[:, None] - inside, inside], axis=2)
    gaps = {BINARY_NAMES[key]: value for key, value in earlier_binary(folded).items()}
    ends = earlier_binary_intervals(folded, confidence=settings.confidence)
    sizes = folded.sum(axis=(3, 4))
    view = np.repeat(np.arange(len(positives)), len(ones))
    columns: dict[str, Any] = {
        "attribute": pl.repeat(counts.attribute, sizes[..., 0].size, eager=True),
        "positive": pl.Series(["|".join(each) for each in positives], dtype=pl.String).gather(view),
        "group_1": pl.Series(ones, dtype=pl.String).gather(np.tile(np.arange(len(ones)), len(positives))),
        "n_0": sizes[..., 0].ravel(),
        "n_1": sizes[..., 1].ravel(),
    }
    columns |= {name: gap.ravel() for name, gap in gaps.items()}
    for name, gap in (("statistical_parity", "SPD"), ("equal_opportunity", "EOD")):
        widest = _widest_spreads(name, counts, positives, settings)
        columns |= {f"{name}_{what}": values.gather(view) for what, values in widest.items()}
        columns[f"{gap}_hidden"] = widest["spread"].to_numpy()[view] - gaps[gap].ravel()
    for key, pair in ends.items():
        columns |= {f"{BINARY_NAMES[key]}_{side}": end.ravel() for side, end in zip(("low", "high"), pair, strict=True)}
    return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def require_known(counts: Sequence[Counts], *, classes: Sequence[str], groups: Sequence[str]) -> None:
    """Refuse a binarised view of a class, or of a group, that none of the group columns has."""
    for names, option, what in ((classes, "--positive_classes", "classes"), (groups, "--group_one", "groups")):
        known = [name for one in counts for name in (one.classes if what == "classes" else one.groups)]
        for name in names:
            if name not in known:
                there = listing(dict.fromkeys(known))
                raise InputError(f"{option} {name}: there is no such value. The {what} are {there}.{suggestion(name, known)}")


def _full_view(name: str, counts: Counts, settings: Settings) -> dict[str, tuple[float, str | None]]:
    kept = np.flatnonzero(counts.sizes >= settings.min_group_size)
    found = spread(BY_CLASS[name](counts.cells)[:, kept])
    names = [counts.groups[index] for index in kept]
    return {
        class_: (float(value), None if np.isnan(value) else f"{names[high]} - {names[low]}")
        for class_, value, high, low in zip(counts.classes, found.value, found.highest, found.lowest, strict=True)
    }


def _widest_spreads(name: str, counts: Counts, positives: Sequence[Sequence[str]], settings: Settings) -> dict[str, pl.Series]:
    """What the full view shows for the classes called positive in each binarised view: the widest spread over them."""
    full = _full_view(name, counts, settings)
    found = zip(*(_widest(full, positive) for positive in positives), strict=True)
    return {what: pl.Series(values, dtype=kind) for (what, kind), values in zip(_BESIDE.items(), found, strict=True)}


def _widest(full: Mapping[str, tuple[float, str | None]], positive: Sequence[str]) -> tuple[float, str | None, str | None]:
    seen = [(*full[class_], class_) for class_ in positive if not np.isnan(full[class_][0])]
    return max(seen, key=lambda found: found[0]) if seen else (float("nan"), None, None)


def _row(
    metric: str, attribute: str, class_: str | None, group: str | None, value: Any, low: Any, high: Any, n: Any
) -> dict[str, Any]:
    ends = {"value": float(value), "low": float(low), "high": float(high)}
    return {"metric": metric, "attribute": attribute, "class": class_, "group": group, **ends, "n": int(n)}
