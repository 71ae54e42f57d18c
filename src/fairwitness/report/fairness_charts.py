"""Charts of a fairness audit: gap bars with intervals, ROC curves and reliability per group. No number is made here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.report.style import BLUE, GREY, INK, ORANGE, SOFT, new_figure, save_figure

_TITLES = {
    "SPD": ("Statistical parity difference", "positive rate of members − of the rest"),
    "EOpp_diff": ("Equal opportunity difference", "true positive rate of members − of the rest"),
}
_MOST_BARS = 60
_MOST_PANELS = 24
# A curve is drawn for groups of so many rows, with so many of either class: with four negatives it would be three steps.
_FEWEST = 30
_FEWEST_OF_A_CLASS = 10
_FEWEST_IN_A_BIN = 10


def draw_fairness(tables: Mapping[str, pl.DataFrame], out: Path) -> list[Path]:
    """Draw what there is beside `out`: `<stem>_SPD.png`, `<stem>_EOpp_diff.png`, with scores `_ROC.png` and `_calibration.png`."""
    files = []
    if "per_identity" in tables:
        for gap in _TITLES:
            files.append(save_figure(gap_bars(tables["per_identity"], gap), out.with_name(f"{out.stem}_{gap}.png")))
    if "roc" in tables and _drawable(tables["roc"]):
        files.append(save_figure(roc_panels(tables["roc"]), out.with_name(f"{out.stem}_ROC.png")))
    if "calibration" in tables and _two_sided(tables["calibration"]):
        files.append(save_figure(reliability_panels(tables["calibration"]), out.with_name(f"{out.stem}_calibration.png")))
    return files


def gap_bars(table: pl.DataFrame, gap: str) -> Any:
    """One bar per identity, sorted by the gap, with its interval; identities not measured are named in grey, with their n."""
    rows = _sorted(table, gap)
    figure, axis = new_figure(7.5, 1.4 + 0.28 * len(rows))
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        _bar(axis, place, row, gap)
    axis.axvline(0, color=INK, linewidth=1)
    axis.set_yticks(list(places), [f"{row['identity']}  ({_support(row, gap)})" for row in rows])
    for label, row in zip(axis.get_yticklabels(), rows, strict=True):
        label.set_color(GREY if row[gap] is None else INK)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)
    title, meaning = _TITLES[gap]
    axis.set_title(title, loc="left", fontsize=11, color=INK)
    axis.set_xlabel(f"{meaning}\nline: interval · filled: adjusted p < 0.05", fontsize=9, color=INK)
    if len(rows) < table.height:
        axis.set_title(f"{len(rows)} of {table.height} identities, largest gaps", loc="right", fontsize=9, color=SOFT)
    return figure


def _support(row: Mapping[str, Any], gap: str) -> str:
    """The members that a gap rests on: those who are truly positive where it is about them."""
    return f"n={row['n_A1']:,}" if gap == "SPD" else f"positives={row['n_positive_A1']:,}"


def _sorted(table: pl.DataFrame, gap: str) -> list[dict[str, Any]]:
    kept = table.sort(pl.col(gap).abs(), descending=True, nulls_last=True, maintain_order=True).head(_MOST_BARS)
    return kept.sort(gap, descending=True, nulls_last=True, maintain_order=True).to_dicts()


def _bar(axis: Any, place: int, row: Mapping[str, Any], gap: str) -> None:
    value, low, high = row[gap], row[f"{gap}_low"], row[f"{gap}_high"]
    if value is None:
        why = "too few rows to compare" if row["skipped"] else "undefined: no true positives to compare"
        axis.annotate(why, (0, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=SOFT)
        return
    sure = (row.get(f"{gap}_p_adjusted") or 1.0) < 0.05 or row.get(f"{gap}_p_adjusted") == 0
    axis.barh(place, value, height=0.62, color=BLUE if sure else "white", edgecolor=BLUE, linewidth=1)
    if low is not None and high is not None:
        axis.plot([low, high], [place, place], color=INK, linewidth=1.2, solid_capstyle="butt")


def roc_panels(table: pl.DataFrame) -> Any:
    """One small ROC per identity: members against the rest, with both AUCs."""
    every = table.filter(pl.col("identity") != "overall")["identity"].unique(maintain_order=True).to_list()
    names = _drawable(table)
    figure, axes = _panels(names, "false positive rate", "true positive rate")
    for axis, name in zip(axes, names, strict=False):
        _roc(axis, name, table.filter(pl.col("identity") == name))
    left_out = len(every) - len(axes)
    few = f"fewer than {_FEWEST} rows or {_FEWEST_OF_A_CLASS} of either class"
    more = f"\n{left_out} not drawn: {few}, or beyond the first {_MOST_PANELS}" if left_out else ""
    figure.suptitle(f"ROC per group: solid members, dashed the rest{more}", fontsize=10, color=INK, x=0.01, ha="left")
    return figure


def reliability_panels(table: pl.DataFrame) -> Any:
    """One small reliability diagram per identity: how often rows of a score are truly positive, for members and for the rest."""
    names = _two_sided(table)
    figure, axes = _panels(names, "mean score in the bin", "share truly positive")
    for axis, name in zip(axes, names, strict=False):
        _reliability(axis, name, table.filter(pl.col("identity") == name))
    more = f"\nthe first {_MOST_PANELS} of {len(names)}" if len(names) > _MOST_PANELS else ""
    title = (
        f"Reliability per group, bins of at least {_FEWEST_IN_A_BIN} rows, and ECE: on the line a score means what it says{more}"
    )
    figure.suptitle(title, fontsize=10, color=INK, x=0.01, ha="left")
    return figure


def _panels(names: list[str], across_label: str, up_label: str) -> tuple[Any, list[Any]]:
    """A grid of small square charts over [0, 1], as many as there are names, up to the most that can be read."""
    number = min(len(names), _MOST_PANELS)
    across = min(4, number)
    down = -(-number // across)
    size = {"nrows": down, "ncols": across, "squeeze": False, "sharex": True, "sharey": True}
    figure, axes = new_figure(2.6 * across, 2.6 * down + 0.6, **size)
    for place, axis in enumerate(axes.flat):
        axis.set_visible(place < number)
        axis.set_aspect("equal")
        axis.set_xticks([0, 0.5, 1])
        axis.set_yticks([0, 0.5, 1])
        # The lowest chart of a column carries the numbers, whether or not it is in the last row.
        axis.tick_params(labelbottom=place + across >= number)
        axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.6)
    figure.supxlabel(across_label, fontsize=9, color=INK)
    figure.supylabel(up_label, fontsize=9, color=INK)
    return figure, list(axes.flat)[:number]


def _drawable(table: pl.DataFrame) -> list[str]:
    """Identities with a curve on both sides, each of enough rows of either class."""
    few = (pl.col("n") >= _FEWEST) & (pl.min_horizontal("n_positive", "n_negative") >= _FEWEST_OF_A_CLASS)
    return _two_sided(table.filter(few))


def _two_sided(table: pl.DataFrame) -> list[str]:
    both = table.group_by("identity", maintain_order=True).agg(pl.col("group").n_unique())
    return both.filter(pl.col("group") == 2)["identity"].to_list()


def _is_rest(group: str, name: str) -> bool:
    return group.startswith("not ") or group == f"{name}=0"


def _style(group: str, name: str) -> dict[str, Any]:
    return {"color": ORANGE, "linestyle": "--"} if _is_rest(group, name) else {"color": BLUE, "linestyle": "-"}


def _named(axis: Any, name: str) -> None:
    axis.set_title("background (no identity named)" if name == "background" else name, fontsize=9, color=INK, loc="left")


def _roc(axis: Any, name: str, points: pl.DataFrame) -> None:
    for (group,), curve in points.group_by("group", maintain_order=True):
        who = "rest" if _is_rest(str(group), name) else "members"
        label = f"{who} {curve['auc'][0]:.2f} (n={curve['n'][0]:,})"
        axis.plot(curve["fpr"], curve["tpr"], linewidth=1.4, label=label, **_style(str(group), name))
    _named(axis, name)
    axis.legend(loc="lower right", fontsize=6.5, frameon=False, handlelength=1.6, borderaxespad=0.2)


def _reliability(axis: Any, name: str, bins: pl.DataFrame) -> None:
    for (group,), part in bins.filter(pl.col("n") >= _FEWEST_IN_A_BIN).group_by("group", maintain_order=True):
        who, style = ("rest" if _is_rest(str(group), name) else "members"), _style(str(group), name)
        label = f"{who} ECE {part['ece'][0]:.2f} ({part['ece_low'][0]:.2f}–{part['ece_high'][0]:.2f})"
        axis.vlines(part["mean_score"], part["low"], part["high"], color=style["color"], linewidth=1, alpha=0.7)
        axis.plot(part["mean_score"], part["positive_share"], linewidth=1.2, marker="o", markersize=2.5, label=label, **style)
    _named(axis, name)
    # Curves may lie anywhere here, so the legend looks for room and keeps a ground of its own.
    axis.legend(loc="best", fontsize=6, framealpha=0.85, edgecolor="none", handlelength=1.6, borderaxespad=0.2)
