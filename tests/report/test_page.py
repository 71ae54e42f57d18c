"""How the page and the viewer look, as far as numbers can say: contrast in light and dark, sizes, no address of anybody."""

import re
from importlib.resources import files

import pytest

from fairwitness.report.content import Interval, IntervalChart, Report, Section, Table
from fairwitness.report.markdown import render as markdown
from fairwitness.report.page import render

PAGES = ("report/templates/report.html", "web/templates/base.html")


def themes(text: str) -> list[dict[str, str]]:
    """The colours of every theme that a page defines, by name."""
    found = re.findall(r"\{ (--paper:[^}]*)\}", text)
    return [dict(re.findall(r"--(\w+):(#\w+)", block)) for block in found]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(letter * 2 for letter in colour[1:])
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", PAGES)
def test_words_can_be_read(name: str) -> None:
    found = themes(files("fairwitness").joinpath(name).read_text(encoding="utf-8"))
    assert len(found) >= 2, "light and dark"
    for theme in found:
        for ink in ("ink", "soft", "accent", "warm"):
            for paper in ("paper", "card"):
                assert contrast(theme[ink], theme[paper]) >= 4.5, (ink, paper, theme)
        for mark in ("mute", "green", "purple"):
            assert mark not in theme or contrast(theme[mark], theme["paper"]) >= 3, (mark, theme)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_fetched(name: str) -> None:
    text = files("fairwitness").joinpath(name).read_text(encoding="utf-8")
    assert not re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text)


def test_how_to_read_a_drawing_is_said_where_there_is_one() -> None:
    seen, empty = Interval("a", 0.1, 0.0, 0.2, 30), Interval("b", None, None, None, 3)
    charts = [
        IntervalChart(line.label, [line], "gap", note=f"Note {line.label}.", legend=f"Hollow {line.label}.")
        for line in (seen, empty)
    ]
    report = Report("t", [Section("s", blocks=charts)])
    page, text = render(report), markdown(report)
    assert "Note a. Hollow a." in page
    assert "Note b." in page
    assert "Hollow b." not in page
    assert "Note a." in text
    assert "Hollow" not in text


def test_a_heading_stands_over_its_numbers_where_the_first_cell_is_empty() -> None:
    page = render(Report("t", [Section("s", blocks=[Table("x", ["name", "auc"], [["women", None], ["men", 0.5]])])]))
    assert re.search(r'<th scope="col" class="n"><button[^>]*>auc<', page)
    assert re.search(r'<th scope="col"><button[^>]*>name<', page)
