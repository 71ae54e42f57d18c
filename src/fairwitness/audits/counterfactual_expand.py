"""The second step of the counterfactual audit: templates → the same sentence said of every group, and of nobody."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.counterfactual_steps import asked, facts_of
from fairwitness.audits.counterfactual_templates import own_lexicons, read_templates
from fairwitness.audits.result import AuditResult
from fairwitness.datasets.counterfactual import sources
from fairwitness.datasets.counterfactual.clashing import Clashes
from fairwitness.datasets.counterfactual.expanding import Expander, roles
from fairwitness.datasets.counterfactual.lexicon import Lexicon, lexicon
from fairwitness.errors import InputError, listing
from fairwitness.files import content_hash
from fairwitness.options import Options


@dataclass(frozen=True, kw_only=True)
class ExpandConfig(Options):
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
    question = {"step": "expand", **asked(config), "templates": content_hash(*templates["unit"].to_list()), "code": 1}
    with runs.open_run(config.out, "counterfactual expand", question, restart=config.restart, inputs={"in": config.in_}) as run:
        if not run.sealed:
            count, left = 0, sources.Left()
            with tables.writer(config.out) as append:
                for piece in expanded_pieces(templates, own, left=left if config.plausible_only else None):
                    append(piece)
                    count += piece.height
            counts = {"asked": count, "scored": count, "failed": 0}
            run.seal([config.out], counts, templates=templates.height, left_out=left.counts)
        return AuditResult({"expanded": tables.read(config.out, rows=1000)}, facts_of(run), [config.out])


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
