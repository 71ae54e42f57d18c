"""Multiclass × multigroup metrics: the reference cases, and binary = multiclass with two classes."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairwitness.metrics import multigroup
from fairwitness.metrics.counts import count_groups
from fairwitness.metrics.gaps import earlier_binary
from fairwitness.metrics.rates import rates

SHARED = os.environ.get("FAIRWITNESS_SHARED")
CLEAN = {
    "SP": multigroup.statistical_parity,
    "EO_tpr": multigroup.equal_opportunity,
    "FPR": multigroup.false_positive_rate,
    "FNR": multigroup.false_negative_rate,
    "TE_fpr_over_fnr": multigroup.treatment_equality,
    "TE_fnr_over_fpr": multigroup.treatment_equality_inverse,
    "OAE": multigroup.overall_accuracy_equality,
    "group_accuracy": multigroup.group_accuracy,
}


def reference(name: str) -> dict:
    return json.loads((Path(SHARED or "") / "reference" / name).read_text())


def tensor(case: dict) -> np.ndarray:
    classes, groups = ([str(index) for index in range(case[key])] for key in ("n_classes", "n_groups"))
    return count_groups(case["y_true"], case["y_pred"], case["sens"], attribute="s", groups=groups, classes=classes).cells


@pytest.mark.shared
@pytest.mark.skipif(not SHARED, reason="FAIRWITNESS_SHARED is not set")
def test_reference_cases() -> None:
    for case in reference("fairness_multiclass.json")["cases"]:
        cells = tensor(case)
        for key, metric in CLEAN.items():
            assert np.allclose(metric(cells), np.array(case["reference_clean"][key], float), rtol=1e-12, equal_nan=True), key
        selected = np.array(case["original_multiclass"]["treatment_equality_selected"], float)
        assert np.allclose(multigroup.treatment_equality_selected(cells), selected, rtol=1e-12, equal_nan=True)
        if earlier := case.get("original_binary_CIKM22"):
            for key, value in earlier["full_precision"].items():
                assert float(earlier_binary(cells)[key]) == pytest.approx(value, rel=1e-12), key


@given(hnp.arrays(np.int64, (3, 2, 2), elements=st.integers(0, 20)))
def test_binary_is_multiclass_with_two_classes(cells: np.ndarray) -> None:
    found = rates(cells)
    same = {
        "positive_rate": multigroup.statistical_parity,
        "true_positive_rate": multigroup.equal_opportunity,
        "false_positive_rate": multigroup.false_positive_rate,
        "false_negative_rate": multigroup.false_negative_rate,
    }
    for name, metric in same.items():
        assert np.array_equal(metric(cells)[1], found[name], equal_nan=True)
    assert np.array_equal(multigroup.equal_opportunity(cells)[0], found["true_negative_rate"], equal_nan=True)
    assert np.array_equal(multigroup.group_accuracy(cells), found["accuracy"], equal_nan=True)


@given(hnp.arrays(np.int64, (4, 3, 3), elements=st.integers(0, 20)), st.permutations(range(4)))
def test_the_order_of_groups_changes_nothing_but_the_released_variant(cells: np.ndarray, order: list[int]) -> None:
    for metric in CLEAN.values():
        assert np.array_equal(metric(cells[order]), metric(cells)[..., order], equal_nan=True)
    for metric in CLEAN.values():
        one, other = multigroup.spread(metric(cells)), multigroup.spread(metric(cells[order]))
        assert np.array_equal(one.value, other.value, equal_nan=True)


def test_a_class_never_seen_as_truth_does_not_spoil_the_sum_of_recalls() -> None:
    cells = np.array([[[4, 1, 1], [1, 4, 0], [0, 0, 0]], [[3, 2, 0], [2, 3, 0], [0, 0, 0]]])
    assert np.allclose(multigroup.overall_accuracy_equality(cells), [4 / 6 + 4 / 5, 1.2])
    cells[0, 2, 2] = 1  # now it is, and the second group has none of it
    assert np.isnan(multigroup.overall_accuracy_equality(cells)[1])


def test_spread_of_nothing_is_undefined() -> None:
    assert np.isnan(multigroup.spread(np.empty((2, 0))).value).all()
    assert int(multigroup.spread([np.nan, 0.3]).highest) == -1
