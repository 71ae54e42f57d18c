"""Where templates come from: comments, the published study's format, Jigsaw's sentence templates, HateCheck, and our own set.

Every reader gives the same table (TEMPLATES below). Which sentiment a comment has is asked of whoever knows: the file itself, or a
labeller that the caller brings.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import tables
from fairwitness.datasets.counterfactual.expanding import Expander
from fairwitness.datasets.counterfactual.finding import Finder, Found, as_template
from fairwitness.datasets.counterfactual.lexicon import CATEGORIES, Lexicon, lexicon, read_text_of
from fairwitness.datasets.counterfactual.standing_in import HOLE
from fairwitness.datasets.counterfactual.template import category_of, escape
from fairwitness.errors import InputError
from fairwitness.files import content_hash, require_file

SENTIMENTS = ("neutral", "negative", "positive")
# unit: names the template; found: the words replaced, with their groups; sentiment_by: the file, or the labeller's name
TEMPLATES = {
    "unit": pl.String,
    "category": pl.String,
    "template": pl.String,
    "sentiment": pl.String,
    "sentiment_by": pl.String,
    "label": pl.Float64,
    "source": pl.String,
    "source_row": pl.Int64,
    "found": pl.String,
    "original_group": pl.String,
}
Rows = list[dict[str, Any]]


@dataclass
class Left:
    """Comments that made no template, by reason."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, n: int = 1) -> None:
        self.counts[reason] = self.counts.get(reason, 0) + n


def built_in_templates(categories: Sequence[str] = CATEGORIES) -> pl.DataFrame:
    """Our own templates: 30 a category, 10 a sentiment."""
    rows: Rows = []
    for category in categories:
        lexicon(category)
        rows += _seed_lines(read_text_of(f"built_in/{category}.txt").splitlines(), f"built-in {category}")
    return as_templates(rows)


def read_seed_file(path: Path, own: Sequence[Lexicon] = ()) -> pl.DataFrame:
    """A file in the published study's format: `comment with {PLACEHOLDER} | Sentiment`, one a line; blank lines are skipped.

    The last `|` counts, so a comment may hold others. A line without a sentiment behind it is a template without one.
    """
    try:
        lines = require_file(Path(path)).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8. Convert it first: iconv -f LATIN1 -t UTF-8 {Path(path).name}") from error
    rows = _seed_lines(lines, str(path), own)
    if not rows:
        raise InputError(f"{path} has no line with a placeholder such as {{RACE}}. Expected: comment with {{RACE}} | Neutral")
    return as_templates(rows)


def templates_from_comments(
    comments: Iterable[tuple[int, str | None, float | None]],
    lexicons: Sequence[Lexicon],
    *,
    source: str,
    left: Left,
    trusting: bool = False,
    mixed: bool = False,
    intersections: bool = False,
) -> pl.DataFrame:
    """Templates from (row, comment, label): one for each category that a comment speaks of.

    A comment that names several groups of one category is left out unless `mixed`: filled with one group it would say something
    else.
    With `intersections`, a comment that speaks of two categories also makes a template with the slots of both.
    """
    finders = [(Finder(words, trusting=trusting), Expander(words)) for words in lexicons]
    rows: Rows = []
    for number, text, label in comments:
        if text is None or not text.strip():
            left.add("empty")
            continue
        text = text.strip()
        made = _templates_of(text, finders, mixed=mixed, intersections=intersections, left=left)
        rows += [{**row, "label": label, "source": source, "source_row": number} for row in made]
    return as_templates(rows)


def read_jigsaw(path: Path, *, left: Left) -> pl.DataFrame:
    """Jigsaw's sentence templates (columns template, toxicity, phrase): filled phrases, from which the templates are recovered.

    Two phrases that differ only in the identity are one template. Phrases about identities outside our lexicons are left out.
    """
    frame = tables.read(path, ["template", "toxicity", "phrase"])
    labels = (frame["toxicity"] == "toxic").cast(pl.Float64).to_list()
    comments = zip(range(frame.height), frame["phrase"].to_list(), labels, strict=True)
    lexicons = [lexicon(name) for name in CATEGORIES]
    found = templates_from_comments(comments, lexicons, source=Path(path).name, left=left, trusting=True)
    # Every identity was put into every phrase, so none of them is the original.
    return found.with_columns(source=pl.lit(f"Jigsaw {Path(path).name}"), original_group=pl.lit(None, pl.String))


def read_hatecheck(path: Path, *, left: Left) -> pl.DataFrame:
    """HateCheck's cases (columns case_templ, label_gold, templ_id, functionality): templates over its seven targets."""
    frame = tables.read(path, ["case_templ", "label_gold", "templ_id", "functionality"])
    rows: Rows = []
    seen: set[str] = set()
    for number, (text, label, functionality) in enumerate(frame.select("case_templ", "label_gold", "functionality").iter_rows()):
        names = re.findall(r"\[([A-Z]+_[A-Za-z_]+)\]", text)
        if not names or any(name not in ("IDENTITY_S", "IDENTITY_P", "IDENTITY_A") for name in names):
            left.add("no plain identity placeholder")
            continue
        if text in seen:
            continue
        seen.add(text)
        template = re.sub(r"\[(IDENTITY_[SPA])\]", r"{\1}", escape(text.strip()))
        row = {"category": "target", "template": template, "label": float(label == "hateful")}
        rows.append({**row, "source": f"HateCheck {functionality}", "source_row": number})
    return as_templates(rows)


def detect_format(path: Path) -> str:
    """Which reader a file wants: seed (text file), templates (ours), jigsaw, hatecheck, or comments."""
    if Path(path).suffix.lower() == ".txt":
        return "seed"
    columns = set(tables.columns_of(path))
    if {"unit", "category", "template", "sentiment"} <= columns:
        return "templates"
    if {"case_templ", "templ_id", "label_gold"} <= columns:
        return "hatecheck"
    return "jigsaw" if {"template", "toxicity", "phrase"} <= columns else "comments"


def with_sentiment(
    templates: pl.DataFrame, label: Callable[[Sequence[str]], Sequence[str]], name: str, own: Sequence[Lexicon] = ()
) -> pl.DataFrame:
    """Fill in the sentiments that are missing. The labeller sees the control, so that no identity word tilts its judgement."""
    missing = templates.filter(pl.col("sentiment").is_null())
    if missing.is_empty():
        return templates
    expanders = {category: Expander(lexicon(category, own)) for category in missing["category"].unique().to_list()}
    controls = [expanders[category].control(text) for category, text in missing.select("category", "template").iter_rows()]
    found = pl.DataFrame({"unit": missing["unit"], "labelled": list(label(controls))}, schema_overrides={"labelled": pl.String})
    joined = templates.join(found.unique("unit"), on="unit", how="left", maintain_order="left")
    by = pl.when(pl.col("sentiment").is_null()).then(pl.lit(name)).otherwise("sentiment_by")
    return joined.with_columns(sentiment_by=by, sentiment=pl.coalesce("sentiment", "labelled")).drop("labelled")


def as_templates(rows: Rows) -> pl.DataFrame:
    """The table of templates, each named by its content; a template that came twice keeps its first place."""
    for row in rows:
        row["unit"] = content_hash(row["category"], row["template"])[:16]
    frame = pl.DataFrame([{name: row.get(name) for name in TEMPLATES} for row in rows], schema=TEMPLATES)
    return frame.unique("unit", keep="first", maintain_order=True)


def _seed_lines(lines: Sequence[str], where: str, own: Sequence[Lexicon] = ()) -> Rows:
    rows: Rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        comment, pipe, last = line.rpartition("|")
        sentiment = last.strip().lower() if pipe and last.strip().lower() in SENTIMENTS else None
        text = (comment if sentiment else line).strip()
        category = category_of(text, f"line {number} of {where}", own)
        if not category:
            raise InputError(f"Line {number} of {where} has no placeholder such as {{RACE}}: '{text[:60]}'.")
        row = {"category": category, "template": text, "sentiment": sentiment, "sentiment_by": "file" if sentiment else None}
        rows.append({**row, "source": where, "source_row": number})
    return rows


def _templates_of(text: str, finders: Sequence[tuple[Finder, Expander]], *, mixed: bool, intersections: bool, left: Left) -> Rows:
    rows: Rows = []
    usable: list[tuple[Finder, list[Found]]] = []
    any_found = False
    for finder, expander in finders:
        found, reason = finder.look(text)
        any_found = any_found or bool(found or reason)
        groups = {each.group for each in found}
        if len(groups) > 1 and not mixed:
            reason = f"several groups of {finder.lexicon.category}"
        elif found and not finder.trusting and not expander.is_whole(as_template(text, found)):
            reason = HOLE
        elif found:
            usable.append((finder, found))
            rows.append(_row(finder.lexicon.category, as_template(text, found), found))
        if reason:
            left.add(reason)
    if not any_found:
        left.add("no identity word")
    if intersections:
        for index, (first, found_first) in enumerate(usable):
            for second, found_second in usable[index + 1 :]:
                rows += _crossed_row(text, first, found_first, second, found_second)
    return rows


def _crossed_row(text: str, first: Finder, found: list[Found], second: Finder, more: list[Found]) -> Rows:
    both = sorted([*found, *more], key=lambda each: each.start)
    if any(a.end > b.start for a, b in pairwise(both)):
        return []
    return [_row(f"{first.lexicon.category}*{second.lexicon.category}", as_template(text, both), both)]


def _row(category: str, template: str, found: Sequence[Found]) -> dict[str, Any]:
    words = "; ".join(f"{each.surface}→{each.slot} ({each.group})" for each in found)
    return {"category": category, "template": template, "found": words, "original_group": found[0].group}
