"""Random small tables with all that goes wrong in tables: numbers are fairlearn's and scikit-learn's to 1e-12, or undefined."""

import json
import os
import warnings

import numpy as np
import polars as pl
import pytest
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_difference,
    demographic_parity_ratio,
    equalized_odds_difference,
    false_negative_rate,
    false_positive_rate,
    selection_rate,
    true_negative_rate,
    true_positive_rate,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score, roc_auc_score

import fairwitness as fw

TINY = 1e-12
GROUPS = ["a", "b, c", 'say "d"', "", "0"]
few = settings(max_examples=int(os.environ.get("FAIRWITNESS_FUZZ_EXAMPLES", "12")), deadline=None)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    n = draw(st.integers(2, 50))

    def column(values: list, kind: type[pl.DataType]) -> pl.Series:
        return pl.Series(draw(st.lists(st.sampled_from(values), min_size=n, max_size=n)), dtype=kind)

    labels = draw(st.sampled_from([[0, 1], [0, 1, None], [0.0, 0.49, 0.5, 1.0, None, float("nan")], [0]]))
    return pl.DataFrame(
        {
            "label": column(labels, pl.Float64),
            "pred": column(draw(st.sampled_from([[0, 1], [0, 1, None], [1]])), pl.Float64),
            "score": column([0.1, 0.2, 0.2, 0.7, 0.9], pl.Float64),
            "flag": column(draw(st.sampled_from([[0, 1], [0.0, 0.5, 0.4, None], [1]])), pl.Float64),
            "group": column([*GROUPS, None] if draw(st.booleans()) else GROUPS[:2], pl.String),
        }
    )


def same(ours: float | None, theirs: float, *, defined: bool) -> None:
    if defined:
        assert ours == pytest.approx(theirs, abs=TINY)
    else:
        assert ours is None


def rates_are_theirs(row: dict, truth: np.ndarray, predicted: np.ndarray) -> None:
    assert row["n"] == len(truth)
    some = len(truth) > 0
    positives, negatives, called = truth.sum(), (1 - truth).sum(), predicted.sum()
    same(row["acc"], accuracy_score(truth, predicted) if some else 0, defined=some)
    same(row["pos_rate"], selection_rate(truth, predicted) if some else 0, defined=some)
    pairs = {
        "tpr": (true_positive_rate, positives),
        "fnr": (false_negative_rate, positives),
        "false_positive_rate": (false_positive_rate, negatives),
        "tnr": (true_negative_rate, negatives),
    }
    for name, (metric, below) in pairs.items():
        same(row[name], metric(truth, predicted, pos_label=1) if below and some else 0, defined=below > 0)
    same(row["precision"], precision_score(truth, predicted, zero_division=0) if some else 0, defined=called > 0)
    same(row["f1"], f1_score(truth, predicted, zero_division=0) if some else 0, defined=positives + called > 0)


@few
@given(tables(), st.sampled_from([0, 1]), st.sampled_from(["exclude", "nonmember"]))
def test_binary_numbers_are_those_of_fairlearn_and_scikit_learn(table: pl.DataFrame, positive: int, missing: str) -> None:
    found = fw.group_fairness(
        table, label="label", pred="pred", flags=["flag"], groups=["group"], min_group_size=1, replicates=2,
        positive_label=positive, missing=missing,
    )  # fmt: skip
    kept = table.fill_nan(None).drop_nulls(["label", "pred"])
    assert found.facts["n_measured"] == kept.height
    truth = ((kept["label"].to_numpy() >= 0.5) == bool(positive)).astype(int)
    predicted = (kept["pred"].to_numpy() == positive).astype(int)
    flag = kept["flag"].fill_null(0.0 if missing == "nonmember" else float("nan")).to_numpy()
    rows = {row["group"]: row for row in found.by_group.to_dicts()}
    for value, inside in (("0", flag < 0.5), ("1", flag >= 0.5)):
        rates_are_theirs(rows[f"flag={value}"], truth[inside], predicted[inside])
    known = ~np.isnan(flag)
    member = (flag >= 0.5)[known]
    gap = found.per_identity.row(0, named=True)
    two = len(set(member)) == 2
    theirs = {"y_true": truth[known], "y_pred": predicted[known], "sensitive_features": member}
    if two:
        assert abs(gap["SPD"]) == pytest.approx(demographic_parity_difference(**theirs), abs=TINY)
        ratio = demographic_parity_ratio(**theirs)
        if gap["disparate_impact"]:
            assert min(gap["disparate_impact"], 1 / gap["disparate_impact"]) == pytest.approx(ratio, abs=TINY)
        if gap["equalized_odds_diff"] is not None:
            assert gap["equalized_odds_diff"] == pytest.approx(equalized_odds_difference(**theirs), abs=TINY)
    else:
        assert gap["SPD"] is None
    names = kept["group"].fill_null("(missing)") if missing == "nonmember" else kept["group"]
    for name in names.drop_nulls().unique():
        inside = (names == name).fill_null(False).to_numpy()
        rates_are_theirs(rows[f"group={name}"], truth[inside], predicted[inside])
    json.loads(found.to_json())


@few
@given(tables())
def test_differences_are_a_metric_frames(table: pl.DataFrame) -> None:
    kept = table.fill_nan(None).drop_nulls(["label", "pred", "group"]).with_columns(pl.col("label") >= 0.5)
    if kept["group"].n_unique() < 2:
        return
    found = fw.group_fairness(kept, label="label", pred="pred", groups=["group"], min_group_size=1, replicates=2)
    metrics = {"acc": accuracy_score, "pos_rate": selection_rate, "tpr": recall_score}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = MetricFrame(
            metrics=metrics,
            y_true=kept["label"].cast(int).to_numpy(),
            y_pred=kept["pred"].cast(int).to_numpy(),
            sensitive_features=kept["group"].to_numpy(),
        )
    defined = {"acc": True, "pos_rate": True, "tpr": found.by_group["tpr"].null_count() == 0}
    for name in metrics:
        for method in ("between_groups", "to_overall"):
            ours = found.difference(method)[name].item()
            same(ours, frame.difference(method=method)[name], defined=defined[name])
        same(found.group_min()[name].item(), frame.group_min()[name], defined=defined[name])
        same(found.group_max()[name].item(), frame.group_max()[name], defined=defined[name])


@few
@given(tables())
def test_areas_are_scikit_learns(table: pl.DataFrame) -> None:
    found = fw.group_fairness(table, label="label", pred="pred", score="score", flags=["flag"], min_group_size=1, replicates=2)
    kept = table.fill_nan(None).drop_nulls(["label", "pred"])
    truth, score = (kept["label"].to_numpy() >= 0.5).astype(int), kept["score"].to_numpy()
    flag = kept["flag"].fill_null(float("nan")).to_numpy()
    inside, outside = flag >= 0.5, flag < 0.5
    sets = {
        "subgroup_auc": inside,
        "bpsn_auc": (inside & (truth == 0)) | (outside & (truth == 1)),
        "bnsp_auc": (inside & (truth == 1)) | (outside & (truth == 0)),
    }
    if not len(kept):
        assert not found.bias_auc.height
        return
    row = found.bias_auc.row(0, named=True)
    for name, rows in sets.items():
        two = len(set(truth[rows])) == 2
        same(row[name], roc_auc_score(truth[rows], score[rows]) if two else 0, defined=two)
        if two:
            assert row[f"{name}_low"] <= row[name] + TINY
            assert row[f"{name}_high"] >= row[name] - TINY


@few
@given(
    st.integers(1, 40).flatmap(
        lambda n: st.lists(
            st.tuples(*[st.sampled_from(v) for v in (["low", "mid, 2", "7"],) * 2 + (GROUPS,)]), min_size=n, max_size=n
        )
    )
)
def test_classes_and_groups_of_any_name(rows: list[tuple[str, str, str]]) -> None:
    truth, predicted, group = (np.array(column) for column in zip(*rows, strict=True))
    found = fw.group_fairness(label=truth, pred=predicted, groups={"g": group}, min_group_size=1, replicates=2)
    cells = {(row["metric"], row["class"], row["group"]): row["value"] for row in found.multigroup.to_dicts()}
    for name in set(group):
        here = group == name
        same(cells["group_accuracy", None, name], float((truth == predicted)[here].mean()), defined=True)
        for class_ in {*truth, *predicted}:
            real, called = here & (truth == class_), here & (predicted == class_)
            other = here & (truth != class_)
            same(cells["statistical_parity", class_, name], called.sum() / here.sum(), defined=True)
            same(cells["equal_opportunity", class_, name], (real & called).sum() / max(real.sum(), 1), defined=bool(real.any()))
            false = (other & called).sum() / max(other.sum(), 1)
            same(cells["false_positive_rate", class_, name], false, defined=bool(other.any()))
            missed = (real & ~called).sum() / max(real.sum(), 1)
            defined = bool(real.any() and other.any() and missed)
            same(cells["treatment_equality_fp_over_fn", class_, name], false / missed if defined else 0, defined=defined)
