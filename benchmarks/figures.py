"""How every benchmark measures and prints: a median with its spread, what an issue wants of it, and whether that was met.

`python -m benchmarks` gathers the lines that have a target into the one table on top of docs/benchmarks.md.
"""

import statistics
import time
from collections.abc import Callable, Sequence

HEAD = "| what | median | lowest–highest | wanted | | remark |\n|---|---|---|---|---|---|"
MET, MISSED = "met", "**missed**"


def seconds(work: Callable[[], object], times: int = 3) -> list[float]:
    """Wall-clock seconds of `times` runs, one after another."""
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return found


def beside(ours: Callable[[], object], theirs: Callable[[], object], times: int = 3) -> tuple[list[float], list[float]]:
    """Seconds of two things run in turn, so that whatever disturbs the machine disturbs both."""
    pairs = [(seconds(ours, 1)[0], seconds(theirs, 1)[0]) for _ in range(times)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def figure(
    what: str,
    values: Sequence[float],
    unit: str,
    *,
    at_least: float | None = None,
    below: float | None = None,
    remark: str = "",
) -> str:
    """One line: the median of `values`, from the lowest to the highest, and whether the median is as wanted.

    >>> figure("import", [0.1, 0.2, 0.4], "s", below=0.5)
    '| import | 0.2 s | 0.1–0.4 | < 0.5 s | met |  |'
    """
    median = statistics.median(values)
    spread = f"{_short(min(values))}–{_short(max(values))}" if len(values) > 1 else "once"
    wanted, verdict = "", ""
    if at_least is not None:
        wanted, verdict = f"≥ {_short(at_least)} {unit}", MET if median >= at_least else MISSED
    if below is not None:
        wanted, verdict = f"< {_short(below)} {unit}", MET if median < below else MISSED
    return f"| {what} | {_short(median)} {unit} | {spread} | {wanted} | {verdict} | {remark} |"


def ratio(what: str, ours: Sequence[float], theirs: Sequence[float], *, at_least: float, scale: float = 1.0) -> str:
    """One line: how many times as fast ours is, from seconds measured in turn; `scale` brings theirs to the size of ours."""
    found = [other * scale / one for one, other in zip(ours, theirs, strict=True)]
    return figure(what, found, "×", at_least=at_least)


def _short(value: float) -> str:
    if value != value:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
