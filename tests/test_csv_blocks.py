"""Long CSV files: in blocks as at once, whatever the cells and wherever the blocks end."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from fairwitness import csv_blocks, tables
from fairwitness.errors import InputError

CELLS = {
    "whole": ["1", "-20", "300", ""],
    "mixed numbers": ["1", "2.5", "1e3", ""],
    "huge": ["1", "99999999999999999999"],
    "words": ["a", "some, words", 'say "this"', "two\nlines", "", "7", "é"],
    "truths": ["true", "false", ""],
    "anything": ["true", "1", "2.5", "word", "", "nan"],
    "nothing": [""],
}


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\n') else cell


@st.composite
def files(draw: st.DrawFn) -> str:
    kinds = [*CELLS, "whole"]
    rows = draw(st.integers(1, 40))
    columns = [draw(st.lists(st.sampled_from(CELLS[kind]), min_size=rows, max_size=rows)) for kind in kinds]
    columns[-1] = [str(index) for index in range(rows)]
    header = ",".join(f"c{index}" for index in range(len(kinds)))
    lines = [",".join(quoted(cell) for cell in row) for row in zip(*columns, strict=True)]
    return "\n".join([header, *lines]) + ("\n" if draw(st.booleans()) else "")


@settings(max_examples=60, deadline=None)
@given(files(), st.integers(20, 400), st.integers(1, 9))
def test_blocks_are_the_whole_file(tmp_path_factory: pytest.TempPathFactory, text: str, size: int, rows: int) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text(text, encoding="utf-8")
    at_once = tables.read(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_blocks, "BLOCK", size)
        patch.setattr(tables, "LONG_CSV", 0)
        assert_frame_equal(tables.read(path), at_once)
        parts = list(tables.batches(path, rows=rows))
    assert_frame_equal(pl.concat(parts), at_once)
    assert all(part.height == rows for part in parts[:-1])


def test_a_file_that_changed_is_learned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LONG_CSV", 0)
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n")
    assert tables.read(path)["a"].to_list() == [1, 2]
    path.write_text("a\nx\n2\n3\n")
    assert tables.read(path)["a"].to_list() == ["x", "2", "3"]


def test_damage_in_a_long_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LONG_CSV", 0)
    monkeypatch.setattr(csv_blocks, "BLOCK", 16)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 20 + "1,2,3\n" + "1,2\n" * 5)
    with pytest.raises(InputError, match="cannot be read as CSV"):
        list(tables.batches(path))
