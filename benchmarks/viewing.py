"""The viewer over a run of 1,000,000 rows: opening it, each filter, a search, a far page; and the report of the same run."""

import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.figures import HEAD, figure, seconds
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


def main() -> None:
    """Print the table."""
    from starlette.testclient import TestClient

    from fairwitness.audits.reporting import ReportConfig, write_report
    from fairwitness.web.viewer import application

    print(HEAD)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        million_rows(root / "million")
        client = TestClient(application(root), base_url="http://localhost")
        number = count()

        def ask(query: str) -> int:
            return int(client.get(f"/api/rows?run=million&audit=scores&{query}").raise_for_status().json()["total"])

        print(figure(f"viewer, {ROWS:,} rows: first look (reads scores and texts)", seconds(lambda: ask(""), 1), "s"))
        # Another word each time: the same question again would be answered from memory.
        asked = {
            "a search in the texts": lambda: ask(f"text=women of the town{next(number)}"),
            "a group and an outcome": lambda: ask(f"group=female&outcome=false positive&text=town{next(number)}"),
            "a page from the end": lambda: ask(f"start={ROWS - 100 * (next(number) + 1)}"),
        }
        for what, question in asked.items():
            print(figure(f"viewer, {ROWS:,} rows: {what}", seconds(question, 5), "s", below=1.0))
        page = ReportConfig(out=root / "report.html")
        print(figure(f"the report of {ROWS:,} rows", seconds(lambda: write_report([root / "million"], page)), "s"))
        print(figure("its size", [page.out.stat().st_size / 1e6], "MB", below=5.0))


if __name__ == "__main__":
    main()
