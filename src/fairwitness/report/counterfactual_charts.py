"""The counterfactual audit's charts: means by group with intervals, gaps between groups as a heat map, and the study's lines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.report.style import BLUE, DIVERGING, GREEN, GREY, INK, PALETTE, RED, SOFT, ink_on, new_figure, save_figure

SENTIMENTS = ("neutral", "negative", "positive")
# Sentiment is told by colour and by the shape of the mark, as in the study: circle, square, triangle.
_LOOKS = {"neutral": (BLUE, "o"), "negative": (RED, "s"), "positive": (GREEN, "^"), "all": (INK, "D")}
CONTROL_NAME = "(control)"


def means_chart(by_group: pl.DataFrame, category: str, path: Path, *, title: str = "") -> Path:
    """Mean score of each group with its interval, one colour and mark a sentiment; groups by overall mean, the control last."""
    rows = by_group.filter(pl.col("category") == category)
    overall = rows.filter(pl.col("sentiment") == "all").sort("mean", descending=False, nulls_last=False)
    groups = [name for name in overall["role"].to_list() if name != CONTROL_NAME]
    groups = [CONTROL_NAME, *groups] if CONTROL_NAME in overall["role"].to_list() else groups
    shown = [name for name in SENTIMENTS if name in rows["sentiment"].to_list()] or ["all"]
    figure, axes = new_figure(8, 1.4 + 0.5 * len(groups))
    for offset, sentiment in enumerate(shown):
        some = {row["role"]: row for row in rows.filter(pl.col("sentiment") == sentiment).to_dicts()}
        colour, mark = _LOOKS[sentiment]
        for place, group in enumerate(groups):
            row = some.get(group)
            if row is None or row["mean"] is None:
                continue
            height = place + (offset - (len(shown) - 1) / 2) * 0.22
            axes.plot([row["low"], row["high"]], [height, height], color=colour, linewidth=1.6, zorder=2)
            axes.plot(row["mean"], height, mark, color=colour, markersize=6, zorder=3, label=sentiment if place == 0 else None)
    axes.set_yticks(range(len(groups)), [name.replace(CONTROL_NAME, "control") for name in groups])
    axes.set_ylim(-0.6, len(groups) - 0.4)
    axes.set_xlim(left=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean score, with 95 % bootstrap interval over templates")
    axes.set_title(title or f"{_title(category)}: mean score by group and sentiment", fontsize=11, loc="left")
    handles = [axes.plot([], [], _LOOKS[name][1], color=_LOOKS[name][0], label=name)[0] for name in shown]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(shown), frameon=False, fontsize=9)
    return save_figure(figure, path)


def gaps_chart(pairs: pl.DataFrame, category: str, path: Path, *, sentiment: str = "all") -> Path:
    """Mean paired difference, row minus column; a number in bold is sure to the adjusted 5 % level."""
    rows = pairs.filter((pl.col("category") == category) & (pl.col("sentiment") == sentiment))
    order = rows.group_by("a", maintain_order=True).agg(pl.col("mean_a").mean()).sort("mean_a", descending=True, nulls_last=True)
    names = [name for name in order["a"].to_list() if name != CONTROL_NAME]
    names += [CONTROL_NAME] if CONTROL_NAME in order["a"].to_list() else []
    known = {(row["a"], row["b"]): row for row in rows.to_dicts()}
    size = 2.6 + 0.72 * len(names)
    figure, axes = new_figure(size + 0.6, size - 0.4)
    limit = max([abs(row["difference"]) for row in known.values() if row["difference"] is not None] + [0.05])
    grid = [[_number(known.get((a, b))) for b in names] for a in names]
    image = axes.imshow(grid, cmap=DIVERGING, vmin=-limit, vmax=limit)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            _write_cell(axes, i, j, known.get((a, b)), image)
    labels = [name.replace(CONTROL_NAME, "control") for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=35, ha="right")
    axes.set_yticks(range(len(names)), labels)
    axes.grid(visible=False)
    axes.set_title(
        f"{_title(category)}: mean score of row minus column, template by template\nbold: adjusted p < 0.05",
        fontsize=10,
        loc="left",
    )
    bar = figure.colorbar(image, ax=axes, shrink=0.8)
    bar.ax.tick_params(labelsize=8)
    return save_figure(figure, path)


def lines_chart(scores: pl.DataFrame, category: str, path: Path, *, most: int = 30) -> Path:
    """The study's picture: for each group one panel, one line a sentiment over its templates, in file order."""
    rows = scores.filter(pl.col("category") == category)
    groups = [name for name in rows["role"].unique(maintain_order=True).to_list() if name] + (
        [""] if (rows["role"] == "").any() else []
    )
    units = rows.select("unit", "sentiment").unique("unit", maintain_order=True)
    rows = rows.select("unit", "role", "score")
    across = min(3, len(groups))
    down = -(-len(groups) // across)
    figure, axes = new_figure(3.3 * across, 0.6 + 2.1 * down, nrows=down, ncols=across, sharex=True, sharey=True, squeeze=False)
    for place, group in enumerate(groups):
        axis = axes[place // across][place % across]
        # A template that was not made for a group leaves a gap in its line.
        _draw_lines(axis, units.join(rows.filter(pl.col("role") == group), on="unit", how="left", maintain_order="left"), most)
        axis.set_title(group or "control", fontsize=10, loc="left")
    for place in range(len(groups), across * down):
        axes[place // across][place % across].set_visible(False)
    figure.supxlabel("template (in the order of the file)", fontsize=9)
    figure.supylabel("score", fontsize=9)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    return save_figure(figure, path)


def mitigation_chart(table: pl.DataFrame, path: Path) -> Path:
    """For each category the gap in false positives and the AUC, before and after; comments as written where that is known."""
    written = table.filter(pl.col("rows") == "as written")
    table = written if written.height else table
    categories = table["category"].unique(maintain_order=True).to_list()
    ways = table["mitigation"].unique(maintain_order=True).to_list()
    measures: Sequence[tuple[str, str]] = (("false_positive_gap", "gap in false positive rate"), ("auc", "AUC"))
    figure, axes = new_figure(9, 1.2 + 0.75 * len(categories), ncols=2, sharey=True)
    for axis, (column, name) in zip(axes, measures, strict=True):
        for offset, way in enumerate(ways):
            found = dict(table.filter(pl.col("mitigation") == way).select("category", column).iter_rows())
            heights = [place + (offset - (len(ways) - 1) / 2) * 0.18 for place in range(len(categories))]
            values = [found.get(category) for category in categories]
            axis.barh(
                heights, [value if value is not None else 0 for value in values], height=0.16, color=PALETTE[offset], label=way
            )
            for height, value in zip(heights, values, strict=True):
                axis.text(
                    (value or 0) + 0.005,
                    height,
                    "undefined" if value is None else f"{value:.3f}",
                    va="center",
                    fontsize=7,
                    color=INK,
                )
        axis.set_yticks(range(len(categories)), [_title(category) for category in categories])
        axis.set_xlabel(name)
        axis.grid(axis="y", visible=False)
        axis.margins(x=0.12)
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(ways), frameon=False, fontsize=8)
    return save_figure(figure, path)


def _draw_lines(axis: Any, rows: pl.DataFrame, most: int) -> None:
    shown = [name for name in SENTIMENTS if (rows["sentiment"] == name).any()]
    for sentiment in shown:
        values = rows.filter(pl.col("sentiment") == sentiment)["score"].head(most).to_list()
        colour, mark = _LOOKS[sentiment]
        numbers = [float("nan") if value is None else value for value in values]
        axis.plot(range(1, len(numbers) + 1), numbers, marker=mark, color=colour, markersize=3.5, linewidth=1, label=sentiment)


def _write_cell(axes: Any, i: int, j: int, row: dict[str, Any] | None, image: Any) -> None:
    if i == j:
        axes.text(j, i, "·", ha="center", va="center", color=GREY)
        return
    if row is None or row["difference"] is None:
        axes.text(j, i, "n/a", ha="center", va="center", color=SOFT, fontsize=8)
        return
    sure = row["p_adjusted"] is not None and row["p_adjusted"] < 0.05
    colour = ink_on(image.to_rgba(row["difference"])[:3])
    axes.text(
        j, i, f"{row['difference']:+.2f}", ha="center", va="center", fontsize=8, color=colour, weight="bold" if sure else "normal"
    )


def _number(row: dict[str, Any] | None) -> float:
    return float("nan") if row is None or row["difference"] is None else float(row["difference"])


def _title(category: str) -> str:
    return category.replace("_", " ").replace("*", " × ").capitalize()
