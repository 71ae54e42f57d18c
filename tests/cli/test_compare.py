"""Comparing two runs: paired where the rows are the same, refused where the things are unlike."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.report.made_runs import undefined_run

from fairwitness import runs, tables


def audited(fairwitness: Callable, folder: Path, *, shift: float = 0.0, rows: int = 600, extra: tuple[str, ...] = ()) -> Path:
    stream = np.random.default_rng(1)
    frame = pl.DataFrame({"idx": range(rows), "target": stream.integers(0, 2, rows), "female": stream.integers(0, 2, rows)})
    luck = pl.Series(stream.random(rows))
    frame = frame.with_columns(pred=(luck < 0.4 + shift * frame["female"]).cast(pl.Int8))
    tables.write(frame, folder / "preds.parquet")
    options = ("--label_col", "target", "--id_cols", "female", "--out", folder / "fairness.csv", *extra)
    done = fairwitness("fairness", "--preds", folder / "preds.parquet", *options)
    assert done.code == 0, done.err
    return folder


def compared(fairwitness: Callable, a: Path, b: Path) -> dict:
    done = fairwitness("compare", a, b, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_same_rows_are_paired(fairwitness: Callable, tmp_path: Path) -> None:
    a, b = audited(fairwitness, tmp_path / "a"), audited(fairwitness, tmp_path / "b", shift=0.3)
    found = compared(fairwitness, a, b)["changes"]
    spd = next(row for row in found if row["metric"] == "statistical_parity_difference")
    assert (spd["how"], spd["verdict"]) == ("paired", "changed")
    assert spd["change"] == pytest.approx(0.3, abs=0.08)
    assert fairwitness("compare", a, b, "--out", tmp_path / "c.html").code == 0
    assert "What changed" in (tmp_path / "c.html").read_text()


def test_a_run_has_not_changed_from_itself(fairwitness: Callable, tmp_path: Path) -> None:
    a = audited(fairwitness, tmp_path / "a")
    assert {row["verdict"] for row in compared(fairwitness, a, a)["changes"]} <= {"no clear change", "undefined"}


def test_other_rows_are_not_paired(fairwitness: Callable, tmp_path: Path) -> None:
    a, b = audited(fairwitness, tmp_path / "a"), audited(fairwitness, tmp_path / "b", rows=500)
    assert {row["how"] for row in compared(fairwitness, a, b)["changes"]} == {"unpaired"}


def test_without_the_predictions_the_counts_are_enough(fairwitness: Callable, tmp_path: Path) -> None:
    a, b = audited(fairwitness, tmp_path / "a"), audited(fairwitness, tmp_path / "b")
    (a / "preds.parquet").unlink()
    assert {row["how"] for row in compared(fairwitness, a, b)["changes"]} == {"unpaired"}


def test_unlike_things_are_refused(fairwitness: Callable, tmp_path: Path) -> None:
    a, b = audited(fairwitness, tmp_path / "a"), audited(fairwitness, tmp_path / "b", extra=("--group_threshold", "0.4"))
    done = fairwitness("compare", a, b)
    assert (done.code, "unlike" in done.err) == (2, True)
    with runs.open_run(tmp_path / "c" / "s.parquet", "stereoset", {}) as run:
        run.seal([], {})
    assert "unlike" in fairwitness("compare", a, tmp_path / "c").err
    assert "not a folder" in fairwitness("compare", a, tmp_path / "nowhere").err


def test_half_written_files_are_refused(fairwitness: Callable, tmp_path: Path) -> None:
    a, b = audited(fairwitness, tmp_path / "a"), audited(fairwitness, tmp_path / "b")
    for name in ("fairness.counts.parquet", "fairness.measurements.parquet"):
        whole = (b / name).read_bytes()
        (b / name).write_bytes(whole[:90])
        done = fairwitness("compare", a, b)
        assert (done.code, "was changed" in done.err) == (2, True)
        (b / name).write_bytes(whole)


def test_empty_and_undefined(fairwitness: Callable, tmp_path: Path) -> None:
    a, nothing = audited(fairwitness, tmp_path / "a"), undefined_run(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    assert "no run.json" in fairwitness("compare", a, tmp_path / "empty").err
    done = fairwitness("compare", a, nothing)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_unfinished_is_refused(fairwitness: Callable, tmp_path: Path) -> None:
    a, b = audited(fairwitness, tmp_path / "a"), audited(fairwitness, tmp_path / "b")
    with pytest.raises(KeyboardInterrupt), runs.open_run(b / "other.parquet", "zeroshot", {}):
        raise KeyboardInterrupt
    assert "has not finished" in fairwitness("compare", a, b).err


def test_other_audits_are_compared_through_their_intervals(fairwitness: Callable, tmp_path: Path) -> None:
    for name, value in (("a", 50.0), ("b", 60.0)):
        out = tmp_path / name / "s.csv"
        row = {
            "metric": "ss",
            "attribute": "overall",
            "group": None,
            "class": None,
            "value": value,
            "low": value - 2,
            "high": value + 2,
        }
        with runs.open_run(out, "stereoset", {}, data={"items": "x"}) as run:
            tables.write(
                pl.DataFrame([{**row, "n": 100}], schema_overrides={"group": pl.String, "class": pl.String}),
                out.with_suffix(".measurements.parquet"),
            )
            run.seal([out.with_suffix(".measurements.parquet")], {})
    found = compared(fairwitness, tmp_path / "a", tmp_path / "b")["changes"]
    assert [(row["how"], row["verdict"]) for row in found] == [("from intervals", "changed")]
