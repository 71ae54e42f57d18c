"""Drawing rows from a stream, seeded: one pass, and no more rows in memory than are asked for."""

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

KEY = "__draw"
SLACK = 20_000
"""How many rows beyond the wanted ones may be held at least before the rest are let go."""


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
    limit = np.inf
    for frame in frames:
        seen += frame.height
        keyed = frame.with_columns(pl.Series(KEY, generator.random(frame.height)))
        held.append(_own(keyed.filter(pl.col(KEY) < limit)))
        kept += held[-1].height
        if kept > rows + max(rows // 2, SLACK):
            held = [_own(_smallest(held, rows))]
            kept, limit = rows, held[0].item(rows - 1, KEY)
    if not held:
        return
    yield (_smallest(held, rows) if seen > rows else pl.concat(held)).drop(KEY)


def _smallest(held: list[pl.DataFrame], rows: int) -> pl.DataFrame:
    return pl.concat(held).sort(KEY).head(rows)


def _own(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in memory of their own: a row that is kept would otherwise keep all the text of the piece it came in."""
    owned = pl.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    assert isinstance(owned, pl.DataFrame)
    return owned
