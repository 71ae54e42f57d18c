"""Drawing only the groups that lie farthest out gives what drawing all of them gives."""

import numpy as np
import pytest
from scipy import stats

from fairwitness.metrics import many_groups
from fairwitness.metrics.many_groups import at_least, spread_chance


@pytest.mark.parametrize(("least", "trials", "share"), [(8, 10, 0.5), (3, 1000, 0.001), (600, 1000, 0.55), (7, 7, 0.2)])
def test_a_count_that_is_at_least_so_large(least: int, trials: int, share: float) -> None:
    drawn = at_least(np.full(20_000, float(least)), np.full(20_000, trials), share, np.random.default_rng(0))
    values = np.arange(least, trials + 1)
    expected = stats.binom.pmf(values, trials, share) / stats.binom.sf(least - 1, trials, share)
    seen = np.array([np.mean(drawn == value) for value in values])
    assert drawn.min() >= least
    assert drawn.max() <= trials
    assert np.abs(seen - expected).max() < 0.015


@pytest.mark.parametrize("share", [0.002, 0.08, 0.5])
@pytest.mark.parametrize("largest", [1, 60, 3000])
def test_a_spread_as_often_as_when_every_group_is_drawn(share: float, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_groups, "_REACHED_OFTEN", 10**9)
    random = np.random.default_rng(1)
    trials = random.integers(1, largest + 1, 150)
    spreads = np.ptp(random.binomial(trials, share, size=(4000, 150)) / trials, axis=1)
    for quantile in (0.1, 0.5, 0.95):
        seen = float(np.quantile(spreads, quantile)) - 1e-12
        if seen > 0:
            found = spread_chance(seen, share, trials, replicates=4000, stream=np.random.default_rng(2))
            assert found == pytest.approx(float(np.mean(spreads >= seen)), abs=0.04)
