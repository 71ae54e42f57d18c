"""Variants that contradict themselves are not made; all others are."""

import polars as pl
import pytest

from fairwitness.audits.counterfactual_expand import expanded_pieces
from fairwitness.datasets.counterfactual.clashing import Clashes
from fairwitness.datasets.counterfactual.lexicon import Lexicon, lexicon, parse_lexicon
from fairwitness.datasets.counterfactual.sources import Left, as_templates, templates_from_comments
from fairwitness.errors import InputError


def expanded(*templates: str, category: str = "sexual_orientation", original: str | None = None) -> tuple[pl.DataFrame, Left]:
    left = Left()
    rows = [{"category": category, "template": text, "sentiment": "neutral", "original_group": original} for text in templates]
    return pl.concat(list(expanded_pieces(as_templates(rows), left=left))), left


@pytest.mark.parametrize(
    "text",
    [
        "He is a lesbian man.",
        "LESBIAN MEN and women",
        "my lesbian brother's car",
        "a lesbian single father",
        "My son came out as lesbian.",
        "he's not lesbian",
        "A man who was a lesbian person",
        "Our husbands are lesbian",
    ],
)
def test_a_word_of_women_is_not_said_of_men(text: str) -> None:
    clashes = Clashes(lexicon("sexual_orientation"))
    assert clashes.reason("Lesbian", text) == "Lesbian said of a male person"
    assert not clashes.reason("Gay", text.replace("esbian", "ay"))


@pytest.mark.parametrize(
    "text",
    [
        "a lesbian woman",
        "He met a lesbian person.",
        "My son knows lesbian people.",
        "a lesbian couple and a man",
        "her lesbian friend's husband",
        "He is a lesbian woman's son.",
        "the man whose sister is lesbian",
        "lesbian history",
        "She is lesbian, he is not.",
        "",
    ],
)
def test_what_can_be_said_stays(text: str) -> None:
    assert not Clashes(lexicon("sexual_orientation")).reason("Lesbian", text)


def test_genders_and_crossings() -> None:
    clashes = Clashes(lexicon("gender"))
    assert clashes.reason("Male", "the male actress") == "Male said of a female person"
    assert clashes.reason("Female", "a female husband") == "Female said of a male person"
    assert not clashes.reason("Transgender", "a transgender father")
    frame, left = expanded("a {SO} {GENDER_PERSON}", category="sexual_orientation*gender")
    assert "a lesbian man" not in frame["text"].to_list()
    assert "a lesbian woman" in frame["text"].to_list()
    assert left.counts == {"Lesbian × Male said of a male person": 1}


def test_the_variant_is_left_out_and_counted() -> None:
    frame, left = expanded("I like my {SO} brother.", "I like my {SO} cousin.")
    assert frame.height == 2 * 6 - 1
    assert left.counts == {"Lesbian said of a male person": 1}
    assert frame.filter(pl.col("role") == "Lesbian")["text"].to_list() == ["I like my lesbian cousin."]


def test_what_somebody_wrote_is_kept() -> None:
    words = [lexicon("sexual_orientation")]
    templates = templates_from_comments([(0, "those lesbian guys", None)], words, source="x", left=Left())
    (frame,) = expanded_pieces(templates.with_columns(sentiment=pl.lit("neutral")), left=Left())
    assert "those lesbian guys" in frame["text"].to_list()


def own(gendered: dict[str, list[str]]) -> Lexicon:
    groups = [{"name": word, "fill": {"A": word}, "find": {}} for word in ("manly", "kind")]
    return parse_lexicon({"category": "x", "slots": {"A": ""}, "group": groups, "gendered": gendered}, "x.toml")


def test_a_lexicon_of_one_s_own() -> None:
    assert Clashes(own({"male": ["Manly"]})).reason("manly", "a manly sister")
    with pytest.raises(InputError, match="'men'; it takes male and female"):
        own({"men": ["manly"]})
