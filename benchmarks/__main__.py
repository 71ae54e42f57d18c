"""Run the benchmarks one after another, each in a process of its own, and print one table of all figures that have a target.

python -m benchmarks                      all that need no GPU
python -m benchmarks counting zeroshot    some
python -m benchmarks --write …            and put each into its own place in docs/benchmarks.md; the others stay as they were
python -m benchmarks --gpu                those that need a GPU (they also run alone, with torch and transformers only)
"""

import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import MET, MISSED

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
NOT_TOPICS = ("figures", "__init__", "__main__")


def topics(*, gpu: bool = False) -> list[str]:
    """All benchmarks that run without a GPU, or those that need one, by file name."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_TOPICS and path.stem.startswith("gpu_") == gpu)


def machine() -> str:
    """The machine and the versions the figures belong to."""
    from fairwitness.runs import versions

    lines = _lines("/proc/cpuinfo")
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    memory = next((int(line.split()[1]) / 1e6 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), float("nan"))
    packages = ", ".join(f"{name} {version}" for name, version in {**versions(), **_peers()}.items())
    place = f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GB, load {os.getloadavg()[0]:.1f} before"
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {place}; {packages}."


def run(topic: str) -> str:
    """One benchmark's output as a section of Markdown, between marks of its own."""
    where, begun = machine(), time.monotonic()
    words = [sys.executable, "-m", f"benchmarks.{topic}"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=HERE.parent, check=False)
    body = done.stdout.strip() if done.returncode == 0 else f"Failed:\n\n```\n{done.stderr.strip()[-2000:]}\n```"
    took = f"`python -m benchmarks {topic}`, {time.monotonic() - begun:.0f} s. {where}"
    return f"<!-- {topic}: begin -->\n### {topic}\n\n{took}\n\n{body}\n<!-- {topic}: end -->\n"


def merge(page: str, sections: dict[str, str]) -> str:
    """The page with these sections in their places, and the table on top made anew from all sections there are.

    >>> one = "<!-- a: begin -->\\n### a\\n\\n| x | 1 s | 1–1 | < 2 s | met |  |\\n<!-- a: end -->\\n"
    >>> merged = merge(f"top\\n{BEGIN}\\n{END}\\nend", {"a": one})
    >>> merged == merge(merged, {"a": one}), merged.count("| x | 1 s |"), merged.endswith("end")
    (True, 2, True)
    """
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    there = dict(re.findall(r"(?s)<!-- (\w+): begin -->\n(.*?)<!-- \1: end -->\n", old))
    whole = {name: f"<!-- {name}: begin -->\n{text}<!-- {name}: end -->\n" for name, text in there.items()} | sections
    body = "\n".join(whole[name] for name in sorted(whole))
    return f"{before}{BEGIN}\n\n{targets(whole)}\n{body}\n{END}{after}"


def targets(sections: dict[str, str]) -> str:
    """All lines that have a target, in one table."""
    rows = ["| | what | median | lowest–highest | wanted | | remark |", "|---|---|---|---|---|---|---|"]
    for name in sorted(sections):
        lines = [line for line in sections[name].splitlines() if line.startswith("|")]
        rows += [f"| {name} {line}" for line in lines if f"| {MET} |" in line or f"| {MISSED} |" in line]
    return "\n".join(rows) + "\n"


def main() -> None:
    """Run what was asked for, print it, and with --write put it into docs/benchmarks.md."""
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")] or topics(gpu="--gpu" in sys.argv)
    unknown = sorted(set(chosen) - {*topics(), *topics(gpu=True)})
    if unknown:
        sys.exit(f"No benchmark is called {unknown[0]}. There are: {', '.join([*topics(), *topics(gpu=True)])}.")
    sections = {}
    for topic in chosen:
        sections[topic] = run(topic)
        print(sections[topic], flush=True)
        if "--write" in sys.argv:  # after each, so that one that is stopped keeps what was measured
            PAGE.write_text(merge(PAGE.read_text(encoding="utf-8"), {topic: sections[topic]}), encoding="utf-8")
    print(targets(sections))


def _peers() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in ("fairlearn", "captum", "lm-eval", "ray"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []


if __name__ == "__main__":
    main()
