"""Whatever a caller holds in memory is read with the same values, and what is missing in it is missing here."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairwitness import in_memory, tables
from fairwitness.errors import InputError


def test_as_frame_takes_what_people_have(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    path = tables.write(frame, tmp_path / "t.parquet")
    for table in (frame, frame.lazy(), path, str(path), {"a": [1, 2]}, pa.table({"a": [1, 2]}), pd.DataFrame({"a": [1, 2]})):
        assert in_memory.as_frame(table).equals(frame)
    with pytest.raises(InputError, match="not int"):
        in_memory.as_frame(3)


def test_a_list_may_hold_whole_numbers_and_fractions() -> None:
    assert in_memory.as_frame({"share": [1, 0.5, None]})["share"].to_list() == [1.0, 0.5, None]


MISSING = {
    "a list": ["a", None, "b", float("nan")],
    "objects of numpy": np.array(["a", None, "b", np.nan], dtype=object),
    "a pandas series": pd.Series(["a", None, "b", None], index=[7, 7, 8, 9]),
    "objects of pandas": pd.Series(["a", None, "b", np.nan], dtype=object),
    "categories": pd.Series(["a", None, "b", None], dtype="category"),
    "a pandas array": pd.array(["a", None, "b", None], dtype="string"),
    "an arrow array": pa.array(["a", None, "b", None]),
    "arrow chunks": pa.chunked_array([["a", None], ["b", None]]),
    "a polars series": pl.Series("other", ["a", None, "b", None]),
}


@pytest.mark.parametrize("given", MISSING.values(), ids=MISSING)
def test_words_with_some_missing(given: Any) -> None:
    for column in (in_memory.as_column("g", given), in_memory.as_frame({"g": given})["g"]):
        assert column.name == "g"
        assert column.cast(pl.String).to_list() == ["a", None, "b", None]


NUMBERS = {
    "a list": [1, None, 0, float("nan")],
    "floats of numpy": np.array([1, np.nan, 0, np.nan]),
    "a mask": np.ma.array([1, 1, 0, 1], mask=[0, 1, 0, 1]),
    "whole numbers of pandas": pd.array([1, None, 0, None], dtype="Int64"),
    "truths of pandas": pd.array([True, None, False, None], dtype="boolean"),
    "floats of pandas": pd.Series([1.0, np.nan, 0.0, np.nan]),
    "an arrow array": pa.array([1, None, 0, None]),
}


@pytest.mark.parametrize("given", NUMBERS.values(), ids=NUMBERS)
def test_numbers_with_some_missing(given: Any) -> None:
    assert in_memory.as_column("g", given).cast(pl.Float64).to_list() == [1, None, 0, None]


def test_what_polars_has_no_kind_for_becomes_words() -> None:
    bins = pd.cut(np.array([1, 5, 9]), [0, 4, 8])
    table = pd.DataFrame({"bin": bins, "month": pd.period_range("2026-01", periods=3, freq="M"), "mixed": ["a", 1, None]})
    assert in_memory.as_frame(table).to_dict(as_series=False) == {
        "bin": ["(0, 4]", "(4, 8]", None],
        "month": ["2026-01", "2026-02", "2026-03"],
        "mixed": ["a", "1", None],
    }
    assert in_memory.as_column("bin", bins).to_list() == ["(0, 4]", "(4, 8]", None]
    assert in_memory.as_column("mixed", ["a", 1]).to_list() == ["a", "1"]


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(InputError, match="2 dimensions"):
        in_memory.as_column("g", np.zeros((2, 2)))
    with pytest.raises(InputError, match="two columns called 'a'"):
        in_memory.as_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
