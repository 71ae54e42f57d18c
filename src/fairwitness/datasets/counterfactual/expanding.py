"""Filling templates: every template × every group of its category, grammatical, with the control and a note of what was put where.

A template is taken apart once. A slot with its surroundings (article before, verb or possessive after, case, place) fills the same
way in every template, so that filling is kept; a hundred thousand comments share a few hundred of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from fairwitness.datasets.counterfactual import grammar
from fairwitness.datasets.counterfactual.lexicon import CONTROL, Lexicon
from fairwitness.datasets.counterfactual.standing_in import DEGREE, goes_with, stand_in
from fairwitness.datasets.counterfactual.template import protect, unprotect
from fairwitness.errors import InputError, suggestion

_WORD = r"[A-Za-z]+(?:['’][a-z]+)?"
_ADVERB = r"(?:\s+(?:[a-z]+ly|also|always|never|often|still|just|even|only|ever|sometimes|now|then))?"
_PLACE = re.compile(
    r"(?P<article>\b[Aa]n?\s+)?"
    rf"(?P<degree>\b{DEGREE})?"
    r"(?P<inverted>\b(?:[Ii]s|[Ww]as|[Hh]as|[Dd]oes|[Ii]sn't|[Ww]asn't|[Hh]asn't|[Dd]oesn't)\s+)?"
    r"\{(?P<slot>[A-Z][A-Z_]*)(?::(?P<mode>upper|lower|title))?\}"
    r"(?P<own>['’]s\b|['’](?!\w))?"
)
_VERB = re.compile(rf"({_ADVERB}\s+)({_WORD})")
_SAYS = re.compile(r"\w")
_NEXT_WORD = re.compile(rf"\s+({_WORD})")


class Place(NamedTuple):
    """A slot with all of its surroundings that its filling depends on."""

    slot: str
    mode: str
    at_start: bool
    article: str
    degree: str
    inverted: str
    own: str
    adverb: str
    verb: str
    following: str
    stand_in: str | None


class Filled(NamedTuple):
    """A place filled for every group and the control: the strings, and what was substituted, in the order of `roles`."""

    texts: tuple[str, ...]
    notes: tuple[str, ...]


class Expander:
    """Fills templates of one category."""

    def __init__(self, words: Lexicon) -> None:
        self.lexicon = words
        self.groups = tuple(words.groups)
        self._they = [*(fills.get("PRONOUN_SUBJ") == "they" for fills in words.groups.values()), True]
        self._fill = lru_cache(maxsize=100_000)(self._fill_place)

    def expand(self, template: str, *, where: str = "") -> tuple[list[str], list[str]]:
        """The filled texts, one a group in the order of `groups`, then the control; and beside each what was put where."""
        pieces, places = self._take_apart(template, where)
        if not places:
            raise InputError(
                f"The template '{template[:80]}'{_at(where)} has no placeholder of the category '{self.lexicon.category}'."
            )
        filled = [self._fill(place) for place in places]
        texts = [_join(pieces, strings) for strings in zip(*(each.texts for each in filled), strict=True)]
        if any(place.slot == "PRONOUN_SUBJ" for place in places):
            texts = [grammar.further_verbs(text) if they else text for text, they in zip(texts, self._they, strict=True)]
        if grammar.GAP in texts[-1]:
            texts[-1] = grammar.close_gaps(texts[-1])
        if len(filled) == 1:
            return texts, list(filled[0].notes)
        return texts, ["; ".join(parts) for parts in zip(*(each.notes for each in filled), strict=True)]

    def control(self, template: str) -> str:
        """The template without its identities: slots removed, or filled with the plain word that stays ("people")."""
        pieces, places = self._take_apart(template, "")
        return grammar.close_gaps(_join(pieces, [self._fill(place).texts[-1] for place in places]))

    def is_whole(self, template: str) -> bool:
        """Whether a sentence is left when the identities are taken away: neither nothing, nor one with a hole in it."""
        pieces, places = self._take_apart(template, "")
        if any(place.stand_in is None for place in places):
            return False
        return any(_SAYS.search(text) for text in (*pieces, *(self._fill(place).texts[-1] for place in places)))

    def _take_apart(self, template: str, where: str) -> tuple[list[str], list[Place]]:
        pieces: list[str] = []
        places: list[Place] = []
        end = 0
        template = protect(template)
        while found := _PLACE.search(template, end):
            slot = self.lexicon.slot(found["slot"])
            if slot is None:
                raise InputError(_unknown(found["slot"], self.lexicon, where))
            literal = template[end : found.start()]
            pieces.append(unprotect(literal))
            place = _place(found, slot, before=literal if literal.strip() else template[max(0, end - 8) : found.start()])
            if self.lexicon.slots[slot] == "":
                place = place._replace(stand_in=_stand_in(template, found))
            places.append(place)
            end = found.end() + len(place.adverb) + len(place.verb)
        pieces.append(unprotect(template[end:]))
        return pieces, places

    def _fill_place(self, place: Place) -> Filled:
        fills = [group[place.slot] for group in self.lexicon.groups.values()]
        control = self.lexicon.slots[place.slot] or place.stand_in or ""
        texts = [_in_place(fill, place, they=they) for fill, they in zip(fills, self._they, strict=False)]
        plain = place if self.lexicon.slots[place.slot] or not goes_with(place.degree, control) else place._replace(degree="")
        texts.append(_in_place(control or grammar.GAP, plain, they=self._they[-1]))
        return Filled(tuple(texts), tuple(f"{place.slot}={fill}" for fill in (*fills, control)))


def expand_rows(templates: Iterable[str], words: Lexicon) -> Iterator[tuple[list[str], list[str]]]:
    """The texts and notes of each template, in order. See `Expander.expand`."""
    expander = Expander(words)
    for template in templates:
        yield expander.expand(template)


def roles(words: Lexicon) -> list[str]:
    """The roles in the order in which `expand` returns texts: the groups, then the control."""
    return [*words.groups, CONTROL]


def _place(found: re.Match[str], slot: str, *, before: str) -> Place:
    adverb = verb = following = ""
    if slot == "PRONOUN_SUBJ":
        # What follows matters only behind a subject: "he likes" becomes "they like", "he's been" becomes "they've been".
        if found["own"]:
            next_word = _NEXT_WORD.match(found.string, found.end())
            following = next_word[1] if next_word else ""
        elif next_verb := _VERB.match(found.string, found.end()):
            adverb, verb = next_verb.groups()
    return Place(
        slot=slot,
        mode=found["mode"] or "",
        at_start=grammar.starts_sentence(before) and not (found["article"] or found["degree"] or found["inverted"]),
        article=found["article"] or "",
        degree=found["degree"] or "",
        inverted=found["inverted"] or "",
        own=found["own"] or "",
        adverb=adverb,
        verb=verb,
        following=following,
        stand_in="",
    )


def _stand_in(template: str, found: re.Match[str]) -> str | None:
    """What the control says in place of an adjective that would leave a hole, or None where nothing would fit."""
    start = found.start("degree") if found["degree"] else found.start("slot") - 1
    return "" if found["own"] else stand_in(template, start, found.end())


def _in_place(fill: str, place: Place, *, they: bool) -> str:
    text = fill if fill == grammar.GAP else grammar.cased(fill, place.mode, at_start=place.at_start)
    verb, own, inverted = place.verb, place.own, place.inverted
    if place.slot == "PRONOUN_SUBJ":
        if they:
            verb = grammar.plural_verb(verb)
            own = grammar.plural_verb(own, place.following) if own else own
            inverted = _plural_inverted(inverted)
    elif own and fill != grammar.GAP:
        plural = own in "'’" or place.slot.endswith(("PEOPLE", "FOLLOWERS", "CHILDREN", "_P"))
        own = grammar.possessive(fill, plural=plural).replace("'", own[0])
    article = place.article if place.degree else _article(place.article, text)
    return f"{article}{place.degree}{inverted}{text}{own}{place.adverb}{verb}"


def _article(article: str, text: str) -> str:
    if not article or text == grammar.GAP:
        return article
    word = grammar.indefinite(text)
    return (word.capitalize() if article[0] == "A" else word) + article[len(article.rstrip()) :]


def _plural_inverted(inverted: str) -> str:
    verb = inverted.rstrip()
    return grammar.plural_verb(verb) + inverted[len(verb) :] if verb else inverted


def _join(pieces: Sequence[str], strings: Sequence[str]) -> str:
    parts = [""] * (2 * len(strings) + 1)
    parts[::2] = pieces
    parts[1::2] = strings
    return "".join(parts)


def _unknown(slot: str, words: Lexicon, where: str) -> str:
    known = [*words.slots, *words.aliases]
    return f"The placeholder '{{{slot}}}'{_at(where)} is not of the category '{words.category}'.{suggestion(slot, known)}"


def _at(where: str) -> str:
    return f" ({where})" if where else ""
