"""Holding a finished run to limits, for CI: pass, fail, or not enough evidence.

The policy itself is metrics/policy.py; this file finds a run's measurements, reads the rules, and adds the one rule that is about
the run as a whole: how much of it could be scored.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import tables
from fairwitness.audits.result import AuditResult
from fairwitness.errors import InputError, suggestion
from fairwitness.files import require_file
from fairwitness.metrics.policy import Rule, Verdict, judge_all, overall
from fairwitness.options import Options, require_config
from fairwitness.report.recorded import Recorded, recorded_in


@dataclass(frozen=True, kw_only=True)
class GateConfig(Options):
    """Limits on a run. Each is judged against the interval, never the point alone."""

    rules: Path | None = None
    """A TOML file with [[rule]] tables (metric, most, least, target, attribute, group, class, min_n)."""
    max_spd: float | None = None
    """Largest absolute statistical parity difference."""
    max_eopp: float | None = None
    """Largest absolute equal opportunity difference."""
    max_fpr_gap: float | None = None
    """Largest absolute difference of false positive rates."""
    max_eodds: float | None = None
    """Largest equalized odds difference."""
    max_accuracy_gap: float | None = None
    """Largest absolute difference of accuracies."""
    min_impact_ratio: float | None = None
    """Smallest disparate impact ratio (0.8 is the four-fifths rule)."""
    max_ss_distance: float | None = None
    """Largest distance of StereoSet's SS from 50."""
    min_icat: float | None = None
    """Smallest ICAT of StereoSet."""
    max_paired_gap: float | None = None
    """Largest absolute paired difference between two groups of a counterfactual audit."""
    min_coverage: float | None = None
    """Smallest share of rows that could be scored. Unset: where less than half was scored, nothing passes."""
    min_n: int = 10
    """Fewest rows a measurement may rest on; of a difference between groups, the smaller group's."""


LEAST_COVERAGE = 0.5


# option → the rule it stands for
SHORT: dict[str, dict[str, Any]] = {
    "max_spd": {"metric": "statistical_parity_difference", "target": 0.0},
    "max_eopp": {"metric": "equal_opportunity_difference", "target": 0.0},
    "max_fpr_gap": {"metric": "false_positive_rate_difference", "target": 0.0},
    "max_eodds": {"metric": "equalized_odds_difference"},
    "max_accuracy_gap": {"metric": "accuracy_difference", "target": 0.0},
    "min_impact_ratio": {"metric": "disparate_impact_ratio"},
    "max_ss_distance": {"metric": "reference_ss", "target": 50.0, "class_": ""},
    "min_icat": {"metric": "reference_icat", "class_": ""},
    "max_paired_gap": {"metric": "paired_gap", "target": 0.0, "class_": "all"},
}


def gate(run: Path, config: GateConfig) -> tuple[Verdict, AuditResult]:
    """Judge a run folder. The first value's `.value` is the exit code: 0 pass, 1 fail, 3 not enough evidence."""
    require_config(config, GateConfig)
    _check(config)
    rules, coverage = rules_of(config)
    if not rules and coverage is None:
        raise InputError("No limit was given. Name one, such as --max_spd 0.1, or a file with --rules gate.toml.")
    return judge_run(run, rules, min_coverage=coverage)


def _check(config: GateConfig) -> None:
    for option in SHORT:
        limit = getattr(config, option)
        if limit is not None and not (isfinite(limit) and limit >= 0):
            raise InputError(f"--{option} is {limit:g}; a number from 0 on was expected.")
    if config.min_coverage is not None and not 0 <= config.min_coverage <= 1:
        raise InputError(f"--min_coverage is {config.min_coverage:g}; it is a share, from 0 to 1.")
    if config.min_n < 0:
        raise InputError(f"--min_n is {config.min_n}; a number of rows from 0 on was expected.")


def judge_run(run: Path, rules: Sequence[Rule], *, min_coverage: float | None = None) -> tuple[Verdict, AuditResult]:
    """Judge a run folder by rules: the one policy behind the command line, `gate` and pytest's `assert_gap`.

    A run in which an audit has not finished, or whose measurements are no longer what was written, cannot pass.
    """
    recorded = recorded_in(run)
    whole = [row for each in recorded for row in _doubts(each)]
    judged = [judge_all(measurements_of(recorded, run), rules)] if rules else []
    if min_coverage is not None:
        judged.append(_judge_coverage(recorded, min_coverage))
    else:
        whole += [row for row in _coverage(recorded, LEAST_COVERAGE) if row["verdict"] != "pass"]
    judged += [pl.DataFrame(whole, infer_schema_length=None)] if whole else []
    table = pl.concat(judged, how="diagonal_relaxed")
    verdict = overall(table["verdict"].to_list())
    return verdict, AuditResult({"rules": table}, {"verdict": verdict.name.lower(), "exit_code": verdict.value})


def _doubts(recorded: Recorded) -> list[dict[str, str]]:
    if not recorded.finished:
        why = str(recorded.entry.get("reason") or "it has not")
        return [{"rule": "every audit has finished", "attribute": recorded.name, "verdict": "unsure", "why": why}]
    broken = [name for name in recorded.damaged if name.endswith("measurements.parquet")]
    place = {"rule": "measurements are as they were written", "attribute": recorded.name}
    return [{**place, "verdict": "unsure", "why": f"{name} is gone or was changed"} for name in broken]


def rules_of(config: GateConfig) -> tuple[list[Rule], float | None]:
    """The rules that the options and the file name, in that order, and the least coverage. What both say, the stricter says."""
    rules = []
    for option, fixed in SHORT.items():
        limit = getattr(config, option)
        if limit is not None:
            side = {"most": limit} if option.startswith("max_") else {"least": limit}
            rules.append(Rule(**fixed, **side, min_n=config.min_n))
    written, whole = _read_rules(config.rules) if config.rules else ([], {})
    least = max(config.min_n, whole.get("min_n", 0))
    shares = [share for share in (config.min_coverage, whole.get("min_coverage")) if share is not None]
    return [replace(rule, min_n=max(rule.min_n, least)) for rule in rules + written], max(shares) if shares else None


def measurements_of(recorded: list[Recorded], where: Path) -> pl.DataFrame:
    """All measurements that the audits of a run wrote, as one table."""
    found = [each.table("measurements.parquet") for each in recorded]
    present = [frame.select([c for c in tables.MEASUREMENTS if c in frame.columns]) for frame in found if frame is not None]
    if not present:
        raise InputError(
            f"{where} holds no measurements. Run an audit that measures, such as 'fairwitness fairness', into it first."
        )
    return _with_smallest(pl.concat(present, how="diagonal_relaxed"))


def _with_smallest(measurements: pl.DataFrame) -> pl.DataFrame:
    """With `n_least`: for a difference between groups, how many rows the smallest group has that took part in it."""
    sizes = measurements.filter((pl.col("metric") == "accuracy") & pl.col("group").is_not_null() & pl.col("value").is_not_null())
    smallest = sizes.group_by("attribute").agg(n_least=pl.col("n").min())
    compares = pl.col("metric").str.contains("_(difference|ratio|spread)$")
    joined = measurements.join(smallest, on="attribute", how="left", maintain_order="left")
    return joined.with_columns(n_least=pl.when(compares).then(pl.min_horizontal("n_least", "n")).otherwise("n"))


def _read_rules(path: Path) -> tuple[list[Rule], dict[str, Any]]:
    """The [[rule]] tables of a file, and what it says of all of them: min_n, min_coverage."""
    try:
        written = tomllib.loads(require_file(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    rules = written.get("rule")
    if not isinstance(rules, list) or not rules or not all(isinstance(rule, dict) for rule in rules):
        raise InputError(f"{path} has no [[rule]] tables. Each needs a metric and a limit: most = … or least = …")
    whole = {key: value for key, value in written.items() if key != "rule"}
    for key, value in whole.items():
        _check_for_all(path, key, value)
    return [_read_rule(path, rule) for rule in rules], whole


def _check_for_all(path: Path, key: str, value: Any) -> None:
    most = {"min_n": float("inf"), "min_coverage": 1}.get(key)
    if most is None:
        hint = suggestion(key, ["rule", "min_n", "min_coverage"])
        raise InputError(f"{path} has '{key}' at its top.{hint} There may be [[rule]] tables, min_n and min_coverage.")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        kind = "share from 0 to 1" if key == "min_coverage" else "number of rows"
        raise InputError(f"{path}: {key} = {value!r} is not a {kind}.")


def _read_rule(path: Path, written: dict[str, Any]) -> Rule:
    known = {field.name.rstrip("_"): field.name for field in fields(Rule)}
    for key, value in written.items():
        if key not in known:
            raise InputError(f"{path}: a rule has no '{key}'.{suggestion(key, known)} It may have: {', '.join(known)}.")
        wanted: tuple[type, ...] = (str,) if key in ("metric", "attribute", "group", "class") else (int, float)
        if not isinstance(value, wanted) or isinstance(value, bool) or (isinstance(value, float) and not isfinite(value)):
            raise InputError(f"{path}: {key} = {value!r} is not a {'word' if wanted == (str,) else 'number'}.")
    if "metric" not in written or not {"most", "least"} & set(written):
        raise InputError(f"{path}: a rule needs a metric and a limit: most = … or least = …")
    return Rule(**{known[key]: value for key, value in written.items()})


def _judge_coverage(recorded: list[Recorded], least: float) -> pl.DataFrame:
    rows = _coverage(recorded, least)
    if not rows:
        raise InputError("--min_coverage was given, but no audit in this run says how many rows were asked.")
    return pl.DataFrame(rows)


def _coverage(recorded: list[Recorded], least: float) -> list[dict[str, Any]]:
    """Too many failures never pass and never fail: what was not scored is not known."""
    rows = []
    for each in recorded:
        asked = each.counts.get("asked")
        if not asked:
            continue
        share = (asked - each.counts.get("failed", 0)) / asked
        good = share >= least
        why = "enough was scored" if good else "too many rows failed"
        rows.append({"rule": f"coverage ≥ {least:g}", "metric": "coverage", "attribute": each.name, "value": share, "n": asked})
        rows[-1] |= {"verdict": "pass" if good else "unsure", "why": why}
    return rows
