"""Gaps between two groups: members of an identity (1) minus, or over, the rest (0).

`cells[..., group, truth, prediction]`. Each gap is NaN where one of its rates is undefined; no gap says why it exists.
"""

from typing import Any

import numpy as np

from fairwitness.metrics.combined import Ends, absolute_interval, difference_interval, ratio_interval, sum_interval
from fairwitness.metrics.intervals import wilson
from fairwitness.metrics.rates import FloatArray, fractions, rates, ratio

# gap → the rate whose difference it is
DIFFERENCES = {
    "statistical_parity_difference": "positive_rate",
    "equal_opportunity_difference": "true_positive_rate",
    "false_positive_rate_difference": "false_positive_rate",
    "accuracy_difference": "accuracy",
    "precision_difference": "precision",
    "f1_difference": "f1",
    "base_rate_difference": "base_rate",
}
# Differences of shares of rows, for which an exact test exists.
TESTED = tuple(name for name, rate in DIFFERENCES.items() if rate not in ("f1", "base_rate"))
GAPS = (*DIFFERENCES, "equalized_odds_difference", "average_odds_difference", "disparate_impact_ratio")


def gaps(cells: Any) -> dict[str, FloatArray]:
    """All gaps at once.

    statistical_parity_difference (SPD)   positive rate of members − of the rest                        [−1, 1]
    equal_opportunity_difference (EOpp)   true positive rate …                                          [−1, 1]
    false_positive_rate_difference, accuracy_difference, precision_difference, f1_difference,
    base_rate_difference                  likewise                                                      [−1, 1]
    equalized_odds_difference             max(|TPR difference|, |FPR difference|)  (fairlearn)          [0, 1]
    average_odds_difference               (FPR difference + TPR difference) / 2    (AIF360)             [−1, 1]
    disparate_impact_ratio                positive rate of members / of the rest   (AIF360)             [0, ∞)

    A difference is undefined where a rate is; the ratio also where the rest is never called positive.

    >>> found = gaps([[[60, 20], [10, 10]], [[30, 30], [10, 30]]])
    >>> round(float(found["statistical_parity_difference"]), 3), round(float(found["disparate_impact_ratio"]), 3)
    (0.3, 2.0)
    """
    by_rate = rates(cells)
    found = {name: by_rate[rate][..., 1] - by_rate[rate][..., 0] for name, rate in DIFFERENCES.items()}
    opportunity, false_positive = found["equal_opportunity_difference"], found["false_positive_rate_difference"]
    found["equalized_odds_difference"] = np.maximum(np.abs(opportunity), np.abs(false_positive))
    found["average_odds_difference"] = (opportunity + false_positive) / 2
    found["disparate_impact_ratio"] = ratio(by_rate["positive_rate"][..., 1], by_rate["positive_rate"][..., 0])
    return found


def gap_fractions(cells: Any) -> dict[str, tuple[Any, Any]]:
    """Numerators and denominators [..., group] behind each difference, for tests and for the smallest gap that could show."""
    by_rate = fractions(cells)
    return {name: by_rate[rate] for name, rate in DIFFERENCES.items()}


def earlier_binary(cells: Any) -> dict[str, FloatArray]:
    """The four absolute gaps of the binary study (Purificato et al., CIKM 2022), two classes and two groups.

    stat_parity  SPD  |P(ŷ=1|0) − P(ŷ=1|1)|
    equal_opp    EOD  |TPR0 − TPR1|
    oae_diff     OAED |(TNR0+TPR0) − (TNR1+TPR1)|, in [0, 2]
    te_diff      TED  min(|FPR0/FNR0 − FPR1/FNR1|, |FNR0/FPR0 − FNR1/FPR1|), in [0, ∞)

    Undefined where a rate or a quotient is; TED then rests on the direction that is defined, and is undefined without one.

    >>> {name: round(float(value), 4) for name, value in earlier_binary([[[8, 0], [5, 9]], [[9, 4], [2, 3]]]).items()}
    {'stat_parity': 0.0202, 'equal_opp': 0.0429, 'oae_diff': 0.3505, 'te_diff': 0.7692}
    """
    found = rates(cells)
    true_positive, false_positive = found["true_positive_rate"], found["false_positive_rate"]
    false_negative = found["false_negative_rate"]
    recalls = found["true_negative_rate"] + true_positive
    one, other = _apart(ratio(false_positive, false_negative)), _apart(ratio(false_negative, false_positive))
    return {
        "stat_parity": _apart(found["positive_rate"]),
        "equal_opp": _apart(true_positive),
        "oae_diff": _apart(recalls),
        "te_diff": np.fmin(one, other),
    }


def earlier_binary_intervals(cells: Any, *, confidence: float = 0.95) -> dict[str, Ends]:
    """The intervals of those four, put together from Wilson's intervals of the rates; NaN where the gap is undefined.

    TED is the smaller of two distances: neither end may lie above the other distance's.
    """
    values = rates(cells)
    ends = {name: wilson(*fractions(cells)[name], confidence=confidence) for name in _PARTS}
    recalls = [np.stack([found["true_negative_rate"], found["true_positive_rate"]]) for found in (values, *_sides(ends))]
    quotients = [
        ratio_interval(values[above], ends[above], values[below], ends[below]) for above, below in (_DIRECTION, _DIRECTION[::-1])
    ]
    both = [
        _apart_interval(ratio(values[above], values[below]), found)
        for (above, below), found in zip((_DIRECTION, _DIRECTION[::-1]), quotients, strict=True)
    ]
    return {
        "stat_parity": _apart_interval(values["positive_rate"], ends["positive_rate"]),
        "equal_opp": _apart_interval(values["true_positive_rate"], ends["true_positive_rate"]),
        "oae_diff": _apart_interval(recalls[0].sum(axis=0), sum_interval(*recalls, axis=0)),
        "te_diff": (np.fmin(both[0][0], both[1][0]), np.fmin(both[0][1], both[1][1])),
    }


_DIRECTION = ("false_positive_rate", "false_negative_rate")
_PARTS = ("positive_rate", "true_positive_rate", "true_negative_rate", *_DIRECTION)


def _sides(ends: dict[str, Ends]) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    return {name: low for name, (low, _) in ends.items()}, {name: high for name, (_, high) in ends.items()}


def _apart(values: FloatArray) -> FloatArray:
    return np.abs(values[..., 0] - values[..., 1])


def _apart_interval(values: FloatArray, ends: Ends) -> Ends:
    one, other = ([part[..., group] for part in (values, *ends)] for group in (0, 1))
    return absolute_interval(*difference_interval(one[0], one[1:], other[0], other[1:]))
