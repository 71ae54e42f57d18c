"""The engine that is always there: this process, one part after another."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from fairwitness.engine.contract import Scorer, part_key, score_part
from fairwitness.parts import Parts


def map_parts(
    scorer: Scorer[Any],
    work: Iterable[Sequence[Any]],
    parts: Parts,
    *,
    advance: Callable[[int], None] = lambda _done: None,
) -> Iterator[pl.DataFrame]:
    """Yield the scores of each part of `work`, in order: from the disk where it was answered before, else scored now and kept."""
    for items in work:
        key = part_key(scorer, items)
        frame = parts.read(key)
        if frame is None:
            frame = score_part(scorer, items)
            parts.write(key, frame)
        advance(len(items))
        yield frame
