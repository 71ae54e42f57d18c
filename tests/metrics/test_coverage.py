"""95 % intervals hold the truth about 95 times in 100. The thorough version, with all settings, is benchmarks/coverage.py."""

from itertools import islice

import pytest

coverage = pytest.importorskip("benchmarks.coverage")

# Chance alone moves a share over 2,000 draws by a point, over 300 by three.
FAMILIES = [
    (coverage.rates_of_a_group, 2000, 4, 0.93, 0.97),
    (coverage.earlier_gaps, 2000, 8, 0.93, 1.0),
    (coverage.worst_group, 2000, 2, 0.93, 0.985),
    (coverage.spreads_of_groups, 300, 12, 0.905, 1.0),
    (coverage.worst_of_identities, 40, 2, 0.84, 1.0),
    (coverage.areas, 300, 2, 0.91, 0.985),
    (coverage.calibration_errors, 200, 1, 0.9, 1.0),
    (coverage.final_metrics, 120, 1, 0.89, 1.0),
]


@pytest.mark.parametrize(
    ("family", "draws", "settings", "least", "most"), FAMILIES, ids=lambda value: getattr(value, "__name__", "")
)
def test_intervals_hold_the_truth(family, draws: int, settings: int, least: float, most: float) -> None:
    for what, setting, share in islice(family(draws), settings):
        assert least <= share <= most, f"{what}, {setting}: {share:.3f}"
