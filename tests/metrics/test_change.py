"""Changes between two systems: paired counts against resampled rows, and two samples that are drawn apart."""

import numpy as np
import pytest

from fairwitness.metrics.change import interval_change, paired_changes, unpaired_changes

SPD = "statistical_parity_difference"


def rows(n: int, seed: int, flip: float) -> np.ndarray:
    stream = np.random.default_rng(seed)
    member, truth = stream.integers(0, 2, n), stream.integers(0, 2, n)
    before = (stream.random(n) < 0.3 + 0.3 * truth).astype(int)
    after = np.where((member == 1) & (stream.random(n) < flip), 1, before)
    return np.stack([member, truth, before, after])


def joint(table: np.ndarray) -> np.ndarray:
    return np.bincount(np.ravel_multi_index(table, (2, 2, 2, 2)), minlength=16).reshape(2, 2, 2, 2)


def spd(table: np.ndarray, prediction: int) -> float:
    return float(table[prediction][table[0] == 1].mean() - table[prediction][table[0] == 0].mean())


def test_paired_equals_resampling_rows() -> None:
    table = rows(400, 1, 0.2)
    found = paired_changes(joint(table), replicates=4000)[SPD]
    assert found.change == pytest.approx(spd(table, 3) - spd(table, 2), abs=1e-12)
    stream = np.random.default_rng(2)
    draws = []
    for _ in range(2000):
        drawn = table[:, stream.integers(0, 400, 400)]
        draws.append(spd(drawn, 3) - spd(drawn, 2))
    assert [found.low, found.high] == pytest.approx(np.percentile(draws, [2.5, 97.5]), abs=0.01)


def test_pairing_is_sharper() -> None:
    table = joint(rows(2000, 3, 0.05))
    paired = paired_changes(table)[SPD]
    apart = unpaired_changes(table.sum(axis=3), table.sum(axis=2))[SPD]
    assert paired.change == pytest.approx(apart.change)
    assert paired.high - paired.low < 0.5 * (apart.high - apart.low)


def test_no_change_is_found_rarely() -> None:
    """Two independent samples of one system: at most about one in twenty has p below 0.05."""
    tables = [joint(rows(300, seed, 0.0)).sum(axis=3) for seed in range(400)]
    p = [unpaired_changes(a, b, replicates=300)[SPD].p for a, b in zip(tables[::2], tables[1::2], strict=True)]
    assert np.mean(np.array(p) < 0.05) < 0.1


def test_equal_tables_are_not_drawn_alike() -> None:
    cells = joint(rows(300, 5, 0.0)).sum(axis=3)
    found = unpaired_changes(cells, cells)[SPD]
    assert found.change == 0
    assert found.low < 0 < found.high


def test_undefined_stays_undefined() -> None:
    empty = np.zeros((2, 2, 2, 2), int)
    empty[0] = 5
    found = paired_changes(empty)[SPD]
    assert np.isnan([found.change, found.low, found.high, found.p]).all()


def test_change_from_intervals() -> None:
    found = interval_change((50.0, 48.0, 52.0), (55.0, 53.0, 57.0))
    assert found.change == 5
    assert found.low == pytest.approx(5 - 2 * 2**0.5)
    assert found.p < 0.01
