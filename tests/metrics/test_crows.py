"""CrowS-Pairs' share, by hand."""

import numpy as np
import pytest

from fairwitness.metrics.crows import stereotype_share


def test_share_ties_and_interval() -> None:
    share = stereotype_share(np.array([2.0, 2, 2, 1, 0]), np.array([1.0, 1, 1, 1, 1]))
    assert (share.value, share.n, share.wins, share.ties) == (60.0, 5, 3, 1)
    assert share.low < 60 < share.high
    assert (share.low, share.high) == pytest.approx((23.07, 88.24), abs=0.01)


def test_nothing_is_undefined() -> None:
    share = stereotype_share(np.zeros(0), np.zeros(0))
    assert share.n == 0
    assert np.isnan([share.value, share.low, share.high]).all()
