"""Run the benchmarks one after another, each in a process of its own, and print their tables under the machine's description.

python -m benchmarks                      all that need no GPU
python -m benchmarks counting zeroshot    some
python -m benchmarks --write              and keep the output in docs/benchmarks.md
"""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
BEGIN = "<!-- measured: begin -->"
END = "<!-- measured: end -->"


def topics() -> list[str]:
    """All benchmarks that run without a GPU, by file name."""
    return sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith(("_", "gpu_")))


def machine() -> str:
    """The machine and the versions the figures belong to."""
    from fairwitness.runs import versions

    cpu = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), platform.processor()
    )
    memory = next((int(line.split()[1]) / 1e6 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), float("nan"))
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"{datetime.now(UTC):%Y-%m-%d}; {cpu}, {os.cpu_count()} cores, {memory:.0f} GB; {packages}."


def run(topic: str) -> str:
    """One benchmark's output as a section of Markdown."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{topic}"], capture_output=True, text=True, cwd=HERE.parent, check=False
    )
    body = done.stdout.strip() if done.returncode == 0 else f"Failed:\n\n```\n{done.stderr.strip()[-2000:]}\n```"
    return f"### {topic}\n\n{body}\n"


def main() -> None:
    """Run what was asked for, print it, and with --write put it between the marks in docs/benchmarks.md."""
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")] or topics()
    sections = [f"Machine: {machine()}\n"]
    print(sections[0])
    for topic in chosen:
        sections.append(run(topic))
        print(sections[-1], flush=True)
    if "--write" in sys.argv:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{chr(10).join(sections)}\n{END}{after}", encoding="utf-8")


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []


if __name__ == "__main__":
    main()
