"""Finding the identity words of a comment and putting slots in their place.

Whole words only, longest first, in the case they were written. An ambiguous word ("black", "straight", "blind") counts only where
its neighbours speak of people, so that "black coffee" and "a straight line" are left alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fairwitness.datasets.counterfactual import grammar, idioms
from fairwitness.datasets.counterfactual.idioms import NEXT, people_words
from fairwitness.datasets.counterfactual.lexicon import Lexicon
from fairwitness.datasets.counterfactual.template import escape

AMBIGUOUS = "an ambiguous word with no person beside it"
_BEFORE = re.compile(r"([\w'’]+\s+)?([\w'’]+)[\s-]+$")
_AND = frozenset({"and", "or", "nor", "vs", "versus"})
# Before a noun in the singular: what ends in -s behind that noun is a verb.
_ONE = frozenset({"a", "an", "every", "each", "another"})
_NO_VERB = ("ss", "us", "is")
_NOUNS_IN_S = frozenset({"news", "series", "species", "sports", "politics", "arts"})
_COMMA = re.compile(r"\s*,\s*([A-Za-z][\w'’]*)?")
_AND_WORD = re.compile(r"\s+(?:and|or)\s+([a-z]+)\b", re.IGNORECASE)
_BEFORE_ADJECTIVES = frozenset({"very", "so", "too", "just", "even", "also", "only", "never", "yet", "again", "now", "once"})
_STOP = re.compile(r"\s*(?:$|[^\w\s'’-])")


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
        self.trusting = trusting
        longest_first = sorted(words.found, key=len, reverse=True)
        alternatives = "|".join(re.escape(word).replace(r"\ ", r"\s+").replace("'", "['’]") for word in longest_first)
        self._pattern = re.compile(rf"(?<![\w@#/.'’-])(?:{alternatives})(?![\w@/])(?!\.\w)", re.IGNORECASE)
        self._words = people_words()
        self._ambiguous = words.ambiguous

    def find(self, text: str) -> list[Found]:
        """The identity words of a comment, or none where only companions (pronouns) were found."""
        return self.look(text)[0]

    def look(self, text: str) -> tuple[list[Found], str]:
        """The identity words of a comment; where there are none but words that look like it, the reason for which they are not.

        >>> from fairwitness.datasets.counterfactual.lexicon import lexicon
        >>> Finder(lexicon("race")).look("I like black coffee")
        ([], 'a phrase or a name in which nobody is meant')
        """
        found: list[Found] = []
        reason = ""
        for match in self._pattern.finditer(text):
            if against := self._reason_against(text, match):
                reason = reason or against
            else:
                found.append(self._judge(text, match))
        if self._ambiguous and not self.trusting:
            settled = self._settle(text, found)
            reason = reason or (AMBIGUOUS if len(settled) < len(found) else "")
            found = settled
        return (found, "") if any(each.slot not in self.lexicon.companions for each in found) else ([], reason)

    def _reason_against(self, text: str, match: re.Match[str]) -> str:
        if self._slot_of(match)[0] in self.lexicon.companions:
            return ""
        against = idioms.phrase(self.lexicon, text, match)
        return against if against or self.trusting else idioms.reason(self.lexicon, text, match)

    def _slot_of(self, match: re.Match[str]) -> tuple[str, str]:
        return self.lexicon.found[" ".join(match[0].lower().replace("’", "'").split())]

    def _judge(self, text: str, match: re.Match[str]) -> Found:
        surface = match[0]
        slot, group = self._slot_of(match)
        following = NEXT.match(text, match.end())
        next_word = following[1].lower() if following else ""
        slot = self._slot_in(text, match, slot, group, next_word)
        at_start = grammar.starts_sentence(text[max(0, match.start() - 12) : match.start()])
        mode = grammar.mode_of(surface, self._proper(surface, slot, group), at_start=at_start)
        return Found(match.start(), match.end(), surface, slot, group, mode)

    def _proper(self, surface: str, slot: str, group: str) -> str:
        fill = self.lexicon.groups[group][slot]
        # "Blacks" is found for the slot of "Black people": only the first word's spelling is compared.
        return fill.split(" ")[0] if " " not in surface else fill

    def _slot_in(self, text: str, match: re.Match[str], slot: str, group: str, next_word: str) -> str:
        """The slot that a word has in its surroundings, where one spelling may stand for several."""
        words, fills = self.lexicon, self.lexicon.groups[group]
        earlier, last = _two_before(text, match.start())
        adjective, noun, alone = words.adjective_of.get(slot), words.noun_of.get(slot), words.alone_of.get(slot)
        if adjective is not None and fills[slot] == fills[adjective]:
            if slot in words.companions:
                return slot if self._is_object(last, next_word) else adjective
            before_noun = text[match.end() : match.end() + 1] == "-" or self._before_noun(earlier, last, next_word)
            return adjective if before_noun or self._is_predicate(earlier, last) else slot
        if noun is not None and self._is_noun(text, match.end(), earlier, last, next_word):
            return noun
        if slot in words.plural_of and last == "the":
            many = next_word in self._words["bare_verbs"] or not self._before_noun(earlier, last, next_word)
            return words.plural_of[slot] if many else slot
        return alone if alone is not None and fills[slot] == fills[alone] and _STOP.match(text, match.end()) else slot

    def _is_object(self, last: str, next_word: str) -> bool:
        """Whether "her" is an object: nothing belongs to her, or she is given, told or made to do what follows."""
        if not next_word or next_word in self._words["function_words"]:
            return True
        if last in self._words["giving"]:
            return next_word not in self._words["nouns"]
        return last in self._words["causing"] and (next_word in self._words["bare_verbs"] or next_word.endswith("ing"))

    def _before_noun(self, earlier: str, last: str, next_word: str) -> bool:
        """Whether a noun follows ("a Muslim man"), and not a verb ("a Muslim lives here")."""
        if not next_word or next_word in self._words["function_words"] or next_word in self._words["behind_predicates"]:
            return False
        ends_in_s = next_word.endswith("s") and not next_word.endswith(_NO_VERB) and next_word not in _NOUNS_IN_S
        return not ((earlier in _ONE or last in _ONE) and (ends_in_s or next_word.endswith("ed")))

    def _is_predicate(self, earlier: str, last: str) -> bool:
        """Whether it is said of somebody without an article: "he is Muslim", "they are not Catholic"."""
        return last in self._words["being"] or (last in self._words["between"] and earlier in self._words["being"])

    def _is_noun(self, text: str, end: int, earlier: str, last: str, next_word: str) -> bool:
        """Whether an adjective stands as a noun: "a lesbian", "every proud Latino", but not "a black, single mother"."""
        if last not in _ONE and (earlier not in _ONE or last in self._words["function_words"]):
            return False
        if text[end : end + 1] == "-":
            return False
        if comma := _COMMA.match(text, end):
            return comma[1] is None or comma[1].lower() in self._words["function_words"]
        if next_word in _AND:
            after = _AND_WORD.match(text, end)
            return after is not None and after[1].lower() in self._words["function_words"] - _BEFORE_ADJECTIVES
        return not self._before_noun(earlier, last, next_word)

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
        following = NEXT.match(text, each.end)
        next_word = following[1].lower().replace("’", "'").removesuffix("'s") if following else ""
        if next_word in self._words["nouns"]:
            return True
        # "a young black single mother": one adjective in between
        if following and next_word not in self._words["function_words"]:
            after = NEXT.match(text, following.end())
            if after and after[1].lower() in self._words["nouns"]:
                return True
        earlier, last = _two_before(text, each.start)
        if not last or (next_word and next_word not in self._words["function_words"]):
            return False
        return last in self._words["subjects"] or f"{earlier} {last}" in self._words["subjects"]


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


def _two_before(text: str, start: int) -> tuple[str, str]:
    """The two words before a place, in lower case; empty where there are none."""
    found = _BEFORE.search(text[max(0, start - 40) : start].lower().replace("’", "'"))
    return ((found[1] or "").strip(), found[2]) if found else ("", "")
