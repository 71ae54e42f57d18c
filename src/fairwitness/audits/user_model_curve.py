"""What group-reweighted training costs and brings: accuracy against a gap, over strengths of the weights and over seeds."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.result import AuditResult
from fairwitness.audits.user_model import UserModelConfig, user_model
from fairwitness.audits.user_model_tables import FOUR, spreads
from fairwitness.errors import InputError


@dataclass(frozen=True, kw_only=True)
class CurveConfig(UserModelConfig):
    """Everything of `usermodel train`, and the strengths to try."""

    strengths: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)
    """Strengths of group-reweighted training; 0 is the plain loss."""

    gap: str = "statistical_parity"
    """The gap on the curve: statistical_parity, equal_opportunity, overall_accuracy_equality, treatment_equality_fp_over_fn."""


def accuracy_gap_curve(config: CurveConfig) -> AuditResult:
    """Train once per strength and seed; the gap is the largest spread over classes of the first sensitive attribute."""
    metric = f"{config.gap}_spread"
    if metric not in FOUR:
        raise InputError(f"--gap is '{config.gap}'; it is one of: {', '.join(name.removesuffix('_spread') for name in FOUR)}.")
    if not config.strengths or min(config.strengths) < 0 or len(set(config.strengths)) < len(config.strengths):
        raise InputError("--strengths are different numbers, none of them negative.")
    rows = [row for strength in config.strengths for row in _points(config, strength, metric)]
    points = pl.DataFrame(rows, infer_schema_length=None)
    value = ["accuracy", "macro_f1", "gap_value"]
    means = [pl.col(name).mean().alias(f"{name.removesuffix('_value')}_mean") for name in value]
    deviations = [pl.col(name).std().alias(f"{name.removesuffix('_value')}_sd") for name in value]
    curve = points.group_by("strength", "gap", maintain_order=True).agg(*means, *deviations, n_seeds=pl.len())
    files = [tables.write(curve, config.out / "curve.csv"), tables.write(points, config.out / "curve_by_seed.csv")]
    if config.charts:
        from fairwitness.report.user_model_charts import draw_curve

        title = f"Group-reweighted {config.model} on {config.dataset}, {config.label}"
        files.append(draw_curve(curve, config.out / "curve.png", title))
    asked = {"gap": config.gap, "strengths": config.strengths, "seeds": config.seeds or (config.seed,), "model": config.model}
    runs.note(files[0], "usermodel curve", asked | {"dataset": config.dataset, "label": config.label}, files)
    return AuditResult({"curve": curve, "points": points}, {}, files)


def _points(config: CurveConfig, strength: float, metric: str) -> list[dict[str, Any]]:
    shared = {field.name: getattr(config, field.name) for field in fields(UserModelConfig)}
    folder = config.out / f"strength_{strength:g}"
    plain = replace(UserModelConfig(**shared), reweight=strength, out=folder, charts=False)
    rows = []
    for seed in config.seeds or (config.seed,):
        one = replace(plain, seeds=(), seed=seed, out=Path(folder) / f"seed_{seed}")
        result = user_model(one)
        found = spreads(result.facts["seed"], result.tables["performance"], result.tables["multigroup"])
        attribute = found["attribute"].drop_nulls()[0]
        gap = found.filter((pl.col("metric") == metric) & (pl.col("attribute") == attribute))["value"].max()
        facts = {name: result.facts[name] for name in ("accuracy", "macro_f1")}
        rows.append(
            {"strength": strength, "seed": result.facts["seed"], **facts, "gap": f"{metric} by {attribute}", "gap_value": gap}
        )
    return rows
