"""CrowS-Pairs' files: comma or tab, the original or a revision, and every fault named."""

from pathlib import Path

import polars as pl
import pytest

from fairwitness.datasets.crows_items import read_pairs
from fairwitness.errors import InputError

HEADER = ",sent_more,sent_less,stereo_antistereo,bias_type\n"


def test_commas_and_tabs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + '0,"One, more.",One less.,stereo,age\n')
    (tmp_path / "b.csv").write_text(HEADER.replace(",", "\t") + '0\tOne, "more.\tOne less.\tantistereo\tage\n')
    assert read_pairs(tmp_path / "a.csv")["sent_more"].to_list() == ["One, more."]
    assert read_pairs(tmp_path / "b.csv")["direction"].to_list() == ["antistereo"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("0,,b,stereo,age", "sent_more or sent_less is empty"),
        ("0,a,b,stero,age", "Did you mean 'stereo'"),
        ("0,a,b,stereo,", "bias_type is empty"),
    ],
)
def test_faults_are_named(tmp_path: Path, row: str, words: str) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "0,a,b,stereo,age\n" + row + "\n")
    with pytest.raises(InputError, match="pair 2") as caught:
        read_pairs(tmp_path / "a.csv")
    assert words in str(caught.value)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\nx,1\n")
    with pytest.raises(InputError, match="Column 'sent_more' is not in"):
        read_pairs(tmp_path / "a.csv")


def test_the_table_of_data_download(tmp_path: Path) -> None:
    rows = {"unit": ["0", "0"], "role": ["more", "less"], "text": ["a", "b"], "direction": ["stereo"] * 2, "bias_type": ["age"] * 2}
    pl.DataFrame(rows).write_parquet(tmp_path / "c.parquet")
    assert read_pairs(tmp_path / "c.parquet").row(0) == (0, "a", "b", "stereo", "age")


def test_built_in_pairs() -> None:
    assert read_pairs().height == 6


@pytest.mark.shared
def test_the_real_files(shared: Path) -> None:
    folder = shared / "data" / "bias_benchmarks" / "crows_pairs"
    original = read_pairs(folder / "crows_pairs_anonymized.csv")
    assert original.height == 1508
    assert original.filter(direction="stereo").height == 1290
    assert read_pairs(folder / "crows_pairs_EN_revised_210_corrections.csv").height == 1677
