"""Scorers whose answers are known by hand, importable by workers; they note in a file what they were asked, and by whom."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROWS = 5


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """The length of a text, over 7; texts of four letters fail. `log` gets a line `pid text` for each text asked."""

    log: Path | None = None
    pause_s: float = 0.0
    version: str = "1"
    fails_where: str = ""

    @cached_property
    def identity(self) -> dict[str, Any]:
        return {"name": "lengths", "version": os.environ.get("TOY_VERSION", self.version)}

    @property
    def rows_per_part(self) -> int:
        return ROWS

    def score(self, texts: Sequence[str], /) -> dict[str, Any]:
        if self.log is not None:
            with self.log.open("a") as log:
                log.write("".join(f"{os.getpid()} {text}\n" for text in texts))
        time.sleep(self.pause_s)
        if self.fails_where and self.fails_where in os.environ.get("FAIRWITNESS_DEVICE", ""):
            os.kill(os.getpid(), 9)
        return {"score": [len(text) / 7 for text in texts], "error": ["odd" if len(text) == 4 else None for text in texts]}


@dataclass(frozen=True, kw_only=True)
class Refuses:
    """Raises one of our own errors as soon as it is used."""

    @property
    def identity(self) -> dict[str, Any]:
        return {"name": "refuses"}

    @property
    def rows_per_part(self) -> int:
        return ROWS

    def score(self, _texts: Sequence[str], /) -> dict[str, Any]:
        from fairwitness.errors import ModelError

        raise ModelError("The weights are not there. Pull them.")


@dataclass(frozen=True, kw_only=True)
class Echo:
    """Says back what it was told."""

    @property
    def identity(self) -> dict[str, Any]:
        return {"name": "echo"}

    @property
    def rows_per_part(self) -> int:
        return 2

    def score(self, texts: Sequence[str], /) -> dict[str, Any]:
        return {"score": [float(len(text)) for text in texts], "said": list(texts)}


def work(rows: int = 60) -> Iterator[list[str | None]]:
    """`rows` texts in parts of five; one of them is missing."""
    for start in range(0, rows, ROWS):
        yield [None if i == 17 else "x" * (i % 11) + str(i) for i in range(start, start + ROWS)]


def asked(log: Path) -> list[str]:
    """All texts asked so far, in the order they were."""
    return [line.split()[1] for line in log.read_text().splitlines()] if log.exists() else []


def workers(log: Path) -> set[int]:
    """The processes that scored something."""
    return {int(line.split()[0]) for line in log.read_text().splitlines()} if log.exists() else set()
