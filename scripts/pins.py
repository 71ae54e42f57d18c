"""Print the pins of constraints.txt in two parts: `python scripts/pins.py shipped|tools`.

`shipped` is what `pip install 'fairwitness[all]'` brings to a user; `tools` is the rest, which only our tests, checks and
benchmarks need. `make audit` holds the first to no known weakness at all, the second to all but the named ones.
"""

import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


def pins() -> dict[str, str]:
    """Every pinned package by its plain name, with its line."""
    lines = [line.split("#")[0].strip() for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines()]
    return {canonicalize_name(line.partition("==")[0]): line for line in lines if line}


def brought_by(requirement: str) -> set[str]:
    """The names of all installed packages that a requirement brings along, itself included."""
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(requirement)]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in {"", *wanted.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                needed = [Requirement(line) for line in metadata.requires(name) or ()]
            except metadata.PackageNotFoundError:
                continue  # of another platform, or an extra nobody asked for
            waiting += [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]
    return {name for name, _ in seen}


def shipped() -> list[str]:
    """The pins that a user of every extra gets."""
    reached = brought_by("fairwitness[all]")
    return [line for name, line in pins().items() if name in reached]


def tools() -> list[str]:
    """The pins that only we need."""
    reached = brought_by("fairwitness[all]")
    return [line for name, line in pins().items() if name not in reached]


if __name__ == "__main__":
    print("\n".join({"shipped": shipped, "tools": tools}[sys.argv[1]]()))
