"""Explaining end to end on a tiny model: the files, their columns, what they add up to, resume."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fairwitness.audits.zero_shot import ZeroShotConfig, zero_shot
from fairwitness.audits.zero_shot_reasons import identity_table, rationale_table
from fairwitness.errors import InputError, RunError
from fairwitness.explain.words import IDENTITY_WORDS
from fairwitness.runs import read_manifest

from ..models.tiny_folders import tiny_folder

TEXTS = ["a kind woman", "", "Jews and Muslims met", "مرحبا 😀 يوم", "x " * 900]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    marks = [[0, 1, 0], None, [0, 0, 1, 0], [1, 0], None]
    frame = {"text": TEXTS, "label": [1, 0, 0, 1, 0], "women": [1.0, 0.0, 0.0, None, 0.0], "marks": marks}
    pl.DataFrame(frame).write_parquet(path)
    return path


def config(table: Path, folder: Path, **changes: Any) -> ZeroShotConfig:
    base: dict[str, Any] = {"in_": table, "text_col": "text", "task": "hate", "out": table.parent / "run" / "preds.csv"}
    base |= {"model": str(folder), "device": "cpu", "dtype": "float32", "ig_rows": 3, "ig_max_steps": 64, "explain": True}
    return ZeroShotConfig(**{**base, **changes})


def test_files_columns_and_sums(folder: Path, table: Path) -> None:
    asked = config(table, folder, save_heatmaps=True, label_col="label", id_cols=("women",), rationale_col="marks")
    result = zero_shot(asked)
    rows = pl.read_parquet(asked.out.with_name("preds.ig.parquet"))
    assert rows.columns[:8] == ["idx", "heatmap", "prompt", "tokens", "attributions", "explained", "gap", "steps"]
    assert rows["idx"].to_list() == [0, 2, 3]
    scores = result.table.filter(pl.col("idx").is_in(rows["idx"].to_list()))["score"]
    np.testing.assert_allclose(rows["explained"], scores, atol=1e-3)
    for row in rows.iter_rows(named=True):
        assert len(row["tokens"]) == len(row["attributions"]) == len(row["raw"])
        assert np.abs(row["attributions"]).sum() == pytest.approx(1)
        assert "".join(row["tokens"]).strip() == TEXTS[row["idx"]]
        assert sum(row["word_weights"]) == pytest.approx(sum(row["attributions"]))
        assert row["words"] == TEXTS[row["idx"]].split()
        whole = row["explained"] - row["start"]
        assert row["gap"] == pytest.approx(abs(sum(row["raw"]) - whole) / abs(whole), abs=1e-6)
        assert row["converged"] == (row["interval_error"] <= 0.05)
        assert (asked.out.parent / row["heatmap"]).is_file()
    assert (asked.out.parent / "ig_heatmaps" / "heatmaps.html").is_file()
    shares = result.tables["ig_identity"]
    assert {"all", "women", "names women", "names jewish", "names muslim"} <= set(shares["group"])
    assert set(shares["outcome"]) == {"all", "tp", "fp", "tn", "fn"}
    agreement = result.tables["ig_rationale"]
    assert agreement["metric"].to_list() == ["auprc", "token_f1", "iou"]
    assert (agreement["n"][0], agreement["n_failed"][0]) == (1, 1)
    assert set(read_manifest(asked.out.parent)) == {"preds", "preds.ig"}


def test_more_rows_than_there_are_and_asked_later(folder: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zero_shot(config(table, folder, explain=False))
    asked = config(table, folder, ig_rows=99, ig_rule="midpoint", ig_steps=2)
    result = zero_shot(asked)
    assert "4 rows have a score" in capsys.readouterr().err
    assert result.tables["attributions"].height == 4
    assert result.facts["explained"]["rows"] == 4
    assert zero_shot(asked).tables["attributions"].equals(result.tables["attributions"])
    with pytest.raises(RunError, match="another question"):
        zero_shot(config(table, folder, ig_rows=99, ig_rule="midpoint", ig_steps=3))


def test_the_published_method_by_its_name(folder: Path, table: Path) -> None:
    rows = zero_shot(config(table, folder, ig_baseline="zero", ig_steps=8, ig_rows=1)).tables["attributions"]
    assert rows["steps"].to_list() == [8]
    assert "".join(rows["tokens"][0]) == rows["prompt"][0], "the whole prompt is on the path"
    assert rows["gap"][0] > 0


def test_rows_that_do_not_converge_say_so(folder: Path, table: Path) -> None:
    asked = config(table, folder, ig_tol=1e-12, ig_max_steps=9, ig_steps=5, ig_rows=1, save_heatmaps=True)
    result = zero_shot(asked)
    assert result.tables["attributions"]["converged"].to_list() == [False]
    assert result.facts["explained"]["converged"] == 0
    assert "NOT CONVERGED" in (asked.out.parent / "ig_heatmaps" / "heatmaps.html").read_text(encoding="utf-8")


def test_nothing_to_explain(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pl.DataFrame({"text": [None, ""]}, schema={"text": pl.String}).write_parquet(path)
    with pytest.raises(InputError, match="nothing to explain"):
        zero_shot(config(path, folder))


def test_identity_table_by_hand() -> None:
    table = pl.DataFrame(
        {
            "words": [["kind", "women"], ["black", "cat"], ["tea"]],
            "word_weights": [[1.0, -3.0], [2.0, 2.0], [0.0]],
            "converged": [True, False, True],
        }
    )
    rows = pl.DataFrame({"pred": [1, 1, 0], "label": [0, 1, 0], "women": [0.9, 0.1, None]})
    shares = identity_table(table, rows, label_col="label", id_cols=["women"], lists=IDENTITY_WORDS)

    def cell(group: str, outcome: str) -> dict[str, Any]:
        return shares.filter((pl.col("group") == group) & (pl.col("outcome") == outcome)).to_dicts()[0]

    assert cell("all", "all")["share"] == pytest.approx((0.75 + 0.5) / 2)
    assert cell("all", "all")["n"] == 2, "a row without any attribution has no share"
    assert cell("women", "fp") | {"low": 0, "high": 0} == {
        **{"group": "women", "outcome": "fp", "n": 1, "n_converged": 1, "share": 0.75},
        **{"low": 0, "high": 0, "word_share": 0.5, "signed": -3.0},
    }
    assert cell("all", "tn")["n"] == 0
    assert np.isnan(cell("all", "tn")["share"])


def test_marks_that_cannot_be_read_are_failed_rows() -> None:
    row = {"error": None, "words": ["a", "b"], "word_weights": [0.2, 0.8]}
    found = rationale_table(pl.DataFrame([row] * 4), pl.Series(["train", "0 1", None, "[oops"], dtype=pl.String))
    assert found.select("n", "n_failed").row(0) == (1, 2)


def test_marks_in_any_shape() -> None:
    table = pl.DataFrame({"words": [["a", "b"]] * 4, "word_weights": [[2.0, 1.0]] * 4, "error": [None] * 4}, strict=False)
    marks = pl.Series(["[1, 0]", "1 0", "1,0", "what"])
    found = rationale_table(table, marks)
    assert found["n"][0] == 3
    assert found["value"].to_list() == [1.0, 1.0, 1.0]
    assert found["chance"].to_list() == [0.75, 0.5, 0.5], (
        "of two words in a random order, the marked one comes first half of the time"
    )
