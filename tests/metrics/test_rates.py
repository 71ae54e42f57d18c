"""Rates and gaps against fairlearn, scikit-learn and SciPy, wherever the definitions are the same."""

import warnings

import numpy as np
import pytest
from fairlearn import metrics as fairlearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics as sklearn

from fairwitness.metrics.counts import count_groups
from fairwitness.metrics.gaps import earlier_binary, gaps
from fairwitness.metrics.rates import rates, ratio

BINARY = {"attribute": "male", "groups": ["0", "1"], "classes": ["0", "1"]}


def tables() -> st.SearchStrategy[np.ndarray]:
    return st.integers(1, 50).flatmap(lambda n: hnp.arrays(np.int8, (3, n), elements=st.integers(0, 1)))


def cells_of(table: np.ndarray) -> np.ndarray:
    return count_groups(*table, **BINARY).cells


def close(ours: float, theirs: float) -> None:
    assert np.isclose(ours, theirs, rtol=0, atol=1e-12, equal_nan=True), (ours, theirs)


@given(tables())
def test_rates_equal_scikit_learn(table: np.ndarray) -> None:
    truth, predicted, group = table
    found = rates(cells_of(np.stack([truth, predicted, np.zeros_like(group)]))[0])
    nan = {"zero_division": np.nan}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(found["accuracy"], sklearn.accuracy_score(truth, predicted))
        close(found["precision"], sklearn.precision_score(truth, predicted, **nan))
        close(found["true_positive_rate"], sklearn.recall_score(truth, predicted, **nan))
        close(found["f1"], sklearn.f1_score(truth, predicted, **nan))
        close(found["true_negative_rate"], sklearn.recall_score(truth, predicted, pos_label=0, **nan))
    close(found["positive_rate"], fairlearn.selection_rate(truth, predicted))
    close(found["base_rate"], truth.mean())


@given(tables())
def test_false_rates_equal_fairlearn_where_it_defines_them(table: np.ndarray) -> None:
    truth, predicted, _ = table
    found = rates(cells_of(np.stack([truth, predicted, np.zeros_like(truth)]))[0])
    if (truth == 0).any():
        close(found["false_positive_rate"], fairlearn.false_positive_rate(truth, predicted, pos_label=1))
    else:
        assert np.isnan(found["false_positive_rate"])
    if (truth == 1).any():
        close(found["false_negative_rate"], fairlearn.false_negative_rate(truth, predicted, pos_label=1))
    else:
        assert np.isnan(found["false_negative_rate"])


@given(tables())
def test_gaps_equal_fairlearn(table: np.ndarray) -> None:
    truth, predicted, group = table
    found = {name: float(value) for name, value in gaps(cells_of(table)).items()}
    both = {(t, g) for t in (0, 1) for g in (0, 1)} <= set(zip(truth.tolist(), group.tolist(), strict=True))
    if not both:
        return
    kwargs = {"sensitive_features": group}
    close(abs(found["statistical_parity_difference"]), fairlearn.demographic_parity_difference(truth, predicted, **kwargs))
    close(abs(found["equal_opportunity_difference"]), fairlearn.equal_opportunity_difference(truth, predicted, **kwargs))
    close(found["equalized_odds_difference"], fairlearn.equalized_odds_difference(truth, predicted, **kwargs))
    impact = found["disparate_impact_ratio"]
    if impact and not np.isnan(impact):
        close(min(impact, 1 / impact), fairlearn.demographic_parity_ratio(truth, predicted, **kwargs))


def test_undefined_rates_and_gaps_are_nan() -> None:
    nobody_positive = [[[5, 2], [0, 0]], [[4, 1], [2, 3]]]
    found = gaps(nobody_positive)
    assert np.isnan(found["equal_opportunity_difference"])
    assert np.isnan(found["equalized_odds_difference"])
    assert not np.isnan(found["statistical_parity_difference"])
    assert np.isnan(gaps([[[5, 0], [2, 0]], [[4, 1], [2, 3]]])["disparate_impact_ratio"])
    assert np.isnan(rates(np.zeros((2, 2)))["accuracy"])


def test_a_ratio_broadcasts_and_never_divides_by_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(ratio([0, 3], 0)).all()


@given(tables())
def test_the_earlier_papers_gaps(table: np.ndarray) -> None:
    cells = cells_of(table)
    found, own = earlier_binary(cells), gaps(cells)
    close(found["stat_parity"], abs(own["statistical_parity_difference"]))
    close(found["equal_opp"], abs(own["equal_opportunity_difference"]))


def test_swapping_the_groups_turns_the_gaps_round() -> None:
    cells = np.random.default_rng(0).integers(1, 50, (2, 2, 2))
    one, other = gaps(cells), gaps(cells[::-1])
    assert float(one["statistical_parity_difference"]) == pytest.approx(-float(other["statistical_parity_difference"]))
    assert float(one["disparate_impact_ratio"]) == pytest.approx(1 / float(other["disparate_impact_ratio"]))
