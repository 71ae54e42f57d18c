"""The few rules of English that filling a slot must keep: a/an, capitals, verbs after a pronoun, possessives, gaps that close.

Each rule is a small function on strings; expanding.py puts them together.
"""

import re

# Written with a vowel but spoken with a consonant, and the other way round.
_SPOKEN_CONSONANT = re.compile(r"(?:uni|use|usu|eu|ewe|one\b|once\b|ubi|uk\b|us\b)", re.IGNORECASE)
_SPOKEN_VOWEL = re.compile(r"(?:hour|honest|heir|honou?r|[FHLMNRSX](?:[A-Z]|\b)|LGBT)")

_TO_PLURAL = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "isn't": "aren't",
    "wasn't": "weren't",
    "hasn't": "haven't",
    "doesn't": "don't",
    "'s": "'re",
    "’s": "’re",
}
# Words after a pronoun that end in s and are no verbs in the third person.
_NOT_A_VERB = frozenset(
    {
        "always",
        "perhaps",
        "sometimes",
        "afterwards",
        "besides",
        "nevertheless",
        "nonetheless",
        "as",
        "this",
        "his",
        "hers",
        "its",
        "us",
    }
    | {
        "yes",
        "thus",
        "plus",
        "minus",
        "less",
        "unless",
        "across",
        "towards",
        "upwards",
        "backwards",
        "sports",
        "news",
        "it's",
        "that's",
    }
)
_PARTICIPLES = frozenset(
    {
        "been",
        "had",
        "got",
        "gotten",
        "done",
        "gone",
        "seen",
        "made",
        "taken",
        "become",
        "come",
        "given",
        "known",
        "lost",
        "won",
        "never",
    }
)


def indefinite(word: str) -> str:
    """The indefinite article before a word, by its sound.

    >>> [indefinite(word) for word in ("Asian", "Black", "unique", "hour", "LGBT", "heterosexual")]
    ['an', 'a', 'a', 'an', 'an', 'a']
    """
    if _SPOKEN_VOWEL.match(word):
        return "an"
    return "an" if word[:1].lower() in set("aeiou") and not _SPOKEN_CONSONANT.match(word) else "a"


def capital(text: str) -> str:
    """The text with its first letter in upper case, and the rest as it is.

    >>> capital("nonbinary people")
    'Nonbinary people'
    """
    return text[:1].upper() + text[1:]


def cased(fill: str, mode: str, *, at_start: bool) -> str:
    """A fill in the case its place wants: as the word that stood there was written, else with a capital where a sentence begins.

    >>> cased("Native American", "lower", at_start=False), cased("gay people", "title", at_start=False)
    ('native american', 'Gay People')
    >>> cased("he", "", at_start=True)
    'He'
    """
    if mode == "upper":
        return fill.upper()
    if mode == "lower":
        return fill.lower()
    if mode == "title":
        fill = " ".join(capital(word) for word in fill.split(" "))
    return capital(fill) if at_start else fill


def mode_of(surface: str, proper: str, *, at_start: bool) -> str:
    """How a found word was written, compared with its proper spelling: '' as usual, or upper, lower, title.

    >>> mode_of("MUSLIM", "Muslim", at_start=False), mode_of("muslim", "Muslim", at_start=False)
    ('upper', 'lower')
    >>> mode_of("gay", "gay", at_start=True), mode_of("Gay", "gay", at_start=False)
    ('lower', 'title')
    """
    if len(surface) > 1 and surface.isupper():
        return "upper"
    if surface.islower():
        return "lower" if at_start or not proper.islower() else ""
    return "title" if not at_start and proper.islower() and surface[:1].isupper() else ""


def plural_verb(verb: str, following: str = "") -> str:
    """A verb in the third person singular, as it stands after "they". `following` is the next word, for "he's been".

    >>> [plural_verb(v) for v in ("is", "likes", "watches", "tries", "doesn't", "always", "went")]
    ['are', 'like', 'watch', 'try', "don't", 'always', 'went']
    >>> plural_verb("'s", "been"), plural_verb("'s", "nice")
    ("'ve", "'re")
    """
    low = verb.lower()
    if low in ("'s", "’s") and following.lower() in _PARTICIPLES:
        return f"{verb[0]}ve"
    if low in _TO_PLURAL:
        return _like(verb, _TO_PLURAL[low])
    if low in _NOT_A_VERB or not low.endswith("s") or low.endswith("ss") or len(low) < 4:
        return verb
    if low.endswith("ies") and len(low) > 4:
        return f"{verb[:-3]}y"
    if low.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return verb[:-2]
    return verb[:-1]


_FURTHER = re.compile(
    r"(\bthey\s+(?:(?!\b(?:that|who|which|because|when|if|while|he|she|it)\b)[^.;:!?])*?(?:\b(?:and|or|but)|,)\s+(?:[a-z]+ly\s+|also\s+)?)"
    r"(has|is|was|does|says|goes|loves|likes|wants|needs|knows|thinks|makes|takes|gets|gives|keeps|helps|feels|comes|brings|believes"
    r"|enjoys|hates|teaches|speaks|eats|tries|sings|writes|reads|lives|works|deserves|seems|becomes|tells|asks|finds|sees|pays|spends"
    r"|cares|owns)\b",
    re.IGNORECASE,
)


def further_verbs(text: str) -> str:
    """The second and third verb of "they", as in "he works and loves": common verbs only, for a plural noun looks the same.

    >>> further_verbs("they work hard, love cats and dogs and has a car")
    'they work hard, love cats and dogs and have a car'
    """
    for _ in range(4):
        mended = _FURTHER.sub(lambda found: found[1] + plural_verb(found[2]), text)
        if mended == text:
            break
        text = mended
    return text


def possessive(fill: str, *, plural: bool) -> str:
    """What follows a fill to make it a possessive.

    >>> possessive("Muslims", plural=True), possessive("Black people", plural=True), possessive("Sikh", plural=False)
    ("'", "'s", "'s")
    """
    return "'" if plural and fill.endswith("s") else "'s"


def starts_sentence(before: str) -> bool:
    """Whether a sentence begins where `before` ends.

    >>> starts_sentence(""), starts_sentence("Well. "), starts_sentence('She said "'), starts_sentence("the ")
    (True, True, False, False)
    >>> starts_sentence('She said: "')
    True
    """
    if _SPEECH.search(before):
        return True
    stripped = before.rstrip(" \t\"'“‘(*_>-")
    return not stripped or stripped[-1] == "\n" or (stripped[-1] in ".!?…" and stripped != before)


_SPEECH = re.compile(r"[:,]\s*[\"'“‘]$")

# The mark left where a fill was taken out; no text holds it.
GAP = "\x00"
_ARTICLE_BEFORE_GAP = re.compile(r"\b([Aa])n?(\s+)\x00[\s-]*(\w+)")
# "a Black, single mother", "the gay and proud man", "gay/lesbian"; and "ugly and gay" with nothing behind it.
_DETERMINER = r"(?:an?|the|my|your|his|her|their|our|this|that|these|those|some|many|any|no|every|each)"
_GAP_BEFORE_ADJECTIVE = re.compile(
    rf"(\b{_DETERMINER}\s+|(?:^|[.!?…]\s+))\x00(?:\s*,\s*(?=[a-z])|\s+(?:and|or|&)\s+(?=\w))|()\x00\s*/\s*(?=\w)", re.IGNORECASE
)
_CONJUNCTION_BEFORE_GAP = re.compile(r"\s*(?:\b(?:and|or|nor|but)|,|/)\s*\x00(?=\s*(?:[.,;:!?)\]”]|$))", re.IGNORECASE)
_GAP_WITH_HYPHEN = re.compile(r"\x00-(?=\w)|(?<=\w)-\x00")
_GAP_AT_START = re.compile(r"(^|[.!?…]\s+)([\"'“‘(]*)\x00[\s-]*(\w)")
_GAP_BEFORE_MARK = re.compile(r"\s*\x00\s*(?=[,.;:!?)\]”’]|$)")
_GAP_BETWEEN_SPACES = re.compile(r"(?<=\s)\x00\s+|\x00")


def close_gaps(text: str) -> str:
    """Mend a text from which fills were taken out (each leaving a GAP): spaces, articles, capitals, hyphens.

    >>> close_gaps(f"I have many {GAP} friends"), close_gaps(f"{GAP} people met an {GAP} uncle.")
    ('I have many friends', 'People met an uncle.')
    >>> close_gaps(f"a {GAP}-owned shop"), close_gaps(f"a {GAP}, single mother and the {GAP} and honest man, old and {GAP}.")
    ('an owned shop', 'a single mother and the honest man, old.')
    """
    text = _GAP_BEFORE_ADJECTIVE.sub(lambda found: f"{found[1] or ''}{GAP} ", text)
    text = _CONJUNCTION_BEFORE_GAP.sub("", text)
    text = _ARTICLE_BEFORE_GAP.sub(_mend_article, text)
    text = _GAP_AT_START.sub(lambda found: f"{found[1]}{found[2]}{found[3].upper()}", text)
    text = _GAP_WITH_HYPHEN.sub("", text)
    text = _GAP_BEFORE_MARK.sub("", text)
    return _GAP_BETWEEN_SPACES.sub("", text).strip()


def _mend_article(found: re.Match[str]) -> str:
    article = indefinite(found[3])
    return f"{article.capitalize() if found[1] == 'A' else article}{found[2]}{found[3]}"


def _like(model: str, word: str) -> str:
    return capital(word) if model[:1].isupper() else word
