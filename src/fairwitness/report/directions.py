"""Which way a metric is better: up, down, or towards a value. One place, for every writer.

Most of what is measured here is best at a value in the middle: 0 for a difference, 50 for StereoSet's SS.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Direction:
    """`higher_is_better` is None where the best value is `target`, or where neither end is better."""

    higher_is_better: bool | None = None
    target: float | None = None


# The first pattern that matches speaks.
_DIRECTIONS: tuple[tuple[str, Direction], ...] = (
    ("*_spread", Direction(False, 0.0)),
    ("worst_absolute_*", Direction(False, 0.0)),
    ("worst_group_*", Direction(True, 1.0)),
    ("base_rate*", Direction()),
    ("equalized_odds_difference", Direction(False, 0.0)),
    ("*_difference", Direction(None, 0.0)),
    ("disparate_impact_ratio", Direction(None, 1.0)),
    ("*_aeg", Direction(None, 0.0)),
    ("expected_calibration_error", Direction(False, 0.0)),
    ("false_*_rate", Direction(False, 0.0)),
    ("*_ss", Direction(None, 50.0)),
    ("stereotype_share", Direction(None, 50.0)),
    ("*_lms", Direction(True, 100.0)),
    ("*_icat", Direction(True, 100.0)),
    ("paired_gap", Direction(None, 0.0)),
    ("share_apart", Direction(False, 0.0)),
    ("flip_rate", Direction(False, 0.0)),
    *((name, Direction(True, 1.0)) for name in ("accuracy", "f1", "macro_f1", "precision", "recall", "true_*_rate")),
    *((name, Direction(True, 1.0)) for name in ("auc", "*_auc", "jigsaw_final")),
)


def direction(metric: str) -> Direction:
    """Which way a metric is better; an unknown one, or a mere rate, has no direction.

    >>> direction("reference_ss"), direction("statistical_parity_difference").target, direction("positive_rate").target
    (Direction(higher_is_better=None, target=50.0), 0.0, None)
    """
    return next((found for pattern, found in _DIRECTIONS if fnmatchcase(metric, pattern)), Direction())
