"""Which words are taken for identities, which are left alone, and that the found group fills its own comment back in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.datasets.counterfactual import idioms
from fairwitness.datasets.counterfactual.expanding import Expander
from fairwitness.datasets.counterfactual.finding import AMBIGUOUS, Finder, as_template
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
        ("race", "I met a proud Latino today", "I met a proud {RACE_PERSON} today"),
        ("race", "a Latino, Spanish-speaking town", "a {RACE}, Spanish-speaking town"),
        ("sexual_orientation", "As a lesbian, I vote", "As a {SO_PERSON}, I vote"),
        ("sexual_orientation", "I think gays face a lot", "I think {SO_PEOPLE} face a lot"),
        ("religion", "he is Buddhist", "he is {RELIGION_ADJ}"),
        ("religion", "they are not Catholic", "they are not {RELIGION_ADJ}"),
        ("religion", "a Muslim lives here", "a {FOLLOWER} lives here"),
        ("religion", "Muslim lives matter", "{RELIGION_ADJ} lives matter"),
        ("disability", "the mentally ill need care", "the {DISABILITY_PEOPLE} need care"),
        ("disability", "the mentally ill man", "the {DISABILITY} man"),
        ("gender", "a trans woman", "a {GENDER_PERSON}"),
        ("gender", "I am a female and a nurse", "I am a {GENDER_PERSON} and a nurse"),
        ("gender", "the boy lost it", "the {GENDER_CHILD} lost it"),
        ("gender", "the woman: I gave her flowers", "the {GENDER_PERSON}: I gave {PRONOUN_OBJ} flowers"),
        ("gender", "the woman: we helped her carry it", "the {GENDER_PERSON}: we helped {PRONOUN_OBJ} carry it"),
        ("gender", "the woman told her mother", "the {GENDER_PERSON} told {PRONOUN_POSS} mother"),
        ("gender", "the man: I saw him play", "the {GENDER_PERSON}: I saw {PRONOUN_OBJ} play"),
        ("gender", "the man says it is his.", "the {GENDER_PERSON} says it is {PRONOUN_POSS_NOUN}."),
        # compounds in which people are meant
        ("race", "An African-American man", "An {RACE} man"),
        ("race", "Asian-American voters", "{RACE} voters"),
        ("race", "a black-owned shop", "a {RACE:lower}-owned shop"),
        ("sexual_orientation", "a gay-friendly bar", "a {SO}-friendly bar"),
        ("religion", "a Muslim-majority country", "a {RELIGION_ADJ}-majority country"),
        ("religion", "a Muslim-owned shop", "a {RELIGION_ADJ}-owned shop"),
        # somebody is called that, and not a thing
        ("sexual_orientation", "He is so gay.", "He is so {SO}."),
        ("sexual_orientation", "My brother is so gay", "My brother is so {SO}"),
        ("sexual_orientation", "a man that is gay", "a man that is {SO}"),
        ("sexual_orientation", "That gay man sings", "That {SO} man sings"),
        ("sexual_orientation", "This is gay history", "This is {SO} history"),
        # somebody, and not an interjection
        ("gender", "Man, 25, arrested", "{GENDER_PERSON}, 25, arrested"),
        ("gender", "Every child, man, and dog", "Every child, {GENDER_PERSON}, and dog"),
        ("gender", "The man, who was tall, left", "The {GENDER_PERSON}, who was tall, left"),
        ("gender", "Man, women are great", "Man, {GENDER_PEOPLE} are great"),
        ("sexual_orientation", "He is a gay and I love him", "He is a {SO_PERSON} and I love him"),
        ("sexual_orientation", "a gay and very tall man", "a {SO} and very tall man"),
        ("race", "a day without blacks, car or no car", "a day without {RACE_PEOPLE:lower}, car or no car"),
        # a name with people in it
        ("religion", "The Jewish Museum", "The {RELIGION_ADJ} Museum"),
        ("sexual_orientation", "The gay street party", "The {SO} street party"),
        ("disability", "He is deaf.", "He is {DISABILITY}."),
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
        ("gender", "you guys rock"),
        ("race", ""),
    ],
)
def test_left_alone(category: str, text: str) -> None:
    assert template(category, text) is None


@pytest.mark.parametrize(
    ("category", "text", "reason"),
    [
        ("gender", "The Trans-Siberian railway", idioms.PHRASE),
        ("gender", "Trans-Saharan trade", idioms.COMPOUND),
        ("gender", "a man-made lake", idioms.COMPOUND),
        ("race", "a white-collar worker", idioms.PHRASE),
        ("race", "a white-haired man", idioms.COMPOUND),
        ("gender", "trans fat is bad", idioms.PHRASE),
        ("gender", "Trans fatty acids", idioms.PHRASE),
        ("gender", "trans-fats", idioms.PHRASE),
        ("gender", "It is no man's land", idioms.PHRASE),
        ("disability", "He is deaf to criticism.", idioms.PHRASE),
        ("disability", "They were blind to the facts", idioms.PHRASE),
        ("disability", "She was paralyzed with fear", idioms.PHRASE),
        ("sexual_orientation", "That is so gay.", idioms.OF_A_THING),
        ("sexual_orientation", "that's gay", idioms.OF_A_THING),
        ("sexual_orientation", "I think it was really gay lol", idioms.OF_A_THING),
        ("sexual_orientation", "This homework is so gay!", idioms.OF_A_THING),
        ("gender", "Man, that was fun", idioms.INTERJECTION),
        ("gender", "It was late. Man, that was fun", idioms.INTERJECTION),
        ("gender", "man i love this", idioms.INTERJECTION),
        ("gender", "That was fun, man.", idioms.INTERJECTION),
        ("gender", "Well, man, that was fun", idioms.INTERJECTION),
        ("gender", "Boy, was I wrong", idioms.INTERJECTION),
        ("gender", "Oh man I love this", idioms.PHRASE),
        ("sexual_orientation", "Gay Street is long.", idioms.PHRASE),
        ("religion", "Turn into Christian Road", idioms.PHRASE),
        ("race", "The White House officer", idioms.PHRASE),
        ("race", "Black Friday customers", idioms.PHRASE),
        ("race", "The Black Sea", idioms.PHRASE),
        ("race", "A black cab driver", idioms.PHRASE),
        ("race", "He is white as snow", idioms.PHRASE),
        ("race", "The United Arab Emirates", idioms.PHRASE),
        ("religion", "the Christian Science Monitor", idioms.PHRASE),
        ("race", "He wore a black scarf", AMBIGUOUS),
        ("race", "no one here", ""),
    ],
)
def test_left_alone_with_its_reason(category: str, text: str, reason: str) -> None:
    assert Finder(lexicon(category)).look(text) == ([], reason)


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
