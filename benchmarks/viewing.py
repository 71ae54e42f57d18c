"""The viewer over a run of 1,000,000 rows: opening it, each filter, a search, a far page; and the report of the same run."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from fairwitness import runs, tables
from fairwitness.files import file_hash

ROWS = 1_000_000
WORDS = ("the women of the town", "a man said so", "<b>plain</b> words", "مرحبا بالعالم", "rude words about a neighbour")


def million_rows(folder: Path, rows: int = ROWS) -> Path:
    """A zero-shot run of made-up texts and scores; a row in a thousand failed."""
    made = np.random.default_rng(0)
    source, out = folder / "in.parquet", folder / "scores.parquet"
    texts = pl.Series(WORDS).gather(made.integers(0, len(WORDS), rows)) + pl.Series(np.arange(rows)).cast(pl.String)
    tables.write(pl.DataFrame({"comment": texts}), source)
    columns = {"idx": np.arange(rows), "pred": made.integers(0, 2, rows), "score": made.normal(size=rows)}
    frame = pl.DataFrame({**columns, "target": made.integers(0, 2, rows), "female": made.random(rows)})
    frame = frame.with_columns(error=pl.when(pl.col("idx") % 1000 == 7).then(pl.lit("no answer")))
    question = {"model": "made up", "labels": ["toxic", "non-toxic"], "text_col": "comment", "label_col": "target"}
    with runs.open_run(out, "zeroshot", question, data={"in": file_hash(source)}, inputs={"in": source}) as run:
        run.seal([tables.write(frame, out)], {"asked": rows, "scored": rows - rows // 1000, "failed": rows // 1000})
    return folder


def timed(name: str, repeats: int, work: Callable[[int], object], *, limit: str = "1") -> None:
    """Print the median of several calls; each gets its number, so that no call is answered from the one before."""
    times = []
    for number in range(repeats):
        begun = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - begun)
    print(f"| {name} | {statistics.median(times):.3f} | {min(times):.3f}–{max(times):.3f} | {limit} |")


def main() -> None:
    """Print a table of seconds."""
    from starlette.testclient import TestClient

    from fairwitness.audits.reporting import ReportConfig, write_report
    from fairwitness.web.viewer import application

    print("| 1,000,000 rows | median s | spread s | limit s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        million_rows(root / "million")
        client = TestClient(application(root), base_url="http://localhost")

        def ask(query: str) -> int:
            return int(client.get(f"/api/rows?run=million&audit=scores&{query}").raise_for_status().json()["total"])

        timed("first look (reads scores and texts)", 1, lambda _: ask(""), limit="–")
        timed("search in the texts", 5, lambda n: ask(f"text=women of the town{n}"))
        timed("group and outcome", 5, lambda n: ask(f"group=female&outcome=false positive&text=town{n}"))
        timed("failed rows", 1, lambda _: ask("error=failed"))
        timed("a page from the end", 5, lambda n: ask(f"start={ROWS - 100 * (n + 1)}"))
        timed("the report", 3, lambda n: write_report([root / "million"], ReportConfig(out=root / f"{n}.html")), limit="–")


if __name__ == "__main__":
    main()
