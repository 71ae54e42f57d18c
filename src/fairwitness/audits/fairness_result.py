"""What a fairness audit hands back in Python. Those who know fairlearn's MetricFrame find `by_group`, `overall`, `difference`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from fairwitness.audits.fairness_tables import RATE_COLUMNS
from fairwitness.audits.result import AuditResult
from fairwitness.metrics.counts import Counts
from fairwitness.metrics.rates import FloatArray
from fairwitness.report.content import Section
from fairwitness.report.recorded import Recorded
from fairwitness.report.sections import make_section
from fairwitness.runs import versions

# table → the ending behind R's stem. The measurements and the counts keep their types, so they are Parquet.
ENDINGS = {
    "groups": ".csv",
    "per_identity": ".per_identity.csv",
    "summary": ".summary.csv",
    "overall": ".overall.csv",
    "multigroup": ".multigroup.csv",
    "binarised": ".binarised.csv",
    "bias_auc": ".bias_auc.csv",
    "sweep": ".sweep.csv",
    "calibration": ".calibration.csv",
    "roc": ".roc.csv",
    "measurements": ".measurements.parquet",
    "counts": ".counts.parquet",
}
_RATES = tuple(RATE_COLUMNS.values())
Method = Literal["between_groups", "to_overall"]


@dataclass(frozen=True, repr=False)
class FairnessResult(AuditResult):
    """Tables `groups`, `per_identity`, `summary`, `overall`, `measurements`, and where they apply `multigroup`, `binarised`,
    `bias_auc`, `sweep`, `calibration`, `roc`; and the counts that all of them were made from."""

    counts: dict[str, Counts] = field(default_factory=dict)

    @property
    def by_group(self) -> pl.DataFrame:
        """Rates of every group: one row per group, as in `R.csv`."""
        return self.tables["groups"]

    @property
    def overall(self) -> dict[str, float | None]:
        """Rates of all rows together, by name."""
        table = self.tables["overall"]
        return dict(zip(table["metric"].to_list(), table["value"].to_list(), strict=True))

    @property
    def per_identity(self) -> pl.DataFrame:
        """Gaps of every identity flag with intervals and p-values; no rows without flags."""
        return self.tables.get("per_identity", pl.DataFrame())

    @property
    def multigroup(self) -> pl.DataFrame:
        """Metrics per class and group of every group column; no rows without group columns."""
        return self.tables.get("multigroup", pl.DataFrame())

    @property
    def bias_auc(self) -> pl.DataFrame:
        """Bias AUCs of every identity; no rows without a score."""
        return self.tables.get("bias_auc", pl.DataFrame())

    def sections(self) -> Sequence[Section]:
        """What a report says of a result that was not written to a run folder: the same as of one that was."""
        counts = {"asked": self.facts["n_rows"], "failed": self.facts["n_failed"]}
        entry = {"kind": "fairness", "status": "done", "facts": self.facts, "counts": counts, "versions": versions()}
        frames = {ENDINGS[name]: frame for name, frame in self.tables.items()}
        kept = Recorded(Path(), "fairness", entry, frames)
        return [replace(make_section(kept), source=kept)]

    def gaps(self) -> pl.DataFrame:
        """Every gap and spread in one long table: metric, attribute, class, value, low, high, n, p, p_adjusted; largest first, a
        ratio by how far it is from 1."""
        table = self.tables["measurements"]
        wanted = table.filter(pl.col("metric").str.contains("_difference$|_ratio$|_spread$"))
        nothing = pl.when(pl.col("metric").str.ends_with("_ratio")).then(1.0).otherwise(0.0)
        return wanted.sort((pl.col("value") - nothing).abs(), descending=True, nulls_last=True, maintain_order=True)

    def worst(self) -> pl.DataFrame:
        """The worst cases, where they come from and their intervals: one row."""
        return self.tables["summary"]

    def difference(self, method: Method = "between_groups") -> pl.DataFrame:
        """Per attribute and rate: the largest minus the smallest group, or the largest distance to the overall rate."""
        return self._aggregate(lambda values, overall: _difference(values, overall, method))

    def ratio(self, method: Method = "between_groups") -> pl.DataFrame:
        """Per attribute and rate: the smallest over the largest group, or the smallest ratio (≤ 1) to the overall rate."""
        return self._aggregate(lambda values, overall: _ratio(values, overall, method))

    def group_min(self) -> pl.DataFrame:
        """Per attribute, the smallest value of each rate over groups that were not skipped."""
        return self._aggregate(lambda values, _overall: float(values.min()))

    def group_max(self) -> pl.DataFrame:
        """Per attribute, the largest value of each rate over groups that were not skipped."""
        return self._aggregate(lambda values, _overall: float(values.max()))

    def _aggregate(self, how: Callable[[FloatArray, float], float | None]) -> pl.DataFrame:
        overall = {RATE_COLUMNS[name]: value for name, value in self.overall.items()}
        rows = []
        for (identity,), part in self.by_group.group_by("identity", maintain_order=True):
            row: dict[str, object] = {"identity": identity}
            for column in _RATES:
                values = part.filter(~pl.col("skipped"))[column].to_numpy()
                whole = overall.get(column)
                if len(values) and not np.isnan(values).any() and whole is not None:
                    row[column] = how(values, whole)
            rows.append(row)
        return pl.DataFrame(rows, schema={"identity": pl.String, **dict.fromkeys(_RATES, pl.Float64)})


def _difference(values: FloatArray, overall: float, method: Method) -> float:
    return float(np.abs(values - overall).max()) if method == "to_overall" else float(values.max() - values.min())


def _ratio(values: FloatArray, overall: float, method: Method) -> float | None:
    if method == "between_groups":
        return float(values.min() / values.max()) if values.max() else None
    if not overall or not values.all():
        return None
    return float(np.minimum(values / overall, overall / values).min())
