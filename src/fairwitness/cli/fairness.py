"""`fairwitness fairness`: rates, gaps and bias AUCs of a file of predictions, by group."""

from typing import Annotated, Any

from cyclopts import Parameter

from fairwitness.audits.fairness import FairnessConfig, audit_fairness
from fairwitness.audits.fairness_result import FairnessResult
from fairwitness.progress import say


def fairness(config: Annotated[FairnessConfig, Parameter(name="*")], json: bool = False) -> None:
    """Rates, gaps and bias AUCs by group, each with its interval, from predictions that already exist.

    Parameters
    ----------
    json
        Print the result as JSON on stdout.
    """
    result = audit_fairness(config)
    for note in result.facts["notes"]:
        say(note)
    if json:
        print(result.to_json())
    else:
        _show(result)


def _show(result: FairnessResult) -> None:
    from rich.console import Console

    console = Console()
    facts = result.facts
    console.print(
        f"{facts['n_measured']:,} rows measured, {facts['n_failed']:,} failed, {facts['n_unlabelled']:,} without a label."
    )
    if result.per_identity.height:
        console.print(_gap_table(result))
    if result.multigroup.height:
        console.print(_spread_table(result))
    if "jigsaw_final" in facts and facts["overall_auc"] is not None:
        console.print(f"Overall AUC {facts['overall_auc']:.4f}; Jigsaw final metric {_number(facts['jigsaw_final'])}.")
    for path in result.files:
        console.print(f"Wrote {path}", soft_wrap=True, highlight=False)


def _gap_table(result: FairnessResult) -> Any:
    from rich.table import Table

    table = Table(
        "identity", "members", "SPD", "interval", "p adj.", "EOpp", "interval", "p adj.", title="Gaps: members − the rest"
    )
    for row in result.per_identity.to_dicts():
        cells = [row["identity"], f"{row['n_A1']:,}" + (" (skipped)" if row["skipped"] else "")]
        for gap in ("SPD", "EOpp_diff"):
            cells += [_number(row[gap]), _interval(row[f"{gap}_low"], row[f"{gap}_high"]), _number(row[f"{gap}_p_adjusted"])]
        table.add_row(*cells)
    return table


def _spread_table(result: FairnessResult) -> Any:
    from rich.table import Table

    table = Table("attribute", "metric", "class", "worst pair", "spread", "interval", title="Largest minus smallest group")
    shown = ("statistical_parity_spread", "equal_opportunity_spread", "group_accuracy_spread")
    for row in result.multigroup.to_dicts():
        if row["metric"] in shown:
            ends = _interval(row["low"], row["high"])
            table.add_row(row["attribute"], row["metric"], row["class"] or "", row["group"] or "", _number(row["value"]), ends)
    return table


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.4f}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} … {high:.3f}"
