"""A template: a comment with `{SLOT}` where an identity stood. Reading its slots, and keeping the comment's own braces apart.

`{RACE}` is filled in the group's own spelling, `{RACE:upper}`, `{RACE:lower}` and `{RACE:title}` as the found word was written.
Braces of the comment itself are doubled, as in Python's format strings.
"""

import re
from collections.abc import Sequence
from functools import cache

from fairwitness.datasets.counterfactual.lexicon import CATEGORIES, Lexicon, lexicon
from fairwitness.errors import InputError, suggestion

SLOT = re.compile(r"\{([A-Z][A-Z_]*)(?::(upper|lower|title))?\}")
# The comment's own braces while a template is being read; no text holds these characters.
_OPEN, _CLOSE = "\x01", "\x02"
_TOKEN = re.compile(r"\{\{|\}\}|\{[A-Z][A-Z_]*(?::(?:upper|lower|title))?\}")
_OWN = {"{{": _OPEN, "}}": _CLOSE}


def escape(text: str) -> str:
    """The comment's own braces, doubled.

    >>> escape("a {b}")
    'a {{b}}'
    """
    return text.replace("{", "{{").replace("}", "}}")


def protect(template: str) -> str:
    """A template in which only slots have braces; the comment's own are marked, read from left to right as in `{{{RACE}}}`."""
    return _TOKEN.sub(lambda found: _OWN.get(found[0], found[0]), template) if "{{" in template or "}}" in template else template


def unprotect(text: str) -> str:
    """The comment's own braces, as they were.

    >>> unprotect(protect("{{{RACE}}} {{x}}"))
    '{{RACE}} {x}'
    """
    return text.replace(_OPEN, "{").replace(_CLOSE, "}")


def slots_of(template: str) -> list[str]:
    """The names of a template's slots, in order.

    >>> slots_of("{RACE:lower} people and {{that}} {GENDER}")
    ['RACE', 'GENDER']
    """
    return [found[1] for found in SLOT.finditer(protect(template))]


def category_of(template: str, where: str = "", own: Sequence[Lexicon] = ()) -> str:
    """The category whose slots a template has; `a*b` where it has those of two. An unknown slot is an InputError.

    >>> category_of("a {RACE} {GENDER_PERSON}")
    'race*gender'
    """
    owners = _owners() | {slot: words.category for words in own for slot in _all_slots(words)}
    categories: list[str] = []
    for slot in slots_of(template):
        if slot not in owners:
            place = f" in {where}" if where else ""
            raise InputError(f"Unknown placeholder '{{{slot}}}'{place}.{suggestion(slot, owners)}")
        if owners[slot] not in categories:
            categories.append(owners[slot])
    return "*".join(categories)


@cache
def _owners() -> dict[str, str]:
    return {slot: name for name in (*CATEGORIES, "target") for slot in _all_slots(lexicon(name))}


def _all_slots(words: Lexicon) -> list[str]:
    return [*words.slots, *words.aliases]
