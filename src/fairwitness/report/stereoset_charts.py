"""StereoSet's two pictures: bars of LMS, SS and ICAT per domain with their ideals, and a model among the published ones.

Numbers come in as tables and are drawn as they are; an undefined one leaves a gap. Neither picture shows any item's text.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.report.style import BLUE, GREEN, GREY, INK, ORANGE, RED, new_figure, save_figure

BARS = (("lms", "LMS, ideal 100", BLUE, ""), ("ss", "SS, ideal 50", ORANGE, "///"), ("icat", "ICAT, ideal 100", GREEN, "..."))
TITLES = {"intrasentence": "Within a sentence", "intersentence": "Between sentences", "both": "Both tests together"}
Box = tuple[float, float, float, float]
MARKERS = {"gpt2": "^", "bert": "s", "roberta": "D", "xlnet": "o"}


def bars(cells: pl.DataFrame, path: Path, *, title: str) -> Path:
    """Bars with intervals per domain, one panel per subset.

    `cells` has `subset`, `domain`, `metric` (lms, ss, icat), `value`, `low`, `high` in percent, and `n`.
    """
    subsets = cells["subset"].unique(maintain_order=True).to_list()
    widest = max(cells.filter(pl.col("subset") == subset)["domain"].n_unique() for subset in subsets)
    figure, axes = new_figure(max(6.5, 1.75 * widest), 3.7 * len(subsets) + 0.5, nrows=len(subsets), squeeze=False)
    for axis, subset in zip(axes[:, 0], subsets, strict=True):
        _bar_panel(axis, cells.filter(pl.col("subset") == subset))
        axis.set_title(TITLES.get(subset, subset), loc="left", fontsize=11, color=INK)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=INK)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return save_figure(figure, path)


def beside_published(points: pl.DataFrame, published: pl.DataFrame, path: Path, *, title: str, note: str = "") -> Path:
    """LMS against SS: the audited model with its intervals, the published models in grey, and the ideal corner.

    `points` has `model`, `subset` and value, low, high of both as `lms`, `lms_low`, … `ss_high`; `published` has `model`, `subset`,
    `lms`, `ss`.
    """
    subsets = points["subset"].unique(maintain_order=True).to_list()
    figure, axes = new_figure(4.6 * len(subsets) + 1.2, 5.0, ncols=len(subsets), squeeze=False)
    for axis, subset in zip(axes[0], subsets, strict=True):
        _scatter_panel(axis, points.filter(pl.col("subset") == subset), published.filter(pl.col("subset") == subset))
        axis.set_title(TITLES.get(subset, subset), loc="left", fontsize=11, color=INK)
    axes[0, 0].set_ylabel("SS: how often the stereotype wins (%)", fontsize=9, color=INK)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=INK)
    if note:
        figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=INK)
    return save_figure(figure, path)


def _bar_panel(axis: Any, cells: pl.DataFrame) -> None:
    domains = cells["domain"].unique(maintain_order=True).to_list()
    for offset, (metric, label, colour, hatch) in zip((-0.27, 0.0, 0.27), BARS, strict=True):
        chosen = cells.filter(pl.col("metric") == metric)
        for place, domain in enumerate(domains):
            row = chosen.filter(pl.col("domain") == domain).row(0, named=True)
            if row["value"] is None or row["value"] != row["value"]:
                axis.text(place + offset, 2, "undefined", ha="center", rotation=90, fontsize=7, color=INK)
                continue
            named = label if place == 0 else None
            axis.bar(
                place + offset, row["value"], width=0.24, color=colour, alpha=0.85, hatch=hatch, edgecolor="white", label=named
            )
            _whisker(axis, place + offset, row)
            _value_label(axis, place + offset, row)
    counts = {row["domain"]: row["n"] for row in cells.iter_rows(named=True)}
    axis.axhline(100, color=INK, linewidth=1, linestyle="--")
    axis.axhline(50, color=RED, linewidth=1, linestyle="--", label="no preference (SS 50)")
    axis.set_xticks(range(len(domains)), [f"{domain}\n{counts[domain]:,} items" for domain in domains])
    axis.set_ylim(0, 116)
    axis.set_yticks(range(0, 101, 25))
    axis.grid(visible=False, axis="x")
    axis.set_ylabel("percent", fontsize=9, color=INK)


def _value_label(axis: Any, place: float, row: dict[str, Any]) -> None:
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.9}
    axis.text(place, row["high"] + 2.5, f"{row['value']:.1f}", ha="center", fontsize=8, color=INK, bbox=behind, zorder=5)


def _whisker(axis: Any, place: float, row: dict[str, Any]) -> None:
    below, above = row["value"] - row["low"], row["high"] - row["value"]
    axis.errorbar(place, row["value"], yerr=[[below], [above]], color=INK, linewidth=1, capsize=3)


def _scatter_panel(axis: Any, points: pl.DataFrame, published: pl.DataFrame) -> None:
    labels: list[tuple[float, float, str, str]] = []
    lines = [(0.0, 49.9, 101.0, 50.1)]
    for row in published.iter_rows(named=True):
        marker = MARKERS.get(row["model"].split("-")[0], "o")
        axis.scatter(row["lms"], row["ss"], marker=marker, s=42, facecolor="white", edgecolor=GREY, linewidth=1.4, zorder=3)
        labels.append((row["lms"], row["ss"], row["model"], GREY))
    for row in points.iter_rows(named=True):
        across, up = ([[row[m] - row[f"{m}_low"]], [row[f"{m}_high"] - row[m]]] for m in ("lms", "ss"))
        axis.errorbar(
            row["lms"], row["ss"], xerr=across, yerr=up, fmt="*", markersize=14, color=BLUE, capsize=3, linewidth=1.2, zorder=4
        )
        labels.append((row["lms"], row["ss"], row["model"], BLUE))
        lines += [(row["lms_low"], row["ss"], row["lms_high"], row["ss"]), (row["lms"], row["ss_low"], row["lms"], row["ss_high"])]
    axis.scatter(100, 50, marker="P", s=90, color=GREEN, zorder=4)
    labels.append((100, 50, "ideal", GREEN))
    axis.axhline(50, color=RED, linewidth=1, linestyle="--")
    _limits(axis, points, published)
    _place_labels(axis, labels, lines)
    axis.set_xlabel("LMS: how often a meaningful sentence wins (%)", fontsize=9, color=INK)


def _limits(axis: Any, points: pl.DataFrame, published: pl.DataFrame) -> None:
    left = min([*points["lms_low"], *published["lms"], 60.0])
    low = min([*points["ss_low"], *published["ss"], 43.0])
    high = max([*points["ss_high"], *published["ss"], 66.0])
    axis.set_xlim(left - 4, 104)
    axis.set_ylim(low - 2, high + 2)


def _place_labels(axis: Any, labels: Sequence[tuple[float, float, str, str]], lines: Sequence[Box]) -> None:
    """Put each name beside its mark, at the first of some places where it covers no name, mark or line, with a thin line if far."""
    (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
    width, height = (right - left) / 56, (high - low) / 30
    taken = [(x - width * 0.7, y - height * 0.5, x + width * 0.7, y + height * 0.5) for x, y, _, _ in labels]
    taken += [(x0 - width / 2, y0 - height / 4, x1 + width / 2, y1 + height / 4) for x0, y0, x1, y1 in lines]
    for x, y, name, colour in sorted(labels, key=lambda label: (label[3] == GREY, -label[1])):
        box = (0.0, 0.0)
        for across, up in _places(width, height, len(name)):
            box = (x + across, y + up)
            area = (box[0], box[1] - height / 2, box[0] + width * len(name), box[1] + height / 2)
            inside = left < area[0] and area[2] < right and low < area[1] and area[3] < high
            if inside and not any(_overlap(area, other) for other in taken):
                taken.append(area)
                break
        far = abs(box[1] - y) > height * 1.6
        arrow = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6} if far else None
        shown = {"fontsize": 8, "color": INK if colour == GREY else colour, "va": "center", "zorder": 5}
        axis.annotate(name, (x, y), box, weight="normal" if colour == GREY else "bold", arrowprops=arrow, **shown)


def _places(width: float, height: float, length: int) -> list[tuple[float, float]]:
    right, left = width, -width * (length + 1)
    middle = -width * length / 2
    near = [(right, 0.0), (left, 0.0), (middle, height * 1.2), (middle, -height * 1.2)]
    return near + [(side, sign * step * height) for step in (1, 2, 3, 4, 5) for sign in (1, -1) for side in (right, left)]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
