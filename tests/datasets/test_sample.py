"""Drawing from a stream: seeded, uniform, independent of how the stream is cut, and never the whole in memory."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.datasets.sample import folded, sample, take, unfolded


def cut(rows: int, sizes: list[int]) -> list[pl.DataFrame]:
    frame, pieces = pl.DataFrame({"row": range(rows)}), []
    for size in [*sizes, rows]:
        pieces.append(frame.head(size))
        frame = frame.slice(size)
    return pieces


def drawn(pieces: list[pl.DataFrame], rows: int, seed: int) -> list[int]:
    return pl.concat(sample(pieces, rows, seed=seed))["row"].to_list()


@settings(max_examples=50, deadline=None)
@given(
    rows=st.integers(1, 300), wanted=st.integers(1, 320), sizes=st.lists(st.integers(1, 80), max_size=4), seed=st.integers(0, 99)
)
def test_the_draw_does_not_depend_on_the_pieces(rows: int, wanted: int, sizes: list[int], seed: int) -> None:
    whole = drawn(cut(rows, []), wanted, seed)
    assert drawn(cut(rows, sizes), wanted, seed) == whole
    assert len(whole) == len(set(whole)) == min(rows, wanted)
    if wanted >= rows:
        assert whole == list(range(rows)), "everything, in its order"


def test_large_streams_are_thinned_on_the_way() -> None:
    frames = (pl.DataFrame({"row": range(start, start + 10_000)}) for start in range(0, 500_000, 10_000))
    rows = drawn(list(frames), 100, 42)
    assert rows == drawn([pl.DataFrame({"row": range(500_000)})], 100, 42)
    assert rows != drawn([pl.DataFrame({"row": range(500_000)})], 100, 43)
    assert rows[:10] == drawn([pl.DataFrame({"row": range(500_000)})], 10, 42)


def test_every_row_is_equally_likely() -> None:
    counts = [0] * 20
    for seed in range(2000):
        for row in drawn(cut(20, [7]), 5, seed):
            counts[row] += 1
    # 500 expected, standard deviation 19.4
    assert max(abs(count - 500) for count in counts) < 80


def test_take_stops_asking() -> None:
    asked = []

    def stream():
        for number in range(100):
            asked.append(number)
            yield pl.DataFrame({"row": [number] * 10})

    assert pl.concat(take(stream(), 25)).height == 25
    assert asked == [0, 1, 2]


@settings(max_examples=50, deadline=None)
@given(items=st.integers(1, 40), wanted=st.integers(1, 45), sizes=st.lists(st.integers(1, 20), max_size=4))
def test_items_are_drawn_whole(items: int, wanted: int, sizes: list[int]) -> None:
    def stream(sizes: list[int]) -> list[pl.DataFrame]:
        rows = [frame.with_columns(item=pl.col("row") // 3, none=pl.lit(None)) for frame in cut(3 * items, sizes)]
        return [frame.select("none", "item", "row") for frame in rows]

    drawn, taken = (
        pl.concat(unfolded(cut_down, "item"))
        for cut_down in (sample(folded(stream(sizes), "item"), wanted, seed=1), take(folded(stream(sizes), "item"), wanted))
    )
    assert drawn.equals(pl.concat(unfolded(sample(folded(stream([]), "item"), wanted, seed=1), "item")))
    assert drawn.columns == ["none", "item", "row"]
    for frame in (drawn, taken):
        assert frame["item"].n_unique() == min(items, wanted)
        assert frame["row"].to_list() == [3 * item + part for item in frame["item"].to_list()[::3] for part in range(3)]
    assert taken["row"].to_list() == list(range(3 * min(items, wanted)))
