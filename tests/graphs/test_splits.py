"""The parts are the published ones for a seed, disjoint, and never empty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from fairwitness.errors import InputError
from fairwitness.graphs.splits import draw


@pytest.mark.parametrize("n", [40, 403, 9380])
def test_catgcn_draws_like_scikit_learn(n: int) -> None:
    train, rest = train_test_split(np.arange(n), test_size=1 - 0.8, random_state=11)
    validation, test = train_test_split(rest, test_size=0.5, random_state=11)
    found = draw(np.arange(n), 11, train_ratio=0.8, method="catgcn")
    assert found.train.tolist() == sorted(train)
    assert found.validation.tolist() == sorted(validation)
    assert found.test.tolist() == sorted(test)


def test_rhgn_cuts_one_permutation() -> None:
    np.random.seed(7)
    order = np.random.permutation(80)
    found = draw(np.arange(80), 7, train_ratio=0.75, method="rhgn")
    assert found.train.tolist() == sorted(order[:60])
    assert found.test.tolist() == sorted(order[70:])


@given(st.integers(12, 300), st.integers(0, 1000), st.sampled_from(["catgcn", "rhgn"]))
def test_parts_are_disjoint_and_complete(n: int, seed: int, method: str) -> None:
    rows = np.arange(n) * 3
    found = draw(rows, seed, train_ratio=0.75, method=method)
    assert sorted([*found.train, *found.validation, *found.test]) == rows.tolist()


@pytest.mark.parametrize(("n", "ratio"), [(3, 0.8), (10, 0.99), (10, 1.0), (10, 0.0)])
def test_empty_parts_are_refused(n: int, ratio: float) -> None:
    with pytest.raises(InputError, match=r"empty|--train-ratio"):
        draw(np.arange(n), 1, train_ratio=ratio, method="rhgn")
