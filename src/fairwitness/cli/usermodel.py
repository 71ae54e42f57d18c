"""`fairwitness usermodel …`: train graph user models, and look at what they do to groups."""

from typing import Annotated, Any

from cyclopts import Parameter

from fairwitness.audits.user_model import UserModelConfig, UserModelResult, user_model
from fairwitness.audits.user_model_curve import CurveConfig, accuracy_gap_curve
from fairwitness.audits.user_model_data import BuildConfig, GenerateConfig, build_graph, generate_graph
from fairwitness.audits.user_model_tables import FOUR
from fairwitness.audits.user_model_views import ViewsConfig, compare_views
from fairwitness.cli.printed import console


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
    from rich.table import Table

    screen = console()
    if "seeds" in result.tables:
        table = Table("metric", "attribute", "class", "mean", "sd", "min", "max", "seeds", title="Over seeds")
        for row in result.tables["seeds"].to_dicts():
            if row["attribute"] is None or row["metric"] in FOUR:
                cells = [_number(row[name]) for name in ("mean", "sd", "min", "max")]
                table.add_row(row["metric"], row["attribute"] or "", row["class"] or "", *cells, str(row["n_seeds"]))
    else:
        _show_one(screen, result)
        table = Table("attribute", "metric", "class", "largest - smallest", "spread", "interval", title="Spreads over groups")
        for row in result.tables["multigroup"].to_dicts():
            if row["metric"] in FOUR:
                ends = f"{_number(row['low'])} … {_number(row['high'])}" if row["low"] is not None else ""
                table.add_row(
                    row["attribute"],
                    row["metric"].removesuffix("_spread"),
                    row["class"] or "",
                    row["group"] or "",
                    _number(row["value"]),
                    ends,
                )
    screen.print(table)
    for path in result.files:
        screen.print(f"Wrote {path}", soft_wrap=True, highlight=False)


def _show_one(screen: Any, result: UserModelResult) -> None:
    facts = result.facts
    graph = facts["graph"]
    screen.print(
        f"{facts['n_train']:,} users trained, {facts['n_validation']:,} validated, {facts['n_test']:,} tested; "
        f"{graph.get('isolated_users', 0):,} users have no edge."
    )
    screen.print(
        f"best epoch {facts['best_epoch']} of {facts['epochs']} · accuracy {facts['accuracy']:.4f} · "
        f"macro-F1 {facts['macro_f1']:.4f}"
    )
    for name, count in facts["missing"].items():
        if count:
            screen.print(f"{count:,} users have no value for '{name}': their test rows are counted as failed.")


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.4f}"


def compare_views_command(config: Annotated[ViewsConfig, Parameter(name="*")], json: bool = False) -> None:
    """Show a finished run's gaps with all classes and groups, and binarised: what binarising hides.

    Parameters
    ----------
    json
        Print the result as JSON on stdout.
    """
    from rich.table import Table

    result = compare_views(config)
    if json:
        print(result.to_json())
        return
    table = Table("attribute", "metric", "view", "largest spread", "interval", "class", "largest - smallest", "hidden")
    for row in result.table.sort("attribute", "metric", maintain_order=True).to_dicts():
        ends = f"{_number(row['low'])} … {_number(row['high'])}" if row["low"] is not None else ""
        words = [row[name] if row[name] is not None else "" for name in ("class", "pair")]
        table.add_row(
            row["attribute"], row["metric"], row["view"], _number(row["spread"]), ends, *map(str, words), _number(row["hidden"])
        )
    screen = console()
    screen.print(table)
    screen.print(f"Wrote {result.files[0]}", soft_wrap=True, highlight=False)


def curve(config: Annotated[CurveConfig, Parameter(name="*")], json: bool = False) -> None:
    """Train with group-reweighted loss at several strengths, and draw accuracy against a gap.

    Parameters
    ----------
    json
        Print the result as JSON on stdout.
    """
    from rich.table import Table

    result = accuracy_gap_curve(config)
    if json:
        print(result.to_json())
        return
    table = Table("strength", "accuracy", "macro-F1", "gap", "seeds", title=result.table["gap"][0])
    for row in result.table.to_dicts():
        cells = [f"{_number(row[f'{name}_mean'])} ± {_number(row[f'{name}_sd'])}" for name in ("accuracy", "macro_f1", "gap")]
        table.add_row(f"{row['strength']:g}", *cells, str(row["n_seeds"]))
    screen = console()
    screen.print(table)
    for path in result.files:
        screen.print(f"Wrote {path}", soft_wrap=True, highlight=False)


def build(config: Annotated[BuildConfig, Parameter(name="*")], json: bool = False) -> None:
    """Build a dataset's published layout from its raw public files.

    Parameters
    ----------
    json
        Print the counts as JSON on stdout.
    """
    _print_counts(build_graph(config), json)


def generate(config: Annotated[GenerateConfig, Parameter(name="*")], json: bool = False) -> None:
    """Make up a graph with the size and statistics of Alibaba or JD, in the published layout.

    Parameters
    ----------
    json
        Print the counts as JSON on stdout.
    """
    _print_counts(generate_graph(config), json)


def _print_counts(counts: dict[str, Any], json: bool) -> None:
    import json as json_module

    if json:
        print(json_module.dumps(counts))
        return
    for name, value in counts.items():
        print(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
