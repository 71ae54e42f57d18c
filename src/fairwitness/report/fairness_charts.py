"""Charts of a fairness audit: gap bars with intervals, and ROC curves per group. Numbers come in as tables; none is made here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.report.style import BLUE, GREY, INK, ORANGE, new_figure, save_figure

_TITLES = {
    "SPD": ("Statistical parity difference", "positive rate of members − of the rest"),
    "EOpp_diff": ("Equal opportunity difference", "true positive rate of members − of the rest"),
}
_MOST_BARS = 60
_MOST_PANELS = 24
_FEWEST = 30


def draw_fairness(tables: Mapping[str, pl.DataFrame], out: Path) -> list[Path]:
    """Draw what there is: `<stem>_SPD.png` and `<stem>_EOpp_diff.png` beside `out`, and `<stem>_ROC.png` with scores."""
    files = []
    if "per_identity" in tables:
        for gap in _TITLES:
            files.append(save_figure(gap_bars(tables["per_identity"], gap), out.with_name(f"{out.stem}_{gap}.png")))
    if "roc" in tables and _drawable(tables["roc"]):
        files.append(save_figure(roc_panels(tables["roc"]), out.with_name(f"{out.stem}_ROC.png")))
    return files


def gap_bars(table: pl.DataFrame, gap: str) -> Any:
    """One bar per identity, sorted by the gap, with its interval; identities not measured are named in grey, with their n."""
    rows = _sorted(table, gap)
    figure, axis = new_figure(7.5, 1.4 + 0.28 * len(rows))
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        _bar(axis, place, row, gap)
    axis.axvline(0, color=INK, linewidth=1)
    axis.set_yticks(list(places), [f"{row['identity']}  (n={row['n_A1']:,})" for row in rows])
    for label, row in zip(axis.get_yticklabels(), rows, strict=True):
        label.set_color(GREY if row[gap] is None else INK)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)
    title, meaning = _TITLES[gap]
    axis.set_title(title, loc="left", fontsize=11, color=INK)
    axis.set_xlabel(f"{meaning} · line: interval · filled: adjusted p < 0.05", fontsize=9, color=INK)
    if len(rows) < table.height:
        axis.set_title(f"{len(rows)} of {table.height} identities, largest gaps", loc="right", fontsize=9, color=GREY)
    return figure


def _sorted(table: pl.DataFrame, gap: str) -> list[dict[str, Any]]:
    kept = table.sort(pl.col(gap).abs(), descending=True, nulls_last=True, maintain_order=True).head(_MOST_BARS)
    return kept.sort(gap, descending=True, nulls_last=True, maintain_order=True).to_dicts()


def _bar(axis: Any, place: int, row: Mapping[str, Any], gap: str) -> None:
    value, low, high = row[gap], row[f"{gap}_low"], row[f"{gap}_high"]
    if value is None:
        why = "too few rows to compare" if row["skipped"] else "undefined: no true positives to compare"
        axis.annotate(why, (0, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=GREY)
        return
    sure = (row.get(f"{gap}_p_adjusted") or 1.0) < 0.05 or row.get(f"{gap}_p_adjusted") == 0
    axis.barh(place, value, height=0.62, color=BLUE if sure else "white", edgecolor=BLUE, linewidth=1)
    if low is not None and high is not None:
        axis.plot([low, high], [place, place], color=INK, linewidth=1.2, solid_capstyle="butt")


def roc_panels(table: pl.DataFrame) -> Any:
    """One small ROC per identity: members against the rest, with both AUCs."""
    every = table.filter(pl.col("identity") != "overall")["identity"].unique(maintain_order=True).to_list()
    names = _drawable(table)[:_MOST_PANELS]
    across = min(4, len(names))
    down = -(-len(names) // across)
    figure, axes = new_figure(2.6 * across, 2.6 * down + 0.5, nrows=down, ncols=across, squeeze=False, sharex=True, sharey=True)
    for axis, name in zip(axes.flat, names, strict=False):
        _panel(axis, name, table.filter(pl.col("identity") == name))
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    figure.supxlabel("false positive rate", fontsize=9, color=INK)
    figure.supylabel("true positive rate", fontsize=9, color=INK)
    left_out = len(every) - len(names)
    more = f"\n{left_out} not drawn: too few rows, one class only, or beyond the first {_MOST_PANELS}" if left_out else ""
    figure.suptitle(f"ROC per group: solid members, dashed the rest{more}", fontsize=10, color=INK, x=0.01, ha="left")
    return figure


def _drawable(table: pl.DataFrame) -> list[str]:
    """Identities with a curve on both sides, each of at least `_FEWEST` rows."""
    both = table.group_by("identity", maintain_order=True).agg(pl.col("group").n_unique(), pl.col("n").min())
    return both.filter((pl.col("group") == 2) & (pl.col("n") >= _FEWEST))["identity"].to_list()


def _panel(axis: Any, name: str, points: pl.DataFrame) -> None:
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.6)
    for group, curve in points.group_by("group", maintain_order=True):
        rest = str(group[0]).startswith("not ") or str(group[0]) == f"{name}=0"
        label = f"{'rest' if rest else 'members'} {curve['auc'][0]:.2f} (n={curve['n'][0]:,})"
        style: dict[str, Any] = {"color": ORANGE, "linestyle": "--"} if rest else {"color": BLUE}
        axis.plot(curve["fpr"], curve["tpr"], linewidth=1.4, label=label, **style)
    axis.set_title(name, fontsize=9, color=INK, loc="left")
    axis.set_aspect("equal")
    axis.set_xticks([0, 0.5, 1])
    axis.set_yticks([0, 0.5, 1])
    axis.legend(loc="lower right", fontsize=6.5, frameon=False, handlelength=1.6, borderaxespad=0.2)
