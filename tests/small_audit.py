"""An audit to be killed: 40 parts of 5 texts, each taking a moment, written part by part into one sealed table.

It runs in a process of its own, forked from one that has everything imported, so that twenty lives cost seconds.
"""

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from fairwitness import runs, tables
from fairwitness.engine.local import map_parts

SECONDS = 0.2
_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["__main__", __name__])


class Lengths:
    """The length of a text, over 7; `asked` beside the output gets a line for each text."""

    identity = {"name": "lengths", "version": 1}  # noqa: RUF012
    rows_per_part = 5

    def __init__(self, out: Path) -> None:
        self.log = out.parent / "asked"

    def score(self, texts: Sequence[str]) -> dict[str, Any]:
        with self.log.open("a") as log:
            log.write("".join(text + "\n" for text in texts))
        time.sleep(SECONDS / 40)
        return {"score": [len(text) / 7 for text in texts], "error": ["odd" if len(text) == 4 else None for text in texts]}


def work() -> Iterator[list[str | None]]:
    for start in range(0, 200, 5):
        yield [None if i == 17 else "x" * (i % 11) + str(i) for i in range(start, start + 5)]


def audit(out: Path) -> None:
    with runs.open_run(out, "lengths", {"texts": 200}) as run:
        if not run.sealed:
            with tables.writer(out) as append:
                for frame in map_parts(Lengths(out), work(), run.parts):
                    append(frame)
            run.seal([out], {"asked": 200})


def begin(out: Path) -> ForkServerProcess:
    """Start it."""
    process = _FORKING.Process(target=audit, args=(out,))
    process.start()
    return process


def ended(process: ForkServerProcess) -> int | None:
    """How it ended, once it has."""
    process.join(timeout=60)
    return process.exitcode
