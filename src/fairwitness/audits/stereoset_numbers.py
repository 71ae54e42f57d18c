"""From scored sentences to StereoSet's numbers: one row per item, then every cell of the authors' table and ours.

A cell is a subset × a domain (or all of them). Nothing here reads a file or asks a model.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from fairwitness.datasets.stereoset_items import DOMAINS, ROLES, SUBSETS
from fairwitness.metrics import stereoset as metrics

POOLED = "both"
OVERALL = "overall"
AUTHORS_NAMES = {"lms": "LM Score", "ss": "SS Score", "icat": "ICAT Score"}
SHORT_ROLES = tuple(role.replace("-", "_") for role in ROLES)
SCORE_COLUMNS = tuple(f"score_{role}" for role in SHORT_ROLES)
POSITION_COLUMNS = tuple(f"position_{role}" for role in SHORT_ROLES)
MEASURED = {
    **dict.fromkeys(("metric", "attribute", "group", "class"), pl.String),
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "n_failed"), pl.Int64),
}


def by_item(scored: pl.DataFrame) -> pl.DataFrame:
    """One row per item, in order, from sentences with their `score`: `score_stereotype` …, `position_…`, `text_…`, `complete`.

    A score that is missing or not finite is null, and its item is not complete: a failure takes no part in any number.
    """
    usable = pl.col("score").is_not_null() & pl.col("score").is_finite()
    scored = scored.with_columns(score=pl.when(usable).then("score"))
    values = [
        pl.col(column).filter(pl.col("role") == role).first().alias(f"{column}_{short}")
        for column in ("score", "position", "text")
        for role, short in zip(ROLES, SHORT_ROLES, strict=True)
    ]
    wide = scored.group_by("subset", "unit", maintain_order=True).agg(pl.col("bias_type", "target", "context").first(), *values)
    return wide.with_columns(complete=pl.all_horizontal(pl.col(column).is_not_null() for column in SCORE_COLUMNS))


def outcome_codes(wide: pl.DataFrame) -> Any:
    """The outcome code of each (complete) item; see metrics.stereoset.outcomes."""
    return metrics.outcomes(wide.select(SCORE_COLUMNS).to_numpy(), wide.select(POSITION_COLUMNS).to_numpy().astype(np.int64))


def measure_cells(wide: pl.DataFrame, *, draws: int, seed: int) -> dict[tuple[str, str], metrics.Cell]:
    """Every cell: (subset, domain) → its numbers. Subsets also pooled as `both`, domains also together as `overall`."""
    complete = wide.filter("complete")
    codes = outcome_codes(complete)
    terms = complete["target"].rank("dense").to_numpy().astype(np.int64)
    return {
        (subset, domain): metrics.measure(codes[rows], terms[rows], draws=draws, seed=seed)
        for subset, domain in _cells(wide)
        for rows in [_rows(complete, subset, domain)]
    }


def measurements(wide: pl.DataFrame, cells: dict[tuple[str, str], metrics.Cell], *, draws: int, seed: int) -> pl.DataFrame:
    """The cells, then every target term, as a measurements table: attribute = subset, group = domain, class = target term."""
    failed = {key: int((~wide["complete"].to_numpy() & _rows(wide, *key)).sum()) for key in cells}
    rows = [
        {
            "metric": f"{definition}_{metric}",
            "attribute": subset,
            "group": domain,
            "class": None,
            "value": measure.value,
            "low": measure.low,
            "high": measure.high,
            "n": cell.n,
            "n_failed": failed[subset, domain],
        }
        for (subset, domain), cell in cells.items()
        for (definition, metric), measure in cell.measures.items()
    ]
    return pl.concat([pl.DataFrame(rows, schema=MEASURED), *(_term_rows(wide, subset, draws, seed) for subset in _subsets(wide))])


def authors_results(cells: dict[tuple[str, str], metrics.Cell]) -> dict[str, Any]:
    """The cells in the authors' shape and under their keys, with ours added; undefined is None.

    "Count" is theirs: three times the items in a domain (they append an item once per sentence), the items themselves overall.
    "items" is what it sounds like. `both` holds the domains pooled over the subsets, which the authors do not report.
    """
    results: dict[str, Any] = {}
    for (subset, domain), cell in cells.items():
        shown: dict[str, Any] = {"Count": float(cell.n if domain == OVERALL else 3 * cell.n)}
        for metric, name in AUTHORS_NAMES.items():
            shown[name] = _number(cell.measures["reference", metric].value)
        for metric, name in AUTHORS_NAMES.items():
            measure = cell.measures["reference", metric]
            shown[f"{name} interval"] = [_number(measure.low), _number(measure.high)]
        results.setdefault(subset, {})[domain] = {**shown, "items": cell.n, "terms": cell.n_terms}
    pooled = results.get(POOLED) or next(iter(results.values()))
    return {**results, OVERALL: pooled[OVERALL]}


def seed_results(cell: metrics.Cell) -> dict[str, Any]:
    """One cell under the keys and in the units of the Gemma 3 evaluation: LMS and SS from 0 to 1, ICAT from 0 to 100."""
    lms, ss, icat = (cell.measures["argmax", metric].value for metric in metrics.METRICS)
    return {
        "stereotype_count": cell.stereotype,
        "anti_stereotype_count": cell.anti,
        "unrelated_count": cell.unrelated,
        "language_modeling_score": _number(lms / 100),
        "stereotype_score": _number(ss / 100),
        "icat_score": _number(icat),
    }


def domain_names(found: list[str]) -> list[str]:
    """The domains that occur: the authors' four in their order, then any other, sorted.

    >>> domain_names(["race", "age", "gender"])
    ['gender', 'race', 'age']
    """
    return [*(name for name in DOMAINS if name in found), *sorted(set(found) - set(DOMAINS))]


def _subsets(wide: pl.DataFrame) -> list[str]:
    present = wide["subset"].unique().to_list()
    return [*(subset for subset in SUBSETS if subset in present), *([POOLED] if len(present) > 1 else [])]


def _cells(wide: pl.DataFrame) -> Iterator[tuple[str, str]]:
    for subset in _subsets(wide):
        for domain in [*domain_names(wide.filter(_within(subset))["bias_type"].unique().to_list()), OVERALL]:
            yield subset, domain


def _within(subset: str, domain: str = OVERALL) -> pl.Expr:
    inside = pl.lit(True) if subset == POOLED else pl.col("subset") == subset
    return inside if domain == OVERALL else inside & (pl.col("bias_type") == domain)


def _rows(wide: pl.DataFrame, subset: str, domain: str) -> Any:
    chosen = wide.select(pl.when(_within(subset, domain)).then(True).otherwise(False).alias("chosen"))
    return np.broadcast_to(chosen["chosen"].to_numpy(), (wide.height,))


def _term_rows(wide: pl.DataFrame, subset: str, draws: int, seed: int) -> pl.DataFrame:
    every = wide.filter(_within(subset))
    terms = every.group_by("target").agg(pl.col("bias_type").first(), n_failed=(~pl.col("complete")).sum().cast(pl.Int64))
    terms = terms.sort("target").with_row_index("term").with_columns(pl.col("term").cast(pl.Int64))
    complete = every.filter("complete").join(terms.select("target", "term"), on="target", how="left", maintain_order="left")
    columns = metrics.measure_terms(outcome_codes(complete), complete["term"].to_numpy(), draws=draws, seed=seed)
    joined = terms.join(pl.DataFrame(columns), on="term", how="left", maintain_order="left").with_columns(pl.col("n").fill_null(0))
    names = {"bias_type": "group", "target": "class"}
    return pl.concat(
        joined.rename(names | {metric: "value", f"{metric}_low": "low", f"{metric}_high": "high"})
        .with_columns(
            pl.col("value", "low", "high").fill_null(float("nan")), metric=pl.lit(f"reference_{metric}"), attribute=pl.lit(subset)
        )
        .select(list(MEASURED))
        for metric in metrics.METRICS
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
