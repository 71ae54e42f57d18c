"""The first step of the counterfactual audit: comments, or a file of templates → templates with their sentiment."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.counterfactual_steps import asked, facts_of
from fairwitness.audits.result import AuditResult
from fairwitness.datasets.counterfactual import sources
from fairwitness.datasets.counterfactual.lexicon import CATEGORIES, Lexicon, lexicon, read_lexicon
from fairwitness.errors import InputError
from fairwitness.files import content_hash, require_file
from fairwitness.options import Options
from fairwitness.progress import say
from fairwitness.scorers.sentiment import labeller

_TEXT_COLUMNS = ("text", "comment_text", "comment", "Text", "phrase", "sentence")


@dataclass(frozen=True, kw_only=True)
class TemplatesConfig(Options):
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


def make_templates(config: TemplatesConfig) -> AuditResult:
    """Templates from comments or from a file of templates, each with its sentiment and where it came from."""
    own = own_lexicons(config.lexicon)
    words = [lexicon(name, own) for name in dict.fromkeys((*config.categories, *(each.category for each in own)))]
    question = {"step": "templates", **asked(config), "lexicons": content_hash(*map(_content, words))}
    data = {} if config.in_ is None else {str(config.in_): question["in"]}
    inputs = {"in": config.in_}
    with runs.open_run(config.out, "counterfactual templates", question, restart=config.restart, data=data, inputs=inputs) as run:
        if run.sealed:
            return AuditResult({"templates": tables.read(config.out)}, facts_of(run), [config.out])
        left = sources.Left()
        found = _read_templates(config, words, own, left)
        if found.is_empty():
            raise InputError(f"No template came out of {config.in_}: {_reasons(left)}. Are the --categories right?")
        found = sources.with_sentiment(found, labeller(config.sentiment), config.sentiment, own)
        tables.write(found, config.out)
        run.seal([config.out], {"asked": found.height, "scored": found.height, "failed": 0}, left_out=left.counts)
        return AuditResult({"templates": found}, facts_of(run), [config.out])


def read_templates(path: Path, own: Sequence[Lexicon] = ()) -> pl.DataFrame:
    """A table of templates, or a file in the study's format; sentiments that are missing are labelled with VADER."""
    kind = sources.detect_format(require_file(path))
    if kind == "seed":
        return sources.with_sentiment(sources.read_seed_file(path, own), labeller("vader"), "vader", own)
    if kind != "templates":
        raise InputError(f"{path} holds {kind}, not templates. Make them first: fairwitness counterfactual templates --in {path}")
    return tables.read(path)


def own_lexicons(paths: Sequence[str]) -> list[Lexicon]:
    """The user's own lexicons; two of one category are an error."""
    found = [read_lexicon(Path(path)) for path in paths]
    names = [each.category for each in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"Two of the --lexicon files are of the category '{twice[0]}'. Keep one of them.")
    return found


def _read_templates(config: TemplatesConfig, words: list[Lexicon], own: list[Lexicon], left: sources.Left) -> pl.DataFrame:
    if config.in_ is None:
        return sources.built_in_templates([each.category for each in words if each.category in CATEGORIES])
    kind = sources.detect_format(require_file(config.in_))
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


def _content(lexicon: Lexicon) -> str:
    """A lexicon as text that is the same in every process: sets have no order of their own, so they get one."""

    def plain(value: Any) -> Any:
        return sorted(value) if isinstance(value, set | frozenset) else repr(value)

    return json.dumps(asdict(lexicon), sort_keys=True, default=plain)


def _reasons(left: sources.Left) -> str:
    return ", ".join(f"{count} × {reason}" for reason, count in left.counts.items()) or "it has no rows"
