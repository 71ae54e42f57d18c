"""Every reader gives the same table; what made no template is counted with its reason."""

import os
from pathlib import Path

import polars as pl
import pytest

from fairwitness.datasets.counterfactual import idioms, sources
from fairwitness.datasets.counterfactual.lexicon import CATEGORIES, lexicon
from fairwitness.datasets.counterfactual.standing_in import HOLE
from fairwitness.errors import InputError

SHARED = os.environ.get("FAIRWITNESS_SHARED", "")
needs_shared = pytest.mark.skipif(not SHARED, reason="FAIRWITNESS_SHARED is not set")


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_study_s_format(tmp_path: Path) -> None:
    lines = "I have many {RACE} friends | Neutral\n\nOne | two {RACE} | Negative\n{PRONOUNA} sings | Positive\nno sentiment {SO}\n"
    found = sources.read_seed_file(write(tmp_path / "x.txt", lines))
    assert found["template"].to_list() == [
        "I have many {RACE} friends",
        "One | two {RACE}",
        "{PRONOUNA} sings",
        "no sentiment {SO}",
    ]
    assert found["sentiment"].to_list() == ["neutral", "negative", "positive", None]
    assert found["category"].to_list() == ["race", "race", "gender", "sexual_orientation"]
    labelled = sources.with_sentiment(found, lambda texts: ["neutral"] * len(texts), "mine")
    assert labelled["sentiment"].to_list()[-1] == "neutral"
    assert labelled["sentiment_by"].to_list() == ["file", "file", "file", "mine"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a {RCE} b | Neutral\n", "line 1 .*Did you mean"),
        ("fine {RACE}\nno slot | Neutral\n", "Line 2 .*no placeholder"),
        ("\n\n", "no line"),
    ],
)
def test_bad_seed_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sources.read_seed_file(write(tmp_path / "x.txt", text))


def test_comments_and_what_is_left_out() -> None:
    left = sources.Left()
    comments = [
        (0, "My Black friend {x} | y", 1.0),
        (1, None, None),
        (2, "  ", None),
        (3, "no one here", None),
        (4, "Black and Asian men", None),
        (5, "a Muslim woman", 0.0),
        (6, "My Black friend {x} | y", None),
    ]
    words = [lexicon(name) for name in CATEGORIES]
    found = sources.templates_from_comments(comments, words, source="test", left=left)
    rows = {(row["category"], row["template"]): row for row in found.to_dicts()}
    assert ("race", "My {RACE} friend {{x}} | y") in rows
    assert ("religion", "a {RELIGION_ADJ} woman") in rows
    assert ("gender", "a Muslim {GENDER_PERSON}") in rows
    assert rows["religion", "a {RELIGION_ADJ} woman"]["original_group"] == "Islam"
    assert rows["religion", "a {RELIGION_ADJ} woman"]["source_row"] == 5
    assert left.counts == {"empty": 2, "no identity word": 1, "several groups of race": 1}
    assert found["unit"].n_unique() == found.height


def test_every_decision_is_counted() -> None:
    left = sources.Left()
    texts = [
        "Man, that is so gay",
        "He turned gay.",
        "A man-made lake",
        "black coffee",
        "Nothing",
        "A gay bar on Gay Street",
    ]
    words = [lexicon(name) for name in CATEGORIES]
    found = sources.templates_from_comments([(n, text, None) for n, text in enumerate(texts)], words, source="test", left=left)
    assert found["template"].to_list() == ["A {SO} bar on Gay Street"]
    assert left.counts == {
        idioms.INTERJECTION: 1,
        idioms.OF_A_THING: 1,
        HOLE: 1,
        idioms.COMPOUND: 1,
        idioms.PHRASE: 1,
        "no identity word": 1,
    }


def test_intersections() -> None:
    words = [lexicon("race"), lexicon("gender")]
    found = sources.templates_from_comments(
        [(0, "a Black woman", None)], words, source="t", left=sources.Left(), intersections=True
    )
    assert found["category"].to_list() == ["race", "gender", "race*gender"]
    assert found["template"].to_list()[-1] == "a {RACE} {GENDER_PERSON}"


@pytest.mark.shared
@needs_shared
def test_hatecheck_texts_are_reproduced() -> None:
    """Filled for its seven targets, HateCheck's templates give its own test cases back."""
    from fairwitness.datasets.counterfactual.expanding import Expander

    path = Path(SHARED) / "data/toxicity/hatecheck/test_suite_cases.csv"
    found = sources.read_hatecheck(path, left=sources.Left())
    expander = Expander(lexicon("target"))
    ours = {text.strip().lower() for template in found["template"] for text in expander.expand(template)[0][:-1]}
    cases = pl.read_csv(path).filter(pl.col("case_templ").str.contains(r"\[IDENTITY_[SPA]\]"))
    theirs = {text.strip().lower() for text in cases["test_case"]}
    assert found.height > 350
    assert len(theirs & ours) / len(theirs) > 0.97


@pytest.mark.shared
@needs_shared
def test_jigsaw_templates_are_recovered() -> None:
    left = sources.Left()
    found = sources.read_jigsaw(Path(SHARED) / "data/toxicity/madlibs/en_sentence_templates.csv", left=left)
    assert set(found["category"]) == set(CATEGORIES)
    assert set(found["label"]) == {0.0, 1.0}
    assert found.height > 5000
