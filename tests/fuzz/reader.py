"""What a reader is to the fuzzers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Read = Callable[[Path], object]


@dataclass(frozen=True)
class Reader:
    """`read` is given a file called `name`; `seeds` are files it should take; `words` are the names it looks for."""

    read: Read
    name: str
    seeds: tuple[bytes, ...]
    words: tuple[str, ...] = ()
