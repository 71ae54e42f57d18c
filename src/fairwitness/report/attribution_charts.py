"""Attributions drawn: a text whose words are shaded by what they did to the decision, and how much fell on identity words.

Red pushed towards the positive label, blue away from it; so that it reads without colour, a bar under each word points up or down.
A script the fonts here lack is shown as boxes and said so; the HTML page leaves scripts to the browser.
"""

import html
import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairwitness.files import write_text
from fairwitness.report.style import BLUE, GREY, INK, ORANGE, RED, RULE, SOFT, families, ink_on, new_figure, save_figure

WIDTH = 10.0
LINE = 0.42
MARGIN = 0.2
MISSING = "▯"


@dataclass(frozen=True)
class Heatmap:
    """One text to draw. `values` are one per word, in units of the margin; `marked` are the identity words."""

    title: str
    words: Sequence[str]
    values: Sequence[float]
    marked: Sequence[bool]
    footer: str
    converged: bool = True
    caution: str = ""


def draw_heatmap(heatmap: Heatmap, path: Path) -> Path:
    """Draw one text as PNG or SVG."""
    figure, axis = new_figure(WIDTH, 1.0)
    figure.set_layout_engine("none")
    axis.set_position((0, 0, 1, 1))
    axis.set_axis_off()
    with warnings.catch_warnings():
        # A glyph that no font has is drawn as a box, a weight it lacks by the nearest: both are what we want.
        warnings.simplefilter("ignore")
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        shown = [readable(word) for word in heatmap.words]
        places, lines = _flow(figure, [_shortened(word) for word in shown])
        height = 0.95 + LINE * max(1, lines) + 0.55
        figure.set_size_inches(WIDTH, height)
        axis.set(xlim=(0, WIDTH), ylim=(height, 0))
        _write_head(axis, heatmap)
        largest = max((abs(value) for value in heatmap.values), default=0.0) or 1.0
        for (x, line, width, word), value, marked in zip(places, heatmap.values, heatmap.marked, strict=True):
            _draw_word(axis, x, 0.95 + LINE * line, width, word, value / largest, marked)
        lost = sum(word.count(MISSING) for word in shown) - sum(word.count(MISSING) for word in heatmap.words)
        _write_foot(axis, heatmap, height, lost)
        return save_figure(figure, path)


def readable(word: str) -> str:
    """The word with what no font here can draw replaced by boxes, and `$` made plain.

    >>> readable("abc")
    'abc'
    """
    glyphs = _glyphs()
    return "".join(
        letter if ord(letter) in glyphs or letter.isspace() else MISSING for letter in word if letter not in "\ufe0f\u200d"
    )


@lru_cache(1)
def _glyphs() -> frozenset[int]:
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    known: set[int] = set()
    for family in families():
        font = font_manager.findfont(font_manager.FontProperties(family=family), fallback_to_default=True)
        known |= set(FT2Font(font).get_charmap())
    return frozenset(known)


def _font(size: float, *, bold: bool = False) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=list(families()), size=size, weight="bold" if bold else "normal")


def _shortened(word: str, most: int = 48) -> str:
    return word if len(word) <= most else f"{word[: most // 2]}…{word[-most // 2 :]}"


def _flow(figure: Any, words: Sequence[str]) -> tuple[list[tuple[float, int, float, str]], int]:
    """Where each word stands: (x, line, width, word) in inches, and the number of lines."""
    renderer = figure.canvas.get_renderer()
    x, line, places = MARGIN, 0, []
    for word in words:
        pixels, _, _ = renderer.get_text_width_height_descent(word.replace("$", "S"), _font(11), False)
        width = pixels / figure.dpi + 0.12
        if x + width > WIDTH - MARGIN and x > MARGIN:
            x, line = MARGIN, line + 1
        places.append((x, line, width, word))
        x += width + 0.04
    return places, line + 1


def _draw_word(axis: Any, x: float, y: float, width: float, word: str, strength: float, marked: bool) -> None:
    from matplotlib.patches import Rectangle

    red, green, blue = shade(strength)
    edge, line = (INK, 1.4) if marked else ("none", 0.0)
    axis.add_patch(Rectangle((x, y), width, 0.27, facecolor=(red, green, blue), edgecolor=edge, linewidth=line))
    ink = ink_on((red, green, blue))
    axis.text(x + width / 2, y + 0.195, word, ha="center", va="baseline", color=ink, fontproperties=_font(11), parse_math=False)
    size = 0.05 * abs(strength)
    middle = y + 0.325
    axis.add_patch(Rectangle((x, middle - size if strength > 0 else middle), width, size, facecolor=RED if strength > 0 else BLUE))


def shade(strength: float) -> tuple[float, float, float]:
    """Colour of a strength in [-1, 1]: white at 0, red towards 1, blue towards -1.

    >>> shade(0.0)
    (1.0, 1.0, 1.0)
    """
    end = (0.79, 0.15, 0.16) if strength > 0 else (0.13, 0.40, 0.68)
    part = min(1.0, abs(strength)) ** 0.8
    red, green, blue = (1 - part * (1 - channel) for channel in end)
    return red, green, blue


def _write_head(axis: Any, heatmap: Heatmap) -> None:
    axis.text(MARGIN, 0.32, heatmap.title, fontproperties=_font(12, bold=True), color=INK, parse_math=False)
    legend = "red, bar up: towards the label   ·   blue, bar down: away from it   ·   framed: names a group"
    axis.text(MARGIN, 0.58, legend, fontproperties=_font(8.5), color=SOFT)
    axis.plot([MARGIN, WIDTH - MARGIN], [0.74, 0.74], color=RULE, linewidth=0.8)


def _write_foot(axis: Any, heatmap: Heatmap, height: float, lost: int) -> None:
    axis.text(MARGIN, height - 0.34, heatmap.footer, fontproperties=_font(8.5), color=SOFT, parse_math=False)
    if heatmap.caution:
        colour = INK if heatmap.converged else RED
        axis.text(MARGIN, height - 0.14, heatmap.caution, fontproperties=_font(8.5, bold=True), color=colour, parse_math=False)
    if lost:
        note = f"{lost} characters have no font here ({MISSING}); the HTML page has them"
        axis.text(WIDTH - MARGIN, height - 0.14, note, fontproperties=_font(8.5), color=SOFT, ha="right")


_STYLE = """body{font:16px/1.9 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#202124}
h2{font-size:1rem;margin:2.2rem 0 .2rem}p.words{margin:.3rem 0}p.note{font-size:.8rem;color:#5f6368;margin:.2rem 0;line-height:1.4}
p.caution{font-size:.8rem;color:#b3261e;font-weight:600;margin:.2rem 0}span.w{padding:.1rem .2rem;border-radius:.2rem}
span.up{border-bottom:3px solid #d55e00}span.down{border-top:3px solid #0072b2}span.id{outline:2px solid #202124}"""


def write_page(heatmaps: Mapping[str, Heatmap], path: Path, *, title: str) -> Path:
    """The same texts as one HTML page without scripts or anything from elsewhere. Keys are the anchors."""
    blocks = [_block(anchor, heatmap) for anchor, heatmap in heatmaps.items()]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    legend = "Red, underlined: towards the label. Blue, overlined: away from it. Framed: names a group. Hover for the number."
    fold = "<details><summary>Content warning: the texts may be offensive. Show them.</summary>"
    body = f'<h1>{html.escape(title)}</h1><p class="note">{legend}</p>{fold}{"".join(blocks)}</details>'
    write_text(path, f"{head}<body>{body}</body></html>\n")
    return path


def _block(anchor: str, heatmap: Heatmap) -> str:
    largest = max((abs(value) for value in heatmap.values), default=0.0) or 1.0
    spans = []
    for word, value, marked in zip(heatmap.words, heatmap.values, heatmap.marked, strict=True):
        colour = shade(value / largest)
        red, green, blue = (round(255 * channel) for channel in colour)
        kind = "up" if value > 0.02 * largest else "down" if value < -0.02 * largest else ""
        classes = " ".join(name for name in ("w", kind, "id" if marked else "") if name)
        colours = f"background:rgb({red},{green},{blue});color:{ink_on(colour)}"
        spans.append(f'<span class="{classes}" style="{colours}" title="{value:+.4f}">{html.escape(word)}</span>')
    caution = f'<p class="caution">{html.escape(heatmap.caution)}</p>' if heatmap.caution else ""
    head = f'<h2 id="{html.escape(anchor)}">{html.escape(heatmap.title)}</h2>'
    # dir="auto" lets a right-to-left text run right to left.
    return f'{head}<p class="words" dir="auto">{" ".join(spans)}</p><p class="note">{html.escape(heatmap.footer)}</p>{caution}'


def draw_identity_share(rows: Sequence[Mapping[str, Any]], path: Path, *, left_out: int = 0) -> Path:
    """Bars of the mean share of attribution on identity words by group and outcome, with intervals; dotted: the share of words.

    `left_out` is how many further groups only the table has.
    """
    colours = {"fp": RED, "tp": ORANGE, "tn": BLUE, "fn": "#56B4E9", "all": GREY}
    figure, axis = new_figure(8, max(2.2, 0.32 * len(rows) + 1.2))
    for place, row in enumerate(rows):
        axis.barh(place, row["share"], color=colours.get(row["outcome"], GREY), height=0.7)
        if row["low"] is not None and row["low"] == row["low"]:
            axis.plot([row["low"], row["high"]], [place, place], color=INK, linewidth=1.2)
        axis.plot([row["word_share"]] * 2, [place - 0.38, place + 0.38], color=INK, linewidth=1.6, linestyle=":")
    axis.set_yticks(range(len(rows)), [f"{row['group']} · {row['outcome']} (n={row['n']})" for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlim(left=0)
    axis.grid(axis="y", visible=False)
    more = f"\n{left_out} groups with fewer rows are in the table only" if left_out else ""
    axis.set_xlabel(f"share of |attribution| on identity words (dotted: their share of all words){more}", fontsize=9, color=INK)
    axis.set_title("How much of the decision rests on words that name a group", fontsize=11, color=INK, loc="left")
    return save_figure(figure, path)
