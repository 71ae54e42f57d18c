"""Small charts as inline SVG: values with intervals, and heat maps.

They take the page's colours, show their numbers on hover and focus, and say everything again in their alternative text. PNGs
for files are drawn with matplotlib elsewhere.
"""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, isfinite, log10

from fairwitness.report.content import HeatMap, Interval, IntervalChart, defined, describe

ROW, LEFT, RIGHT, TOP = 26, 252, 80, 12


def interval_chart(chart: IntervalChart, *, width: int = 820) -> str:
    """A dot with its interval per line, a dashed line at the ideal value, labels at the left, values at the right."""
    lines = chart.lines
    drawn = [line for line in lines if defined(line.value)]
    if not drawn:
        return '<p class="empty">Nothing here could be measured.</p>'
    low, high = _span(drawn, chart.ideal)
    plot = width - LEFT - RIGHT

    def x(value: float) -> float:
        return LEFT + (min(max(value, low), high) - low) / (high - low) * plot

    series = [name for name in dict.fromkeys(line.series for line in lines) if name]
    top = TOP + (22 if len(series) > 1 else 0)
    bottom = top + ROW * len(lines)
    body = [_legend(series)] if len(series) > 1 else []
    body.append(_axis(low, high, x, top, bottom, chart.name, width))
    if chart.ideal is not None and low <= chart.ideal <= high:
        body.append(f'<line class="ideal" x1="{x(chart.ideal):.1f}" x2="{x(chart.ideal):.1f}" y1="{top}" y2="{bottom}"/>')
    shown = [line.value for line in drawn if line.value is not None]
    form = f"{'+' if min(shown) < 0 else ''}.{1 if max(map(abs, shown)) >= 10 else 3}f"
    for index, line in enumerate(lines):
        number = series.index(line.series) if line.series else 0
        body.append(_interval_line(line, top + ROW * index + ROW / 2, x, width, number, form))
    alternative = f"{chart.name}. " + "; ".join(describe(line) for line in lines)
    return _svg(width, bottom + 44, alternative, body)


def heat_map(chart: HeatMap) -> str:
    """A grid of shaded cells with their values written in; a cell that is undefined is empty and dashed."""
    cell, height = max(54, min(110, 560 // max(1, len(chart.columns)))), 30
    width = LEFT + cell * len(chart.columns) + 10
    finite = [one.value for line in chart.cells for one in line if one.value is not None and defined(one.value)]
    peak = max((abs(value) for value in finite), default=1.0) or 1.0
    signed = any(value < 0 for value in finite)
    body = []
    for j, column in enumerate(chart.columns):
        place = f'x="{LEFT + cell * (j + 0.5):.0f}" y="18" text-anchor="middle"'
        body.append(f'<text class="label" {place}>{escape(_short(column, cell // 7))}</text>')
    for i, row in enumerate(chart.rows):
        y = 26 + height * i
        body.append(f'<text class="label" x="{LEFT - 10}" y="{y + 20}" text-anchor="end">{escape(_short(row, 36))}</text>')
        for j, one in enumerate(chart.cells[i]):
            body.append(_cell(LEFT + cell * j, y, cell, height, one, peak, signed))
    alternative = f"{chart.title}. " + "; ".join(describe(one) for line in chart.cells for one in line)
    return _svg(width, 26 + height * len(chart.rows) + 8, alternative, body)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between low and high.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / about
    unit = 10.0 ** floor(log10(raw))
    step = min((unit * factor for factor in (1, 2, 2.5, 5, 10)), key=lambda candidate: abs(candidate - raw))
    return [round(k * step, 10) for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _interval_line(line: Interval, y: float, x, width: int, series: int, form: str) -> str:  # type: ignore[no-untyped-def]
    kind = "muted" if line.muted else f"series{series % 4}"
    parts = [f'<text class="label" x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(_short(line.label, 36))}</text>']
    if not defined(line.value):
        parts.append(f'<text class="value muted" x="{LEFT + 6}" y="{y + 4:.1f}">undefined</text>')
        return _hint(describe(line), "".join(parts))
    assert line.value is not None
    if defined(line.low) and defined(line.high):
        assert line.low is not None
        assert line.high is not None
        parts.append(f'<line class="bar {kind}" x1="{x(line.low):.1f}" x2="{x(line.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts.append(_mark(x(line.value), y, kind, series))
    parts.append(f'<text class="value" x="{width - RIGHT + 12}" y="{y + 4:.1f}">{_number(line.value, form)}</text>')
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


def _cell(x: float, y: float, width: int, height: int, one: Interval, peak: float, signed: bool) -> str:
    place = f'x="{x}" y="{y}" width="{width - 2}" height="{height - 2}"'
    if one.value is None or not defined(one.value):
        return _hint(describe(one), f'<rect class="cell undefined" {place}/>')
    kind = "negative" if one.value < 0 else "positive"
    opacity = 0.08 + 0.42 * min(1.0, abs(one.value) / peak)
    box = f'<rect class="cell {kind}" style="fill-opacity:{opacity:.2f}" {place}/>'
    shown = f"{one.value:+.2f}" if signed else f"{one.value:.2f}"
    at = f'x="{x + width / 2 - 1:.0f}" y="{y + height / 2 + 4:.0f}"'
    return _hint(describe(one), f'{box}<text class="cellvalue" {at} text-anchor="middle">{shown}</text>')


def _legend(series: Sequence[str]) -> str:
    parts, x = [], LEFT
    for number, name in enumerate(series):
        shown = _short(name, 40)
        parts.append(_mark(x + 6, 10, f"series{number % 4}", number) + f'<text x="{x + 18}" y="14">{escape(shown)}</text>')
        x += 40 + 7 * len(shown)
    return "".join(parts)


def _number(value: float, form: str) -> str:
    shown = format(value, form)
    # What rounds to nothing has no sign.
    return shown if any(letter in "123456789" for letter in shown) else shown.lstrip("+-")


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
    opening = f'<svg class="chart" role="group" viewBox="0 0 {width} {height}" style="max-width:{width}px"'
    return f'{opening} aria-label="{escape(alternative, quote=True)}">{"".join(body)}</svg>'


def _hint(words: str, inside: str) -> str:
    said = escape(words, quote=True)
    return f'<g class="hint" tabindex="0" role="img" aria-label="{said}" data-hint="{said}">{inside}</g>'


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
