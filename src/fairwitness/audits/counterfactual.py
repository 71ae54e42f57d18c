"""The counterfactual audit from a comments file to the report, and its analysis alone.

    templates → expand → score → analyze → report.html

The steps up to the scores are in counterfactual_templates.py, counterfactual_expand.py and counterfactual_score.py, the arithmetic
after them in counterfactual_analysis.py.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.counterfactual_analysis import CONTROL_NAME, analysis
from fairwitness.audits.counterfactual_expand import ExpandConfig, expand
from fairwitness.audits.counterfactual_score import ScoreConfig, score
from fairwitness.audits.counterfactual_steps import check_columns
from fairwitness.audits.counterfactual_templates import TemplatesConfig, make_templates
from fairwitness.audits.result import AuditResult
from fairwitness.datasets.counterfactual.lexicon import CATEGORIES
from fairwitness.engine.options import EngineOptions
from fairwitness.errors import InputError
from fairwitness.files import file_hash
from fairwitness.metrics.paired import EPSILON, Comparison
from fairwitness.options import Options, require_config
from fairwitness.scorers.service_options import ServiceOptions

_OPTIONAL = ("category", "sentiment", "label", "original_group", "text", "error")
TABLES = ("by_group", "pairs", "against_control", "differences", "ratios", "worst", "mitigation", "measurements")


@dataclass(frozen=True, kw_only=True)
class AnalyzeConfig(Options):
    """What is asked of the scores."""

    in_: Path
    """The scores: the output of `score`."""
    out: Path | None = None
    """The measurements table; other tables, charts and report.html go beside it. Unset: measurements.parquet beside the scores."""
    epsilon: float = EPSILON
    """From this difference on two groups count as treated differently in a template."""
    threshold: float = 0.5
    """A score from here on counts as toxic: for flips and mitigation."""
    resamples: int = 1000
    """Bootstrap resamples for the intervals."""
    seed: int = 0
    """Seed of the resampling."""
    worst: int = 10
    """How many of the worst templates are listed for each category."""
    charts: bool = True
    """Draw the charts and the page; --charts False leaves them out."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


@dataclass(frozen=True, kw_only=True)
class CounterfactualConfig(ServiceOptions, EngineOptions):
    """The whole audit."""

    in_: Path | None = None
    """Comments (a table), templates in the study's format (.txt), Jigsaw's sentence templates, or HateCheck. Unset: our own 150."""
    out: Path = Path("runs/counterfactual")
    """The run's folder."""
    scorer: str = "profanity"
    """profanity, zero_shot:MODEL, hf:MODEL, perspective, openai-moderation, http:FILE.toml, cassette:FILE, calibrated:FILE."""
    text_col: str = ""
    """The column with the comments. Unset: text, comment_text, comment, whichever is there."""
    label_col: str = ""
    """A column of labels to measure mitigation with: 0 and 1, or shares of annotators, which count from 0.5 on."""
    categories: tuple[str, ...] = CATEGORIES
    """Which identities to look for: disability gender race religion sexual_orientation."""
    lexicon: tuple[str, ...] = ()
    """Your own lexicon files."""
    sentiment: str = "vader"
    """Who labels the sentiment where the file does not: vader, or the name of a Hugging Face classifier."""
    mixed: bool = False
    """Also take comments that name several groups of one category."""
    plausible_only: bool = False
    """Leave out variants that contradict themselves, such as "my lesbian brother". Unset: every template × every group."""
    intersections: bool = False
    """Also make templates with the slots of two categories, where a comment speaks of both."""
    max_rows: int | None = None
    """Read only so many comments."""
    sample: int | None = None
    """Only so many templates for each category and sentiment."""
    device: str = "auto"
    """cpu, cuda, or auto, for models that run here."""
    task: str = "toxicity"
    """What zero_shot is asked: toxicity, hate, offense."""
    epsilon: float = EPSILON
    """From this difference on two groups count as treated differently in a template."""
    threshold: float = 0.5
    """A score from here on counts as toxic."""
    resamples: int = 1000
    """Bootstrap resamples for the intervals."""
    seed: int = 0
    """Seed of the resampling."""
    charts: bool = True
    """Draw the charts and the page; --charts False leaves them out."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


def counterfactual(config: CounterfactualConfig | None = None) -> AuditResult:
    """From comments (or our own templates) to the report: templates, expansion, scores, analysis, charts, report.html."""
    config = CounterfactualConfig() if config is None else config
    require_config(config, CounterfactualConfig)
    if config.out.suffix[1:].isalpha() and not config.out.is_dir():
        raise InputError(
            f"--out {config.out} is the run's folder here, not a file. For example: --out {config.out.with_suffix('')}"
        )
    files = {name: config.out / f"{name}.parquet" for name in ("templates", "expanded", "scores", "measurements")}
    make_templates(_take(TemplatesConfig, config, in_=config.in_, out=files["templates"]))
    # The templates are of the asked categories already, and of crossed ones, which have names of their own.
    expand(_take(ExpandConfig, config, in_=files["templates"], out=files["expanded"], categories=()))
    score(_take(ScoreConfig, config, in_=files["expanded"], out=files["scores"]))
    return analyze(_take(AnalyzeConfig, config, in_=files["scores"], out=files["measurements"]))


def analyze(config: AnalyzeConfig) -> AuditResult:
    """Every table of the analysis, the charts and the page, from a file of scores."""
    check_columns(config.in_, ("unit", "role", "score"))
    out = config.out or config.in_.parent / "measurements.parquet"
    how = Comparison(config.epsilon, config.threshold, config.resamples, seed=config.seed)
    _check(config)
    data = {str(config.in_): file_hash(config.in_)}
    question = {"step": "analyze", **vars(how), "worst": config.worst, "charts": config.charts, "scores": data[str(config.in_)]}
    with runs.open_run(
        out, "counterfactual analyze", question, restart=config.restart, data=data, inputs={"in": config.in_}
    ) as run:
        scores = read_scores(config.in_)
        found = analysis(scores, how, worst=config.worst)
        files = [out, *(out.parent / f"{name}.csv" for name in TABLES if name != "measurements" and found[name].height)]
        if not run.sealed:
            tables.write(found["measurements"], out)
            for path in files[1:]:
                tables.write(found[path.stem], path)
            scorer = runs.read_manifest(out.parent).get(config.in_.stem, {}).get("scorer", "")
            drawn = _draw(out.parent, scores, found) if config.charts else []
            failed = int(scores["error"].count())
            counts = {"asked": scores.height, "scored": scores.height - failed, "failed": failed}
            run.seal([*files, *drawn], counts, headline=headline(found), scorer=scorer)
        written = [out.parent / name for name in run.entry["outputs"]]
        facts = {"headline": run.entry["headline"], **run.entry["counts"]}
        report = [_report(out.parent)] if config.charts else []
        return AuditResult({"measurements": found.pop("measurements"), **found}, facts, [*written, *report])


def read_scores(path: Path) -> pl.DataFrame:
    """The columns of a scores file that the analysis needs; what an older or foreign file lacks is filled in."""
    present = tables.columns_of(path)
    wanted = ["unit", "role", "score", *(name for name in _OPTIONAL if name in present)]
    frame = tables.read(path, wanted)
    number = frame["score"].cast(pl.Float64, strict=False)
    if number.null_count() > frame["score"].null_count():
        row = int((number.is_null() & frame["score"].is_not_null()).arg_max() or 0) + 1
        raise InputError(
            f"Column 'score' of {path} holds something that is no number, first in row {row}. Leave failed rows empty."
        )
    words = [name for name in ("unit", "role", "category", "sentiment", "error") if name in present]
    frame = frame.with_columns(number, pl.col(words).cast(pl.String))
    defaults: dict[str, Any] = {"category": pl.lit("all"), "sentiment": pl.lit(None, pl.String), "error": pl.lit(None, pl.String)}
    frame = frame.with_columns(**{name: value for name, value in defaults.items() if name not in present})
    outside = ~pl.col("score").is_between(0, 1) & pl.col("error").is_null()
    wrong = pl.format("score {} is outside [0, 1]", "score")
    frame = frame.with_columns(pl.col("role").fill_null(""), pl.col("score").cast(pl.Float64))
    return frame.with_columns(error=pl.when(outside).then(wrong).otherwise("error"))


def headline(found: dict[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """For each category the widest gap between two groups that is sure to the adjusted 5 % level, and the largest share apart."""
    groups = found["pairs"].filter((pl.col("sentiment") == "all") & (pl.col("a") != CONTROL_NAME) & (pl.col("b") != CONTROL_NAME))
    rows = []
    for some in groups.partition_by("category", maintain_order=True):
        widest = some.sort("difference", descending=True, nulls_last=True).row(0, named=True)
        kept = ("category", "a", "b", "difference", "low", "high", "p_adjusted", "share_apart", "flip_rate", "n")
        rows.append({name: widest[name] for name in kept})
    return rows


def _take(kind: Any, config: CounterfactualConfig, **given: Any) -> Any:
    """A step's configuration, from the fields it shares with the whole."""
    shared = {field.name: getattr(config, field.name) for field in fields(kind) if hasattr(config, field.name)}
    return kind(**(shared | given))


def _check(config: AnalyzeConfig) -> None:
    for name, low, high in (("epsilon", 0, 1), ("threshold", 0, 1)):
        if not low < getattr(config, name) <= high:
            raise InputError(f"--{name} is {getattr(config, name):g}; a number above {low} and up to {high} was expected.")
    if config.resamples < 100:
        raise InputError(f"--resamples is {config.resamples}; at least 100 are needed for an interval.")


def _draw(folder: Path, scores: pl.DataFrame, found: dict[str, pl.DataFrame]) -> list[Path]:
    from fairwitness.report import counterfactual_charts as charts

    drawn: list[Path] = []
    for category in found["by_group"]["category"].unique(maintain_order=True).to_list():
        stem = f"{category.replace('*', '_x_')}"
        drawn += [
            charts.means_chart(found["by_group"], category, folder / f"{stem}_means.png"),
            charts.gaps_chart(found["pairs"], category, folder / f"{stem}_gaps.png"),
            charts.lines_chart(scores, category, folder / f"{stem}_lines.png"),
        ]
    if found["mitigation"].height:
        drawn.append(charts.mitigation_chart(found["mitigation"], folder / "mitigation.png"))
    return drawn


def _report(folder: Path) -> Path:
    """The page over the folder. It is made from what was sealed, so it is written after that and whenever it is asked for."""
    from fairwitness.audits.reporting import ReportConfig, write_report

    return write_report([folder], ReportConfig(out=folder / "report.html", title="Counterfactual audit"))
