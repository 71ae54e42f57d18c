"""What is printed of failed rows."""

from pathlib import Path

import polars as pl
import pytest

from fairwitness.cli.failures import reasons


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_commonest_reasons_first_and_the_rest_counted(tmp_path: Path, suffix: str) -> None:
    said = ["b", "a", None, "a", "c", "d", "e", "b", "a"]
    path = tmp_path / f"scores{suffix}"
    frame = pl.DataFrame({"error": said, "n": range(len(said))})
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    lines = reasons(path)
    assert [line.strip() for line in lines[:3]] == ["failed: 3 × a", "failed: 2 × b", "failed: 1 × c"]
    assert lines[3].startswith("  failed: 2 × for 2 other reasons")


def test_nothing_failed_is_nothing_said(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    pl.DataFrame({"error": pl.Series([None, None], dtype=pl.String), "n": [1, 2]}).write_csv(path)
    assert reasons(path) == []
