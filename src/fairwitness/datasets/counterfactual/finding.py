"""Finding the identity words of a comment and putting slots in their place.

Whole words only, longest first, in the case they were written. An ambiguous word ("black", "straight", "blind") counts only where
its neighbours speak of people, so that "black coffee" and "a straight line" are left alone.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from fairwitness.datasets.counterfactual import grammar
from fairwitness.datasets.counterfactual.lexicon import Lexicon, read_text_of
from fairwitness.datasets.counterfactual.template import escape

_NEXT = re.compile(r"[\s-]+([A-Za-z][\w'’]*)")
_BEFORE = re.compile(r"([\w'’]+\s+)?([\w'’]+)[\s-]+$")
_AND = frozenset({"and", "or", "nor", "vs", "versus"})


@dataclass(frozen=True)
class Found:
    """One identity word in a comment: where, as written, which slot, whose group, and the case a fill would have there."""

    start: int
    end: int
    surface: str
    slot: str
    group: str
    mode: str = ""


class Finder:
    """Finds the words of one category."""

    def __init__(self, words: Lexicon, *, trusting: bool = False) -> None:
        """`trusting` takes ambiguous words everywhere: for texts that are known to be about people."""
        self.lexicon = words
        self._trusting = trusting
        longest_first = sorted(words.found, key=len, reverse=True)
        alternatives = "|".join(re.escape(word).replace(r"\ ", r"\s+").replace("'", "['’]") for word in longest_first)
        self._pattern = re.compile(rf"(?<![\w@#/.'’-])(?:{alternatives})(?![\w@/])(?!\.\w)", re.IGNORECASE)
        people = _people()
        self._people, self._subjects, self._function_words = people["nouns"], people["subjects"], people["function_words"]
        self._ambiguous = words.ambiguous

    def find(self, text: str) -> list[Found]:
        """The identity words of a comment, or none where only companions (pronouns) were found."""
        found = [each for match in self._pattern.finditer(text) if (each := self._judge(text, match)) is not None]
        if self._ambiguous and not self._trusting:
            found = self._settle(text, found)
        return found if any(each.slot not in self.lexicon.companions for each in found) else []

    def _judge(self, text: str, match: re.Match[str]) -> Found | None:
        surface = match[0]
        slot, group = self.lexicon.found[" ".join(surface.lower().replace("’", "'").split())]
        following = _NEXT.match(text, match.end())
        next_word = following[1].lower() if following else ""
        if self._excluded(text, match, next_word):
            return None
        if slot in self.lexicon.adjective_of and next_word and next_word not in self._function_words:
            slot = self.lexicon.adjective_of[slot]
        at_start = grammar.starts_sentence(text[max(0, match.start() - 12) : match.start()])
        mode = grammar.mode_of(surface, self._proper(surface, slot, group), at_start=at_start)
        return Found(match.start(), match.end(), surface, slot, group, mode)

    def _proper(self, surface: str, slot: str, group: str) -> str:
        fill = self.lexicon.groups[group][slot]
        # "Blacks" is found for the slot of "Black people": only the first word's spelling is compared.
        return fill.split(" ")[0] if " " not in surface else fill

    def _excluded(self, text: str, match: re.Match[str], next_word: str) -> bool:
        words = self.lexicon
        if next_word and (next_word in words.not_before):
            return True
        before = text[max(0, match.start() - 24) : match.start()].lower().rstrip(" -")
        return any(before.endswith(word) and not before[: -len(word)][-1:].isalnum() for word in words.not_after)

    def _settle(self, text: str, found: list[Found]) -> list[Found]:
        """Keep an ambiguous word only where a person is meant, or where it is joined to a word that was kept."""
        sure = [not self._doubtful(each) or self._speaks_of_people(text, each) for each in found]
        for index in reversed(range(len(found) - 1)):
            between = text[found[index].end : found[index + 1].start].lower().strip(" ,-/")
            if sure[index + 1] and not sure[index] and (between in _AND or between == ""):
                sure[index] = True
        return [each for each, keep in zip(found, sure, strict=True) if keep]

    def _doubtful(self, each: Found) -> bool:
        return each.surface.lower() in self._ambiguous

    def _speaks_of_people(self, text: str, each: Found) -> bool:
        following = _NEXT.match(text, each.end)
        next_word = following[1].lower().replace("’", "'").removesuffix("'s") if following else ""
        if next_word in self._people:
            return True
        # "a young black single mother": one adjective in between
        if following and next_word not in self._function_words:
            after = _NEXT.match(text, following.end())
            if after and after[1].lower() in self._people:
                return True
        before = _BEFORE.search(text[max(0, each.start - 40) : each.start].lower().replace("’", "'"))
        if not before or (next_word and next_word not in self._function_words):
            return False
        return before[2] in self._subjects or f"{(before[1] or '').strip()} {before[2]}" in self._subjects


def as_template(text: str, found: Sequence[Found]) -> str:
    """The comment with slots in place of the words that were found.

    >>> as_template("I like {Muslim} food", [Found(8, 14, "Muslim", "RELIGION_ADJ", "Islam")])
    'I like {{{RELIGION_ADJ}}} food'
    """
    pieces: list[str] = []
    end = 0
    for each in found:
        pieces += [escape(text[end : each.start]), f"{{{each.slot}:{each.mode}}}" if each.mode else f"{{{each.slot}}}"]
        end = each.end
    return "".join(pieces) + escape(text[end:])


@cache
def _people() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in tomllib.loads(read_text_of("people.toml")).items()}
