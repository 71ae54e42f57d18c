"""Charts of a user model: class × group heat maps with intervals, and the accuracy-gap curve of reweighted training."""

from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.report.style import BLUE, GREY, INK, ORANGE, SOFT, ink_on, new_figure, save_figure

TITLES = {
    "statistical_parity": "Statistical parity: share of the group predicted as the class",
    "equal_opportunity": "Equal opportunity: recall of the class in the group",
    "overall_accuracy_equality": "Overall accuracy equality: sum of class recalls in the group",
    "treatment_equality_fp_over_fn": "Treatment equality: false positive rate / false negative rate",
}
_MOST_GROUPS = 30


def draw_user_model(multigroup: pl.DataFrame, folder: Path, title: str) -> list[Path]:
    """One picture per sensitive attribute: `heatmap_<attribute>.png`, the four metrics one below the other."""
    files = []
    for attribute in multigroup["attribute"].unique(maintain_order=True).to_list():
        name = f"heatmap_{attribute.replace('*', '_x_')}.png"
        part = multigroup.filter(pl.col("attribute") == attribute)
        files.append(save_figure(heat_maps(part, f"{title}, by {attribute}"), folder / name))
    return files


def heat_maps(table: pl.DataFrame, title: str) -> Any:
    """The four metrics of one attribute as class × group maps; each cell has its value, its interval and its n."""
    shown = [name for name in TITLES if (table["metric"] == name).any()]
    groups = table.filter(pl.col("metric") == shown[0])["group"].unique(maintain_order=True).to_list()[:_MOST_GROUPS]
    heights = [table.filter(pl.col("metric") == name)["class"].n_unique() for name in shown]
    width = max(6.5, 1.6 + 1.25 * len(groups))
    height = 0.6 + sum(0.95 + 0.56 * rows for rows in heights)
    figure, axes = new_figure(width, height, nrows=len(shown), ncols=1, squeeze=False, height_ratios=[1 + r for r in heights])
    for axis, name in zip(axes[:, 0], shown, strict=True):
        _map(axis, table.filter(pl.col("metric") == name), groups, name)
    axes[-1, 0].set_xlabel(f"group of {table['attribute'][0]}", fontsize=9, color=INK)
    figure.suptitle(title, fontsize=11, color=INK, x=0.01, ha="left")
    return figure


def _map(axis: Any, table: pl.DataFrame, groups: list[str], name: str) -> None:
    import numpy as np

    classes = table["class"].unique(maintain_order=True).to_list()
    cells = {(row["class"], row["group"]): row for row in table.to_dicts()}
    values = np.array([[_number(cells.get((c, g), {}).get("value")) for g in groups] for c in classes], float)
    finite = values[np.isfinite(values)]
    share = name in ("statistical_parity", "equal_opportunity")
    top = 1.0 if share else max(1e-9, float(finite.max()) if len(finite) else 1.0)
    image = axis.imshow(np.where(np.isfinite(values), values, np.nan), cmap="Blues", vmin=0, vmax=top * 1.15, aspect="auto")
    for y, class_ in enumerate(classes):
        for x, group in enumerate(groups):
            _cell(axis, x, y, cells.get((class_, group)), image.to_rgba(values[y, x])[:3])
    for edge in range(1, len(classes)):
        axis.axhline(edge - 0.5, color="white", linewidth=1.5)
    for edge in range(1, len(groups)):
        axis.axvline(edge - 0.5, color="white", linewidth=1.5)
    axis.set_xticks(range(len(groups)), groups)
    axis.set_yticks(range(len(classes)), ["all classes" if c is None else f"class {c}" for c in classes])
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    axis.set_title(TITLES[name], loc="left", fontsize=9.5, color=INK)


def _cell(axis: Any, x: int, y: int, row: dict[str, Any] | None, background: Any) -> None:
    if row is None or row["value"] is None:
        axis.text(x, y, f"undefined\nn={row['n']:,}" if row else "–", ha="center", va="center", fontsize=7, color=SOFT)
        return
    colour = ink_on(background)
    axis.text(x, y - 0.14, f"{row['value']:.2f}", ha="center", va="center", fontsize=9, color=colour)
    ends = "" if row["low"] is None else f"{row['low']:.2f}–{row['high']:.2f} · "
    axis.text(x, y + 0.22, f"{ends}n={row['n']:,}", ha="center", va="center", fontsize=6.5, color=colour)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def draw_curve(curve: pl.DataFrame, path: Path, title: str) -> Path:
    """Accuracy against the gap, one point a strength, with the spread over seeds as bars."""
    figure, axis = new_figure(6.5, 4.2)
    label = curve["gap"][0]
    # A strength at which the gap is undefined has no place on the curve.
    rows = curve.drop_nulls("gap_mean").sort("strength").to_dicts()
    axis.plot([r["gap_mean"] for r in rows], [r["accuracy_mean"] for r in rows], color=GREY, linewidth=1, zorder=1)
    for row in rows:
        colour = ORANGE if row["strength"] == 0 else BLUE
        axis.errorbar(
            row["gap_mean"],
            row["accuracy_mean"],
            xerr=row["gap_sd"] or 0,
            yerr=row["accuracy_sd"] or 0,
            fmt="s" if row["strength"] == 0 else "o",
            color=colour,
            capsize=2,
            linewidth=1,
        )
        axis.annotate(
            f"{row['strength']:g}", (row["gap_mean"], row["accuracy_mean"]), xytext=(5, 5), textcoords="offset points", fontsize=8
        )
    axis.set_xlabel(f"{label} (mean over seeds; bars: one standard deviation)", fontsize=9, color=INK)
    axis.set_ylabel("accuracy", fontsize=9, color=INK)
    axis.text(
        0.99,
        0.02,
        "numbers: strength of the weights · square: plain loss",
        transform=axis.transAxes,
        ha="right",
        fontsize=8,
        color=SOFT,
    )
    axis.set_title(title, loc="left", fontsize=11, color=INK)
    return save_figure(figure, path)
