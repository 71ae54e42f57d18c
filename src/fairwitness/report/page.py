"""A report as one self-contained HTML page: no network, no scripts from elsewhere, light and dark, printable.

How it looks is in templates/report.html; what it says is content.py's.
"""

from fairwitness.report.content import HeatMap, IntervalChart, Picture, Report, Table, defined, format_cell
from fairwitness.report.provenance import provenance
from fairwitness.report.svg import heat_map, interval_chart

# A page stays small enough to send (5 MB); what is cut here is whole in the run's folder.
MOST_ROWS = 400
MOST_PICTURE_LETTERS = 2_500_000


def render(report: Report) -> str:
    """The whole page as text."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(loader=PackageLoader("fairwitness.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"cell": format_cell, "shade": shade, "provenance": provenance}
    environment.filters["identity"] = id
    environment.filters |= {"interval_chart": interval_chart, "heat_map": heat_map, "caption": caption}
    environment.tests["number"] = lambda value: isinstance(value, int | float) and not isinstance(value, bool)
    environment.tests["interval_chart"] = lambda block: isinstance(block, IntervalChart)
    environment.tests["heat_map"] = lambda block: isinstance(block, HeatMap)
    environment.tests["table"] = lambda block: isinstance(block, Table)
    return environment.get_template("report.html").render(report=report, most_rows=MOST_ROWS, shown=_pictures_shown(report))


def caption(block: IntervalChart | HeatMap) -> str:
    """What stands under a drawing: its note, and how to read it where there is something to see."""
    if isinstance(block, IntervalChart) and any(defined(line.value) for line in block.lines):
        return " ".join(filter(None, (block.note, block.legend)))
    return block.note


def _pictures_shown(report: Report) -> set[int]:
    """Which pictures the page has room for, by identity: the first ones."""
    left, shown = MOST_PICTURE_LETTERS, set()
    for block in (block for section in report.sections for block in section.blocks if isinstance(block, Picture)):
        left -= len(block.data_uri)
        if left >= 0:
            shown.add(id(block))
    return shown


def shade(weight: float) -> str:
    """The background of a word: towards the label in one colour, against it in another, stronger with its share.

    >>> shade(0.1), shade(-1)
    ('rgba(213, 94, 0, 0.20)', 'rgba(0, 114, 178, 0.65)')
    """
    strength = min(1.0, abs(weight) * 3)
    colour = "213, 94, 0" if weight > 0 else "0, 114, 178"
    return f"rgba({colour}, {strength * 0.65:.2f})"
