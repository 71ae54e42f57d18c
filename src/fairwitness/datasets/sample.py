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


def folded(frames: Iterable[pl.DataFrame], item: str) -> Iterator[pl.DataFrame]:
    """One row an item: the other columns hold lists. Rows of one item stand together; a piece may end in the middle of one.

    >>> [frame.height for frame in folded([pl.DataFrame({"i": [1, 1]}), pl.DataFrame({"i": [1, 2, 2]})], "i")]
    [1, 1]
    """
    rest: pl.DataFrame | None = None
    for frame in frames:
        rows = frame if rest is None else pl.concat([rest, frame])
        if not rows.height:
            continue
        # The last item may go on in the next piece.
        last = pl.col(item).eq_missing(pl.lit(rows[item][-1]))
        whole, rest = rows.filter(~last), rows.filter(last)
        if whole.height:
            yield _fold(whole, item)
    if rest is not None:
        yield _fold(rest, item)


def unfolded(frames: Iterable[pl.DataFrame], item: str) -> Iterator[pl.DataFrame]:
    """The rows of `folded` items again, as they stood.

    >>> list(unfolded(folded([pl.DataFrame({"a": [7, 8, 9], "i": [1, 1, 2]})], "i"), "i"))[0]["a"].to_list()
    [7, 8]
    """
    for frame in frames:
        yield frame.explode([name for name in frame.columns if name != item])


def _fold(rows: pl.DataFrame, item: str) -> pl.DataFrame:
    return rows.group_by(item, maintain_order=True).agg(pl.all()).select(rows.columns)


def _smallest(held: list[pl.DataFrame], rows: int) -> pl.DataFrame:
    return pl.concat(held).sort(KEY).head(rows)


def _own(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in memory of their own: a row that is kept would otherwise keep all the text of the piece it came in."""
    owned = pl.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    assert isinstance(owned, pl.DataFrame)
    return owned
