"""What a report says, before it is decided how it is written: findings, charts, tables, examples, limits, by audit.

A section is what one audit has to say; sections.py and its neighbours make them. The writers are page.py (HTML), markdown.py and
results.py (JSON); none of them knows an audit, and nothing here knows how anything looks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from fairwitness.report.recorded import Recorded


@dataclass(frozen=True)
class Finding:
    """One sentence that matters, with how far its interval stays away from "no difference" (to rank findings).

    `subject` is what it is about: of several findings about one subject the strongest speaks first.
    """

    text: str
    strength: float
    subject: str = ""


@dataclass(frozen=True)
class Interval:
    """A value with its interval and its support; `between` names what low and high are.

    A muted one (too few rows to say, or no clear change) is shown as such.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None = None
    muted: bool = False
    series: str = ""
    between: str = "95 % interval"


@dataclass(frozen=True)
class IntervalChart:
    """Values with their intervals, a line each; `name` is what is measured and `ideal` where no difference would be.

    `note` is said wherever the values are, `legend` only where they are drawn.
    """

    title: str
    lines: Sequence[Interval]
    name: str
    ideal: float | None = 0.0
    note: str = ""
    legend: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A grid of values: a row of cells for each of `rows`, one cell for each of `columns`."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Interval]]
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under named columns. Numbers are shown with `digits`; None and NaN are an empty cell.

    `marks` are columns whose numbers stand out from that absolute value on; a folded table is opened by a click.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    digits: int = 3
    marks: Mapping[str, float] = field(default_factory=dict)
    folded: bool = False

    def marked(self, column: int, value: Any) -> bool:
        """Whether a cell stands out."""
        mark = self.marks.get(self.columns[column])
        return mark is not None and isinstance(value, int | float) and defined(value) and abs(value) >= mark


@dataclass(frozen=True)
class Picture:
    """A PNG that an audit drew, put inside the page."""

    title: str
    data_uri: str
    alt: str


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


Block = IntervalChart | HeatMap | Table | Picture


@dataclass(frozen=True)
class Section:
    """What one audit has to say; `source` is where that was read.

    `audited`: what was audited, on what, and how much of it could be scored; empty where that was not recorded. `judged`: how many
    differences were looked at, whether or not one stood out.
    """

    title: str
    lede: Sequence[str] = ()
    findings: Sequence[Finding] = ()
    blocks: Sequence[Block] = ()
    examples: Sequence[Example] = ()
    definitions: Sequence[tuple[str, str]] = ()
    limits: Sequence[str] = ()
    anchor: str = ""
    source: Recorded | None = None
    audited: tuple[str, str, str] = ("", "", "")
    judged: int = 0


@dataclass(frozen=True)
class Report:
    """A title and what several audits have to say."""

    title: str
    sections: Sequence[Section]

    def findings(self, most: int = 3) -> list[Finding]:
        """The findings that matter most, over all sections."""
        return rank(finding for section in self.sections for finding in section.findings)[:most]

    def nothing_found(self) -> str:
        """What is said where there is no finding. Only where differences were looked at may it be that none stood out."""
        if any(section.judged for section in self.sections):
            return "No difference stood out beyond what chance would give at this size."
        return "No difference was judged here: nothing is known of any, large or small."

    def limits(self) -> list[str]:
        """What the data cannot tell, each once."""
        return list(dict.fromkeys(limit for section in self.sections for limit in section.limits))


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


def describe(line: Interval) -> str:
    """A value in words.

    >>> describe(Interval("women", 0.12, 0.05, 0.2, n=300))
    'women: 0.120, 95 % interval 0.050 to 0.200, n = 300'
    """
    words = f"{line.label}: {line.value:.3f}" if defined(line.value) else f"{line.label}: undefined"
    if defined(line.low) and defined(line.high):
        words += f", {line.between} {line.low:.3f} to {line.high:.3f}"
    return words if line.n is None else f"{words}, n = {line.n:,}"


def defined(value: float | None) -> bool:
    """Whether there is a number to show.

    >>> defined(0.0), defined(None), defined(float("nan"))
    (True, False, False)
    """
    return value is not None and isfinite(value)


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
        # A p-value of 0.0004 is not 0.
        return f"{value:.1g}" if value and abs(value) < 0.5 * 10.0**-digits else f"{value:.{digits}f}"
    return str(value)
