"""LMS, SS and ICAT: the authors' definition and the argmax variant, by hand, by reference and by property."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.metrics.stereoset import METRICS, argmax, count, icat, measure, measure_terms, outcomes, reference, resample

ROLES = ("stereotype", "anti-stereotype", "unrelated")


def slow_reference(scores: Any, terms: Any) -> tuple[float, float, float]:
    """The authors' recipe, item by item."""
    per_term: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for (pro, anti, unrelated), term in zip(scores, terms, strict=True):
        per_term[term][0] += pro > anti
        per_term[term][1] += int(pro > unrelated) + int(anti > unrelated)
        per_term[term][2] += 1
    ss = np.mean([100 * pro / total for pro, _, total in per_term.values()])
    lms = np.mean([100 * related / (2 * total) for _, related, total in per_term.values()])
    return float(lms), float(ss), float(lms * min(ss, 100 - ss) / 50)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), terms=st.integers(1, 9), levels=st.integers(2, 5))
def test_reference_is_the_authors_recipe_ties_included(seed: int, n: int, terms: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    scores, codes = rng.integers(0, levels, (n, 3)).astype(float), rng.integers(0, terms, n)
    np.testing.assert_allclose(reference(count(outcomes(scores), codes)), slow_reference(scores, codes), rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60))
def test_argmax_takes_the_first_in_the_file_on_ties(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (n, 3)).astype(float)
    positions = np.array([rng.permutation(3) for _ in range(n)])
    chosen = outcomes(scores, positions) % 3
    for row in range(n):
        in_file = sorted(range(3), key=lambda role: positions[row, role])
        best = max(in_file, key=lambda role: scores[row, role])
        assert chosen[row] == best


def test_a_tie_counts_as_the_authors_count_it() -> None:
    lms, ss, _ = reference(count(outcomes(np.full((1, 3), 0.5)), np.array([0])))
    assert (lms, ss) == (0.0, 0.0)


def test_terms_weigh_alike_however_many_items_they_have() -> None:
    scores = np.array([[3.0, 2, 1]] * 9 + [[2.0, 3, 1]])
    assert reference(count(outcomes(scores), np.array([0] * 9 + [1])))[1] == 50.0
    assert argmax(count(outcomes(scores), np.array([0] * 9 + [1])))[1] == pytest.approx(90.0)


def test_undefined_is_nan() -> None:
    nothing = measure(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert nothing.n == 0
    assert all(np.isnan([one.value, one.low, one.high]).all() for one in nothing.measures.values())
    only_unrelated = measure(outcomes(np.array([[0.1, 0.2, 0.9]] * 4)), np.arange(4))
    assert np.isnan(only_unrelated.measures["argmax", "ss"].value)
    assert np.isnan(only_unrelated.measures["argmax", "icat"].value)
    assert only_unrelated.measures["argmax", "lms"].value == 0.0
    assert np.isnan(icat(np.nan, 50.0))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), terms=st.integers(1, 40))
def test_intervals_contain_their_value_and_stay_in_range(seed: int, n: int, terms: int) -> None:
    rng = np.random.default_rng(seed)
    cell = measure(outcomes(rng.random((n, 3))), rng.integers(0, terms, n), draws=100)
    for one in cell.measures.values():
        if not np.isnan(one.value):
            assert 0 <= one.low <= one.value <= one.high <= 100 + 1e-9


def test_order_of_items_changes_nothing_and_the_same_seed_gives_the_same_interval() -> None:
    rng = np.random.default_rng(3)
    codes, terms, turn = rng.integers(0, 18, 80), rng.integers(0, 7, 80), rng.permutation(80)
    assert measure(codes, terms) == measure(codes[turn], terms[turn])
    assert measure(codes, terms, seed=1) != measure(codes, terms, seed=2)


def test_the_bootstrap_is_that_of_rows_within_terms() -> None:
    rng = np.random.default_rng(0)
    codes, terms = rng.integers(0, 18, 600), np.repeat(np.arange(10), 60)
    rows = []
    for _ in range(1500):
        drawn = np.concatenate([rng.choice(codes[terms == term], 60) for term in range(10)])
        rows.append(reference(count(drawn, terms))[1])
    low, high = np.percentile(rows, [2.5, 97.5])
    mine = measure(codes, terms, draws=4000).measures["reference", "ss"]
    assert mine.low == pytest.approx(low, abs=0.6)
    assert mine.high == pytest.approx(high, abs=0.6)


def test_few_items_per_term_do_not_look_certain() -> None:
    rng = np.random.default_rng(0)
    truth, covered = 60.0, 0
    for trial in range(200):
        codes = np.where(rng.random(50) < truth / 100, 15, 6)
        one = measure(codes, rng.integers(0, 79, 50), draws=200, seed=trial).measures["reference", "ss"]
        covered += one.low <= truth <= one.high
    assert covered >= 0.88 * 200


def test_items_that_all_ended_alike_still_have_an_interval() -> None:
    one = measure(np.full(8, 15), np.arange(8)).measures
    assert one["reference", "ss"].value == 100
    assert one["reference", "ss"].low < 75
    assert one["reference", "icat"].value == 0 < one["reference", "icat"].high


def test_resampling_keeps_each_terms_size() -> None:
    counts = count(np.arange(18), np.repeat([0, 1, 2], 6))
    assert (resample(counts, 50).sum(axis=2) == 6).all()


def test_terms_have_their_own_rows() -> None:
    columns = measure_terms(np.array([15, 15, 0, 9]), np.array([3, 3, 5, 5]))
    assert columns["term"].tolist() == [3, 5]
    assert columns["n"].tolist() == [2, 2]
    assert all((columns[f"{m}_low"] <= columns[m]).all() and (columns[m] <= columns[f"{m}_high"]).all() for m in METRICS)
    assert len(measure_terms(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))["ss"]) == 0


@pytest.mark.shared
def test_the_small_reference(shared: Path) -> None:
    content = json.loads((shared / "reference" / "stereoset_small.json").read_text())
    for subset in ("intrasentence", "intersentence"):
        items = content["examples"][subset]
        scores = np.array(
            [[next(s["score"] for s in item["sentences"] if s["gold_label"] == role) for role in ROLES] for item in items]
        )
        places = np.array([[[s["gold_label"] for s in item["sentences"]].index(role) for role in ROLES] for item in items])
        _, terms = np.unique([item["target"] for item in items], return_inverse=True)
        counts, expected = count(outcomes(scores, places), terms), content["expected"][subset]
        np.testing.assert_allclose(reference(counts), [expected["official"][f"{m} Score"] for m in ("LM", "SS", "ICAT")], atol=1e-9)
        lms, ss, whole = argmax(counts)
        seed = expected["argmax_seed001"]
        assert [lms / 100, ss / 100, whole] == pytest.approx(
            [seed["language_modeling_score"], seed["stereotype_score"], seed["icat_score"]], abs=1e-9
        )
