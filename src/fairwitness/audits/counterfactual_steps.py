"""The first steps of the counterfactual audit, each from file to file: comments → templates → filled copies → scores.

Every step streams, resumes and seals its output in the run's folder. What the scores say is counterfactual_analysis.py's business.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.result import AuditResult
from fairwitness.datasets.counterfactual import sources
from fairwitness.datasets.counterfactual.clashing import Clashes
from fairwitness.datasets.counterfactual.expanding import Expander, roles
from fairwitness.datasets.counterfactual.lexicon import CATEGORIES, Lexicon, lexicon, read_lexicon
from fairwitness.engine.choose import map_parts
from fairwitness.engine.options import EngineOptions, check_engine
from fairwitness.errors import InputError, listing
from fairwitness.files import content_hash, file_hash
from fairwitness.models.pacing import seconds_for
from fairwitness.models.service import IN_DOUBT
from fairwitness.progress import progress, say
from fairwitness.scorers.by_name import ScorerSettings, TextScorer, scorer_by_name
from fairwitness.scorers.sentiment import labeller

_TEXT_COLUMNS = ("text", "comment_text", "comment", "Text", "phrase", "sentence")


@dataclass(frozen=True, kw_only=True)
class TemplatesConfig:
    """How comments become templates."""

    in_: Path | None = None
    """Comments (a table), templates in the study's format (.txt), Jigsaw's sentence templates, or HateCheck. Unset: our own 150."""
    out: Path = Path("counterfactual/templates.parquet")
    """Where the templates go."""
    text_col: str = ""
    """The column with the comments. Unset: text, comment_text, comment, whichever is there."""
    label_col: str = ""
    """A column of labels to carry along, for measuring mitigation: 0 and 1, or shares of annotators, which count from 0.5 on."""
    categories: tuple[str, ...] = CATEGORIES
    """Which identities to look for: disability gender race religion sexual_orientation."""
    lexicon: tuple[str, ...] = ()
    """Your own lexicon files; one whose category is new is added, one of a known category replaces ours."""
    sentiment: str = "vader"
    """Who labels the sentiment where the file does not: vader, or the name of a Hugging Face classifier."""
    mixed: bool = False
    """Also take comments that name several groups of one category."""
    intersections: bool = False
    """Also make templates with the slots of two categories, where a comment speaks of both."""
    max_rows: int | None = None
    """Read only so many rows."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


@dataclass(frozen=True, kw_only=True)
class ExpandConfig:
    """How templates are filled."""

    in_: Path
    """Templates: the output of `templates`, or a file in the study's format (.txt)."""
    out: Path = Path("counterfactual/expanded.parquet")
    """Where the filled texts go."""
    categories: tuple[str, ...] = ()
    """Only templates of these categories. Unset: all."""
    lexicon: tuple[str, ...] = ()
    """Your own lexicon files, as for `templates`."""
    sample: int | None = None
    """Only so many templates for each category and sentiment, drawn by content."""
    plausible_only: bool = False
    """Leave out variants that contradict themselves, such as "my lesbian brother". Unset: every template × every group."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(EngineOptions):
    """Which scorer sees the texts."""

    in_: Path
    """The filled texts: the output of `expand`."""
    out: Path = Path("counterfactual/scores.parquet")
    """Where the scores go."""
    scorer: str = "profanity"
    """profanity, zero_shot:MODEL, hf:MODEL, perspective, openai-moderation, http:FILE.toml, cassette:FILE, calibrated:FILE."""
    threshold: float = 0.5
    """A score from here on counts as toxic (`pred`)."""
    qps: float | None = None
    """Requests a second that the service allows. Unset: PERSPECTIVE_API_QPS, else 1 for Perspective."""
    attributes: tuple[str, ...] = ()
    """Perspective's attributes; the first is the score."""
    languages: tuple[str, ...] = ("en",)
    """Languages of the texts, for Perspective."""
    allow_store: bool = False
    """Let Perspective keep the texts (doNotStore is sent otherwise)."""
    truncate: bool = False
    """Cut texts over Perspective's 20,480 bytes instead of leaving them unscored."""
    url: str = ""
    """Another address that speaks Perspective's language."""
    ask: str = "once"
    """A text that was on its way to a service when an earlier run was killed: once leaves it unscored, again asks once more."""
    device: str = "auto"
    """cpu, cuda, or auto, for models that run here."""
    task: str = "toxicity"
    """What zero_shot is asked: toxicity, hate, offense."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""

    def settings(self) -> ScorerSettings:
        """What concerns the scorer."""
        names = ("qps", "attributes", "languages", "allow_store", "truncate", "url", "device", "task", "ask")
        return ScorerSettings(**{name: getattr(self, name) for name in names})


def make_templates(config: TemplatesConfig) -> AuditResult:
    """Templates from comments or from a file of templates, each with its sentiment and where it came from."""
    own = own_lexicons(config.lexicon)
    words = [lexicon(name, own) for name in dict.fromkeys((*config.categories, *(each.category for each in own)))]
    question = {"step": "templates", **_plain(config), "lexicons": content_hash(*map(_content, words))}
    data = {} if config.in_ is None else {str(config.in_): file_hash(_existing(config.in_))}
    inputs = {"in": config.in_}
    with runs.open_run(config.out, "counterfactual templates", question, restart=config.restart, data=data, inputs=inputs) as run:
        if run.sealed:
            return AuditResult({"templates": tables.read(config.out)}, _facts(run), [config.out])
        left = sources.Left()
        found = _read_templates(config, words, own, left)
        if found.is_empty():
            raise InputError(f"No template came out of {config.in_}: {_reasons(left)}. Are the --categories right?")
        found = sources.with_sentiment(found, labeller(config.sentiment), config.sentiment, own)
        tables.write(found, config.out)
        run.seal([config.out], {"asked": found.height, "scored": found.height, "failed": 0}, left_out=left.counts)
        return AuditResult({"templates": found}, _facts(run), [config.out])


def expand(config: ExpandConfig) -> AuditResult:
    """Every template × every group of its category, and the control."""
    own = own_lexicons(config.lexicon)
    templates = read_templates(config.in_, own)
    if config.categories:
        known = templates["category"].unique().to_list()
        for name in config.categories:
            if name not in known:
                raise InputError(f"{config.in_} has no template of the category '{name}'. It has: {listing(sorted(known))}.")
        templates = templates.filter(pl.col("category").is_in(config.categories))
    if config.sample is not None:
        templates = stratified(templates, config.sample)
    question = {"step": "expand", **_plain(config), "templates": content_hash(*templates["unit"].to_list()), "code": 1}
    with runs.open_run(config.out, "counterfactual expand", question, restart=config.restart, inputs={"in": config.in_}) as run:
        if not run.sealed:
            count, left = 0, sources.Left()
            with tables.writer(config.out) as append:
                for piece in expanded_pieces(templates, own, left=left if config.plausible_only else None):
                    append(piece)
                    count += piece.height
            counts = {"asked": count, "scored": count, "failed": 0}
            run.seal([config.out], counts, templates=templates.height, left_out=left.counts)
        return AuditResult({"expanded": tables.read(config.out, rows=1000)}, _facts(run), [config.out])


def score(config: ScoreConfig) -> AuditResult:
    """Score every text. Answers are kept as they come; a killed run goes on where it stopped."""
    check_engine(config)
    check_columns(config.in_, ("text", "unit", "role"))
    scorer = scorer_by_name(config.scorer, config.settings())
    question = {"step": "score", "scorer": scorer.identity, "threshold": config.threshold}
    data = {str(config.in_): file_hash(config.in_)}
    question["texts"] = data[str(config.in_)]
    inputs = {"in": config.in_}
    with runs.open_run(config.out, "counterfactual score", question, restart=config.restart, data=data, inputs=inputs) as run:
        if not run.sealed:
            budget = budget_of(scorer, config.in_)
            if budget["line"]:
                say(budget["line"])
            counts = _score_into(config, scorer, run)
            if doubtful := counts.pop("in_doubt"):
                say(
                    f"{doubtful:,} texts were on their way when an earlier run was killed and may have been paid for; they are "
                    "unscored. To ask them once more: --ask again --restart (everything else comes from the cache)."
                )
            calls = getattr(scorer.inner, "calls", None)
            run.seal([config.out], counts, budget=budget, ledger=calls.ledger.as_dict() if calls else {}, scorer=config.scorer)
        return AuditResult({"scores": tables.read(config.out, rows=1000)}, _facts(run), [config.out])


def expanded_pieces(
    templates: pl.DataFrame, own: Sequence[Lexicon] = (), *, rows: int = 20_000, left: sources.Left | None = None
) -> Iterator[pl.DataFrame]:
    """The filled texts as example rows, a piece at a time: templates in file order within each category.

    With `left`, a variant that contradicts itself ("a lesbian man") is left out and counted, unless the comment was written so.
    """
    expanders: dict[str, tuple[Expander, Clashes]] = {}
    for start in range(0, templates.height, rows):
        for (category,), some in (
            templates[start : start + rows].partition_by("category", as_dict=True, maintain_order=True).items()
        ):
            if category not in expanders:
                words = lexicon(category, own)
                expanders[category] = Expander(words), Clashes(words)
            expander, clashes = expanders[category]
            made = _expand_frame(some, expander)
            yield made if left is None else _plausible(made, clashes, left)


def stratified(templates: pl.DataFrame, size: int) -> pl.DataFrame:
    """So many templates for each category and sentiment, drawn by their content so that the same ones come out every time."""
    if size < 1:
        raise InputError(f"--sample is {size}; it must be at least 1.")
    order = templates.with_row_index("_row").sort("unit")
    return (
        order.group_by("category", "sentiment", maintain_order=True).head(size).sort("_row").drop("_row").select(templates.columns)
    )


def read_templates(path: Path, own: Sequence[Lexicon] = ()) -> pl.DataFrame:
    """A table of templates, or a file in the study's format; sentiments that are missing are labelled with VADER."""
    kind = sources.detect_format(_existing(path))
    if kind == "seed":
        return sources.with_sentiment(sources.read_seed_file(path, own), labeller("vader"), "vader", own)
    if kind != "templates":
        raise InputError(f"{path} holds {kind}, not templates. Make them first: fairwitness counterfactual templates --in {path}")
    return tables.read(path)


def budget_of(scorer: TextScorer, path: Path) -> dict[str, Any]:
    """What scoring will ask of a service: calls, those answered before, the time at this quota, and a sample's cost."""
    calls = getattr(scorer.inner, "calls", None)
    if calls is None:
        return {"line": "", "calls": 0}
    texts = tables.read(path, ["text"])["text"].unique(maintain_order=True).to_list()
    asked, known = calls.budget([scorer.inner.request(text) for text in texts if text])
    sampled = _sampled_texts(path, 10)
    limits = calls.client.limits
    seconds = seconds_for(asked - known, per_minute=limits.per_minute, qps=limits.qps)
    sample_seconds = seconds_for(min(sampled, asked), per_minute=limits.per_minute, qps=limits.qps)
    line = (
        f"{len(texts):,} different texts for {scorer.name}: {known:,} answered before, {asked - known:,} calls to make"
        f"{_time(seconds)}. With --sample 10 (templates a category and sentiment): at most {min(sampled, asked):,} calls"
        f"{_time(sample_seconds)}."
    )
    return {
        "line": line,
        "texts": len(texts),
        "calls": asked - known,
        "answered_before": known,
        "seconds": seconds,
        "sample_calls": sampled,
    }


def _sampled_texts(path: Path, size: int) -> int:
    """How many texts a sample of so many templates for each category and sentiment has; a table without those is one stratum."""
    by = [name for name in ("category", "sentiment") if name in tables.columns_of(path)]
    strata = tables.read(path, ["unit", "role", *by]).with_columns(pl.lit(0).alias("_all"))
    counted = strata.group_by(by or ["_all"]).agg(units=pl.col("unit").n_unique(), roles=pl.col("role").n_unique())
    return int(counted.select((pl.min_horizontal("units", size) * pl.col("roles")).sum()).item())


def _content(lexicon: Lexicon) -> str:
    """A lexicon as text that is the same in every process: sets have no order of their own, so they get one."""

    def plain(value: Any) -> Any:
        return sorted(value) if isinstance(value, set | frozenset) else repr(value)

    return json.dumps(asdict(lexicon), sort_keys=True, default=plain)


def own_lexicons(paths: Sequence[str]) -> list[Lexicon]:
    """The user's own lexicons; two of one category are an error."""
    found = [read_lexicon(Path(path)) for path in paths]
    names = [each.category for each in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"Two of the --lexicon files are of the category '{twice[0]}'. Keep one of them.")
    return found


def check_columns(path: Path, wanted: Sequence[str]) -> None:
    """Refuse a table without these columns, naming what makes one."""
    tables.require_columns(tables.columns_of(_existing(path)), wanted, path)


def _read_templates(config: TemplatesConfig, words: list[Lexicon], own: list[Lexicon], left: sources.Left) -> pl.DataFrame:
    if config.in_ is None:
        return sources.built_in_templates([each.category for each in words if each.category in CATEGORIES])
    kind = sources.detect_format(_existing(config.in_))
    if kind == "seed":
        return sources.read_seed_file(config.in_, own)
    if kind == "templates":
        return tables.read(config.in_)
    if kind == "hatecheck":
        return sources.read_hatecheck(config.in_, left=left)
    if kind == "jigsaw":
        return sources.read_jigsaw(config.in_, left=left)
    return _from_comments(config, words, left)


def _from_comments(config: TemplatesConfig, words: list[Lexicon], left: sources.Left) -> pl.DataFrame:
    assert config.in_ is not None
    columns = tables.columns_of(config.in_)
    text = config.text_col or next((name for name in _TEXT_COLUMNS if name in columns), "text")
    wanted = [text, *([config.label_col] if config.label_col else [])]
    tables.require_columns(columns, [text], config.in_, flag="--text_col")
    tables.require_columns(columns, wanted, config.in_, flag="--label_col")
    frame = tables.read(config.in_, wanted, rows=config.max_rows)
    labels = _labels(frame[config.label_col], config.in_) if config.label_col else [None] * frame.height
    comments = zip(range(frame.height), frame[text].cast(pl.String).to_list(), labels, strict=True)
    return sources.templates_from_comments(
        comments, words, source=config.in_.name, left=left, mixed=config.mixed, intersections=config.intersections
    )


def _labels(column: pl.Series, path: Path) -> list[float | None]:
    """Labels of 0 and 1. A share of annotators becomes 1 from a half on, as such columns usually are; others are refused."""
    labels = column.cast(pl.Float64, strict=False).fill_nan(None)
    example = column.filter(column.is_not_null() & (labels.is_null() | ~labels.is_between(0, 1))).head(1).to_list()
    if example:
        raise InputError(f"--label_col {column.name} of {path} holds {example[0]!r}; 0 and 1 (or shares in between) were expected.")
    if not labels.drop_nulls().is_in([0.0, 1.0]).all():
        say(f"--label_col {column.name} holds shares; from 0.5 on they count as 1.")
    return (labels >= 0.5).cast(pl.Float64).to_list()


def _plausible(made: pl.DataFrame, clashes: Clashes, left: sources.Left) -> pl.DataFrame:
    """Without the variants that contradict themselves; what the comment's author wrote stays."""
    written = made["original_group"] if "original_group" in made.columns else [None] * made.height
    rows = zip(made["role"], made["text"], written, strict=True)
    reasons = ["" if role == own else clashes.reason(role, text) for role, text, own in rows]
    for reason in filter(None, reasons):
        left.add(reason)
    return made.filter(pl.Series([not reason for reason in reasons], dtype=pl.Boolean))


def _expand_frame(templates: pl.DataFrame, expander: Expander) -> pl.DataFrame:
    names = roles(expander.lexicon)
    texts: list[str] = []
    notes: list[str] = []
    for unit, template in templates.select("unit", "template").iter_rows():
        filled, put = expander.expand(template, where=f"template {unit}")
        texts += filled
        notes += put
    repeated = templates[np.repeat(np.arange(templates.height), len(names))]
    role = pl.Series("role", names * templates.height, dtype=pl.String)
    kept = [name for name in ("category", "sentiment", "label", "original_group") if name in templates.columns]
    return (
        repeated.select("unit", *kept, "template")
        .with_columns(role, text=pl.Series(texts), substitutions=pl.Series(notes))
        .select(
            pl.concat_str("unit", pl.lit("/"), pl.when(pl.col("role") == "").then(pl.lit("control")).otherwise("role")).alias("id"),
            "text",
            "unit",
            "role",
            *kept,
            "substitutions",
            "template",
        )
    )


def _score_into(config: ScoreConfig, scorer: TextScorer, run: runs.Run) -> dict[str, int]:
    total, failed, in_doubt = tables.count_rows(config.in_), 0, 0
    kept = [name for name in tables.columns_of(config.in_) if name not in ("score", "pred", "error")]
    size = scorer.rows_per_part
    # The texts are read once to be scored and the rows once more to be written: an engine may ask for all texts before it answers.
    work = (piece["text"].to_list() for piece in tables.batches(config.in_, ["text"], rows=size))
    rows = tables.batches(config.in_, kept, rows=size)
    with tables.writer(config.out) as append, progress(f"scoring with {scorer.name}", total) as advance:
        for piece, scored in zip(rows, map_parts(scorer, work, run.parts, options=config, advance=advance), strict=True):
            failed += scored["error"].count()
            in_doubt += int((scored["error"] == IN_DOUBT).sum())
            pred = (pl.col("score") >= config.threshold).cast(pl.Int8)
            append(pl.concat([piece, _columns(scored)], how="horizontal").with_columns(pred=pred))
    return {"asked": total, "scored": total - failed, "failed": failed, "in_doubt": in_doubt}


def _columns(scored: pl.DataFrame) -> pl.DataFrame:
    """Score and error first; a part with nothing but errors may have null-typed columns, which no file could append to."""
    parts = [name for name in scored.columns if name not in ("score", "error")]
    casts = {name: pl.Float64 for name in parts if scored[name].dtype in (pl.Null, pl.Float32) or scored[name].dtype.is_integer()}
    return scored.select("score", "error", *parts).cast(casts)  # type: ignore[arg-type]


def _plain(config: Any) -> dict[str, Any]:
    hidden = ("out", "restart", "in_")
    return {name: value for name, value in vars(config).items() if name not in hidden} | {"in": str(config.in_)}


def _existing(path: Path) -> Path:
    from fairwitness.files import require_file

    return require_file(Path(path))


def _facts(run: runs.Run) -> dict[str, Any]:
    return {name: run.entry[name] for name in run.entry if name not in ("question", "versions", "command", "data")}


def _reasons(left: sources.Left) -> str:
    return ", ".join(f"{count} × {reason}" for reason, count in left.counts.items()) or "it has no rows"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for name, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f" (about {seconds / length:.1f} {name} at this quota)"
    return f" (about {seconds:.0f} s at this quota)"
