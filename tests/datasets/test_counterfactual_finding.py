"""Which words are taken for identities, which are left alone, and that the found group fills its own comment back in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.datasets.counterfactual.expanding import Expander
from fairwitness.datasets.counterfactual.finding import Finder, as_template
from fairwitness.datasets.counterfactual.lexicon import CATEGORIES, lexicon


def template(category: str, text: str) -> str | None:
    found = Finder(lexicon(category)).find(text)
    return as_template(text, found) if found else None


@pytest.mark.parametrize(
    ("category", "text", "expected"),
    [
        ("race", "I have many Black friends", "I have many {RACE} friends"),
        ("race", "an Asian man", "an {RACE} man"),
        ("race", "BLACK PEOPLE vote", "{RACE_PEOPLE:upper} vote"),
        ("race", "african-americans' shops", "{RACE_PEOPLE:lower}' shops"),
        ("race", "She is black.", "She is {RACE:lower}."),
        ("race", "young black single mothers", "young {RACE:lower} single mothers"),
        ("religion", "a Muslim's house", "a {FOLLOWER}'s house"),
        ("religion", "a Muslim man", "a {RELIGION_ADJ} man"),
        ("religion", "Jews and their food", "{FOLLOWERS} and their food"),
        ("religion", "Islam is old", "{RELIGION} is old"),
        ("sexual_orientation", "I'm straight.", "I'm {SO}."),
        ("sexual_orientation", "Gay Marriage in Gay Paree", "{SO} Marriage in {SO:title} Paree"),
        ("disability", "a blind man", "a {DISABILITY} man"),
        (
            "gender",
            "The woman lost her keys; she likes it",
            "The {GENDER_PERSON} lost {PRONOUN_POSS} keys; {PRONOUN_SUBJ} likes it",
        ),
        ("gender", "a woman, I saw her yesterday", "a {GENDER_PERSON}, I saw {PRONOUN_OBJ} yesterday"),
        ("race", "a {x} | Black friend", "a {{x}} | {RACE} friend"),
    ],
)
def test_taken(category: str, text: str, expected: str) -> None:
    assert template(category, text) == expected


@pytest.mark.parametrize(
    ("category", "text"),
    [
        ("race", "I like black coffee"),
        ("race", "a black and white photo"),
        ("race", "The wall is white."),
        ("race", "blackboard, whitewash, Blackburn"),
        ("race", "the Indian Ocean"),
        ("sexual_orientation", "draw a straight line"),
        ("sexual_orientation", "go straight home"),
        ("religion", "Christian Bale was good"),
        ("disability", "my blind spot"),
        ("disability", "he is color blind"),
        ("gender", "he went home and she stayed"),
        ("gender", "the male connector"),
        ("gender", "Spider man"),
        ("race", ""),
    ],
)
def test_left_alone(category: str, text: str) -> None:
    assert template(category, text) is None


WORDS = st.sampled_from(["we", "met", "{x}", "|", "}", "{{", "the", "kind", "day.", "It's", "über", "\n", "(so", "him)"])


@settings(deadline=None)
@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6), st.sampled_from(CATEGORIES), st.integers(0, 30))
def test_the_found_group_fills_its_own_comment_back_in(before: list[str], after: list[str], category: str, number: int) -> None:
    words = lexicon(category)
    group = list(words.groups)[number % len(words.groups)]
    slot = next(name for name in words.slots if name.endswith(("PEOPLE", "FOLLOWERS")))
    text = " ".join([*before, words.groups[group][slot], "said,", *after]).strip()
    finder = Finder(words)
    found = [each for each in finder.find(text) if each.slot not in words.companions]
    if not found or {each.group for each in found} != {group}:
        return
    expander = Expander(words)
    texts, _ = expander.expand(as_template(text, found))
    assert texts[list(words.groups).index(group)] == text
