"""What the control says where an identity was all that was said: "she is Black" becomes "she is a person".

An adjective before a noun can be taken away ("a Black friend"). One with nothing behind it leaves a hole, which is filled with a
plain word where the grammar allows one; where it does not ("he turned gay"), the comment makes no template.
"""

import re

from fairwitness.datasets.counterfactual.idioms import people_words

HOLE = "no whole sentence is left without the identity"

# Words of degree before an adjective. They go with it: "he is so gay" becomes "he is a person".
DEGREE = (
    r"(?:(?:so|very|too|really|super|quite|totally|completely|extremely|openly|proudly|visibly|obviously|kinda|pretty|fucking|half|more)"
    r"\s+)+"
)
# These qualify nothing else, so they go before a noun as well: "an openly gay man" becomes "a man".
_QUALIFIES_ONLY = re.compile(r"(?:(?:very|openly|proudly|visibly|extremely)\s+)+")

_BETWEEN = r"(?:\s+(?:not|also|still|never|always|all|now|just|actually|even|only|both|probably|likely|already|[a-z]+ly))*\s+$"
_NAMES = (
    r"(?:[A-Z][\w'’]+|(?i:i|he|she|you|they|we|everyone|everybody|someone|anyone"
    r"|(?:my|your|his|her|their|our|the|these|those)\s+[a-z]+))"
)
_BEING = re.compile(
    r"(?P<you>\b(?:you|u)\s*)?"
    r"(?:\b(?:am|is|was|be|been|being|becomes?|became|becoming|born|raised|isn['’]?t|wasn['’]?t|as|im|i\s+m|hes|shes|thats|whos|youre|ur)"
    r"|['’]\s?[ms]|(?P<many>\b(?:are|were|aren['’]?t|weren['’]?t|theyre|they\s+re|were)|['’]\s?re))" + _BETWEEN,
    re.IGNORECASE,
)
_SEEMING = re.compile(r"\b(?:look|seem|sound|feel|act)(?:s|ed|ing)?" + _BETWEEN + r"|\bfelt" + _BETWEEN, re.IGNORECASE)
_ASKED = re.compile(
    r"(?:^|[^\w\s'’]\s*|\b(?i:why|how|where|when|and|but|so|or|then|well|what)\s+)(?:(?i:am|is|was|isn['’]t|wasn['’]t)|(?P<many>(?i:are|were|aren['’]t|weren['’]t)))\s+"
    rf"(?P<who>{_NAMES})\s+(?:(?:all|both|even|really|actually|not)\s+)*$"
)
_MADE = re.compile(
    r"\b(?:ma(?:k(?:es?|ing)|de)|consider(?:s|ed)?|think(?:s|ing)?|call(?:s|ed|ing)?)\s+"
    r"(?:me|him|her|you|someone|somebody|everyone|(?P<many>them|us|people|kids|children))\s+$|\bcall(?:ed|ing)\s+$",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"([\w'’]+)\s+$")
# "as gay as it gets"
_AS_BEFORE, _AS_BEHIND = re.compile(r"\bas\s+$", re.IGNORECASE), re.compile(r"\s+as\b", re.IGNORECASE)
# Another adjective follows: "a Black, single mother", "the gay and proud man".
_CONJOINED = re.compile(r"\s*(?:,|/|(?:and|or|nor|&)\b)\s*([a-z][\w'’]*)", re.IGNORECASE)
_WORD = re.compile(r"\s*-?\s*([A-Za-z][\w'’]*)")
_ANYTHING = re.compile(r"\s*[-{\w]")


def stand_in(template: str, start: int, end: int) -> str | None:
    """What stands for an adjective between two places of a template: a plain word, nothing, or None where a hole would stay.

    >>> stand_in("she is {RACE}.", 7, 13), stand_in("a {RACE} man", 2, 8), stand_in("he turned {SO}.", 10, 14)
    ('a person', '', None)
    """
    if not _nothing_follows(template, end):
        return ""
    before = template[max(0, start - 48) : start]
    if _AS_BEFORE.search(before) and _AS_BEHIND.match(template, end):
        return None
    if _SEEMING.search(before):
        return "like a person"
    for pattern in (_BEING, _MADE, _ASKED):
        if found := pattern.search(before):
            return "people" if found["many"] and not _is_you(found) else "a person"
    if (joined := _CONJOINED.match(template, end)) and joined[1].lower() not in people_words()["function_words"]:
        return ""
    last = _LAST_WORD.search(before)
    return None if last and last[1].lower() in people_words()["expecting"] else ""


def goes_with(degree: str, control: str) -> bool:
    """Whether words of degree go when the adjective behind them goes: always where something stands in for it.

    >>> goes_with("so ", ""), goes_with("so ", "a person"), goes_with("very ", "")
    (False, True, True)
    """
    return bool(control) or _QUALIFIES_ONLY.fullmatch(degree) is not None


def _is_you(found: re.Match[str]) -> bool:
    named = found.groupdict()
    return bool(named.get("you")) or (named.get("who") or "").lower() in ("you", "u")


def _nothing_follows(template: str, end: int) -> bool:
    """Whether no noun follows an adjective: the text ends, or a mark or a function word comes."""
    lists = people_words()
    if word := _WORD.match(template, end):
        return word[1].lower() in lists["function_words"] or word[1].lower() in lists["behind_predicates"]
    return _ANYTHING.match(template, end) is None
