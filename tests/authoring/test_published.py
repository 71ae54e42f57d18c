"""What the published pipeline was recorded to do, and what the published files hold: same inputs, same outputs."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairwitness.authoring.augmentation import including
from fairwitness.authoring.filtering import keep_including
from fairwitness.authoring.records import read_groups, read_rows
from fairwitness.authoring.schema import load_schema
from fairwitness.authoring.variability import estimated_max_variability, label_variability
from fairwitness.authoring.votes import apply, decide, read_votes

pytestmark = pytest.mark.shared
KOSBI, SQUARE = load_schema("kosbi"), load_schema("square")


@pytest.fixture
def recorded(shared: Path) -> dict:
    return json.loads((shared / "reference" / "kosbi_pipeline.json").read_text(encoding="utf-8"))


def test_variability(recorded: dict) -> None:
    case = recorded["variability"]
    assert estimated_max_variability(case["scores"]) == pytest.approx(case["est_max_var"], abs=1e-15)
    by_label = label_variability(case["scores"])
    assert by_label[:, 0] == pytest.approx(case["variability_class0_unsafe"], abs=1e-15)
    assert by_label[:, 1] == pytest.approx(case["variability_class1_safe"], abs=1e-15)


def test_filter_context(recorded: dict) -> None:
    case = recorded["filter_context"]
    task = KOSBI.tasks["kosbi_incl_grp_classify"]
    asked = []

    def score(items):
        asked.extend(task.joiner.join(item) for item in items)
        return np.array([case["scores_label0_label1"][text] for text in asked])

    assert keep_including(KOSBI, task, case["input"], score).rows == case["expected"]
    assert asked == case["model_inputs"]


def test_augment_context(recorded: dict) -> None:
    case = recorded["augment_demo_context"]
    assert case["prev_demo"] + including(KOSBI, case["input"], "x") == case["expected"]


@pytest.mark.parametrize(("name", "kind"), [("question", SQUARE.first), ("response", SQUARE.second)])
def test_majorities_of_square(shared: Path, name: str, kind) -> None:
    """From the raw annotations of 735 texts to exactly the labels and sub-labels that were published."""
    rows = read_rows(shared / "data" / "square" / f"{name}_test_ood_annotations.json")
    for number, row in enumerate(rows, start=1):
        made = apply(kind, row, decide(kind, read_votes(kind, row, f"row {number}")))
        assert made[kind.label] == row[kind.label]
        assert set(np.atleast_1d(made[kind.sub_label])) == set(np.atleast_1d(row[kind.sub_label]))


def test_every_published_label_is_known(shared: Path) -> None:
    for name in ("kosbi_valid", "kosbi_test", "kosbi_sentence_iter0"):
        for row in read_rows(shared / "data" / "kosbi" / f"{name}.json"):
            assert KOSBI.first.label_of(row["context_label"])
            KOSBI.first.sub_labels_of(row["context_sub_label"])
            assert KOSBI.second.label_of(row["sentence_label"])
            assert bool(KOSBI.second.sub_labels_of(row["sentence_sub_label"])) == (row["sentence_label"] == "unsafe")
    for row in read_rows(shared / "data" / "square" / "square_response_iter0.json"):
        assert SQUARE.second.label_of(row["acceptable?"])
        assert SQUARE.second.sub_labels_of(row["category"])


def test_published_groups(shared: Path) -> None:
    groups = read_groups(shared / "data" / "kosbi" / "kosbi_demographic_groups.json")
    assert len(groups) == 72
    assert len({group.category for group in groups}) == 15
    women = groups[1].synonyms
    assert len(women) == 12, "the missing space between two words is no matter"
    assert all(word == word.strip() and word for group in groups for word in group.synonyms)
