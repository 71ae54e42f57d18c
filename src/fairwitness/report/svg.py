"""Small charts as inline SVG: values with intervals, and heat maps.

They take the page's colours, show their numbers on hover and focus, and say everything again in their alternative text. PNGs
for files are drawn with matplotlib elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

ROW, LEFT, RIGHT, TOP = 26, 210, 90, 12


@dataclass(frozen=True)
class Interval:
    """One line of an interval chart. A muted one (too few rows to say) is drawn grey and marked as such."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None = None
    muted: bool = False
    series: str = ""


def interval_chart(lines: Sequence[Interval], *, name: str, ideal: float | None = 0.0, width: int = 760) -> str:
    """A dot with its interval per line, a dashed line at the ideal value, labels at the left, values at the right."""
    drawn = [line for line in lines if _finite(line.value)]
    if not drawn:
        return '<p class="empty">Nothing here could be measured.</p>'
    low, high = _span(drawn, ideal)
    plot = width - LEFT - RIGHT
    height = TOP + ROW * len(lines) + 44

    def x(value: float) -> float:
        return LEFT + (min(max(value, low), high) - low) / (high - low) * plot

    body = [_axis(low, high, x, TOP, TOP + ROW * len(lines), name, width)]
    if ideal is not None and low <= ideal <= high:
        body.append(f'<line class="ideal" x1="{x(ideal):.1f}" x2="{x(ideal):.1f}" y1="{TOP}" y2="{TOP + ROW * len(lines)}"/>')
    series = list(dict.fromkeys(line.series for line in lines))
    for index, line in enumerate(lines):
        body.append(_interval_line(line, TOP + ROW * index + ROW / 2, x, width, series.index(line.series)))
    alternative = f"{name}. " + "; ".join(describe(line) for line in lines)
    return _svg(width, height, alternative, body)


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    name: str,
    hints: Sequence[Sequence[str]],
) -> str:
    """A grid of shaded cells with their values written in; a cell that is undefined is empty and hatched."""
    cell, height = max(54, min(110, 560 // max(1, len(columns)))), 30
    width = LEFT + cell * len(columns) + 10
    finite = [value for line in values for value in line if _finite(value)]
    peak = max((abs(value) for value in finite if value is not None), default=1.0) or 1.0
    signed = any(value is not None and value < 0 for value in finite)
    body = []
    for j, column in enumerate(columns):
        body.append(
            f'<text class="label" x="{LEFT + cell * (j + 0.5):.0f}" y="18" text-anchor="middle">{escape(_short(column, 14))}</text>'
        )
    for i, row in enumerate(rows):
        y = 26 + height * i
        body.append(f'<text class="label" x="{LEFT - 10}" y="{y + 20}" text-anchor="end">{escape(_short(row, 28))}</text>')
        for j in range(len(columns)):
            body.append(_cell(LEFT + cell * j, y, cell, height, values[i][j], peak, signed, hints[i][j]))
    return _svg(width, 26 + height * len(rows) + 8, name, body)


def describe(line: Interval) -> str:
    """One line of a chart in words.

    >>> describe(Interval("women", 0.12, 0.05, 0.2, n=300))
    'women: 0.120, 95 % interval 0.050 to 0.200, n = 300'
    """
    words = f"{line.label}: {line.value:.3f}" if line.value is not None and isfinite(line.value) else f"{line.label}: undefined"
    if line.low is not None and line.high is not None and isfinite(line.low) and isfinite(line.high):
        words += f", 95 % interval {line.low:.3f} to {line.high:.3f}"
    if line.n is not None:
        words += f", n = {line.n:,}"
    return words + (", too few to say" if line.muted else "")


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between low and high.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / about
    unit = 10.0 ** floor(log10(raw))
    step = min((unit * factor for factor in (1, 2, 2.5, 5, 10)), key=lambda candidate: abs(candidate - raw))
    return [round(k * step, 10) for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _interval_line(line: Interval, y: float, x, width: int, series: int) -> str:  # type: ignore[no-untyped-def]
    kind = "muted" if line.muted else f"series{series % 4}"
    parts = [f'<text class="label" x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(_short(line.label, 28))}</text>']
    if not _finite(line.value):
        parts.append(f'<text class="value muted" x="{LEFT + 6}" y="{y + 4:.1f}">undefined</text>')
        return _hint(describe(line), "".join(parts))
    assert line.value is not None
    if _finite(line.low) and _finite(line.high):
        assert line.low is not None
        assert line.high is not None
        parts.append(f'<line class="bar {kind}" x1="{x(line.low):.1f}" x2="{x(line.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts.append(_mark(x(line.value), y, kind, series))
    parts.append(f'<text class="value" x="{width - RIGHT + 12}" y="{y + 4:.1f}">{line.value:+.3f}</text>')
    parts.append(f'<rect class="hit" x="0" y="{y - ROW / 2:.1f}" width="{width}" height="{ROW}"/>')
    return _hint(describe(line), "".join(parts))


def _mark(x: float, y: float, kind: str, series: int) -> str:
    """Series differ in shape as well as in colour."""
    if series % 4 == 1:
        return f'<rect class="dot {kind}" x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"/>'
    if series % 4 == 2:
        return f'<path class="dot {kind}" d="M{x:.1f} {y - 6:.1f} l6 10 h-12 z"/>'
    if series % 4 == 3:
        return f'<path class="dot {kind}" d="M{x:.1f} {y - 6:.1f} l6 6 l-6 6 l-6 -6 z"/>'
    return f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def _cell(x: float, y: float, width: int, height: int, value: float | None, peak: float, signed: bool, hint: str) -> str:
    if not _finite(value):
        return _hint(
            f"{hint}: undefined", f'<rect class="cell undefined" x="{x}" y="{y}" width="{width - 2}" height="{height - 2}"/>'
        )
    assert value is not None
    kind = "negative" if value < 0 else "positive"
    opacity = 0.08 + 0.6 * min(1.0, abs(value) / peak)
    box = (
        f'<rect class="cell {kind}" style="fill-opacity:{opacity:.2f}" x="{x}" y="{y}" width="{width - 2}" height="{height - 2}"/>'
    )
    shown = f"{value:+.2f}" if signed else f"{value:.2f}"
    at = f'x="{x + width / 2 - 1:.0f}" y="{y + height / 2 + 4:.0f}"'
    return _hint(hint, f'{box}<text class="cellvalue" {at} text-anchor="middle">{shown}</text>')


def _axis(low: float, high: float, x, top: float, bottom: float, name: str, width: int) -> str:  # type: ignore[no-untyped-def]
    lines = []
    for tick in ticks(low, high):
        lines.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{bottom}"/>')
        lines.append(f'<text class="tick" x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    lines.append(
        f'<text class="axis" x="{(LEFT + width - RIGHT) / 2:.0f}" y="{bottom + 36}" text-anchor="middle">{escape(name)}</text>'
    )
    return "".join(lines)


def _span(lines: Sequence[Interval], ideal: float | None) -> tuple[float, float]:
    numbers = [v for line in lines for v in (line.value, line.low, line.high) if v is not None and isfinite(v)]
    numbers += [ideal] if ideal is not None else []
    low, high = min(numbers), max(numbers)
    margin = (high - low) * 0.06 or 0.05
    return low - margin, high + margin


def _svg(width: int, height: float, alternative: str, body: Sequence[str]) -> str:
    opening = f'<svg class="chart" role="img" viewBox="0 0 {width} {height}" style="max-width:{width}px"'
    return f'{opening} aria-label="{escape(alternative, quote=True)}">{"".join(body)}</svg>'


def _hint(words: str, inside: str) -> str:
    return f'<g class="hint" tabindex="0" data-hint="{escape(words, quote=True)}"><title>{escape(words)}</title>{inside}</g>'


def _finite(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
