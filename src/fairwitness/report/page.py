"""One self-contained HTML page from finished sections. No network, no scripts from elsewhere, light and dark, printable.

A section is what one audit has to say: words, findings, charts, tables, folds. Which audit says what is in sections.py and its
neighbours; how a page looks is in templates/report.html.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One sentence that matters, with how far its interval stays away from "no difference" (to rank findings).

    `subject` is what it is about: of several findings about one subject the strongest speaks first.
    """

    text: str
    strength: float
    subject: str = ""


@dataclass(frozen=True)
class Chart:
    """An inline SVG with its words: what it shows, and the same for those who cannot see it."""

    title: str
    svg: str
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under named columns. Numbers are shown with `digits`; None and NaN are an empty cell."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    digits: int = 3


@dataclass(frozen=True)
class Word:
    """A word of an explained text with its share of the attribution, from -1 to 1, and whether it names an identity."""

    text: str
    weight: float
    identity: bool = False


@dataclass(frozen=True)
class Example:
    """A text that was scored, behind the fold; with its words coloured where it was explained."""

    heading: str
    text: str
    words: Sequence[Word] = ()
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A PNG that an audit drew, put inside the page."""

    title: str
    data_uri: str
    alt: str


Block = Chart | Table | Picture


@dataclass(frozen=True)
class Section:
    """What one audit has to say."""

    title: str
    lede: Sequence[str] = ()
    findings: Sequence[Finding] = ()
    blocks: Sequence[Block] = ()
    examples: Sequence[Example] = ()
    definitions: Sequence[tuple[str, str]] = ()
    limits: Sequence[str] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    anchor: str = ""


def render(title: str, sections: Sequence[Section], *, most_findings: int = 3) -> str:
    """The whole page as text."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(loader=PackageLoader("fairwitness.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["cell"] = format_cell
    environment.filters["shade"] = _shade
    environment.tests["number"] = lambda value: isinstance(value, int | float) and not isinstance(value, bool)
    environment.tests["chart"] = lambda block: isinstance(block, Chart)
    environment.tests["table"] = lambda block: isinstance(block, Table)
    ranked = rank(finding for section in sections for finding in section.findings)
    limits = list(dict.fromkeys(limit for section in sections for limit in section.limits))
    page = environment.get_template("report.html")
    return page.render(title=title, sections=sections, findings=ranked[:most_findings], limits=limits)


def rank(findings: Iterable[Finding]) -> list[Finding]:
    """Strongest first, but every subject once before any subject twice.

    >>> [f.text for f in rank([Finding("a", 3, "x"), Finding("b", 2, "x"), Finding("c", 1, "y")])]
    ['a', 'c', 'b']
    """
    seen: dict[str, int] = {}
    turns = []
    for finding in sorted(findings, key=lambda one: -one.strength):
        turn = seen.get(finding.subject, 0) if finding.subject else 0
        seen[finding.subject] = turn + 1
        turns.append((turn, -finding.strength, finding))
    return [finding for _, _, finding in sorted(turns, key=lambda one: one[:2])]


def format_cell(value: Any, digits: int = 3) -> str:
    """A value as the reader sees it: empty where undefined, thousands apart, no more digits than asked.

    >>> format_cell(float("nan")), format_cell(12345), format_cell(0.12345), format_cell(True), format_cell(None)
    ('', '12,345', '0.123', 'yes', '')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return str(value)


def _shade(weight: float) -> str:
    """The background of a word: towards the label in one colour, against it in another, stronger with its share."""
    strength = min(1.0, abs(weight) * 3)
    colour = "213, 94, 0" if weight > 0 else "0, 114, 178"
    return f"rgba({colour}, {strength * 0.65:.2f})"
