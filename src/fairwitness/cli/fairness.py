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
    from fairwitness.cli.printed import console

    screen = console()
    facts = result.facts
    screen.print(f"{facts['n_measured']:,} rows measured, {facts['n_failed']:,} failed, {facts['n_unlabelled']:,} without a label.")
    if result.per_identity.height:
        screen.print(_gap_table(result))
    if result.multigroup.height:
        screen.print(_spread_table(result))
    if "jigsaw_final" in facts and facts["overall_auc"] is not None:
        ends = _interval(facts["overall_auc_low"], facts["overall_auc_high"])
        screen.print(f"Overall AUC {facts['overall_auc']:.4f} {ends}; {_final(facts)}.")
    for path in result.files:
        screen.print(f"Wrote {path}", soft_wrap=True, highlight=False)


def _final(facts: dict[str, Any]) -> str:
    if facts["jigsaw_final"] is None:
        return "the Jigsaw final metric is undefined: no identity has all three AUCs and enough rows"
    ends = _interval(facts["jigsaw_final_low"], facts["jigsaw_final_high"])
    return f"Jigsaw final metric {facts['jigsaw_final']:.4f} {ends} over {facts['jigsaw_identities']} identities"


def _gap_table(result: FairnessResult) -> Any:
    from rich.table import Table

    table = Table(title="Gaps: members − the rest (interval), p adjusted for all tests", box=None, pad_edge=False)
    for name in ("identity", "members", "SPD", "p", "EOpp", "p"):
        if name == "identity":
            table.add_column(name, no_wrap=True, min_width=10, overflow="ellipsis")
        else:
            table.add_column(name, justify="right", no_wrap=True, min_width=5 if name == "p" else None)
    for row in result.per_identity.to_dicts():
        cells = [row["identity"], f"{row['n_A1']:,}"]
        if row["skipped"]:
            cells.append("skipped: too few rows")
        else:
            for gap in ("SPD", "EOpp_diff"):
                ends = _interval(row[f"{gap}_low"], row[f"{gap}_high"])
                cells += [f"{_number(row[gap])} {ends}", _chance(row[f"{gap}_p_adjusted"])]
        table.add_row(*cells)
    return table


def _spread_table(result: FairnessResult) -> Any:
    from rich.table import Table

    table = Table(
        "attribute", "metric", "class", "worst pair", "spread", title="Largest − smallest group", box=None, pad_edge=False
    )
    shown = {"statistical_parity_spread": "parity", "equal_opportunity_spread": "recall", "group_accuracy_spread": "accuracy"}
    for row in result.multigroup.to_dicts():
        if row["metric"] in shown:
            value = f"{_number(row['value'])} {_interval(row['low'], row['high'])}"
            table.add_row(row["attribute"], shown[row["metric"]], row["class"] or "", row["group"] or "", value)
    return table


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.3f}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"({low:.2f}, {high:.2f})"


def _chance(p: float | None) -> str:
    return "" if p is None else "<.001" if p < 0.001 else f"{p:.3f}"
