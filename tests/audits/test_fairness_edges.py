"""Cases at the edge of the fairness audit: several classes, odd names, arrays with gaps, scores without any doubt."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairwitness as fw
from fairwitness.audits.fairness import FairnessConfig, audit_fairness
from fairwitness.errors import InputError


def three_classes(rows: int = 900) -> dict[str, Any]:
    random = np.random.default_rng(4)
    group = random.integers(0, 2, rows)
    truth = random.integers(0, 3, rows)
    # The groups differ in how often 0 and 2 are predicted, and not at all in 1.
    pred = np.where((group == 1) & (truth == 0), 2, truth)
    return {"y": truth, "p": pred, "g": np.where(group == 1, "b", "a")}


@pytest.mark.parametrize("names", [("0", "1", "2"), ("low", "mid", "high")])
def test_the_worst_spread_looks_at_every_class(names: tuple[str, ...]) -> None:
    table = three_classes()
    named = {**table, "y": [names[n] for n in table["y"]], "p": [names[n] for n in table["p"]]}
    result = fw.group_fairness(named, label="y", pred="p", groups=["g"], replicates=100)
    spreads = result.multigroup.filter(pl.col("metric") == "statistical_parity_spread")
    row = result.tables["summary"].row(0, named=True)
    assert row["WorstAbsSPD"] == spreads["value"].max() > 0.2
    assert row["WorstAbsSPD_identity"].endswith((f"(class {names[0]})", f"(class {names[2]})"))


def test_crossed_groups_whose_names_hold_a_star_stay_apart() -> None:
    y = [0, 1] * 100
    table = {"y": y, "p": y, "a": ["x*y", "x"] * 100, "b": ["z", "y*z"] * 100}
    groups = fw.group_fairness(table, label="y", pred="p", groups=["a*b"], min_group_size=1, replicates=100).by_group
    assert dict(groups.select("group", "n").iter_rows()) == {'a*b="x*y"*z': 100, 'a*b=x*"y*z"': 100}
    table = {"y": y, "p": y, "g": ["(missing)", None, "a", "a"] * 50}
    groups = fw.group_fairness(table, label="y", pred="p", groups=["g"], missing="nonmember", replicates=100).by_group
    assert dict(groups.select("group", "n").iter_rows()) == {"g=(missing)": 100, "g=a": 100}


@pytest.mark.parametrize("attribute", ["", "g*", "*g", "g**h"])
def test_a_crossing_without_a_name(attribute: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    pl.DataFrame({"y": [0, 1], "pred": [0, 1], "g": ["a", "b"], "h": [1, 2]}).write_csv(path)
    with pytest.raises(InputError, match="lacks the name of a column"):
        audit_fairness(FairnessConfig(preds=path, label_col="y", group_cols=(attribute,), out=tmp_path / "out" / "R.csv"))
    assert not (tmp_path / "out").exists()


def test_an_index_that_is_no_number_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("idx,y,g\n0,1,1\n1,0,0\nNaN,1,0\n1,1,1\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("idx,pred\n0,1\n1,0\n", encoding="utf-8")
    asked = FairnessConfig(
        preds=tmp_path / "p.csv", labels_file=tmp_path / "l.csv", label_col="y", id_cols=("g",), out=tmp_path / "o" / "R.csv"
    )
    with pytest.raises(InputError, match=r"l\.csv has 1 rows with an empty 'idx'"):
        audit_fairness(asked)


def test_arrays_with_gaps_are_counted_as_such() -> None:
    y, half = [1, 0] * 50, [True, False] * 50
    for pred in ([1, None] * 50, np.ma.array(y, mask=[0, 1] * 50), pd.array([1, None] * 50, dtype="Int64")):
        found = fw.group_fairness(label=y, pred=pred, groups={"g": ["a", "a", "b", "b"] * 25}, replicates=100)
        assert (found.facts["n_failed"], found.facts["n_measured"]) == (50, 50)
    gaps = pd.Series(["a", None] * 50, dtype="category")
    found = fw.group_fairness(label=y, pred=y, groups={"g": gaps}, flags={"f": np.array(half)}, replicates=100)
    assert any("50 rows have no value in 'g'" in note for note in found.facts["notes"])
    bins = pd.DataFrame({"y": y, "p": y, "g": pd.cut(np.arange(100), 4)})
    assert fw.group_fairness(bins, label="y", pred="p", groups=["g"], min_group_size=1, replicates=100).by_group.height == 4


def test_labels_and_predictions_of_different_kinds_are_refused() -> None:
    groups = {"g": ["a", "a", "b", "b"] * 10}
    for label, pred in ((["yes", "no"] * 20, [1, 0] * 20), (["1.0", "2.0", "3.0", "1.0"] * 10, [1, 2, 3, 1] * 10)):
        with pytest.raises(InputError, match="not one class in common"):
            fw.group_fairness(label=label, pred=pred, groups=groups)
    # A model that only ever says one thing may miss every label.
    found = fw.group_fairness(label=["a", "b"] * 20, pred=["c"] * 40, groups=groups, min_group_size=1, replicates=100)
    assert found.overall["accuracy"] == 0


@pytest.mark.parametrize(("error", "failed"), [(False, 0), (True, 40), (0, 0), (3, 40), (None, 0), ("", 0), ("timeout", 40)])
def test_an_error_is_what_says_so(error: Any, failed: int) -> None:
    table = {"y": [0, 1] * 20, "p": [0, 1] * 20, "g": ["a", "b"] * 20, "error": [error] * 40}
    found = fw.group_fairness(table, label="y", pred="p", groups=["g"], replicates=100)
    assert found.facts["n_failed"] == failed


@pytest.mark.parametrize("score", ["perfect", "constant"])
def test_scores_that_all_agree_are_not_thereby_sure(score: str) -> None:
    y = [0, 1] * 100
    table = {"y": y, "p": y, "s": y if score == "perfect" else [0.5] * 200, "f": [1, 1, 0, 0] * 50}
    facts = fw.group_fairness(table, label="y", pred="p", score="s", flags=["f"], replicates=100).facts
    for name in ("jigsaw_final", "power_mean_subgroup_auc", "power_mean_bpsn_auc", "power_mean_bnsp_auc"):
        assert facts[f"{name}_low"] < facts[f"{name}_high"]
        assert facts[f"{name}_low"] <= facts[name] <= facts[f"{name}_high"]


def test_what_several_classes_cannot_use_is_said() -> None:
    table = three_classes() | {"s": [0.5] * 900}
    found = fw.group_fairness(table, label="y", pred="p", score="s", groups=["g"], positive_label=0, replicates=100)
    assert [note.split(" cannot")[0] for note in found.facts["notes"]] == ["The scores ('s')", "positive_label 0"]


def test_the_python_call_checks_what_the_command_checks() -> None:
    table = {"y": [0, 1] * 20, "p": [0, 1] * 20, "g": ["a", "b"] * 20}
    with pytest.raises(InputError, match="--missing is 'foo'"):
        fw.group_fairness(table, label="y", pred="p", groups=["g"], missing="foo")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="names of columns"):
        fw.group_fairness(table, label="y", pred="p", flags=np.zeros((40, 2)))


def test_a_spread_is_of_the_values_that_are_listed() -> None:
    """The released treatment equality sums over the groups before, a small one too; its spread must not be of other values."""
    rng = np.random.default_rng(4)
    truth, group = rng.integers(0, 2, 60), np.repeat(["a", "b", "c"], [6, 24, 30])
    pred = np.where(rng.random(60) < 0.6, truth, 1 - truth)
    truth[:6], pred[:6] = 1, [0, 1, 1, 1, 1, 1]
    found = fw.group_fairness(label=truth, pred=pred, groups={"g": group}, min_group_size=10).multigroup
    large = pl.col("group").is_in(["b", "c"])
    for name in ("treatment_equality_selected", "treatment_equality_fp_over_fn", "overall_accuracy_equality"):
        listed = found.filter((pl.col("metric") == name) & large).group_by("class", maintain_order=True).agg("value")
        spreads = found.filter(pl.col("metric") == f"{name}_spread")["value"].to_list()
        assert spreads == [pytest.approx(abs(one - other)) for one, other in listed["value"].to_list()]
