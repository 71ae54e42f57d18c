"""Drawing rows from a stream, seeded: one pass, and no more rows in memory than are asked for."""

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

KEY = "__draw"


def take(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """The first `rows` rows; what comes behind them is never asked for.

    >>> [frame.height for frame in take([pl.DataFrame({"a": [1, 2, 3]})] * 9, 4)]
    [3, 1]
    """
    for frame in frames:
        yield frame.head(rows)
        rows -= min(rows, frame.height)
        if rows == 0:
            return


def sample(frames: Iterable[pl.DataFrame], rows: int, *, seed: int) -> Iterator[pl.DataFrame]:
    """A uniform draw of `rows` rows without replacement, in random order; everything in its order where there is no more.

    Every row gets a random number from the seed and the row's place in the file, and the rows with the smallest numbers stay.
    So the draw does not depend on how the stream is cut, and a smaller draw is the beginning of a larger one.

    >>> stream = [pl.DataFrame({"a": range(100)})]
    >>> small, large = (list(sample(stream, n, seed=42))[0]["a"].to_list() for n in (3, 5))
    >>> large[:3] == small
    True
    """
    generator = np.random.default_rng(seed)
    held: list[pl.DataFrame] = []
    seen = kept = 0
    for frame in frames:
        seen += frame.height
        held.append(frame.with_columns(pl.Series(KEY, generator.random(frame.height))))
        kept += frame.height
        if kept > 2 * rows + 65_536:
            held = [_smallest(held, rows)]
            kept = held[0].height
    if not held:
        return
    yield (_smallest(held, rows) if seen > rows else pl.concat(held)).drop(KEY)


def _smallest(held: list[pl.DataFrame], rows: int) -> pl.DataFrame:
    return pl.concat(held).sort(KEY).head(rows)
