"""The paper's argument over a finished run: the same predictions seen with all classes and groups, and binarised.

Four views: both as they are, the label binarised, the groups binarised, and both. Nothing is trained again; the rules that
binarise are data of the dataset, or are given.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.fairness import group_fairness
from fairwitness.audits.result import AuditResult
from fairwitness.audits.user_model import PREDS, TEST
from fairwitness.audits.user_model_tables import FOUR
from fairwitness.errors import InputError, listing
from fairwitness.files import file_hash, require_file
from fairwitness.options import Options


@dataclass(frozen=True, kw_only=True)
class ViewsConfig(Options):
    """What can be asked of `fairwitness usermodel compare-views`."""

    run: Path
    """Folder of a finished `usermodel train` (of one seed)."""

    sens_attr: tuple[str, ...] = ()
    """Sensitive attributes with several groups; default: those of the run that a rule binarises."""

    binarise: tuple[str, ...] = ()
    """Rules of your own, such as work_field=1 or age=2+3 (several values with +); they win over the dataset's."""

    out: Path | None = None
    """Table of the comparison; default: views.csv in the run's folder."""

    min_group_size: int = 10
    """Groups with fewer test users are in no spread."""

    restart: bool = False
    """Start over where --out holds another question's answer."""


def compare_views(config: ViewsConfig) -> AuditResult:
    """Spreads of the four metrics in the four views: view, attribute, metric, spread, interval, worst class and pair, hidden."""
    entry = runs.read_manifest(config.run).get(Path(PREDS).stem)
    if entry is None or entry.get("status") != "done":
        seeds = sorted(path.name for path in Path(config.run).glob("seed_*") if (path / PREDS).exists())
        if seeds:
            raise InputError(
                f"{config.run} holds {len(seeds)} user models, one a seed. Name one of them: --run {Path(config.run) / seeds[0]}"
            )
        raise InputError(
            f"{config.run} holds no finished user model. Train one first: fairwitness usermodel train … --out {config.run}"
        )
    question = entry["question"]
    rules = _rules(question["dataset"], config.binarise)
    label = question["label"]
    if label not in rules:
        raise InputError(f"No rule binarises the label '{label}'. There are: {listing(rules)}. Give one: --binarise {label}=VALUE")
    attributes = config.sens_attr or tuple(name for name in question["sens_attr"] if name in rules)
    if not attributes:
        attributes = tuple(name for name in rules if name != label and name in tables.columns_of(config.run / TEST))
    for name in attributes:
        if name not in rules:
            raise InputError(
                f"No rule binarises the attribute '{name}'. There are: {listing(rules)}. Give one: --binarise {name}=VALUE"
            )
    out = config.out or config.run / "views.csv"
    data = {TEST: file_hash(require_file(config.run / TEST))}
    asked = {"rules": {k: list(v) for k, v in rules.items()}, "attributes": list(attributes), "least": config.min_group_size}
    inputs = {"run": config.run}
    with runs.open_run(out, "usermodel views", asked | {"data": data}, restart=config.restart, data=data, inputs=inputs) as run:
        if not run.sealed:
            test = tables.read(config.run / TEST)
            table = pl.concat([_views(test, label, name, rules, config.min_group_size) for name in attributes])
            failed = int(test["error"].is_not_null().sum())
            run.seal([tables.write(table, out)], {"asked": test.height, "scored": test.height - failed, "failed": failed})
    return AuditResult({"views": tables.read(out)}, {"label": label, "rules": asked["rules"]}, [out])


def _rules(dataset: str, given: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    from fairwitness.graphs.facts import dataset_facts

    rules = {rule.source: rule.ones for rule in dataset_facts(dataset).binarised}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise InputError(f"--binarise is '{text}'; a rule reads column=value or column=value+value.")
        rules[name] = tuple(values.split("+"))
    return rules


def _views(test: pl.DataFrame, label: str, attribute: str, rules: dict[str, tuple[str, ...]], least: int) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    full: dict[str, float] = {}
    for view, two_classes, two_groups in (
        ("multiclass × multigroup", False, False),
        ("binary × multigroup", True, False),
        ("multiclass × binary groups", False, True),
        ("binary × binary groups", True, True),
    ):
        frame = test.select("error", label=_seen("label", rules[label], two_classes), pred=_seen("pred", rules[label], two_classes),
                            group=_seen(attribute, rules[attribute], two_groups))  # fmt: skip
        found = group_fairness(frame, label="label", pred="pred", groups=["group"], min_group_size=least).multigroup
        for metric in FOUR:
            row = _widest(found, metric)
            full.setdefault(metric, float("nan") if row["value"] is None else row["value"])
            hidden = None if row["value"] is None or full[metric] != full[metric] else full[metric] - row["value"]
            shown = {"spread": row["value"], "low": row["low"], "high": row["high"], "class": row["class"], "pair": row["group"]}
            rows.append({"attribute": attribute, "view": view, "metric": metric.removesuffix("_spread"), **shown, "hidden": hidden})
    words = dict.fromkeys(("attribute", "view", "metric", "class", "pair"), pl.String)
    return pl.DataFrame(rows, schema_overrides={**words, **dict.fromkeys(("spread", "low", "high", "hidden"), pl.Float64)})


def _seen(column: str, ones: tuple[str, ...], binary: bool) -> pl.Expr:
    words = pl.col(column).cast(pl.String)
    return words.is_in(list(ones)).cast(pl.Int64).cast(pl.String) if binary else pl.col(column)


def _widest(table: pl.DataFrame, metric: str) -> dict[str, Any]:
    """The class with the largest spread; the first row where none is defined."""
    rows = table.filter(pl.col("metric") == metric).sort("value", descending=True, nulls_last=True, maintain_order=True)
    return rows.row(0, named=True)
