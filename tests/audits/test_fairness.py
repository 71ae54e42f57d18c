"""The fairness audit in Python: tables, failed rows, missing identities, backgrounds, joins, and everything that is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fairlearn.metrics import MetricFrame, selection_rate
from polars.testing import assert_frame_equal
from sklearn.metrics import accuracy_score

import fairwitness as fw
from fairwitness.audits import fairness_input, fairness_reading
from fairwitness.audits.fairness import FairnessConfig, audit_fairness
from fairwitness.audits.fairness_files import counts_from_table, counts_table
from fairwitness.errors import InputError, RunError
from fairwitness.tables import MEASUREMENTS


def table(rows: int = 600, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    truth = random.random(rows) < 0.4
    score = np.clip(random.normal(0.35 + 0.3 * truth, 0.2), 0, 1)
    return pl.DataFrame(
        {
            "idx": np.arange(rows),
            "target": truth.astype(int),
            "score": score,
            "pred": (score >= 0.5).astype(int),
            "male": random.random(rows).round(2),
            "black": np.where(random.random(rows) < 0.2, random.random(rows), np.nan),
            "age": random.choice(["young", "middle", "old"], rows),
            "region": random.integers(0, 3, rows),
        }
    )


@pytest.fixture
def preds(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "preds.parquet"
    path.parent.mkdir()
    table().write_parquet(path)
    return path


def measure(frame: object = None, **changes: object) -> object:
    asked = {"label": "target", "pred": "pred", "flags": ["male", "black"], "replicates": 100} | changes
    return fw.group_fairness(table() if frame is None else frame, **asked)


def config(preds: Path, tmp_path: Path, **changes: object) -> FairnessConfig:
    asked = {
        "preds": preds,
        "label_col": "target",
        "id_cols": ("male", "black"),
        "out": tmp_path / "out" / "R.csv",
        "replicates": 100,
    }
    return FairnessConfig(**(asked | {"charts": False} | changes))


def test_rates_and_gaps_are_those_of_a_plain_count() -> None:
    frame = table()
    result = measure(frame, missing="nonmember")
    inside = frame["male"].to_numpy() >= 0.5
    pred, truth = frame["pred"].to_numpy(), frame["target"].to_numpy()
    row = result.per_identity.row(0, named=True)
    assert row["SPD"] == pytest.approx(pred[inside].mean() - pred[~inside].mean(), abs=1e-12)
    positive = truth == 1
    assert row["EOpp_diff"] == pytest.approx(pred[inside & positive].mean() - pred[~inside & positive].mean(), abs=1e-12)
    assert (row["n_A0"], row["n_A1"]) == (np.count_nonzero(~inside), np.count_nonzero(inside))
    assert row["SPD_low"] <= row["SPD"] <= row["SPD_high"]
    group = result.by_group.row(1, named=True)
    assert group["group"] == "male=1"
    assert group["acc"] == pytest.approx((pred == truth)[inside].mean(), abs=1e-12)


def test_missing_identities_are_left_out_or_counted_as_others() -> None:
    known = np.count_nonzero(~np.isnan(table()["black"].to_numpy()))
    excluded = measure().per_identity.row(1, named=True)
    assert excluded["n_A0"] + excluded["n_A1"] == known
    counted = measure(missing="nonmember").per_identity.row(1, named=True)
    assert counted["n_A0"] + counted["n_A1"] == 600
    assert counted["n_A1"] == excluded["n_A1"]


def test_background_names_no_identity() -> None:
    frame = table()
    male, black = frame["male"].to_numpy(), frame["black"].to_numpy()
    nobody = (male < 0.5) & (black < 0.5)
    background = measure(frame).by_group.filter(pl.col("group") == "background=1").row(0, named=True)
    assert background["n"] == np.count_nonzero(nobody)
    assert "background" not in measure(frame).per_identity["identity"]
    assert "background" not in measure(frame, flags=["male"]).by_group["identity"]


def test_failed_rows_are_counted_and_are_in_no_number() -> None:
    frame = table().with_columns(pred=pl.when(pl.col("idx") < 50).then(None).otherwise("pred"))
    result = measure(frame)
    assert result.facts["n_failed"] == 50
    clean = measure(frame.slice(50)).per_identity
    assert_frame_equal(result.per_identity.drop("n_missing"), clean.drop("n_missing"))
    assert result.by_group.filter(pl.col("identity") == "male")["n_failed"].sum() == 50
    said = table().with_columns(error=pl.when(pl.col("idx") < 50).then(pl.lit("timeout")))
    assert measure(said).facts["n_failed"] == 50


def test_small_groups_are_listed_as_skipped() -> None:
    result = measure(min_group_size=80)
    black = result.by_group.filter(pl.col("group") == "black=1").row(0, named=True)
    assert black["skipped"]
    assert 0 < black["n"] < 80
    assert black["acc"] is None
    gap = result.per_identity.row(1, named=True)
    assert gap["skipped"]
    assert gap["SPD"] is None
    assert gap["SPD_p"] is None
    assert result.worst()["WorstAbsSPD_identity"].item() == "male"


def test_positive_label_0_turns_truth_and_prediction_round_together() -> None:
    one, zero = measure(score="score"), measure(score="score", positive_label=0)
    assert zero.per_identity["SPD"].to_list() == pytest.approx([-gap for gap in one.per_identity["SPD"]])
    assert zero.by_group["acc"].to_list() == pytest.approx(one.by_group["acc"].to_list())
    assert zero.by_group["tpr"].to_list() == pytest.approx(one.by_group["tnr"].to_list())
    assert zero.facts["overall_auc"] == pytest.approx(one.facts["overall_auc"])
    assert zero.bias_auc["bpsn_auc"].to_list() == pytest.approx(one.bias_auc["bnsp_auc"].to_list())


def test_fractional_labels_are_positive_from_one_half() -> None:
    frame = table()
    fractions = frame.with_columns(target=pl.when(pl.col("target") == 1).then(0.5).otherwise(0.4))
    assert_frame_equal(measure(frame).by_group, measure(fractions).by_group)


def test_every_kind_of_table_gives_the_same(tmp_path: Path) -> None:
    frame = table()
    expected = measure(frame, groups=["age"]).tables["measurements"]
    frame.write_parquet(tmp_path / "t.parquet")
    records = np.rec.fromarrays([frame[name].to_numpy() for name in frame.columns], names=frame.columns)
    kinds = [frame.to_pandas(), frame.to_arrow(), frame.lazy(), tmp_path / "t.parquet", frame.to_dict(), records]
    for other in kinds:
        assert_frame_equal(measure(other, groups=["age"]).tables["measurements"], expected)
    arrays = fw.group_fairness(
        label=frame["target"].to_numpy(),
        pred=frame["pred"].to_numpy(),
        flags={name: frame[name].to_numpy() for name in ("male", "black")},
        groups={"age": frame["age"].to_numpy()},
        replicates=100,
    )
    assert_frame_equal(arrays.tables["measurements"], expected)
    assert isinstance(frame.to_arrow(), pa.Table)
    assert isinstance(frame.to_pandas(), pd.DataFrame)


def test_row_order_and_names_change_nothing() -> None:
    frame = table()
    one = measure(frame, groups=["age", "age*region"], score="score")
    other = measure(frame.sample(fraction=1, shuffle=True, seed=1), groups=["age", "age*region"], score="score")
    assert_frame_equal(one.tables["measurements"], other.tables["measurements"], abs_tol=1e-12)
    renamed = measure(
        frame.with_columns(age=pl.col("age").replace({"young": "zz"}), male2=pl.col("male")),
        flags=["black", "male2"],
        groups=["age"],
    )
    first = {
        row["metric"]: row
        for row in one.multigroup.filter(pl.col("metric").str.ends_with("_spread")).to_dicts()
        if row["class"] == "1"
    }
    second = {
        row["metric"]: row for row in renamed.multigroup.to_dicts() if row["metric"].endswith("_spread") and row["class"] == "1"
    }
    spread = "statistical_parity_spread"
    by_age = next(
        row for row in one.multigroup.to_dicts() if row["metric"] == spread and row["attribute"] == "age" and row["class"] == "1"
    )
    assert second[spread]["low"] == by_age["low"]
    assert set(first) == set(second)
    assert renamed.per_identity["SPD_low"].to_list() == one.per_identity["SPD_low"].to_list()[::-1]


def test_counting_in_parts_is_counting_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = table()
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=100)
    whole = measure(frame, groups=["age*male"], score="score")
    monkeypatch.setattr(fairness_reading, "ROWS_PER_PART", 64)
    for source in (frame, tmp_path / "t.parquet"):
        parts = measure(source, groups=["age*male"], score="score")
        for name, expected in whole.tables.items():
            assert_frame_equal(parts.tables[name], expected, abs_tol=1e-12)


def test_many_scores_fall_into_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(3000)
    exact = measure(frame, score="score")
    monkeypatch.setattr(fairness_input, "EXACT_ROWS", 100)
    binned = measure(frame, score="score")
    assert not binned.facts["scores_exact"]
    assert_frame_equal(exact.bias_auc, binned.bias_auc, abs_tol=1e-3)
    assert_frame_equal(exact.tables["sweep"], binned.tables["sweep"], abs_tol=1e-12)


def test_several_classes_by_name() -> None:
    random = np.random.default_rng(1)
    frame = pl.DataFrame(
        {name: random.choice(["low", "mid", "high"], 300) for name in ("truth", "guess")} | {"age": random.integers(20, 23, 300)}
    )
    result = fw.group_fairness(frame, label="truth", pred="guess", groups=["age"], replicates=50)
    cell = result.multigroup.filter(
        (pl.col("metric") == "equal_opportunity") & (pl.col("class") == "mid") & (pl.col("group") == "21")
    )
    rows = frame.filter((pl.col("truth") == "mid") & (pl.col("age") == 21))
    assert cell["value"].item() == pytest.approx((rows["guess"] == "mid").mean())
    assert cell["n"].item() == rows.height
    assert result.by_group["acc"].is_not_null().all()
    assert result.by_group["tpr"].is_null().all()
    view = result.tables["binarised"]
    assert view.height == 9
    assert (view["SPD_hidden"] >= -1e-12).all()


def test_two_classes_and_two_groups_have_the_earlier_papers_gaps() -> None:
    frame = table().with_columns(sex=(pl.col("male") >= 0.5).cast(pl.Int8))
    result = fw.group_fairness(frame, label="target", pred="pred", groups=["sex"], replicates=50)
    found = dict(
        result.multigroup.filter(pl.col("metric").is_in(["SPD", "EOD", "OAED", "TED"])).select("metric", "value").iter_rows()
    )
    flag = measure(frame).per_identity.row(0, named=True)
    assert found["SPD"] == pytest.approx(abs(flag["SPD"]))
    assert found["EOD"] == pytest.approx(abs(flag["EOpp_diff"]))
    assert set(found) == {"SPD", "EOD", "OAED", "TED"}


def test_a_fairlearn_user_finds_the_way() -> None:
    frame = table()
    result = fw.group_fairness(frame, label="target", pred="pred", groups=["age"], min_group_size=1, replicates=20)
    theirs = MetricFrame(
        metrics={"acc": accuracy_score, "pos_rate": selection_rate},
        y_true=frame["target"].to_numpy(),
        y_pred=frame["pred"].to_numpy(),
        sensitive_features=frame["age"].to_numpy(),
    )
    for name in ("acc", "pos_rate"):
        assert result.difference()[name].item() == pytest.approx(theirs.difference()[name], abs=1e-12)
        assert result.difference("to_overall")[name].item() == pytest.approx(
            theirs.difference(method="to_overall")[name], abs=1e-12
        )
        assert result.ratio()[name].item() == pytest.approx(theirs.ratio()[name], abs=1e-12)
        assert result.ratio("to_overall")[name].item() == pytest.approx(theirs.ratio(method="to_overall")[name], abs=1e-12)
        assert result.group_min()[name].item() == pytest.approx(theirs.group_min()[name], abs=1e-12)
        assert result.group_max()[name].item() == pytest.approx(theirs.group_max()[name], abs=1e-12)
        ours = dict(result.by_group.select("group", name).iter_rows())
        for group, value in theirs.by_group[name].items():
            assert ours[f"age={group}"] == pytest.approx(value, abs=1e-12)
    assert result.overall["accuracy"] == pytest.approx(theirs.overall["acc"], abs=1e-12)
    assert result.gaps()["value"].abs().to_list() == sorted(result.gaps()["value"].abs().to_list(), reverse=True)


def test_json_is_strict_whatever_is_undefined() -> None:
    frame = table(60).with_columns(target=pl.lit(0), pred=pl.col("pred"))
    told = fw.group_fairness(frame, label="target", pred="pred", score="score", flags=["male"], groups=["age"], min_group_size=1)

    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(told.to_json(), parse_constant=refuse)
    assert told.facts["overall_auc"] is None


def test_json_has_null_for_what_is_undefined() -> None:
    told = json.loads(measure(score="score", groups=["age"]).to_json())
    assert told["n_rows"] == 600
    assert {"groups", "per_identity", "summary", "multigroup", "bias_auc"} <= set(told)


def test_the_files_and_the_second_call(preds: Path, tmp_path: Path) -> None:
    asked = config(preds, tmp_path, group_cols=("age", "age*region"), charts=True)
    result = audit_fairness(asked)
    out = asked.out.parent
    first = {
        "R.csv": "identity,group,n,skipped,acc,f1,tpr,false_positive_rate,pos_rate,",
        "R.per_identity.csv": "identity,SPD,EOpp_diff,n_A0,n_A1,",
        "R.summary.csv": "WorstAbsSPD,WorstAbsEOpp,WorstGroupAcc,WorstGroupF1,",
        "R.multigroup.csv": "metric,attribute,class,group,value,low,high,n\n",
        "R.bias_auc.csv": "identity,subgroup_auc,bpsn_auc,bnsp_auc,positive_aeg,negative_aeg,n_subgroup,",
    }
    for name, header in first.items():
        assert (out / name).read_text().startswith(header), name
    for name in ("R_SPD.png", "R_EOpp_diff.png", "R_ROC.png", "R_calibration.png"):
        assert (out / name).stat().st_size > 1000
    assert tuple(pl.read_parquet(out / "R.measurements.parquet").columns) == MEASUREMENTS
    entry = json.loads((out / "run.json").read_text())["audits"]["R"]
    assert entry["kind"] == "fairness"
    assert entry["counts"] == {"asked": 600, "scored": 600, "failed": 0}
    before = (out / "R.csv").stat().st_mtime_ns
    again = audit_fairness(asked)
    assert (out / "R.csv").stat().st_mtime_ns == before
    assert set(again.tables) == set(result.tables)
    assert_frame_equal(again.by_group, result.by_group, check_dtypes=False)
    assert again.counts["male"].sizes.tolist() == result.counts["male"].sizes.tolist()
    with pytest.raises(RunError, match="group_threshold"):
        audit_fairness(config(preds, tmp_path, group_cols=("age", "age*region"), charts=True, group_threshold=0.9))


def test_counts_are_read_back_and_added() -> None:
    counts = measure(groups=["age"]).counts
    twice = counts_from_table(pl.concat([counts_table(counts)] * 2))
    for name, one in counts.items():
        assert (twice[name].spread_over(one.groups, one.classes).cells == 2 * one.cells).all()
        assert twice[name].missing == 2 * one.missing


def test_labels_in_a_file_of_their_own(preds: Path, tmp_path: Path) -> None:
    frame = table()
    expected = audit_fairness(config(preds, tmp_path)).per_identity
    bare = tmp_path / "bare.parquet"
    frame.select("idx", "pred", "score").sample(fraction=1, shuffle=True, seed=3).write_parquet(bare)
    labels = frame.select("idx", "target", "male", "black").sample(fraction=1, shuffle=True, seed=4)
    labels.write_csv(tmp_path / "with.csv")
    labels.sort("idx").drop("idx").write_csv(tmp_path / "without.csv")
    for name in ("with.csv", "without.csv"):
        out = tmp_path / name.removesuffix(".csv") / "R.csv"
        found = audit_fairness(config(bare, tmp_path, labels_file=tmp_path / name, out=out))
        assert_frame_equal(found.per_identity, expected)


def test_labels_that_do_not_match(tmp_path: Path) -> None:
    frame = table()
    bare, labels = tmp_path / "bare.parquet", tmp_path / "labels.parquet"
    frame.select("idx", "pred").write_parquet(bare)
    frame.select("idx", "target", "male", "black").slice(10).write_parquet(labels)
    with pytest.raises(InputError, match="10 of the predictions have no row"):
        audit_fairness(config(bare, tmp_path, labels_file=labels))
    frame.select("pred").write_parquet(bare)
    with pytest.raises(InputError, match="none to join it on"):
        audit_fairness(config(bare, tmp_path, labels_file=labels))
    frame.select("target", "male", "black").slice(10).write_parquet(labels)
    with pytest.raises(InputError, match="600 rows"):
        audit_fairness(config(bare, tmp_path, labels_file=labels))
    pl.concat([frame, frame.head(1)]).write_parquet(bare)
    with pytest.raises(InputError, match="occurs 2 times"):
        audit_fairness(config(bare, tmp_path))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": "targt"}, "Did you mean 'target'"),
        ({"flags": ["mael"]}, "Did you mean 'male'"),
        ({"flags": ["male", "male"]}, "twice"),
        ({"flags": ["age"]}, "--group_cols age"),
        ({"flags": [], "groups": []}, "No groups"),
        ({"positive_label": 2}, "0 or 1"),
        ({"pred": "score"}, "--score_threshold"),
        ({"pred": None}, "No predictions"),
        ({"label": "region"}, "holds 2"),
        ({"label": "age"}, "holds text"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"min_group_size": 0}, "at least 1"),
        ({"groups": ["male"]}, "in --id_cols and in --group_cols"),
    ],
)
def test_what_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        measure(**change)


def test_labels_outside_the_range() -> None:
    for wrong in (1.5, -0.5, 7.25):
        frame = table().with_columns(target=pl.when(pl.col("idx") == 3).then(wrong).otherwise("target"))
        with pytest.raises(InputError, match="labels must be"):
            measure(frame)
        with pytest.raises(InputError, match="labels must be"):
            measure(frame, flags=[], groups=["age"])


def test_too_many_groups() -> None:
    rows = 100_000
    frame = pl.DataFrame({"target": [0, 1] * (rows // 2), "pred": [0, 1] * (rows // 2), "user": range(rows)})
    with pytest.raises(InputError, match="bins"):
        fw.group_fairness(frame, label="target", pred="pred", groups=["user"])


def test_a_column_of_small_groups_only_stands_beside_one_of_large_groups() -> None:
    for groups in (["idx", "age"], ["age", "idx"]):
        found = measure(flags=[], groups=groups)
        assert set(found.tables["binarised"]["attribute"]) == {"age"}
        spreads = found.multigroup.filter(pl.col("metric").str.ends_with("_spread") & (pl.col("attribute") == "idx"))
        assert spreads["value"].null_count() == spreads.height > 0


def test_infinite_labels_and_predictions_are_refused() -> None:
    for column in ("target", "pred"):
        frame = table().with_columns(pl.when(pl.col("idx") == 3).then(float("inf")).otherwise(column).alias(column))
        with pytest.raises(InputError, match="infinite"):
            measure(frame, flags=[], groups=["age"])
    several = table().with_columns(
        target=pl.col("idx") % 3, pred=pl.when(pl.col("idx") == 3).then(float("inf")).otherwise(pl.col("idx") % 3)
    )
    with pytest.raises(InputError, match="--pred_col pred holds an infinite number"):
        measure(several, flags=[], groups=["age"])


def test_a_group_is_called_the_same_in_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part with a fraction beside whole numbers, names that are numbers, and crossed ones: parts change nothing."""
    frame = table().with_columns(
        step=pl.when(pl.col("idx") == 500).then(1.5).otherwise((pl.col("idx") % 12).cast(pl.Float64)),
        word=pl.when(pl.col("idx") == 500).then(pl.lit("nan")).otherwise((pl.col("idx") % 12).cast(pl.String)),
    )
    asked = {"flags": [], "groups": ["step", "word", "step*word"], "min_group_size": 5}
    at_once = measure(frame, **asked)
    assert at_once.by_group["group"].to_list()[:4] == ["step=0", "step=1", "step=1.5", "step=2"]
    monkeypatch.setattr(fairness_reading, "ROWS_PER_PART", 50)
    in_parts = measure(frame, **asked)
    for name, made in at_once.tables.items():
        assert_frame_equal(made, in_parts.tables[name])


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([None] * 600, dtype=pl.String),
        pl.Series([2**64 - 1, 2**64 - 3] * 300, dtype=pl.UInt64),
        pl.Series([-128, 127] * 300, dtype=pl.Int8),
        pl.Series([1e300, 2.0] * 300),
        pl.Series([float("inf"), 1.5] * 300),
    ],
)
def test_groups_of_any_value(values: pl.Series) -> None:
    found = measure(table().with_columns(values.alias("group")), flags=[], groups=["group"])
    assert found.by_group.height == values.drop_nulls().n_unique()
    assert found.by_group["n"].sum() == values.drop_nulls().len()


def test_groups_of_lists_are_refused() -> None:
    with pytest.raises(InputError, match="lists or records"):
        measure(table().with_columns(age=pl.concat_list("idx", "region")), flags=[], groups=["age"])


def test_a_binarised_view_of_what_is_not_there(preds: Path, tmp_path: Path) -> None:
    for wrong, said in (({"group_one": ("yuong",)}, "young"), ({"positive_classes": ("2",)}, "The classes are 0, 1")):
        with pytest.raises(InputError, match=said):
            audit_fairness(config(preds, tmp_path, id_cols=(), group_cols=("age", "region"), **wrong))


def test_numbered_groups_and_classes_are_read_back_as_names(preds: Path, tmp_path: Path) -> None:
    asked = config(preds, tmp_path, id_cols=(), group_cols=("region", "region*age"))
    first, again = audit_fairness(asked), audit_fairness(asked)
    for name in ("groups", "multigroup", "binarised", "summary"):
        assert_frame_equal(first.tables[name], again.tables[name], check_exact=False)


def test_names_keep_their_zeros_on_a_second_call(tmp_path: Path) -> None:
    named = table().with_columns(code=pl.when(pl.col("idx") % 2 == 0).then(pl.lit("007")).otherwise(pl.lit("12")))
    named.write_parquet(tmp_path / "p.parquet")
    asked = config(tmp_path / "p.parquet", tmp_path, id_cols=(), group_cols=("code",))
    first, again = audit_fairness(asked), audit_fairness(asked)
    assert "007" in again.tables["multigroup"]["group"].to_list()
    assert again.counts["code"].groups == first.counts["code"].groups


def test_an_idx_that_is_no_whole_number_matches_no_row(tmp_path: Path) -> None:
    table().select("idx", "pred").write_parquet(tmp_path / "preds.parquet")
    table().drop("pred").with_columns(pl.col("idx") + 0.5).write_parquet(tmp_path / "labels.parquet")
    with pytest.raises(InputError, match="600 of the predictions have no row"):
        audit_fairness(config(tmp_path / "preds.parquet", tmp_path, labels_file=tmp_path / "labels.parquet"))


def test_a_pair_is_of_two_groups_also_where_all_are_alike() -> None:
    found = measure(table().with_columns(pred=pl.lit(1)), flags=[], groups=["age"]).multigroup
    pairs = found.filter((pl.col("metric") == "statistical_parity_spread") & (pl.col("class") == "1"))
    assert pairs.select("group", "value").row(0) == ("middle - young", 0.0)


def test_columns_of_nothing_and_of_one_value_are_said() -> None:
    frame = table().with_columns(black=pl.lit(None, pl.Float64), male=pl.lit(0.0), all=pl.lit(1))
    result = measure(frame, flags=["black", "male", "all"])
    notes = " ".join(result.facts["notes"])
    assert "'black' has no value" in notes
    assert "'male' has no members" in notes
    assert "'all' has nobody but members" in notes
    assert result.per_identity["SPD"].null_count() == 3
    assert result.worst()["WorstAbsSPD"].item() is None


def test_infinite_and_absent_scores_are_counted() -> None:
    frame = table().with_columns(
        score=pl.when(pl.col("idx") < 5).then(float("inf")).when(pl.col("idx") < 8).then(None).otherwise("score")
    )
    result = measure(frame, score="score")
    assert (result.facts["n_infinite_score"], result.facts["n_without_score"]) == (5, 3)
    assert result.facts["n_scored"] == 592
    assert result.facts["n_measured"] == 600


def test_predictions_from_a_score() -> None:
    assert_frame_equal(measure(pred=None, score="score", score_threshold=0.5).by_group, measure(score="score").by_group)


def test_unlabelled_rows_are_counted() -> None:
    frame = table().with_columns(target=pl.when(pl.col("idx") < 7).then(None).otherwise("target"))
    assert measure(frame).facts["n_unlabelled"] == 7
    assert_frame_equal(measure(frame).per_identity, measure(frame.slice(7)).per_identity)


def test_empty_tables_are_refused() -> None:
    with pytest.raises(InputError, match="no rows"):
        measure(table().head(0))


def test_two_thousand_groups() -> None:
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"target": random.integers(0, 2, 40_000), "pred": random.integers(0, 2, 40_000), "town": random.integers(0, 2000, 40_000)}
    )
    result = fw.group_fairness(frame, label="target", pred="pred", groups=["town"], min_group_size=1)
    assert result.by_group.height == 2000
    assert result.by_group["n"].sum() == 40_000


def test_everything_that_rests_on_scores_has_an_interval() -> None:
    result = measure(score="score")
    facts, long = result.facts, result.tables["measurements"]
    for name in ("overall_auc", "power_mean_subgroup_auc", "power_mean_bpsn_auc", "power_mean_bnsp_auc", "jigsaw_final"):
        assert facts[f"{name}_low"] < facts[name] < facts[f"{name}_high"], name
    rests = long.filter(pl.col("metric").str.contains("auc|aeg|jigsaw|calibration")).drop_nulls("value")
    assert rests.filter(pl.col("low").is_null() | pl.col("high").is_null()).is_empty()
    assert ((rests["low"] <= rests["value"] + 1e-12) & (rests["value"] <= rests["high"] + 1e-12)).all()


def test_probabilities_of_the_other_label_stay_probabilities() -> None:
    one, zero = measure(score="score"), measure(score="score", positive_label=0)
    error = [result.tables["calibration"].filter(pl.col("group") == "overall")["ece"][0] for result in (one, zero)]
    assert error[0] == pytest.approx(error[1], abs=0.02)  # bins close at their lower end, so a score on an edge changes bins
    assert zero.tables["sweep"]["threshold"].min() == 0
    logits = table().with_columns(score=(pl.col("score") - 0.5) * 9)
    assert "calibration" not in measure(logits, score="score", positive_label=0).tables


def test_classes_that_only_predictions_know() -> None:
    frame = table().with_columns(pred=pl.col("idx") % 3)
    result = fw.group_fairness(frame, label="target", pred="pred", groups=["age"], replicates=20)
    assert set(result.multigroup["class"].drop_nulls()) == {"0", "1", "2"}
    with pytest.raises(InputError, match="predictions must be 0 or 1"):
        measure(frame)


def test_text_that_spells_numbers_and_columns_of_nothing(tmp_path: Path) -> None:
    frame = table()
    words = frame.with_columns(
        pl.col("male").cast(pl.String).fill_null("nan"), pl.col("target").cast(pl.String), black=pl.lit(None, pl.Float64)
    )
    words.write_csv(tmp_path / "words.csv")
    expected = measure(frame, flags=["male"]).per_identity
    assert_frame_equal(measure(words, flags=["male"]).per_identity, expected)
    found = measure(tmp_path / "words.csv")
    assert_frame_equal(found.per_identity.head(1).select("SPD", "EOpp_diff"), expected.select("SPD", "EOpp_diff"))
    assert "'black' has no value" in " ".join(found.facts["notes"])
    frame.head(0).write_csv(tmp_path / "empty.csv")
    with pytest.raises(InputError, match="no rows"):
        measure(tmp_path / "empty.csv")


def test_worst_cases_lie_within_their_intervals() -> None:
    for result in (measure(), measure(flags=[], groups=["age"])):
        worst = result.worst().row(0, named=True)
        for name in ("WorstAbsSPD", "WorstAbsEOpp", "WorstGroupAcc", "WorstGroupF1"):
            assert worst[f"{name}_low"] <= worst[name] <= worst[f"{name}_high"], name


def test_a_spread_says_what_it_could_have_shown() -> None:
    rows = {(row["metric"], row["class"]): row for row in measure(flags=[], groups=["age"]).multigroup.to_dicts()}
    spread, smallest = rows["statistical_parity_spread", "1"], rows["statistical_parity_min_detectable", "1"]
    assert smallest["group"] == spread["group"]
    assert 0 < smallest["value"] < 1
