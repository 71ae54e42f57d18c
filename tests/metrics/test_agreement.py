"""Agreement against the krippendorff package and scikit-learn, on any answers, missing ones included."""

import math
import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.metrics.agreement import cohen_kappa, krippendorff_alpha, majority, pairwise_kappa

TABLES = st.integers(1, 8).flatmap(lambda items: st.lists(
    st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=items, max_size=items), min_size=1, max_size=5))  # fmt: skip


def answers(row: list[int | None]) -> dict[int, int]:
    return {item: value for item, value in enumerate(row) if value is not None}


@settings(deadline=None)
@given(TABLES)
def test_alpha_is_the_package_s(table: list[list[int | None]]) -> None:
    ours = krippendorff_alpha([answers(row) for row in table])
    array = np.array([[np.nan if value is None else value for value in row] for row in table], float)
    pairable = array[:, (~np.isnan(array)).sum(axis=0) > 1]
    if len(set(pairable[~np.isnan(pairable)])) < 2:
        assert math.isnan(ours), "one value only, or nothing to compare: undefined"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ours == pytest.approx(krippendorff.alpha(array, level_of_measurement="nominal"))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_kappa_is_scikit_learn_s(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    one, other = ([pair[place] for pair in pairs] for place in (0, 1))
    ours = cohen_kappa(dict(enumerate(one)), dict(enumerate(other)))
    if set(one) == set(other) and len(set(one)) == 1:
        assert math.isnan(ours)
    else:
        assert ours == pytest.approx(cohen_kappa_score(one, other))


def test_kappa_over_common_items_only() -> None:
    rows = pairwise_kappa({"a": {1: "x", 2: "y", 3: "x"}, "b": {2: "y", 3: "x", 4: "x"}, "c": {9: "x"}})
    assert [(row["one"], row["other"], row["n"]) for row in rows] == [("a", "b", 2), ("a", "c", 0), ("b", "c", 0)]
    assert rows[0]["value"] == 1.0
    assert math.isnan(rows[1]["value"])


def test_majority_is_more_than_half() -> None:
    assert majority([1, 1, 2]) == 1
    assert majority([1, 1, 2, 2]) is None
    assert majority([1, 1, 2, 3]) is None
    assert majority([False]) is False
