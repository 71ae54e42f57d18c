"""`fairwitness stereoset`: score a prediction file, evaluate a model, analyse the result."""

from typing import Annotated, Any

from cyclopts import Parameter

from fairwitness.audits.stereoset import StereosetConfig
from fairwitness.audits.stereoset_analyze import AnalyzeConfig
from fairwitness.audits.stereoset_score import ScoreConfig
from fairwitness.audits.stereoset_sensitivity import SensitivityConfig

_EVAL_DEFAULTS, _ANALYZE_DEFAULTS, _SENSITIVITY_DEFAULTS = StereosetConfig(), AnalyzeConfig(), SensitivityConfig()


def evaluate(config: Annotated[StereosetConfig, Parameter(name="*")] = _EVAL_DEFAULTS, *, json: bool = False) -> int:
    """Score StereoSet's items with a language model.

    Parameters
    ----------
    json
        Print JSON.
    """
    from fairwitness.audits.stereoset import stereoset
    from fairwitness.cli.failures import reasons

    result = stereoset(config)
    counts = result.facts["counts"]
    if json:
        print(result.to_json())
    else:
        show_cells(result.tables["cells"])
        print(
            f"{counts['scored']:,} of {counts['asked']:,} items scored, {counts['failed']} failed, {result.facts['seconds']:.1f} s."
        )
        for reason in reasons(result.files[0]):
            print(reason)
        print(f"Written: {', '.join(map(str, result.files))}")
    # Nothing scored is not an answer.
    return 0 if counts["scored"] else 3


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


def analyze(config: Annotated[AnalyzeConfig, Parameter(name="*")] = _ANALYZE_DEFAULTS, *, json: bool = False) -> None:
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


def sensitivity(config: Annotated[SensitivityConfig, Parameter(name="*")] = _SENSITIVITY_DEFAULTS, *, json: bool = False) -> None:
    """One model, the same items, every way of asking.

    Parameters
    ----------
    json
        Print JSON.
    """
    from fairwitness.audits.stereoset_sensitivity import sensitivity as run_sensitivity

    result = run_sensitivity(config)
    if json:
        print(result.to_json())
        return
    print(f"{'way':28} {'subset':14} {'items':>6}  {'LMS':21} {'SS':21} {'ICAT':21} agreement")
    for row in result.table.iter_rows(named=True):
        if row["error"]:
            print(f"{row['way']:28} {row['error']}")
            continue
        lms, ss, icat = (_with_interval(row[m], [row[f"{m}_low"], row[f"{m}_high"]]) for m in ("lms", "ss", "icat"))
        print(f"{row['way']:28} {row['subset']:14} {row['items']:>6}  {lms:21} {ss:21} {icat:21} {row['agreement']:.1f}%")


def show_cells(cells: Any) -> None:
    """The cells as lines on stdout: each number with its interval, then the words."""
    print("StereoSet, the authors' definition, with 95% intervals")
    _print_line("subset", "domain", "items", "LMS", "SS", "ICAT", "in words")
    for row in cells.iter_rows(named=True):
        lms, ss, icat = (_with_interval(row[m], [row[f"{m}_low"], row[f"{m}_high"]]) for m in ("lms", "ss", "icat"))
        _print_line(row["subset"], row["domain"], row["items"], lms, ss, icat, row["words"])


def _show_results(results: dict[str, Any]) -> None:
    print("StereoSet, the authors' definition, with 95% intervals")
    _print_line("subset", "domain", "items", "LM Score", "SS Score", "ICAT Score")
    for subset in ("intrasentence", "intersentence", "both"):
        for domain, cell in results.get(subset, {}).items():
            names = ("LM Score", "SS Score", "ICAT Score")
            lms, ss, icat = (_with_interval(cell[name], cell[f"{name} interval"]) for name in names)
            _print_line(subset, domain, cell["items"], lms, ss, icat)


def _print_line(subset: str, domain: str, items: object, lms: str, ss: str, icat: str, words: str = "") -> None:
    print(f"{subset:14} {domain:11} {items:>6}  {lms:21} {ss:21} {icat:21} {words}".rstrip())


def _with_interval(value: float | None, ends: list[float]) -> str:
    return "undefined" if value is None or value != value else f"{value:.2f} ({ends[0]:.1f}–{ends[1]:.1f})"


def _show_examples(domain: str, kind: str, examples: list[dict[str, Any]]) -> None:
    if examples:
        print(f"\n{domain}: surest choices of the {kind.replace('_', '-')}")
    for example in examples:
        print(f"  {example['context']}  (ahead by {example['confidence']:.4g})")
        for role, text in example["options"].items():
            mark = "→" if text == example["model_choice"] else " "
            print(f"   {mark} {role:16} {example['scores'][role]:12.5g}  {text}")
