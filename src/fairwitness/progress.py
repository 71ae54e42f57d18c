"""One progress bar for everything that takes long: on stderr, and silent where nobody watches."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Says how many more are done, and perhaps a word on how it goes (a loss, an accuracy)."""

    def __call__(self, done: int, note: str = "") -> None: ...


@contextmanager
def progress(what: str, total: int | None, unit: str = "rows") -> Iterator[Advance]:
    """Yield a function that takes how many more are done. Off a terminal it draws nothing."""
    if not sys.stderr.isatty():
        yield lambda done, note="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(what, total=total, rate="")

        def advance(done: int, note: str = "") -> None:
            bars.advance(task, done)
            speed = bars.tasks[0].speed
            rate = f"{speed:,.1f} {unit}/s" if speed else ""
            bars.update(task, rate=f"{rate}  {note}" if note else rate)

        yield advance


def say(message: str) -> None:
    """A line for the person watching, on stderr so that stdout stays machine-readable."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201
