"""Comparing two runs: paired where the rows are the same, refused where the things are unlike."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.report.made_runs import undefined_run

import fairwitness as fw
from fairwitness import runs, tables
from fairwitness.audits.compare import CompareResult
from fairwitness.errors import InputError


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
    a, b = audited(fairwitness, tmp_path / "a"), audited(fairwitness, tmp_path / "b", shift=0.1)
    (a / "preds.parquet").unlink()
    found = compared(fairwitness, a, b)
    assert {row["how"] for row in found["changes"]} == {"unpaired"}
    assert "cannot be matched" in found["matched"]["fairness"]
    assert "differ" not in found["matched"]["fairness"]


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


def made(rows: int = 900, *, planted: float = 0.0) -> pl.DataFrame:
    """Two identities and three ages; those called old are flagged more often where a change is planted."""
    stream = np.random.default_rng(7)
    frame = pl.DataFrame({name: stream.integers(0, 2, rows) for name in ("target", "female", "black")})
    frame = frame.with_columns(age=pl.Series(np.array(["young", "mid", "old"])[stream.integers(0, 3, rows)]))
    said, more = stream.random(rows) < 0.3, pl.Series(stream.random(rows) < planted)
    return frame.with_columns(pred=(pl.Series(said) | (more & (frame["age"] == "old"))).cast(pl.Int8))


def audit(folder: Path, frame: pl.DataFrame, *, name: str = "preds.csv", **options: object) -> Path:
    from fairwitness import FairnessConfig, audit_fairness

    preds = tables.write(frame, folder / name)
    asked = {"id_cols": ("female", "black"), "label_col": "target", "charts": False, "replicates": 50} | options
    audit_fairness(FairnessConfig(preds=preds, out=folder / "fairness.csv", **asked))  # type: ignore[arg-type]
    return folder


def by_name(result: CompareResult) -> tuple[str, int]:
    return result.facts["matched"]["fairness"], result.table.filter(pl.col("verdict") == "changed").height


def test_rows_are_matched_by_id_or_by_number(tmp_path: Path) -> None:
    """Whatever the column is called, the same rows give the same answer; also in another order where there is a name for each."""
    before, after = made(), made(planted=0.1)
    numbered = {key: [frame.with_row_index(key) for frame in (before, after)] for key in ("idx", "id")}
    found = {}
    for key, (one, other) in numbered.items():
        a = audit(tmp_path / key / "a", one)
        shuffled = other.with_columns(pl.col(key).cast(pl.Float64)).sample(fraction=1, shuffle=True, seed=1)
        found[key] = fw.compare(a, audit(tmp_path / key / "b", shuffled, name="preds.parquet"))
    found["row number"] = fw.compare(audit(tmp_path / "a", before), audit(tmp_path / "b", after))
    assert [by_name(result)[0] for result in found.values()] == [f"paired by {key}" for key in found]
    assert len({by_name(result)[1] for result in found.values()}) == 1
    assert {how for result in found.values() for how in result.table["how"]} == {"paired"}
    assert all("matched by" in " ".join(result.sections()[0].lede) for result in found.values())


def test_rows_that_disagree_are_never_paired(tmp_path: Path) -> None:
    frame = made()
    turned = frame.with_columns(target=pl.when(pl.int_range(pl.len()) == 5).then(1 - pl.col("target")).otherwise("target"))
    other = frame.with_columns(female=pl.when(pl.int_range(pl.len()) == 5).then(1 - pl.col("female")).otherwise("female"))
    elsewhere = frame.with_row_index("id", offset=1)
    a, named = audit(tmp_path / "a", frame), audit(tmp_path / "id", frame.with_row_index("id"))
    for number, (start, changed) in enumerate(
        [(a, turned), (a, other), (named, turned.with_row_index("id")), (named, elsewhere), (a, frame.head(800))]
    ):
        result = fw.compare(start, audit(tmp_path / str(number), changed))
        assert set(result.table["how"]) == {"unpaired"}
        assert "The rows differ" in " ".join(result.sections()[0].lede)


def test_ids_that_name_no_row_are_no_names(tmp_path: Path) -> None:
    frames = [made().with_columns(id=pl.lit(1)), made(planted=0.1).with_columns(id=pl.lit(1))]
    assert by_name(fw.compare(*(audit(tmp_path / str(n), frame) for n, frame in enumerate(frames))))[0] == "paired by row number"


def test_a_run_and_itself_without_its_predictions(tmp_path: Path) -> None:
    a = audit(tmp_path / "a", made(), group_cols=("age",))
    (a / "preds.csv").unlink()
    result = fw.compare(a, a)
    assert set(result.table["how"]) == {"paired"}
    assert set(result.table["change"].drop_nulls()) == {0.0}
    assert set(result.table["p"].drop_nulls()) == {1.0}


def test_predictions_written_over_are_not_those_that_were_audited(tmp_path: Path) -> None:
    a = audit(tmp_path / "a", made())
    b = audit(tmp_path / "b", made(planted=0.2))
    tables.write(made(planted=0.2), a / "preds.csv")
    result = fw.compare(a, b)
    assert set(result.table["how"]) == {"unpaired"}
    assert "were changed since" in " ".join(result.sections()[0].lede)


@pytest.mark.parametrize("flags", [(), ("female",)])
def test_group_columns_are_compared(tmp_path: Path, flags: tuple[str, ...]) -> None:
    options = {"id_cols": flags, "group_cols": ("age", "age*black")}
    a, b = (audit(tmp_path / str(n), made(planted=share), **options) for n, share in enumerate((0.0, 0.5)))
    for end, how in ((b, "paired"), (audit(tmp_path / "c", made(880, planted=0.5), **options), "unpaired")):
        table = fw.compare(a, end).table
        assert set(table["how"]) == {how}
        assert set(table["attribute"]) == {*flags, "age", "age*black"}
        spreads = {"statistical_parity", "equal_opportunity", "overall_accuracy_equality", "treatment_equality_fp_over_fn"}
        assert {f"{name}_spread" for name in spreads} <= set(table["metric"])
        row = table.row(
            by_predicate=(pl.col("metric") == "statistical_parity_spread")
            & (pl.col("attribute") == "age")
            & (pl.col("class") == "1"),
            named=True,
        )
        assert row["verdict"] == "changed"
        assert row["group"].startswith("old - ")
    measured = tables.read(b / "fairness.measurements.parquet")
    same = measured.filter(pl.col("metric") == row["metric"], pl.col("attribute") == "age", pl.col("class") == "1")
    assert fw.compare(a, b).table.filter(pl.col("metric") == row["metric"], pl.col("attribute") == "age", pl.col("class") == "1")[
        "after"
    ].to_list() == pytest.approx(same["value"].to_list())


def test_several_classes_and_small_groups(tmp_path: Path) -> None:
    frame = made().with_columns(target=pl.Series(np.array(["a", "b", "c"])[np.arange(900) % 3]))
    few = pl.when(pl.int_range(pl.len()) < 10).then(pl.lit("few")).otherwise("age").alias("age")
    before = frame.with_columns(few, pred="target")
    after = before.with_columns(pred=pl.when(pl.col("age") == "few").then(pl.lit("a")).otherwise("pred"))
    options = {"id_cols": (), "group_cols": ("age",)}
    a = audit(tmp_path / "a", before, **options)
    table = fw.compare(a, audit(tmp_path / "b", after, **options)).table
    parity = table.filter(pl.col("metric") == "statistical_parity_spread")
    assert parity["class"].to_list() == ["a", "b", "c"]
    # Only the group too small to count was changed.
    assert parity["change"].to_list() == [0, 0, 0]
    assert set(parity["n"]) == {890}


def test_small_identities_have_no_change(tmp_path: Path) -> None:
    few = pl.when(pl.int_range(pl.len()) < 10).then(1).otherwise(0).alias("black")
    frames = [made(planted=share).with_columns(few) for share in (0.0, 0.3)]
    table = fw.compare(*(audit(tmp_path / str(n), frame) for n, frame in enumerate(frames))).table
    assert set(table.filter(pl.col("attribute") == "black")["verdict"]) == {"undefined"}


def test_settings_that_cannot_be(fairwitness: Callable, tmp_path: Path) -> None:
    a = audit(tmp_path / "a", made(60))
    for wrong in (("--replicates", "0"), ("--confidence", "2"), ("--seed", "-1")):
        done = fairwitness("compare", a, a, *wrong)
        assert (done.code, wrong[0] in done.err) == (2, True)


def test_nothing_in_common(tmp_path: Path) -> None:
    a, b = audit(tmp_path / "a", made(), id_cols=("female",)), audit(tmp_path / "b", made(), id_cols=(), group_cols=("age",))
    with pytest.raises(InputError, match="in common"):
        fw.compare(a, b)


def test_nothing_measured_is_too_little_evidence(fairwitness: Callable, tmp_path: Path) -> None:
    nothing = audit(tmp_path / "nothing", made().with_columns(pred=pl.lit(None, pl.Int8)), group_cols=("age",))
    something = audit(tmp_path / "something", made(), group_cols=("age",))
    for pair in ((nothing, nothing), (nothing, something), (something, nothing)):
        done = fairwitness("compare", *pair)
        assert (done.code, "Nothing was measured" in done.err) == (3, True)
        done = fairwitness("report", *pair, "--out", tmp_path / "both.md")
        assert done.code == 0, done.err
    assert "Nothing was measured" in (tmp_path / "both.md").read_text()
    one = audit(tmp_path / "one", made().head(1))
    assert set(fw.compare(one, one).table["verdict"]) == {"undefined"}
