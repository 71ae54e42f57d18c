"""The published study's difference and ratio tables come out as published."""

import json
import os
from pathlib import Path

import pytest

from fairwitness.metrics.mean_tables import difference_table, marked_pairs, ratio_table

SHARED = os.environ.get("FAIRWITNESS_SHARED", "")
SENTIMENTS = ["Neutral", "Negative", "Positive"]


def test_undefined() -> None:
    means = {"a": {"Neutral": 0.2}, "b": {"Neutral": 0.0}, "c": {"Neutral": None}}
    assert {row[0]: row[1] for row in ratio_table(means, ["Neutral"]).rows()}["a / b"] is None
    assert {row[0]: row[1] for row in difference_table(means, ["Neutral"]).rows()}["a - c"] is None


@pytest.mark.shared
@pytest.mark.skipif(not SHARED, reason="FAIRWITNESS_SHARED is not set")
@pytest.mark.parametrize("category", ["gender", "race"])
def test_the_study_s_tables(category: str) -> None:
    published = json.loads((Path(SHARED) / "reference/perspective_tables.json").read_text())["categories"][category]
    differences = {row["pair"]: row for row in difference_table(published["mean"], SENTIMENTS).to_dicts()}
    assert list(differences) == list(published["differences_of_means"])
    for pair, row in published["differences_of_means"].items():
        for name in SENTIMENTS:
            # The published means have six decimals, so a difference of two may be off by one in the last.
            assert differences[pair][name] == pytest.approx(row[name], abs=1.01e-6)
    ratios = {row["pair"]: row for row in ratio_table(published["mean"], SENTIMENTS).to_dicts()}
    for pair, row in published["disparate_impact_of_means_rounded2"].items():
        assert {name: ratios[pair][name] for name in SENTIMENTS} == row
    base = next(name for name in published["mean"] if name.endswith("Base"))
    ours = {(a, b, name, round(value, 4)) for a, b, name, value in marked_pairs(published["mean"], SENTIMENTS, without=base)}
    assert ours == {tuple(pair) for pair in published["pairs_gt_0.1_excluding_base"]}
