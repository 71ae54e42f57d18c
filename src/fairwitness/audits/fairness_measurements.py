"""The long table of an audit: one row per number, in the columns that reports, comparisons and gates read."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from fairwitness import tables
from fairwitness.audits.fairness_multigroup import Multigroup
from fairwitness.audits.fairness_tables import GAP_COLUMNS, RATE_COLUMNS
from fairwitness.metrics.bias_auc import AUCS, EQUALITY_GAPS
from fairwitness.metrics.counts import Counts

SCHEMA = dict.fromkeys(("metric", "attribute", "group", "class"), pl.String) | {
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "n_failed": pl.Int64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
}
assert tuple(SCHEMA) == tables.MEASUREMENTS
WORST = {"WorstAbsSPD": "worst_absolute_spd", "WorstAbsEOpp": "worst_absolute_eopp", "WorstGroupAcc": "worst_group_accuracy"}
WORST |= {"WorstGroupF1": "worst_group_f1"}


def measurements(found: Mapping[str, pl.DataFrame], counts: Mapping[str, Counts], facts: Mapping[str, Any]) -> pl.DataFrame:
    """Everything measured, as tables.MEASUREMENTS. A skipped group's numbers are null, with its n."""
    failed = {name: int(one.failed.sum()) for name, one in counts.items()}
    rows = _gaps(found["per_identity"], failed) if "per_identity" in found else []
    rows += _worst(found["summary"], facts)
    if "bias_auc" in found:
        rows += _aucs(found["bias_auc"], facts)
    if "calibration" in found:
        rows += _calibration(found["calibration"])
    frames = [_overall(found["overall"], facts), _rates(found["groups"]), pl.DataFrame(rows, schema=SCHEMA, orient="row")]
    # Columns that a table lacks are null in its rows.
    every = pl.concat([pl.DataFrame(schema=SCHEMA), *frames], how="diagonal_relaxed").cast(SCHEMA)  # type: ignore[arg-type]
    return every.with_columns(pl.selectors.float().fill_nan(None))


def multigroup_measurements(found: Sequence[Multigroup], adjusted: Any, counts: Mapping[str, Counts]) -> pl.DataFrame:
    """The group columns' metrics with the p-values of their spreads; `adjusted` runs over all of them in order."""
    frames, start = [], 0
    for one in found:
        p, corrected = np.full(one.table.height, np.nan), np.full(one.table.height, np.nan)
        p[list(one.p)] = list(one.p.values())
        corrected[list(one.p)] = adjusted[start : start + len(one.p)]
        start += len(one.p)
        failed = int(counts[one.table["attribute"][0]].failed.sum())
        frame = one.table.with_columns(
            pl.Series("p", p), pl.Series("p_adjusted", corrected), pl.lit(failed, pl.Int64).alias("n_failed")
        )
        # Rates under the names that identities use too; the groups' own rows are already there.
        frames.append(frame.filter(pl.col("metric") != "group_accuracy").select(tables.MEASUREMENTS))
    return pl.concat(frames).with_columns(pl.selectors.float().fill_nan(None)).cast(SCHEMA)  # type: ignore[arg-type]


def _overall(table: pl.DataFrame, facts: Mapping[str, Any]) -> pl.DataFrame:
    return table.with_columns(attribute=pl.lit("overall"), n_failed=pl.lit(facts["n_failed"]))


def _rates(table: pl.DataFrame) -> pl.DataFrame:
    """Group by group, all rates of each. Made by columns, as there may be thousands of groups."""
    place: list[Any] = [
        pl.col("identity").alias("attribute"),
        pl.col("group").str.slice(pl.col("identity").str.len_chars() + 1),
        "n",
        "n_failed",
    ]
    frames = [
        table.select(pl.lit(metric).alias("metric"), *place, value=column, low=f"{column}_low", high=f"{column}_high")
        for metric, column in RATE_COLUMNS.items()
    ]
    return pl.concat(frames)[np.arange(len(frames) * table.height).reshape(len(frames), -1).T.ravel()]


def _gaps(table: pl.DataFrame, failed: Mapping[str, int]) -> list[dict[str, Any]]:
    rows = []
    for row in table.to_dicts():
        for metric, column in GAP_COLUMNS.items():
            ends = {"value": row[column], "low": row[f"{column}_low"], "high": row[f"{column}_high"]}
            chance = {"p": row.get(f"{column}_p"), "p_adjusted": row.get(f"{column}_p_adjusted")}
            n = {"n": row["n_A0"] + row["n_A1"], "n_failed": failed[row["identity"]]}
            rows.append({"metric": metric, "attribute": row["identity"], **ends, **n, **chance})
    return rows


def _worst(table: pl.DataFrame, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    row = table.row(0, named=True)
    rows = []
    for column, metric in WORST.items():
        where = row[f"{column}_group" if "Group" in column else f"{column}_identity"]
        identity, _, group = (where or "").partition("=")
        ends = {"value": row[column], "low": row[f"{column}_low"], "high": row[f"{column}_high"]}
        n = {"n": facts["n_rows"] - facts["n_failed"] - facts["n_unlabelled"], "n_failed": facts["n_failed"]}
        rows.append({"metric": metric, "attribute": identity or None, "group": group or None, **ends, **n})
    return rows


def _aucs(table: pl.DataFrame, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    n = {"n_failed": facts["n_failed"]}
    rows = [
        {
            "metric": metric,
            "attribute": row["identity"],
            "value": row[metric],
            "low": row[f"{metric}_low"],
            "high": row[f"{metric}_high"],
            "n": row["n_subgroup"],
            **n,
        }
        for row in table.to_dicts()
        for metric in (*AUCS, *EQUALITY_GAPS)
    ]
    whole = {"attribute": "overall", "n": facts["n_scored"], **n}
    names = {"auc": "overall_auc", "jigsaw_final": "jigsaw_final"} | {f"power_mean_{name}": f"power_mean_{name}" for name in AUCS}
    for metric, fact in names.items():
        ends = {"low": facts[f"{fact}_low"], "high": facts[f"{fact}_high"]}
        rows.append({"metric": metric, "value": facts[fact], **ends, **whole})
    return rows


def _calibration(table: pl.DataFrame) -> list[dict[str, Any]]:
    found = table.group_by("identity", "group", maintain_order=True).agg(pl.col("^ece.*$").first(), pl.col("n").sum())
    return [
        {
            "metric": "expected_calibration_error",
            "attribute": row["identity"],
            "group": row["group"].removeprefix(f"{row['identity']}="),
            "value": row["ece"],
            "low": row["ece_low"],
            "high": row["ece_high"],
            "n": row["n"],
        }
        for row in found.to_dicts()
    ]
