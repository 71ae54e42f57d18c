"""What reading a result costs: the viewer's filters over a million rows, and the report's size and time."""

import os
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.figures import HEAD, figure, seconds
from fairwitness.audits.fairness import FairnessConfig, audit_fairness
from fairwitness.report.sections import page_of
from fairwitness.runs import open_run

ROWS = int(os.environ.get("BENCH_VIEWER_ROWS", "1000000"))
IDENTITIES = ("male", "female", "muslim", "christian")
FILTERS = {"a word": {"text": "seven"}, "a group and an outcome": {"group": "muslim", "outcome": "false positive"}}


def make(folder: Path) -> None:
    """A finished zero-shot run of many rows, and the fairness audit of it."""
    chance = np.random.default_rng(0)
    words = np.array(["one", "two", "three", "four", "five", "six", "seven eight", "nine ten"])
    score = chance.normal(size=ROWS)
    columns = {"idx": np.arange(ROWS), "pred": (score > 0).astype(int), "score": score, "target": chance.integers(0, 2, ROWS)}
    texts = {"comment_text": pl.Series(words[chance.integers(0, len(words), ROWS)]) + pl.Series(np.arange(ROWS)).cast(pl.String)}
    frame = pl.DataFrame({**columns, "error": pl.Series([None] * ROWS, dtype=pl.String)} | texts)
    frame = frame.with_columns(pl.Series(name, chance.integers(0, 2, ROWS)) for name in IDENTITIES)
    out = folder / "zs.parquet"
    question = {"model": "none", "label_col": "target", "id_cols": list(IDENTITIES), "text_col": "comment_text"}
    with open_run(out, "zeroshot", question) as run:
        frame.write_parquet(out)
        run.seal([out], {"asked": ROWS, "scored": ROWS, "failed": 0})
    audit_fairness(FairnessConfig(preds=out, label_col="target", id_cols=IDENTITIES, out=folder / "fairness.csv", charts=False))


def main() -> None:
    """Print the table."""
    from fairwitness.web.shelf import Query, Shelf

    print(HEAD)
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        shelf = Shelf(Path(name))
        print(figure(f"viewer: {ROWS:,} rows opened", seconds(lambda: shelf.rows(".", "zs", Query(), 0, 50), 1), "s"))
        for what, asked in FILTERS.items():
            taken = seconds(lambda asked=asked: (shelf._picks.clear(), shelf.rows(".", "zs", Query(**asked), 0, 50)), 5)
            print(figure(f"viewer: filter by {what}", taken, "s", below=1.0), flush=True)
        page = ""

        def write() -> None:
            nonlocal page
            page = page_of([Path(name)])

        print(figure("report over both audits", seconds(write, 3), "s"))
        print(figure("size of the report", [len(page.encode()) / 1e6], "MB", below=5.0))


if __name__ == "__main__":
    main()
