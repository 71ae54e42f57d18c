"""How every chart looks, and how it gets to the disk. Headless, the same bytes for the same numbers, readable without colour."""

import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairwitness.files import replacing

# Okabe and Ito's palette: told apart by most colour-blind readers. Meaning is never carried by colour alone.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442"
PALETTE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW)
# GREY draws lines and marks; words that stand back are SOFT, which white paper still carries (6:1).
GREY, SOFT, INK, RULE = "#9AA0A6", "#5F6368", "#202124", "#DADCE0"
_READABLE = 4.5  # WCAG 2's least contrast of small text
DIVERGING = "RdBu_r"
# Fonts that cover what DejaVu Sans does not, in the order they are tried, where one is installed.
_MORE_FONTS = (
    *("Noto Sans CJK KR", "Noto Sans CJK JP", "Noto Sans CJK SC", "NanumGothic", "Malgun Gothic", "Apple SD Gothic Neo"),
    *("Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Emoji", "Symbola", "Unifont"),
    "Arial Unicode MS",
)


def new_figure(width: float, height: float, **subplots: Any) -> tuple[Any, Any]:
    """A figure and its axes in the house style, without a display and without pyplot's global state."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "fairwitness"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(**subplots)
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(GREY)
        axis.tick_params(colors=INK, labelsize=9)
        axis.set_axisbelow(True)
        axis.grid(axis="both", color=RULE, linewidth=0.6)
    return figure, axes


@lru_cache(1)
def families() -> tuple[str, ...]:
    """The fonts that are here, in the order in which a letter is looked for in them."""
    from matplotlib import font_manager

    there = {font.name for font in font_manager.fontManager.ttflist}
    return ("DejaVu Sans", *(name for name in _MORE_FONTS if name in there))


def save_figure(figure: Any, path: Path, *, dpi: int = 150) -> Path:
    """Write a figure atomically, as the ending of `path` says (.png or .svg), without a date inside, in any script."""
    kind = path.suffix.lstrip(".").lower()
    _in_any_script(figure)
    with replacing(path) as temporary, warnings.catch_warnings():
        # What no font here has is drawn as a box, which is seen; the warning would not be understood.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(temporary, format=kind, dpi=dpi, metadata={"Software": None} if kind == "png" else {"Date": None})
    return path


def _in_any_script(figure: Any) -> None:
    """Give words with letters beyond English the fonts that have them."""
    from matplotlib.text import Text

    for axes in figure.axes:
        axes.get_xticklabels(), axes.get_yticklabels()  # are written only when somebody asks
    for text in figure.findobj(Text):
        if not text.get_text().isascii():
            text.set_fontfamily(list(families()))


def contrast(one: Any, other: Any) -> float:
    """WCAG 2's contrast of two opaque colours, from 1 (the same) to 21 (black on white).

    >>> round(contrast("black", "white"), 1), contrast(INK, INK)
    (21.0, 1.0)
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(background: Any) -> str:
    """The colour of words on a background: our ink, white, or, where both are weak, black. Their contrast is at least 4.5.

    >>> ink_on("white"), ink_on("#08306B"), ink_on((0.35, 0.55, 0.78))
    ('#202124', 'white', '#202124')
    """
    return next(ink for ink in (INK, "white", "black") if contrast(ink, background) >= _READABLE)


def _luminance(colour: Any) -> float:
    from matplotlib.colors import to_rgb

    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour))
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)
