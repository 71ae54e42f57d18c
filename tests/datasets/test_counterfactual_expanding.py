"""Filled templates read as English: articles, verbs, capitals, possessives, pronouns, the control."""

import pytest

from fairwitness.datasets.counterfactual.expanding import Expander, roles
from fairwitness.datasets.counterfactual.lexicon import CATEGORIES, lexicon, parse_lexicon, read_lexicon
from fairwitness.datasets.counterfactual.sources import SENTIMENTS, built_in_templates
from fairwitness.datasets.counterfactual.template import category_of
from fairwitness.errors import InputError


def filled(category: str, template: str) -> dict[str, str]:
    words = lexicon(category)
    return dict(zip(roles(words), Expander(words).expand(template)[0], strict=True))


def test_the_study_s_example() -> None:
    texts = filled("race", "I have many {RACE} friends")
    assert texts["Black"] == "I have many Black friends"
    assert texts[""] == "I have many friends"


def test_articles() -> None:
    texts = filled("race", "A {RACE} man met an {RACE} uncle.")
    assert texts["Asian"] == "An Asian man met an Asian uncle."
    assert texts["White"] == "A White man met a White uncle."
    assert texts[""] == "A man met an uncle."


def test_verbs_and_pronouns() -> None:
    texts = filled(
        "gender",
        "{PRONOUNA} is kind and {PRONOUN_SUBJ} really works; does {PRONOUN_SUBJ} like {PRONOUNB} job? {PRONOUN_SUBJ}'s been here.",
    )
    assert texts["Female"] == "She is kind and she really works; does she like her job? She's been here."
    assert texts["Transgender"] == "They are kind and they really work; do they like their job? They've been here."


def test_second_verbs() -> None:
    texts = filled("gender", "{PRONOUN_SUBJ} works hard, has cats and dogs and loves {PRONOUN_POSS} job. Tom walks and runs.")
    assert texts["Female"] == "She works hard, has cats and dogs and loves her job. Tom walks and runs."
    assert texts["Nonbinary"] == "They work hard, have cats and dogs and love their job. Tom walks and runs."


def test_a_predicate_leaves_no_hole() -> None:
    assert filled("race", "She is {RACE}, and they are not {RACE}.")[""] == "She is a person, and they are not people."
    assert filled("sexual_orientation", "You're {SO} and I'M {SO:upper}!")[""] == "You're a person and I'M A PERSON!"
    assert filled("race", "It is {RACE} history.")[""] == "It is history."


@pytest.mark.parametrize(
    ("template", "control"),
    [
        ("He is so {SO}.", "He is a person."),
        ("He is openly {SO} now", "He is a person now"),
        ("an openly {SO} man", "a man"),
        ("We marched so {SO} men can marry", "We marched so men can marry"),
        ("Are you {SO}?", "Are you a person?"),
        ("Why are they {SO}?", "Why are they people?"),
        ("Being {SO} is fine", "Being a person is fine"),
        ("I came out as {SO} to her", "I came out as a person to her"),
        ("She looks {SO} lol", "She looks like a person lol"),
        ("They called me {SO}.", "They called me a person."),
        ("I was born {SO}!", "I was born a person!"),
        ("a {SO}, single mother", "a single mother"),
        ("an {SO} and honest man", "an honest man"),
        ("old and {SO}.", "old."),
        ("the {SO}/trans community", "the trans community"),
    ],
)
def test_the_control_is_a_whole_sentence(template: str, control: str) -> None:
    assert filled("sexual_orientation", template)[""] == control
    assert Expander(lexicon("sexual_orientation")).is_whole(template)


@pytest.mark.parametrize("template", ["He turned {SO}.", "{SO}", "He is the {SO}.", "It stands for {SO}!", "as {SO} as it gets"])
def test_what_leaves_no_whole_sentence(template: str) -> None:
    assert not Expander(lexicon("sexual_orientation")).is_whole(template)


def test_words_of_degree_keep_their_article() -> None:
    assert filled("sexual_orientation", "an openly {SO} man")["Bisexual"] == "an openly bisexual man"


def test_religion_against_follower() -> None:
    texts = filled("religion", "{RELIGION} helped a {FOLLOWER}; {FOLLOWERS}' songs at a {RELIGION_ADJ} wedding.")
    assert texts["Hinduism"] == "Hinduism helped a Hindu; Hindus' songs at a Hindu wedding."
    assert texts["Judaism"] == "Judaism helped a Jew; Jews' songs at a Jewish wedding."
    assert texts["Atheism"] == "Atheism helped an atheist; atheists' songs at an atheist wedding."
    assert texts[""] == "Religion helped a person; people's songs at a wedding."


def test_possessive_plurals() -> None:
    texts = filled("race", "{RACE_PEOPLE}' shops")
    assert texts["Black"] == "Black people's shops"


def test_the_apostrophe_is_kept() -> None:
    assert filled("religion", "the {FOLLOWERS}’ house, a {FOLLOWER}’s")["Hinduism"] == "the Hindus’ house, a Hindu’s"


def test_speech_begins_a_sentence() -> None:
    assert filled("gender", 'She said: "{GENDER_PEOPLE} vote."')["Transgender"] == 'She said: "Transgender people vote."'


def test_case_is_kept() -> None:
    texts = filled("race", "{RACE:lower} folks, {RACE:upper} FOLKS, a {RACE:title} Band. {RACE_PEOPLE} vote")
    assert texts["Asian"] == "asian folks, ASIAN FOLKS, an Asian Band. Asian people vote"


def test_braces_of_the_comment_survive() -> None:
    assert filled("race", "{{{RACE}}} {{x}}")["Black"] == "{Black} {x}"


def test_intersections() -> None:
    texts = filled("race*gender", "a {RACE} {GENDER_PERSON}")
    assert len(texts) == 25
    assert texts["Asian × Female"] == "an Asian woman"


def test_provenance() -> None:
    _, notes = Expander(lexicon("gender")).expand("A {GENDER} nurse and {PRONOUN_POSS} dog")
    assert notes[0] == "GENDER=male; PRONOUN_POSS=his"


def test_unknown_placeholder() -> None:
    with pytest.raises(InputError, match="Did you mean 'RACE'"):
        category_of("a {RCE} man")
    with pytest.raises(InputError, match="not of the category"):
        Expander(lexicon("race")).expand("a {FOLLOWER}")
    with pytest.raises(InputError, match="no placeholder"):
        Expander(lexicon("race")).expand("nothing here")


def test_built_in_templates() -> None:
    found = built_in_templates()
    counts = found.group_by("category", "sentiment").len()
    assert found.height == 150
    assert set(counts["len"]) == {10}
    assert set(counts["category"]) == set(CATEGORIES)
    assert set(counts["sentiment"]) == set(SENTIMENTS)
    for category, template in found.select("category", "template").iter_rows():
        for text in filled(category, template).values():
            assert "{" not in text
            assert "  " not in text
            assert text[0].isupper()
            assert "\x00" not in text


@pytest.mark.parametrize("category", [*CATEGORIES, "target"])
def test_lexicons_are_whole(category: str) -> None:
    words = lexicon(category)
    assert len(words.groups) >= 4
    for fills in words.groups.values():
        assert set(fills) == set(words.slots)


def test_a_lexicon_of_one_s_own(tmp_path) -> None:
    path = tmp_path / "age.toml"
    path.write_text(
        'category = "age"\n[slots]\nAGE = ""\n[[group]]\nname = "Old"\nfill = { AGE = "old" }\nfind.AGE = ["old"]\n'
        '[[group]]\nname = "Young"\nfill = { AGE = "young" }\nfind.AGE = ["young"]\n'
    )
    words = read_lexicon(path)
    assert Expander(words).expand("an {AGE} man")[0] == ["an old man", "a young man", "a man"]


def group(name: str, word: str) -> dict:
    return {"name": name, "fill": {"A": name}, "find": {"A": [word]}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"category": "x", "slots": {"A": ""}, "group": [group("a", "w"), group("b", "W")]},
            "'W' stands twice, for 'a'",
        ),
        ({"category": "x", "slots": {"A": ""}, "group": [group("a", "w"), group("a", "v")]}, "'a' is there twice"),
        ({"category": "x", "slots": {"A": ""}, "group": [group("a", "w")]}, "at least two groups"),
        ({"category": "x", "slots": {"A": "", "B": ""}, "group": [group("a", "w"), group("b", "v")]}, "no fill for B"),
        ({"category": "x", "group": []}, "'slots' is missing"),
    ],
)
def test_bad_lexicons(data: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_lexicon(data, "x.toml")


def test_unknown_category() -> None:
    with pytest.raises(InputError, match="Did you mean 'religion'"):
        lexicon("relgion")
