"""The parts still to be answered, on this machine's disk, so that any number of them can wait without being held in memory.

Written once by the process that owns the run, into a private folder that goes with it; read by number, in any order and as often
as a worker that died makes necessary.
"""

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairwitness.engine.contract import Scorer, part_key
from fairwitness.files import disk_errors
from fairwitness.parts import Parts


@dataclass
class Spool:
    """`keys` are all parts in the order of the work, answered or not; `ends` are where each part still to do ends in the file."""

    path: Path
    keys: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [0])

    def __len__(self) -> int:
        return len(self.ends) - 1

    def read(self, number: int) -> bytes:
        """One part that is still to do, as `unpack` takes it."""
        with self.path.open("rb") as stream:
            stream.seek(self.ends[number])
            return stream.read(self.ends[number + 1] - self.ends[number])


def unpack(data: bytes) -> tuple[str, list[Any]]:
    """Key and items of a part. Pickle, because it keeps tuples; and the bytes come from this very run's own process alone."""
    key, items = pickle.loads(data)
    return key, items


def fill(
    spool: Spool, scorer: Scorer[Any], work: Iterable[Sequence[Any]], parts: Parts, *, advance: Callable[[int], None]
) -> Spool:
    """Walk through the work once; what is answered already or occurs twice is noted and not written."""
    seen: set[str] = set()
    with disk_errors(spool.path), spool.path.open("wb") as stream:
        for items in work:
            key = part_key(scorer, items)
            spool.keys.append(key)
            if key in seen or parts.holds(key):
                advance(len(items))
                continue
            seen.add(key)
            stream.write(pickle.dumps((key, list(items))))
            spool.ends.append(stream.tell())
    return spool
