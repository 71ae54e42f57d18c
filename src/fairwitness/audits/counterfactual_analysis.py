"""What the scores of filled templates say: the study's tables, paired gaps with their uncertainty, the worst templates, mitigation.

Scores in, tables out; no scorer is called here.
"""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwitness.datasets.counterfactual.lexicon import CONTROL
from fairwitness.errors import EvidenceError
from fairwitness.metrics import mean_tables, mitigation
from fairwitness.metrics.paired import Array, Comparison, compare_pairs, mirrored, summary, worst_units

ALL = "all"
CONTROL_NAME = "(control)"
SENTIMENTS = ("neutral", "negative", "positive")


@dataclass(frozen=True)
class Slice:
    """One category, one sentiment (or all): the scores as a unit × role matrix, the control last where there is one.

    `unmade` are the variants that were never asked for ("a lesbian man"): neither scored nor failed.
    """

    category: str
    sentiment: str
    units: pl.Series
    roles: list[str]
    values: Array
    unmade: NDArray[np.bool_]


def analysis(scores: pl.DataFrame, how: Comparison, *, worst: int = 10) -> dict[str, pl.DataFrame]:
    """Every table of the analysis by name. Too little to compare anything is an EvidenceError."""
    slices = list(slices_of(scores))
    if not any(each.values.shape[1] >= 2 and np.sum(~np.isnan(each.values).any(axis=1)) > 0 for each in slices):
        raise EvidenceError(
            "No template has scores for two groups, so there is nothing to compare. "
            f"{scores['error'].count():,} of {scores.height:,} texts failed to be scored."
        )
    # Sorting and matrix products leave the interpreter's lock, so two slices at a time are worth it.
    with ThreadPoolExecutor(2) as pool:
        summaries = list(pool.map(lambda each: _summary(each, how), slices))
        pairs = list(pool.map(lambda each: _pairs(each, how), slices))
    by_group, by_pair = pl.concat(summaries), pl.concat(pairs)
    return {
        "by_group": by_group,
        "pairs": by_pair,
        "against_control": by_pair.filter(pl.col("b") == CONTROL_NAME),
        "differences": _seed_tables(by_group, "difference"),
        "ratios": _seed_tables(by_group, "ratio"),
        "worst": worst_templates(scores, slices, worst),
        "mitigation": mitigated(scores, slices, how.threshold),
        "measurements": measurements(by_group, by_pair),
    }


def slices_of(scores: pl.DataFrame) -> Iterator[Slice]:
    """The matrices, category by category: all sentiments together, then each that occurs."""
    for (category,), rows in scores.partition_by("category", as_dict=True, maintain_order=True).items():
        wide = _wide(rows)
        roles = _ordered([name.removeprefix("=") for name in wide.columns if name.startswith("=")])
        values = wide.select(f"={name}" for name in roles).to_numpy().astype(np.float64)
        names = [name or CONTROL_NAME for name in roles]
        unmade = _unmade(rows, wide, roles)
        yield Slice(str(category), ALL, wide["unit"], names, values, unmade)
        for sentiment in (name for name in SENTIMENTS if (wide["sentiment"] == name).any()):
            chosen = (wide["sentiment"] == sentiment).fill_null(False).to_numpy()
            yield Slice(str(category), sentiment, wide["unit"].filter(pl.Series(chosen)), names, values[chosen], unmade[chosen])


def worst_templates(scores: pl.DataFrame, slices: list[Slice], most: int) -> pl.DataFrame:
    """The templates whose groups are furthest apart, with the two texts."""
    rows = []
    for each in slices:
        if each.sentiment != ALL:
            continue
        groups = [index for index, name in enumerate(each.roles) if name != CONTROL_NAME]
        for row, spread, high, low in worst_units(each.values[:, groups], most):
            names = each.roles[groups[high]], each.roles[groups[low]]
            rows.append(
                (
                    each.category,
                    each.units[row],
                    spread,
                    names[0],
                    each.values[row, groups[high]],
                    names[1],
                    each.values[row, groups[low]],
                )
            )
    columns = ("category", "unit", "spread", "highest", "highest_score", "lowest", "lowest_score")
    frame = pl.DataFrame(rows, schema=columns, orient="row", schema_overrides={"unit": pl.String, "category": pl.String})
    if frame.is_empty() or "text" not in scores.columns:
        return frame
    texts = scores.select("unit", "category", "role", "text", "sentiment").unique(["unit", "category", "role"], keep="first")
    for which in ("highest", "lowest"):
        own = texts.select("unit", "category", pl.col("role").alias(which), pl.col("text").alias(f"{which}_text"))
        frame = frame.join(own, on=["unit", "category", which], how="left", maintain_order="left")
    sentiment = texts.select("unit", "category", "sentiment").unique(["unit", "category"], keep="first")
    return frame.join(sentiment, on=["unit", "category"], how="left", maintain_order="left")


def mitigated(scores: pl.DataFrame, slices: list[Slice], threshold: float) -> pl.DataFrame:
    """Mitigation before and after, for each category whose templates have labels of both kinds; otherwise an empty table.

    `rows` says what was judged: every variant (each group in every template), or only what was written (each comment as its author
    left it), where that is known.
    """
    frames = []
    for each in slices:
        if each.sentiment != ALL or "label" not in scores.columns:
            continue
        facts = _facts_of(scores, each)
        truth = facts["label"].cast(pl.Float64).to_numpy().astype(np.float64)
        if len(np.unique(truth[~np.isnan(truth)])) < 2:
            continue
        groups = [index for index, name in enumerate(each.roles) if name != CONTROL_NAME]
        roles = [each.roles[index] for index in groups]
        control = each.values[:, each.roles.index(CONTROL_NAME)] if CONTROL_NAME in each.roles else None
        held_out = np.array([_half(unit) for unit in each.units.to_list()])
        judged: list[tuple[str, Any]] = [("every variant", None)]
        written = np.array(facts["original_group"].fill_null("").to_list())[:, None] == np.array(roles)[None, :]
        if written.any():
            judged.append(("as written", written))
        for name, chosen in judged:
            table = mitigation.before_and_after(
                each.values[:, groups], control, truth, roles, held_out, threshold=threshold, chosen=chosen
            )
            frames.append(table.select(pl.lit(each.category).alias("category"), pl.lit(name).alias("rows"), pl.all()))
    return pl.concat(frames) if frames else pl.DataFrame(schema={"category": pl.String, "rows": pl.String})


def _facts_of(scores: pl.DataFrame, each: Slice) -> pl.DataFrame:
    """Label and original group of each unit of a slice, in its order."""
    if "original_group" not in scores.columns:
        scores = scores.with_columns(original_group=pl.lit(None, pl.String))
    own = scores.filter(pl.col("category") == each.category)
    known = own.select("unit", "label", "original_group").unique("unit", keep="first")
    return pl.DataFrame({"unit": each.units}).join(known, on="unit", how="left", maintain_order="left")


def measurements(by_group: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The same numbers in the shape that reports and gates of all audits read."""
    failed = pl.col("n_failed")
    empty = pl.lit(None, pl.Float64)
    means = by_group.select(
        pl.lit("mean_score").alias("metric"), attribute="category", group="role", **{"class": pl.col("sentiment")},
        value="mean", low="low", high="high", n="n", n_failed=failed, p=empty, p_adjusted=empty,
    )  # fmt: skip
    one_way = pairs.filter(pl.col("a") < pl.col("b"))
    label = pl.concat_str("a", pl.lit(" − "), "b")
    gaps = one_way.select(
        pl.lit("paired_gap").alias("metric"), attribute="category", group=label, **{"class": pl.col("sentiment")},
        value="difference", low="low", high="high", n="n", n_failed="n_incomplete", p="p", p_adjusted="p_adjusted",
    )  # fmt: skip
    shares = [
        one_way.select(
            pl.lit(name).alias("metric"), attribute="category", group=label, **{"class": pl.col("sentiment")},
            value=name, low=empty, high=empty, n="n", n_failed="n_incomplete", p=empty, p_adjusted=empty,
        )
        for name in ("share_apart", "flip_rate")
    ]  # fmt: skip
    return pl.concat([means, gaps, *shares], how="vertical_relaxed")


def _wide(rows: pl.DataFrame) -> pl.DataFrame:
    usable = rows.select("unit", "sentiment", "role", score=pl.when(pl.col("error").is_null()).then("score"))
    # A group may be called "unit"; with a mark in front no group's name is a column's of ours.
    marked = usable.with_columns(role=pl.lit("=") + pl.col("role"))
    return marked.pivot("role", index=["unit", "sentiment"], values="score", aggregate_function="first", maintain_order=True)


def _unmade(rows: pl.DataFrame, wide: pl.DataFrame, roles: list[str]) -> NDArray[np.bool_]:
    """Which places of the unit × role matrix no row was made for."""
    missing = np.zeros((wide.height, len(roles)), dtype=bool)
    if rows.height < missing.size:
        for place, role in enumerate(roles):
            made = wide["unit"].is_in(rows.filter(pl.col("role") == role)["unit"].implode(), nulls_equal=True)
            missing[:, place] = ~made.to_numpy()
    return missing


def _ordered(roles: list[str]) -> list[str]:
    return [name for name in roles if name != CONTROL] + [name for name in roles if name == CONTROL]


def _summary(each: Slice, how: Comparison) -> pl.DataFrame:
    table = summary(each.values, each.roles, how)
    table = table.with_columns(n_failed=pl.col("n_failed") - pl.Series(each.unmade.sum(axis=0)))
    return table.select(pl.lit(each.category).alias("category"), pl.lit(each.sentiment).alias("sentiment"), pl.all())


def _pairs(each: Slice, how: Comparison) -> pl.DataFrame:
    failed = np.isnan(each.values) & ~each.unmade
    pairs = combinations(range(len(each.roles)), 2)
    never = [int(((each.unmade[:, a] | each.unmade[:, b]) & ~failed[:, a] & ~failed[:, b]).sum()) for a, b in pairs]
    compared = compare_pairs(each.values, each.roles, how)
    table = mirrored(compared.with_columns(n_incomplete=pl.col("n_incomplete") - pl.Series(never, dtype=pl.Int64)))
    ratio = pl.when(pl.col("mean_b") != 0).then(pl.col("mean_a") / pl.col("mean_b"))
    marked = table.with_columns(
        ratio=ratio,
        apart=pl.col("difference").abs() > mean_tables.DIFFERENCE_MARK,
        ratio_below=ratio < mean_tables.RATIO_MARK,
    )
    return marked.select(pl.lit(each.category).alias("category"), pl.lit(each.sentiment).alias("sentiment"), pl.all())


def _seed_tables(by_group: pl.DataFrame, kind: str) -> pl.DataFrame:
    """The study's tables, one row an ordered pair and one column a sentiment, for every category."""
    frames = []
    for (category,), rows in by_group.partition_by("category", as_dict=True, maintain_order=True).items():
        names = [name for name in SENTIMENTS if name in rows["sentiment"].to_list()] or [ALL]
        means: dict[str, dict[str, float | None]] = {}
        for role, sentiment, mean in rows.select("role", "sentiment", "mean").iter_rows():
            means.setdefault(role, {})[sentiment] = mean
        make = mean_tables.difference_table if kind == "difference" else mean_tables.ratio_table
        table: Any = make(means, names)
        frames.append(table.select(pl.lit(category).alias("category"), pl.all()))
    joined: pl.DataFrame = pl.concat(frames, how="diagonal")
    return joined


def _half(unit: str) -> bool:
    """Whether a unit judges (True) or fits: by its name, so that it is the same in every run."""
    return hashlib.blake2b(unit.encode(), digest_size=1).digest()[0] % 2 == 1
