"""How the bookkeeping behaves at 10^10 rows in 10^5 parts: the run folder, resuming, and adding up counts, really executed.

The parts here are small (their number is what is tested); bytes and rows a second are measured on parts of full size, and what
10^10 rows would take is multiplied from that and marked as such.
"""

import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwitness.audits.fairness import group_fairness
from fairwitness.audits.fairness_input import Tally
from fairwitness.metrics.counts import count_groups
from fairwitness.parts import Parts, encode

PARTS = int(os.environ.get("BENCH_PARTS", "100000"))
ROWS_PER_PART = 100_000
IDENTITIES = 24
GROUPS = 200


@contextmanager
def clock(rows: list[str], what: str, show: Callable[[float], str]) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    seconds = time.perf_counter() - begun
    rows.append(f"| {what} | {seconds:.2f} s | {show(seconds)} |")


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def name(number: int) -> str:
    return f"{number:032x}"


def folder_of_parts(folder: Path) -> None:
    """10^5 part files, written plainly: what is measured is finding and checking them."""
    data = encode(pl.DataFrame({"score": [0.5, 1.5], "error": [None, None]}))
    parts = Parts(folder / "one")
    parts.keep(name(0), data)
    file = next((folder / "one").iterdir()).name.partition("-")[2]
    (folder / "all").mkdir()
    for number in range(PARTS):
        (folder / "all" / f"{name(number)}-{file}").write_bytes(data)


def metadata(rows: list[str], folder: Path) -> None:
    folder_of_parts(folder)
    parts = Parts(folder / "all")
    with clock(rows, f"list {PARTS:,} parts when a run is resumed", lambda s: f"{PARTS / s:,.0f} parts/s"):
        parts.holds(name(0))
    with clock(rows, f"check the bytes of {PARTS:,} parts", lambda s: f"{PARTS / s:,.0f} parts/s"):
        assert all(parts.holds(name(number)) for number in range(PARTS))
    with clock(rows, f"read {PARTS:,} parts back in order", lambda s: f"{PARTS / s:,.0f} parts/s"):
        assert all(parts.read(name(number)) is not None for number in range(PARTS))
    rows.append(f"| memory after that (whole process, peak) | {peak_megabytes():,.0f} MB | – |")


def full_parts(rows: list[str], folder: Path) -> None:
    """Parts of 10^5 rows as an audit writes them: flushed to the disk one by one."""
    chance = np.random.default_rng(1)
    columns = {name: chance.normal(size=ROWS_PER_PART) for name in ("score", "lp_pos", "lp_neg")}
    frame = pl.DataFrame({**columns, "error": pl.Series([None] * ROWS_PER_PART, dtype=pl.String)})
    parts, times = Parts(folder / "full"), []
    for number in range(20):
        begun = time.perf_counter()
        parts.write(name(number), frame)
        times.append(time.perf_counter() - begun)
    size = sum(path.stat().st_size for path in (folder / "full").iterdir()) / 20
    middle = statistics.median(times)
    whole = size * PARTS / 1e9
    rows.append(
        f"| write one part of {ROWS_PER_PART:,} rows, flushed | {middle * 1000:.0f} ms (median of 20) | "
        f"{size / ROWS_PER_PART:.0f} B/row; 10^10 rows: {whole:,.0f} GB, {middle * PARTS / 3600:.1f} h of one writer |"
    )


def adding_up(rows: list[str]) -> None:
    """10^5 tallies of 24 identities and a column of 200 groups, added as answers come in."""
    chance = np.random.default_rng(2)
    truth, predicted = chance.integers(0, 2, 4000), chance.integers(0, 2, 4000)
    flags = chance.integers(0, 2, (IDENTITIES, 4000))
    ages = chance.integers(0, GROUPS, 4000)
    piece: dict[str, Any] = {
        f"identity_{k}": count_groups(truth, predicted, flags[k], attribute=f"identity_{k}", groups=["0", "1"], classes=["0", "1"])
        for k in range(IDENTITIES)
    }
    names = [str(group) for group in range(GROUPS)]
    piece["age"] = count_groups(truth, predicted, ages, attribute="age", groups=names, classes=["0", "1"])
    one = Tally(counts=piece, n_rows=4000)
    total = Tally()
    with clock(
        rows, f"add up {PARTS:,} tallies of {IDENTITIES} identities and {GROUPS} groups", lambda s: f"{PARTS / s:,.0f} tallies/s"
    ):
        for _ in range(PARTS):
            total.merge(one)
    assert total.n_rows == 4000 * PARTS
    assert int(total.counts["age"].cells.sum()) == 4000 * PARTS


def counting(rows: list[str], folder: Path) -> None:
    """Counting itself, from Parquet, on this machine; 10^10 rows by multiplication."""
    count, chance = min(4_000_000, 40 * PARTS), np.random.default_rng(3)
    table = {"pred": chance.integers(0, 2, count, dtype=np.int8), "label": chance.integers(0, 2, count, dtype=np.int8)}
    table |= {f"identity_{k}": chance.integers(0, 2, count, dtype=np.int8) for k in range(IDENTITIES)}
    path = folder / "preds.parquet"
    pl.DataFrame(table).write_parquet(path, row_group_size=262_144)
    flags = [f"identity_{k}" for k in range(IDENTITIES)]
    with clock(
        rows,
        f"count {count:,} rows × {IDENTITIES} identities from Parquet, intervals and all",
        lambda s: f"{count / s / 1e6:.1f} M rows/s; 10^10 rows by multiplication: {1e10 / (count / s) / 3600:.1f} h here",
    ):
        group_fairness(path, label="label", pred="pred", flags=flags)


def main() -> None:
    """Print the table."""
    rows: list[str] = []
    with tempfile.TemporaryDirectory() as name_:
        folder = Path(name_)
        metadata(rows, folder)
        full_parts(rows, folder)
        adding_up(rows)
        counting(rows, folder)
    print("| what | measured | in other words |\n|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
