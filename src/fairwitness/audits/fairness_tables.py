"""From counts to tables: groups, identities, worst cases, overall. The seed's columns come first, ours follow.

An undefined number is null, a group below the smallest size is listed as skipped with its size, and every number that is not a
plain count has its interval beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from fairwitness.audits.fairness_input import BACKGROUND
from fairwitness.metrics.combined import Ends, largest_interval, smallest_interval
from fairwitness.metrics.counts import MEMBER, NONMEMBER, Counts
from fairwitness.metrics.gaps import GAPS, TESTED, gap_fractions, gaps
from fairwitness.metrics.intervals import bootstrap_interval, percentiles, resample, wilson
from fairwitness.metrics.multigroup import group_accuracy, share
from fairwitness.metrics.rates import FloatArray, fractions, rates
from fairwitness.metrics.significance import benjamini_hochberg, exact_test, minimum_detectable

# rate → its column. The first five are the seed's, in its order.
RATE_COLUMNS = {
    "accuracy": "acc",
    "f1": "f1",
    "true_positive_rate": "tpr",
    "false_positive_rate": "false_positive_rate",
    "positive_rate": "pos_rate",
    "precision": "precision",
    "true_negative_rate": "tnr",
    "false_negative_rate": "fnr",
    "base_rate": "base_rate",
}
# gap → its column. The first two are the seed's.
GAP_COLUMNS = {
    "statistical_parity_difference": "SPD",
    "equal_opportunity_difference": "EOpp_diff",
    "false_positive_rate_difference": "FPR_diff",
    "accuracy_difference": "acc_diff",
    "precision_difference": "precision_diff",
    "f1_difference": "f1_diff",
    "base_rate_difference": "base_rate_diff",
    "equalized_odds_difference": "equalized_odds_diff",
    "average_odds_difference": "average_odds_diff",
    "disparate_impact_ratio": "disparate_impact",
}

BINARY = (NONMEMBER, MEMBER)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What intervals and tests are made with."""

    min_group_size: int = 30
    confidence: float = 0.95
    replicates: int = 1000
    seed: int = 0


def group_table(counts: Mapping[str, Counts], settings: Settings) -> pl.DataFrame:
    """One row per group of every attribute: size, whether it was skipped, rates with intervals."""
    every = list(counts.values())
    cells = np.concatenate([one.cells for one in every])
    binary = every[0].classes == BINARY
    sizes = cells.sum(axis=(1, 2))
    skipped = sizes < settings.min_group_size
    found, low, high = _rates_with_intervals(cells, settings, binary=binary)
    columns: dict[str, Any] = {
        "identity": [one.attribute for one in every for _ in one.groups],
        "group": _group_names(every),
        "n": sizes,
        "skipped": skipped,
    }
    columns |= {column: _blank(found[rate], skipped) for rate, column in RATE_COLUMNS.items()}
    positives = cells[:, 1].sum(axis=1) if binary else np.zeros(len(sizes), np.int64)
    columns |= {"n_positive": positives, "n_negative": sizes - positives}
    columns["n_failed"] = np.concatenate([one.failed for one in every])
    for rate, column in RATE_COLUMNS.items():
        columns |= {f"{column}_low": _blank(low[rate], skipped), f"{column}_high": _blank(high[rate], skipped)}
    # Types are said for the case that no group has a name, as when a column is empty.
    frame = pl.DataFrame(columns, schema_overrides={"identity": pl.String, "group": pl.String}, nan_to_null=True)
    if binary:
        return frame
    return frame.with_columns(pl.lit(None, pl.Int64).alias(name) for name in ("n_positive", "n_negative"))


def _rates_with_intervals(
    cells: Any, settings: Settings, *, binary: bool
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], dict[str, FloatArray]]:
    if binary:
        parts = fractions(cells)
        ends = {name: share_interval(*parts[name], name, confidence=settings.confidence) for name in RATE_COLUMNS}
    else:
        ends = {name: _rate_interval(cells, name, binary, settings.confidence) for name in RATE_COLUMNS}
    values = _rates(cells, binary=binary)
    return values, {name: low for name, (low, _) in ends.items()}, {name: high for name, (_, high) in ends.items()}


def _rates(cells: Any, *, binary: bool) -> dict[str, FloatArray]:
    """With several classes there is no positive class, and so no rate but accuracy."""
    if binary:
        return rates(cells)
    return dict.fromkeys(RATE_COLUMNS, np.full(len(cells), np.nan)) | {"accuracy": group_accuracy(cells)}


def _rate_interval(cells: Any, rate: str, binary: bool, confidence: float) -> Ends:
    if binary:
        return rate_interval(cells, rate, confidence=confidence)
    if rate == "accuracy":
        return wilson(*share("group_accuracy", cells), confidence=confidence)
    return np.full(len(cells), np.nan), np.full(len(cells), np.nan)


def rate_interval(cells: Any, rate: str, *, confidence: float) -> Ends:
    """Wilson's interval of a rate. F1 = 2s/(1+s) rises with s = TP/(TP+FP+FN), a plain share, so its interval is that of s."""
    return share_interval(*fractions(cells)[rate], rate, confidence=confidence)


def share_interval(above: Any, below: Any, rate: str, *, confidence: float) -> Ends:
    """The same from a rate's numerator and denominator."""
    if rate != "f1":
        return wilson(above, below, confidence=confidence)
    hits = above // 2
    low, high = wilson(hits, below - hits, confidence=confidence)
    return 2 * low / (1 + low), 2 * high / (1 + high)


@dataclass(frozen=True)
class IdentityGaps:
    """All gaps of all identities: values, bootstrap draws, exact p-values, smallest gap that could have shown."""

    names: tuple[str, ...]
    sizes: Any
    positives: Any
    missing: Any
    skipped: Any
    value: dict[str, FloatArray]
    draws: dict[str, FloatArray]
    p: dict[str, FloatArray]
    p_adjusted: dict[str, FloatArray]
    detectable: dict[str, FloatArray]
    against_background: dict[str, FloatArray]


def identity_gaps(counts: Mapping[str, Counts], identities: Sequence[str], settings: Settings) -> IdentityGaps:
    """Measure the gap of every identity. A gap with a group below the smallest size is not measured: NaN."""
    cells = np.stack([counts[name].cells for name in identities])
    sizes = cells.sum(axis=(2, 3))
    skipped = (sizes < settings.min_group_size).any(axis=1)
    drawn = resample(cells, replicates=settings.replicates, seed=settings.seed, axes=3)
    parts = gap_fractions(cells)
    p = {name: _blank(exact_test(*parts[name]), skipped) for name in TESTED}
    p["equalized_odds_difference"] = _either(p["equal_opportunity_difference"], p["false_positive_rate_difference"])
    detectable = {name: minimum_detectable(*parts[name], confidence=settings.confidence) for name in TESTED}
    return IdentityGaps(
        names=tuple(identities),
        sizes=sizes,
        positives=cells[:, :, 1].sum(axis=2),
        missing=np.array([counts[name].missing for name in identities]),
        skipped=skipped,
        value={name: _blank(found, skipped) for name, found in gaps(cells).items()},
        draws={name: _blank(found, skipped) for name, found in gaps(drawn).items()},
        p={**p, "disparate_impact_ratio": p["statistical_parity_difference"]},
        p_adjusted={},
        detectable=detectable,
        against_background=_against_background(counts, cells, settings),
    )


def adjust_together(found: IdentityGaps | None, spreads: FloatArray) -> tuple[IdentityGaps | None, FloatArray]:
    """Benjamini–Hochberg over every distinct test of the audit: the identities' gaps and the spreads of group columns.

    The ratio shares SPD's test and equalized odds combines two, so neither is counted again.
    """
    if found is None:
        return None, benjamini_hochberg(spreads)
    own = np.stack([found.p[name] for name in TESTED])
    family = benjamini_hochberg(np.concatenate([own.ravel(), spreads]))
    adjusted = dict(zip(TESTED, family[: own.size].reshape(own.shape), strict=True))
    adjusted["equalized_odds_difference"] = _either(
        adjusted["equal_opportunity_difference"], adjusted["false_positive_rate_difference"]
    )
    adjusted["disparate_impact_ratio"] = adjusted["statistical_parity_difference"]
    return replace(found, p_adjusted=adjusted), family[own.size :]


def _either(one: FloatArray, other: FloatArray) -> FloatArray:
    """p-value for 'at least one of two gaps': Bonferroni over the two; of those undefined, none."""
    return np.where(np.isnan(one) | np.isnan(other), np.nan, np.minimum(2 * np.minimum(one, other), 1))


def _against_background(counts: Mapping[str, Counts], cells: Any, settings: Settings) -> dict[str, FloatArray]:
    """The same gaps with the background (rows that name no identity) in the place of the non-members."""
    if BACKGROUND not in counts:
        return {}
    nobody = np.broadcast_to(counts[BACKGROUND].cells[1], cells[:, 1].shape)
    pairs = np.stack([nobody, cells[:, 1]], axis=1)
    small = (pairs.sum(axis=(2, 3)) < settings.min_group_size).any(axis=1)
    found = gaps(pairs)
    wanted = ("statistical_parity_difference", "equal_opportunity_difference", "false_positive_rate_difference")
    return {name: _blank(found[name], small) for name in wanted}


def identity_table(found: IdentityGaps, settings: Settings) -> pl.DataFrame:
    """One row per identity: the two seed gaps and sizes, then intervals, p-values and the further gaps."""
    columns: dict[str, Any] = {"identity": list(found.names)}
    columns |= {GAP_COLUMNS[name]: found.value[name] for name in GAPS[:2]}
    columns |= {"n_A0": found.sizes[:, 0], "n_A1": found.sizes[:, 1], "skipped": found.skipped}
    for name in GAPS:
        column = GAP_COLUMNS[name]
        low, high = gap_interval(found, name, confidence=settings.confidence)
        undefined = np.isnan(found.value[name])
        columns |= {column: found.value[name], f"{column}_low": _blank(low, undefined), f"{column}_high": _blank(high, undefined)}
        if name in found.p:
            columns |= {f"{column}_p": found.p[name], f"{column}_p_adjusted": found.p_adjusted[name]}
        if name in found.detectable:
            columns[f"{column}_min_detectable"] = found.detectable[name]
    columns |= {"n_missing": found.missing, "n_positive_A0": found.positives[:, 0], "n_positive_A1": found.positives[:, 1]}
    columns |= {f"{GAP_COLUMNS[name]}_vs_background": values for name, values in found.against_background.items()}
    return pl.DataFrame(columns, nan_to_null=True)


def gap_interval(found: IdentityGaps, name: str, *, confidence: float) -> tuple[FloatArray, FloatArray]:
    """A gap's bootstrap interval. A largest distance cannot be resampled (it is never below 0), so equalized odds takes its
    interval from those of the two differences it is the larger of."""
    if name != "equalized_odds_difference":
        return percentiles(found.draws[name], confidence=confidence)
    parts = ("equal_opportunity_difference", "false_positive_rate_difference")
    values = np.stack([found.value[part] for part in parts])
    draws = np.stack([found.draws[part] for part in parts], axis=1)
    return largest_interval(values, partial(_bootstrap, values, draws), confidence=confidence)


def summary_table(
    counts: Mapping[str, Counts],
    found: IdentityGaps | None,
    spreads: pl.DataFrame | None,
    settings: Settings,
    facts: Mapping[str, int],
) -> pl.DataFrame:
    """One row: the worst cases, where each comes from, its interval, and what the audit saw.

    Without identity flags the worst gap is the widest spread over the groups of a group column: of the positive class, or, with
    several classes, of the one where it is widest.
    """
    own = {name: counts[name] for name in found.names} if found else counts
    binary = all(one.classes == BINARY for one in own.values())
    worst = [
        _worst_gap("WorstAbsSPD", "statistical_parity_difference", found, settings)
        if spreads is None
        else _worst_spread("WorstAbsSPD", "statistical_parity_spread", spreads, binary=binary),
        _worst_gap("WorstAbsEOpp", "equal_opportunity_difference", found, settings)
        if spreads is None
        else _worst_spread("WorstAbsEOpp", "equal_opportunity_spread", spreads, binary=binary),
        _worst_rate("WorstGroupAcc", "accuracy", own, settings),
        _worst_rate("WorstGroupF1", "f1", own, settings),
    ]
    columns: dict[str, Any] = {name: value for name, value, *_ in worst}
    columns |= {_origin(name): where for name, _, where, *_ in worst}
    for name, _, _, low, high in worst:
        columns |= {f"{name}_low": low, f"{name}_high": high}
    words = {_origin(name): pl.String for name, *_ in worst}
    numbers = {name: pl.Float64 for name in columns if name not in words}
    columns |= dict(facts)
    frame = pl.DataFrame({name: [value] for name, value in columns.items()}, schema_overrides={**numbers, **words})
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def _origin(name: str) -> str:
    return f"{name}_group" if "Group" in name else f"{name}_identity"


Worst = tuple[str, float, str | None, float, float]
_NAN = float("nan")


def _worst_gap(name: str, gap: str, found: IdentityGaps | None, settings: Settings) -> Worst:
    if found is None or np.isnan(found.value[gap]).all():
        return name, _NAN, None, _NAN, _NAN
    defined = np.flatnonzero(~np.isnan(found.value[gap]))
    values = found.value[gap][defined]
    index = int(np.argmax(np.abs(values)))
    ends = partial(_bootstrap, values, found.draws[gap][:, defined])
    low, high = largest_interval(values, ends, confidence=settings.confidence)
    return name, float(np.abs(values[index])), found.names[defined[index]], float(low), float(high)


def _bootstrap(values: FloatArray, draws: FloatArray, confidence: float) -> Ends:
    return bootstrap_interval(values, draws, confidence=confidence)


def _worst_spread(name: str, metric: str, spreads: pl.DataFrame, *, binary: bool) -> Worst:
    """The widest spread over attributes: of the positive class where there is one, else of any class, which is named."""
    kept = spreads.filter(pl.col("metric") == metric).drop_nulls("value")
    if binary:
        kept = kept.filter(pl.col("class") == MEMBER)
    if not kept.height:
        return name, _NAN, None, _NAN, _NAN
    row = kept.sort("value", "attribute", "class", descending=[True, False, False]).row(0, named=True)
    where = f"{row['attribute']}={row['group']}" + ("" if binary else f" (class {row['class']})")
    return name, row["value"], where, row["low"], row["high"]


def _worst_rate(name: str, rate: str, counts: Mapping[str, Counts], settings: Settings) -> Worst:
    every = list(counts.values())
    binary = every[0].classes == BINARY
    cells = np.concatenate([one.cells for one in every])
    value = _rates(cells, binary=binary)[rate]
    kept = np.flatnonzero((cells.sum(axis=(1, 2)) >= settings.min_group_size) & ~np.isnan(value))
    if not len(kept):
        return name, _NAN, None, _NAN, _NAN
    names = _group_names(every)
    worst = min(kept[value[kept] == value[kept].min()].tolist(), key=names.__getitem__)
    ends = partial(_rate_interval, cells[kept], rate, binary)
    low, high = smallest_interval(ends, number=len(kept), confidence=settings.confidence)
    return name, float(value[worst]), names[worst], float(low), float(high)


def overall_table(counts: Counts, settings: Settings) -> pl.DataFrame:
    """The rates of all rows together, with intervals: one row per rate."""
    binary = counts.classes == BINARY
    found, low, high = _rates_with_intervals(counts.cells, settings, binary=binary)
    n = int(counts.sizes[0])
    rows = [
        {"metric": name, "value": float(found[name][0]), "low": float(low[name][0]), "high": float(high[name][0]), "n": n}
        for name in RATE_COLUMNS
        if binary or name == "accuracy"
    ]
    return pl.DataFrame(rows).with_columns(pl.selectors.float().fill_nan(None))


def _group_names(counts: Sequence[Counts]) -> list[str]:
    return [f"{one.attribute}={group}" for one in counts for group in one.groups]


def _blank(values: Any, where: Any) -> FloatArray:
    return np.where(where, np.nan, values)
