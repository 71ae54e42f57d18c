"""Tables on and off the disk: what is written is read back, and a damaged file is one line."""

import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from fairwitness import tables
from fairwitness.errors import InputError
from fairwitness.files import file_hash

RELAXED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
FLOATS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))
COLUMNS = {
    "text": (pl.String, st.one_of(st.none(), TEXT)),
    "number": (pl.Int64, st.one_of(st.none(), st.integers(-(2**62), 2**62))),
    "share": (pl.Float64, FLOATS),
    "flag": (pl.Boolean, st.one_of(st.none(), st.booleans())),
    "tokens": (pl.List(pl.String), st.one_of(st.none(), st.lists(TEXT, max_size=3))),
    "weights": (pl.List(pl.Float64), st.one_of(st.none(), st.lists(FLOATS, max_size=3))),
}


@st.composite
def frames(draw: st.DrawFn, names: tuple[str, ...] = tuple(COLUMNS), least: int = 0) -> pl.DataFrame:
    rows = draw(st.integers(least, 8))
    schema = {name: COLUMNS[name][0] for name in names}
    data = {name: draw(st.lists(COLUMNS[name][1], min_size=rows, max_size=rows)) for name in names}
    return pl.DataFrame(data, schema=schema)


@RELAXED
@given(frame=frames())
def test_parquet_gives_back_what_was_written(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tables.write(frame, tmp_path / "table.parquet")
    assert_frame_equal(tables.read(path), frame, check_exact=True)


@RELAXED
@given(frame=frames(least=1), cut=st.integers(0, 8))
def test_writing_in_pieces_is_writing_at_once(frame: pl.DataFrame, cut: int, tmp_path: Path) -> None:
    with tables.writer(tmp_path / "pieces.parquet") as append:
        append(frame.head(cut))
        append(frame.slice(cut))
    assert_frame_equal(tables.read(tmp_path / "pieces.parquet"), frame, check_exact=True)
    assert_frame_equal(pl.concat(tables.batches(tmp_path / "pieces.parquet", rows=3)), frame, check_exact=True)


@RELAXED
@given(frame=frames(names=("text", "number", "flag"), least=1))
def test_json_lines_give_back_what_was_written(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tables.write(frame, tmp_path / "table.jsonl")
    back = tables.read(path)
    assert back.to_dicts() == frame.to_dicts()


@RELAXED
@given(values=st.lists(FLOATS, min_size=1, max_size=8))
def test_in_csv_undefined_is_an_empty_cell(values: list[float | None], tmp_path: Path) -> None:
    frame = pl.DataFrame({"key": range(len(values)), "value": values}, schema={"key": pl.Int64, "value": pl.Float64})
    path = tables.write(frame, tmp_path / "table.csv")
    assert "nan" not in path.read_text(encoding="utf-8").lower()
    back = tables.read(path)["value"].to_list()
    for before, after in zip(values, back, strict=True):
        undefined = before is None or math.isnan(before)
        assert (after is None) if undefined else float(after) == before


@RELAXED
@given(texts=st.lists(TEXT.filter(lambda text: text != ""), min_size=1, max_size=6))
def test_csv_keeps_every_text(texts: list[str], tmp_path: Path) -> None:
    frame = pl.DataFrame({"key": [f"k{index}" for index in range(len(texts))], "text": texts})
    for ending in (".csv", ".tsv"):
        back = tables.read(tables.write(frame, tmp_path / f"table{ending}"))
        assert [str(value) for value in back["text"].to_list()] == _as_read(texts)


def _as_read(texts: list[str]) -> list[str]:
    """CSV has no types: a column that holds only numbers, or only true and false, comes back as such."""
    series = pl.read_csv(pl.DataFrame({"k": ["k"] * len(texts), "t": texts}).write_csv().encode(), infer_schema_length=None)["t"]
    return [str(value) for value in series.to_list()]


GOOD = {
    "BOM": b"\xef\xbb\xbfid,comment_text\n1,a\n2,b\n",
    "CRLF": b"id,comment_text\r\n1,a\r\n2,b\r\n",
    "quotes and newlines": b'id,comment_text\n1,"a"\n2,b\n',
    "no newline at the end": b"id,comment_text\n1,a\n2,b",
}


@pytest.mark.parametrize("data", GOOD.values(), ids=GOOD)
def test_csv_in_any_dress(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    assert tables.read(path).to_dict(as_series=False) == {"id": [1, 2], "comment_text": ["a", "b"]}
    assert tables.count_rows(path) == 2


def test_csv_cells_with_quotes_newlines_and_a_megabyte(tmp_path: Path) -> None:
    long = 'x,"y"\n' * 170_000
    frame = pl.DataFrame({"id": [1, 2], "comment_text": [long, 'say "hi",\r\nthen\tgo']})
    path = tables.write(frame, tmp_path / "table.csv")
    assert path.stat().st_size > 1_000_000
    assert tables.read(path).equals(frame)
    assert pl.concat(tables.batches(path)).equals(frame)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_json_with_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.json").write_text('[{"a": "né"}]', encoding=encoding)
    (tmp_path / "x.jsonl").write_text('{"a": "né"}\n', encoding=encoding)
    assert [tables.read(tmp_path / name)["a"].to_list() for name in ("x.json", "x.jsonl")] == [["né"], ["né"]]


def parquet_bytes(tmp_path: Path) -> bytes:
    path = tables.write(pl.DataFrame({"id": range(1000), "comment_text": ["words"] * 1000}), tmp_path / "whole.parquet")
    return path.read_bytes()


BAD = {
    "empty": ("table.csv", b"", "is empty"),
    "only blank lines": ("table.csv", b"\n\n\n", "is empty"),
    "not UTF-8": ("table.csv", b"id,comment_text\n1,caf\xe9\n", "is not UTF-8"),
    "not UTF-8 far behind": ("table.csv", b"id,comment_text\n" + b"1,aaaaaaaaaa\n" * 20_000 + b"2,\xe9\n", "is not UTF-8"),
    "two columns of one name": ("table.csv", b"id,text,text\n1,a,b\n", "more than one column named 'text'"),
    "two columns of one name behind a BOM": ("table.csv", b"\xef\xbb\xbfid,id\n1,a\n", "more than one column named 'id'"),
    "more cells than columns": ("table.csv", b"id,text\n1,a,b\n", "cannot be read as CSV"),
    "a quote never closed": ("table.csv", b'id,text\n1,"private\n2,d\n', "cannot be read as CSV"),
    "not JSON": ("table.json", b"{", "cannot be read as JSON"),
    "not a table": ("table.json", b"3", "cannot be read as JSON"),
    "a broken line": ("table.jsonl", b'{"a":1}\n{bad\n', "cannot be read as JSONL"),
    "not Parquet": ("table.parquet", b"hello", "cannot be read as PARQUET"),
    "unknown ending": ("table.xlsx", b"hello", "'.xlsx' is not one of"),
}


@pytest.mark.parametrize(("name", "data", "words"), BAD.values(), ids=BAD)
def test_a_bad_file_is_one_line(name: str, data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    for read in (tables.read, lambda it: list(tables.batches(it))):
        with pytest.raises(InputError, match=words) as caught:
            read(path)
        assert "\n" not in str(caught.value)
        assert "private" not in str(caught.value), "a cell's text is not repeated"
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_parquet_cut_short(share: float, tmp_path: Path) -> None:
    data = parquet_bytes(tmp_path)
    (tmp_path / "cut.parquet").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(InputError, match="damaged or cut short"):
        tables.read(tmp_path / "cut.parquet")


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "scores.parquet").write_bytes(b"x")
    with pytest.raises(InputError, match="is a folder; a file was expected"):
        tables.read(tmp_path)
    with pytest.raises(InputError, match=r"does not exist. Did you mean 'scores.parquet'"):
        tables.read(tmp_path / "score.parquet")


def test_a_wrong_column_names_the_near_one_and_the_flag() -> None:
    with pytest.raises(InputError, match=r"It has: comment_text, target. Did you mean --text_col comment_text\?"):
        tables.require_columns(["comment_text", "target"], ["comment_txt"], "data.csv", flag="--text_col")
    with pytest.raises(InputError, match=r"Column 'zzz' is not in data.csv. It has: a.$"):
        tables.require_columns(["a"], ["zzz"], "data.csv")
    with pytest.raises(InputError, match=r"It has: a. Name one of them with --pred_col\."):
        tables.require_columns(["a"], ["zzz"], "data.csv", flag="--pred_col")


def test_reading_some_columns_and_rows(tmp_path: Path) -> None:
    path = tables.write(pl.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}), tmp_path / "t.csv")
    assert tables.read(path, ["b", "b"], rows=2).to_dict(as_series=False) == {"b": [4, 5]}
    assert tables.columns_of(path) == ["a", "b"]
    with pytest.raises(InputError, match="is empty"):
        tables.columns_of(_blank(tmp_path))
    with pytest.raises(InputError, match="Column 'c'"):
        tables.read(path, ["c"])
    with pytest.raises(InputError, match="Column 'c'"):
        list(tables.batches(path, ["c"]))


def _blank(folder: Path) -> Path:
    (folder / "blank.csv").write_bytes(b"\n\n")
    return folder / "blank.csv"


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"

    def failing() -> None:
        with tables.writer(path) as append:
            append(pl.DataFrame({"a": [1]}))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    with pytest.raises(ValueError, match="Nothing was written"), tables.writer(path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", tables.SUFFIXES)
def test_a_table_without_rows_keeps_its_columns_where_the_format_can(ending: str, tmp_path: Path) -> None:
    path = tables.write(pl.DataFrame({"a": [1]}).clear(), tmp_path / f"t{ending}")
    if ending in (".parquet", ".csv", ".tsv"):
        assert tables.columns_of(path) == ["a"]


def test_several_parquet_files_named_by_a_star_are_one_table(tmp_path: Path) -> None:
    whole = pl.DataFrame({"a": range(10), "b": [str(n) for n in range(10)]})
    for number, start in enumerate(range(0, 10, 4)):
        whole.slice(start, 4).write_parquet(tmp_path / f"part-{number}.parquet")
    pattern = tmp_path / "part-*.parquet"
    assert tables.read(pattern).equals(whole)
    assert tables.count_rows(pattern) == 10
    assert tables.columns_of(pattern) == ["a", "b"]
    assert pl.concat(list(tables.batches(pattern, ["b"], rows=3)))["b"].to_list() == whole["b"].to_list()
    before = file_hash(pattern)
    whole.head(1).write_parquet(tmp_path / "part-1.parquet")
    assert file_hash(pattern) != before
    with pytest.raises(InputError, match="No file is called"):
        tables.read(tmp_path / "nothing-*.parquet")
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="only Parquet files may be named with a star"):
        tables.read(tmp_path / "*.csv")
    whole.rename({"a": "c"}).write_parquet(tmp_path / "part-9.parquet")
    with pytest.raises(InputError, match="part-"):
        tables.read(pattern)
