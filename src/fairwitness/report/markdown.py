"""A report as GitHub-flavoured Markdown, for pull requests and issues: the same content as the page, charts as tables.

What comes from data (texts, labels, names of groups) is escaped, so that it is neither markup nor a mention of anybody.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fairwitness.report.content import (
    Block,
    Example,
    HeatMap,
    Interval,
    IntervalChart,
    Report,
    Section,
    Table,
    defined,
    format_cell,
)
from fairwitness.report.provenance import provenance

# A comment on GitHub holds 65,536 letters; tables are cut shorter until the report fits.
MOST_IN_ALL = 64_000
MOST_ROWS = (40, 20, 10, 5, 1)
MOST_EXAMPLES = 10
MOST_LETTERS = 400
_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_LIST = re.compile(r"^([-+=]|\d+[.)])")


def render(report: Report) -> str:
    """The whole report as Markdown, with as many rows of its tables as a comment has room for."""
    for most in MOST_ROWS:
        text = "\n".join(_lines(report, most)) + "\n"
        if len(text) <= MOST_IN_ALL:
            break
    return text


def escape(text: object) -> str:
    """A text that Markdown shows as it is: on one line, no markup, no HTML, no @mention, no #reference.

    >>> escape("<b>@you</b> *see* #1\\n| x")
    '&lt;b&gt;@\\u200byou&lt;/b&gt; \\\\*see\\\\* #\\u200b1 \\\\| x'
    """
    plain = " ".join(str(text).split())
    plain = _MARKUP.sub(r"\\\1", plain).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A zero-width space keeps a word from calling somebody or an issue, and an address from becoming a link.
    return plain.replace("@", "@\u200b").replace("#", "#\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def _paragraph(text: str) -> str:
    return _LIST.sub(r"\\\1", escape(text)) + "\n"


def _lines(report: Report, most: int) -> Iterator[str]:
    yield f"# {escape(report.title)}"
    yield ""
    rows = [(section.title, *section.audited) for section in report.sections if section.source is not None]
    yield from _table(("audit", "of", "on", "could be scored"), rows, len(rows)) if rows else ()
    yield ""
    findings = report.findings()
    yield "## What stands out" if findings else f"**{report.nothing_found()}**"
    yield ""
    yield from (f"{number}. {escape(finding.text)}" for number, finding in enumerate(findings, start=1))
    limits = report.limits()
    if limits:
        yield "\n**What this data cannot tell**\n"
        yield from (f"- {escape(limit)}" for limit in limits)
    for section in report.sections:
        yield from _section(section, most)
    yield "\n---\nWritten by Fair Witness. It reports what was seen and how surely; it does not prove that a system is fair."


def _section(section: Section, most: int) -> Iterator[str]:
    yield f"\n## {escape(section.title)}\n"
    yield from (_paragraph(words) for words in section.lede)
    for block in section.blocks:
        yield from _block(block, most)
    if section.examples:
        shown = section.examples[:MOST_EXAMPLES]
        title = f"Show {len(shown)} scored texts (content warning: they may be offensive)"
        yield from _fold(title, [line for example in shown for line in _example(example)])
    if section.definitions:
        yield from _fold("What the numbers mean", [f"- **{escape(term)}**: {escape(what)}" for term, what in section.definitions])
    if section.source is not None:
        facts = provenance(section.source)
        command = str(facts.pop("command")).replace("```", "'''")
        rows = [(name, value) for name, value in facts.items() if value != ""]
        fence = ["```console", command, "```", ""] if command else []
        yield from _fold("Where this came from, and how to repeat it", [*fence, *_table(("what", "value"), rows, len(rows))])


def _block(block: Block, most: int) -> Iterator[str]:
    yield f"\n### {escape(block.title)}\n"
    if isinstance(block, IntervalChart):
        yield from _chart(block, most)
    elif isinstance(block, HeatMap):
        rows = [[name, *(_short_interval(one) for one in cells)] for name, cells in zip(block.rows, block.cells, strict=True)]
        yield from _table(["", *block.columns], rows, most)
    elif isinstance(block, Table):
        yield from _fold("Table", list(_table_of(block, most))) if block.folded else _table_of(block, most)
    else:
        yield f"*{escape(block.alt)}: see the HTML report.*"
    if note := getattr(block, "note", ""):
        yield f"\n<sub>{escape(note)}</sub>"


def _chart(chart: IntervalChart, most: int) -> Iterator[str]:
    series = any(line.series for line in chart.lines)
    between = next((line.between for line in chart.lines), "95 % interval")
    rows = [
        (line.label, *((line.series,) if series else ()), line.value, _ends(line), line.n, "unsure" if line.muted else "")
        for line in chart.lines
    ]
    yield from _table(["", *([""] if series else []), chart.name, between, "n", ""], rows, most)


def _table_of(table: Table, most: int) -> Iterator[str]:
    shown = [[_cell(value, table.digits, bold=table.marked(k, value)) for k, value in enumerate(row)] for row in table.rows[:most]]
    return _grid(table.columns, shown, _numeric(table.rows[:most]), len(table.rows))


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], most: int) -> Iterator[str]:
    return _grid(columns, [[_cell(value) for value in row] for row in rows[:most]], _numeric(rows[:most]), len(rows))


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], in_all: int) -> Iterator[str]:
    if not rows:
        yield "*Nothing here could be measured.*"
        return
    yield f"| {' | '.join(escape(column) for column in columns)} |"
    yield f"|{'|'.join('--:' if number else ':--' for number in numeric)}|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    if in_all > len(rows):
        yield f"\n*{in_all - len(rows):,} more rows are in the HTML report.*"


def _numeric(rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Which columns hold numbers only."""
    return [all(isinstance(value, int | float | None) for value in column) for column in zip(*rows, strict=True)]


def _example(example: Example) -> Iterator[str]:
    yield f"**{escape(example.heading)}**\n"
    # Bold: the words that weigh most towards the label; struck through none, so that nothing is lost to a reader.
    words = [f"**{escape(word.text)}**" if word.weight > 0.1 else escape(word.text) for word in example.words]
    yield f"> {' '.join(words) if words else _cut(example.text)}\n"
    if example.note:
        yield f"{_cut(example.note)}\n"


def _fold(title: str, lines: Sequence[str]) -> list[str]:
    return [f"\n<details><summary>{escape(title)}</summary>\n", *lines, "\n</details>"]


def _ends(line: Interval) -> str:
    return f"{line.low:.3f} to {line.high:.3f}" if defined(line.low) and defined(line.high) else ""


def _short_interval(one: Interval) -> str:
    if not defined(one.value):
        return ""
    ends = f" [{one.low:.2f}, {one.high:.2f}]" if defined(one.low) and defined(one.high) else ""
    return f"{one.value:.2f}{ends}"


def _cell(value: Any, digits: int = 3, *, bold: bool = False) -> str:
    shown = format_cell(value, digits)
    if not isinstance(value, int | float):
        return _cut(shown)
    return f"**{shown}**" if bold else shown


def _cut(text: str) -> str:
    return escape(text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…")
