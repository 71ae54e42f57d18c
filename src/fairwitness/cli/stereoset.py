"""`fairwitness stereoset`: score a prediction file, evaluate a model, analyse the result."""

from typing import Annotated, Any

from cyclopts import Parameter

from fairwitness.audits.stereoset_analyze import AnalyzeConfig
from fairwitness.audits.stereoset_score import ScoreConfig


def score(config: Annotated[ScoreConfig, Parameter(name="*")], *, json: bool = False) -> None:
    """Official numbers from a prediction file in the authors' format.

    Parameters
    ----------
    json
        Print JSON.
    """
    from fairwitness.audits.stereoset_score import score_predictions

    result = score_predictions(config)
    if json:
        print(result.to_json())
        return
    _show_results(result.facts)
    coverage = result.facts["coverage"]
    print(f"{coverage['items_complete']:,} of {coverage['items']:,} items scored. Written: {', '.join(map(str, result.files))}")


def analyze(config: Annotated[AnalyzeConfig, Parameter(name="*")], *, json: bool = False) -> None:
    """Tables, words, examples and charts from a result CSV.

    Parameters
    ----------
    json
        Print JSON.
    """
    from fairwitness.audits.stereoset_analyze import analyze as run_analysis

    result = run_analysis(config)
    if json:
        print(result.to_json())
        return
    show_cells(result.tables["cells"])
    if result.facts["failed"]:
        print(f"{result.facts['failed']} items could not be scored and take no part.")
    for domain, kinds in result.facts["bias_examples"].items():
        for kind, examples in kinds.items():
            _show_examples(domain, kind, examples)
    print(f"Written: {', '.join(map(str, result.files))}")


def show_cells(cells: Any) -> None:
    """The cells as a table on stdout, each number with its interval, and the words."""
    from rich.console import Console
    from rich.table import Table

    table = Table("subset", "domain", "items", "LMS", "SS", "ICAT", "in words", title="StereoSet, reference definition (95% intervals)")
    for row in cells.iter_rows(named=True):
        shown = [f"{row[m]:.1f} ({row[f'{m}_low']:.1f}–{row[f'{m}_high']:.1f})" for m in ("lms", "ss", "icat")]
        table.add_row(row["subset"], row["domain"], str(row["items"]), *shown, row["words"])
    Console(width=None).print(table)


def _show_results(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("subset", "domain", "items", "LM Score", "SS Score", "ICAT Score", title="StereoSet, the authors' definition (95% intervals)")
    for subset in ("intrasentence", "intersentence", "both"):
        for domain, cell in results.get(subset, {}).items():
            shown = [_with_interval(cell[name], cell[f"{name} interval"]) for name in ("LM Score", "SS Score", "ICAT Score")]
            table.add_row(subset, domain, str(cell["items"]), *shown)
    Console(width=None).print(table)


def _with_interval(value: float | None, ends: list[float]) -> str:
    return "undefined" if value is None else f"{value:.2f} ({ends[0]:.1f}–{ends[1]:.1f})"


def _show_examples(domain: str, kind: str, examples: list[dict[str, Any]]) -> None:
    if examples:
        print(f"\n{domain}: surest choices of the {kind.replace('_', '-')}")
    for example in examples:
        print(f"  {example['context']}  (ahead by {example['confidence']:.4g})")
        for role, text in example["options"].items():
            mark = "→" if text == example["model_choice"] else " "
            print(f"   {mark} {role:16} {example['scores'][role]:12.5g}  {text}")
