"""How every chart looks, and how it gets to the disk. Headless, the same bytes for the same numbers, readable without colour."""

from pathlib import Path
from typing import Any

from fairwitness.files import replacing

# Okabe and Ito's palette: told apart by most colour-blind readers. Meaning is never carried by colour alone.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442"
PALETTE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW)
GREY, INK, RULE = "#9AA0A6", "#202124", "#DADCE0"
DIVERGING = "RdBu_r"


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


def save_figure(figure: Any, path: Path, *, dpi: int = 150) -> Path:
    """Write a figure atomically, as the ending of `path` says (.png or .svg), without a date inside."""
    kind = path.suffix.lstrip(".").lower()
    with replacing(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=dpi, metadata={"Software": None} if kind == "png" else {"Date": None})
    return path
