"""Where an identity word means nobody: phrases ("a straight line"), names ("Gay Street"), compounds ("man-made"), interjections
("Man, that was fun"), and slang said of things ("that is so gay").

Each rule gives the reason for which a comment is left out, and the reasons are counted. Whether an ambiguous word such as "black"
speaks of a person is finding.py's business.
"""

import re
import tomllib
from functools import cache

from fairwitness.datasets.counterfactual import grammar
from fairwitness.datasets.counterfactual.lexicon import Lexicon, read_text_of

PHRASE = "a phrase or a name in which nobody is meant"
COMPOUND = "a compound in which nobody is meant"
INTERJECTION = "an interjection, not a person"
OF_A_THING = "slang, said of a thing"

NEXT = re.compile(r"[\s-]+([A-Za-z][\w'’]*)")
_OWN = re.compile(r"['’]s\b")
_JOINED = re.compile(r"-([A-Za-z]+)")
_MARK_AFTER = re.compile(r"\s*(?:[,!?.;…)]|$)")
# "Man, 25, arrested" is somebody, and so is one of several: "man, woman and child".
_AGE_AFTER = re.compile(r"\s*,\s*\d")
_SERIES_AFTER = re.compile(r"\s*,?\s*(?:and|or|nor)\b|\s*,\s*([A-Za-z]+)\s*(?:,|and\b|or\b)", re.IGNORECASE)
_SPOKEN_TO = re.compile(
    r"\s+(?:i|you|we|they|he|she|it|this|these|what|how|if|when|my|the|fuck|wtf|im|i['’]m|it['’]s)\b", re.IGNORECASE
)
_WORD_AND_COMMA = re.compile(r"([A-Za-z]+)\s*,\s*$")
_DEGREE = r"(?:\s+(?:so|very|really|pretty|too|just|kinda|not|all|also|totally|super|actually|literally|still|how))*\s+$"
_SEEMS = r"(?:['’]?s|['’]?re|\s+(?:is|are|was|were|isn['’]t|aren['’]t|wasn['’]t|looks?|sounds?|seems?|feels?))"
_THING = re.compile(rf"(?P<before>[a-z'’]+\s+)?\b(?P<thing>that|this|it|everything){_SEEMS}{_DEGREE}")
_THIS_THING = re.compile(rf"\b(?:this|that|these|those|the|my|your)\s+(?P<noun>[a-z]+){_SEEMS}\s+so\s+$")


def phrase(words: Lexicon, text: str, match: re.Match[str]) -> str:
    """Whether a phrase says that no identity is meant. One with the word itself in it ("straight line") holds for that word."""
    surface = match[0].lower()
    own = _OWN.match(text, match.end())
    named, end = (f"{surface}'s", own.end()) if own else (surface, match.end())
    if words.not_before and (first := NEXT.match(text, end)):
        one = first[1].lower()
        second = NEXT.match(text, first.end())
        two = f"{one} {second[1].lower()}" if second else one
        if not words.not_before.isdisjoint((one, two, f"{named} {one}", f"{named} {two}")):
            return PHRASE
    before = text[max(0, match.start() - 24) : match.start()].lower().rstrip(" -")
    ending = _ending(words.not_after)
    return PHRASE if words.not_after and (ending.search(before) or ending.search(f"{before} {surface}")) else ""


def reason(words: Lexicon, text: str, match: re.Match[str]) -> str:
    """Why nobody is meant by a word that stands here; empty where somebody may be.

    >>> from fairwitness.datasets.counterfactual.lexicon import lexicon
    >>> text = "Man, that was fun"
    >>> reason(lexicon("gender"), text, re.match("Man", text)), reason(lexicon("gender"), "Man, 25, sings", re.match("Man", text))
    ('an interjection, not a person', '')
    """
    surface = match[0].lower()
    if (joined := _JOINED.match(text, match.end())) and not _means_people(words, joined[1].lower()):
        return COMPOUND
    following = NEXT.match(text, match.end())
    if following and match[0][0].isupper() and following[1][0].isupper() and following[1].lower() in people_words()["places"]:
        return PHRASE
    if surface in words.interjections and _interjected(text, match):
        return INTERJECTION
    if surface in words.slang and _said_of_a_thing(text, match, following[1].lower() if following else ""):
        return OF_A_THING
    return ""


def _means_people(words: Lexicon, half: str) -> bool:
    lists = people_words()
    return half in words.found or any(half in lists[name] for name in ("nouns", "male", "female", "joined"))


def _interjected(text: str, match: re.Match[str]) -> bool:
    """Whether a bare noun is called out: at a sentence's start before a comma or a new clause, or set off by commas."""
    before = text[: match.start()]
    if _AGE_AFTER.match(text, match.end()) or _in_a_series(text, match):
        return False
    marked = _MARK_AFTER.match(text, match.end())
    if grammar.starts_sentence(before[-12:]):
        # A sentence that is nothing but the word calls nobody out.
        return text[marked.end() - 1] in ",!…" if marked and marked[0].strip() else bool(_SPOKEN_TO.match(text, match.end()))
    return before.rstrip().endswith(",") and bool(marked)


def _in_a_series(text: str, match: re.Match[str]) -> bool:
    lists = people_words()
    after = _SERIES_AFTER.match(text, match.end())
    if after and (after[1] is None or after[1].lower() in lists["nouns"]):
        return True
    before = _WORD_AND_COMMA.search(text[max(0, match.start() - 40) : match.start()])
    return before is not None and before[1].lower() in lists["nouns"]


def _said_of_a_thing(text: str, match: re.Match[str], next_word: str) -> bool:
    """Whether a predicate is said of "that", "it" or a thing. "Somebody that is gay" is a person."""
    lists = people_words()
    if next_word and next_word not in lists["function_words"] and next_word not in lists["behind_predicates"]:
        return False
    before = text[max(0, match.start() - 60) : match.start()].lower()
    if thing := _THING.search(before):
        said_before = (thing["before"] or "").strip()
        return thing["thing"] != "that" or not said_before or said_before in lists["function_words"]
    named = _THIS_THING.search(before)
    return named is not None and not _is_person(named["noun"])


def _is_person(noun: str) -> bool:
    lists = people_words()
    return any(noun in lists[name] for name in ("nouns", "male", "female"))


@cache
def _ending(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Finds a text that ends in one of the phrases, whole words."""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, phrases))})$")


@cache
def people_words() -> dict[str, frozenset[str]]:
    """The lists of people.toml by name."""
    return {name: frozenset(words) for name, words in tomllib.loads(read_text_of("people.toml")).items()}
