"""`fairwitness usermodel …`: train graph user models, and look at what they do to groups."""

from typing import Annotated, Any

from cyclopts import Parameter

from fairwitness.audits.user_model import UserModelConfig, UserModelResult, user_model
from fairwitness.audits.user_model_tables import FOUR


def train(config: Annotated[UserModelConfig, Parameter(name="*")], json: bool = False) -> None:
    """Train a user model with one seed or several, and measure its test part by class and group.

    Parameters
    ----------
    json
        Print the result as JSON on stdout.
    """
    result = user_model(config)
    print(result.to_json()) if json else _show(result)


def _show(result: UserModelResult) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if "seeds" in result.tables:
        table = Table("metric", "attribute", "class", "mean", "sd", "min", "max", "seeds", title="Over seeds")
        for row in result.tables["seeds"].to_dicts():
            if row["attribute"] is None or row["metric"] in FOUR:
                cells = [_number(row[name]) for name in ("mean", "sd", "min", "max")]
                table.add_row(row["metric"], row["attribute"] or "", row["class"] or "", *cells, str(row["n_seeds"]))
    else:
        _show_one(console, result)
        table = Table("attribute", "metric", "class", "largest - smallest", "spread", "interval", title="Spreads over groups")
        for row in result.tables["multigroup"].to_dicts():
            if row["metric"] in FOUR:
                ends = f"{_number(row['low'])} … {_number(row['high'])}" if row["low"] is not None else ""
                table.add_row(row["attribute"], row["metric"].removesuffix("_spread"), row["class"] or "", row["group"] or "", _number(row["value"]), ends)
    console.print(table)
    for path in result.files:
        console.print(f"Wrote {path}", soft_wrap=True, highlight=False)


def _show_one(console: Any, result: UserModelResult) -> None:
    facts = result.facts
    graph = facts["graph"]
    console.print(
        f"{facts['n_train']:,} users trained, {facts['n_validation']:,} validated, {facts['n_test']:,} tested; "
        f"{graph.get('isolated_users', 0):,} users have no edge."
    )
    console.print(f"best epoch {facts['best_epoch']} of {facts['epochs']} · accuracy {facts['accuracy']:.4f} · macro-F1 {facts['macro_f1']:.4f}")
    for name, count in facts["missing"].items():
        if count:
            console.print(f"{count:,} users have no value for '{name}': their test rows are counted as failed.")


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.4f}"
