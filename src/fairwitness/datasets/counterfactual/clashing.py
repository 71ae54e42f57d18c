"""Variants that contradict themselves: "a gay man" makes no "lesbian man", nor "my brother is gay" a lesbian brother.

A lexicon says which of its words speak of women or of men only (`[gendered]`); people.toml has the nouns. Such a variant is not
made. Anything the words themselves do not rule out is.
"""

import re
from functools import cache

from fairwitness.datasets.counterfactual.idioms import people_words
from fairwitness.datasets.counterfactual.lexicon import GENDERS, Lexicon

_WORD = r"[\s-]+([a-z]+(?:['’][a-z]+)?)"
_BEING = r"(?:['’]s|['’]re|\s+(?:is|was|are|were|isn['’]t|wasn['’]t|aren['’]t|weren['’]t|became|becomes|being))"
_SAID_AS = r"\s+(?:c[ao]mes?|coming|identif(?:y|ies|ied)|is|was)(?:\s+out)?\s+as"


class Clashes:
    """Finds the variants of one category that contradict themselves."""

    def __init__(self, words: Lexicon) -> None:
        self._words = {
            role: {fill.lower(): words.gendered[fill.lower()] for fill in fills.values() if fill.lower() in words.gendered}
            for role, fills in words.groups.items()
        }

    def reason(self, role: str, text: str) -> str:
        """Why this text cannot be said of this group; empty where it can.

        >>> from fairwitness.datasets.counterfactual.lexicon import lexicon
        >>> clashes = Clashes(lexicon("sexual_orientation"))
        >>> clashes.reason("Lesbian", "My lesbian brother sings."), clashes.reason("Lesbian", "My lesbian sister sings.")
        ('Lesbian said of a male person', '')
        """
        low = text.lower()
        for word, gender in self._words.get(role, {}).items():
            other = next(name for name in GENDERS if name != gender)
            if word in low and any(_contradicts(low, found, gender, other) for found in _pattern(word).finditer(low)):
                return f"{role} said of a {other} person"
        return ""


def _contradicts(text: str, found: re.Match[str], gender: str, other: str) -> bool:
    words = people_words()
    first, second = (_plain(found[1]), _plain(found[2]))
    # One adjective may stand before the noun: "a lesbian single father".
    nouns = [first] if first in words["nouns"] or first in words["function_words"] else [first, second]
    named = next((noun for noun in nouns if noun in words[gender] or noun in words[other]), "")
    return named in words[other] if named else _subject(other).search(text, 0, found.start()) is not None


def _plain(word: str | None) -> str:
    return (word or "").replace("’", "'").removesuffix("'s")


@cache
def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)(?:{_WORD})?(?:{_WORD})?")


@cache
def _subject(gender: str) -> re.Pattern[str]:
    """Somebody of this gender of whom the next word is said: "he is not", "my husband came out as", "a man who was a"."""
    words = people_words()
    nouns = "|".join(sorted({*words[gender], {"male": "he", "female": "she"}[gender]}))
    between = "|".join(sorted(words["between"]))
    return re.compile(rf"\b(?:{nouns})(?:\s+(?:who|that))?(?:{_SAID_AS}|{_BEING})(?:\s+(?:{between}))*(?:\s+an?)?\s+$")
