"""From tokens to words, and which words name a group of people.

A word is what stands between white space. Numbers in, numbers out; where they are drawn is report's business.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fairwitness.errors import InputError
from fairwitness.files import require_file

# A small list of our own: plain words for groups, no slurs. A user's list (--identity_words) replaces it.
IDENTITY_WORDS: dict[str, tuple[str, ...]] = {
    "women": ("woman", "women", "girl", "girls", "female", "females", "lady", "ladies", "mother", "mothers", "wife", "feminist"),
    "men": ("man", "men", "boy", "boys", "male", "males", "gentleman", "father", "fathers", "husband"),
    "transgender": ("transgender", "trans", "transsexual", "nonbinary", "non-binary"),
    "gay": ("gay", "gays", "lesbian", "lesbians", "homosexual", "homosexuals", "queer", "bisexual", "lgbt", "lgbtq"),
    "straight": ("heterosexual", "heterosexuals"),
    "black": ("black", "blacks", "african", "africans", "african-american"),
    "white": ("white", "whites", "caucasian", "caucasians"),
    "asian": ("asian", "asians", "chinese", "japanese", "korean", "koreans", "indian", "indians", "vietnamese"),
    "latino": ("latino", "latinos", "latina", "latinas", "hispanic", "hispanics", "mexican", "mexicans"),
    "arab": ("arab", "arabs", "arabic", "arabian", "syrian", "syrians"),
    "muslim": ("muslim", "muslims", "moslem", "moslems", "islam", "islamic"),
    "jewish": ("jew", "jews", "jewish", "judaism"),
    "christian": ("christian", "christians", "christianity", "catholic", "catholics"),
    "other religion": ("hindu", "hindus", "buddhist", "buddhists", "sikh", "sikhs", "atheist", "atheists"),
    "immigrants": ("immigrant", "immigrants", "migrant", "migrants", "refugee", "refugees", "foreigner", "foreigners"),
    "disabled": ("disabled", "disability", "disabilities", "blind", "deaf", "autistic", "wheelchair"),
    "old": ("elderly", "old", "older", "seniors"),
}
_EDGES = re.compile(r"^\W+|\W+$")
_POSSESSIVE = re.compile(r"['’]s?$")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end.

    >>> word_spans("so be  it")
    [(0, 2), (3, 5), (7, 9)]
    """
    return [match.span() for match in re.finditer(r"\S+", text)]


def join(text: str, spans: Sequence[tuple[int, int]], values: Sequence[float]) -> tuple[list[str], np.ndarray]:
    """The words of `text` and the sum of the values of the tokens in each; a token is its first visible character's word's.

    >>> join("un happy", [(0, 1), (1, 2), (2, 8)], [1.0, 2.0, 4.0])
    (['un', 'happy'], array([3., 4.]))
    """
    words = word_spans(text)
    sums = np.zeros(len(words))
    if not words:
        return [], sums
    starts = np.array([start for start, _ in words])
    for (begin, end), value in zip(spans, values, strict=True):
        visible = next((place for place in range(begin, end) if not text[place].isspace()), begin)
        sums[max(0, int(np.searchsorted(starts, visible, side="right")) - 1)] += value
    return [text[start:end] for start, end in words], sums


def plain(word: str) -> str:
    """A word without its punctuation, possessive and capitals.

    >>> plain("“Women’s")
    'women'
    """
    return _POSSESSIVE.sub("", _EDGES.sub("", word.casefold()))


def groups_of(words: Sequence[str], lists: Mapping[str, Sequence[str]] = IDENTITY_WORDS) -> list[str]:
    """For each word the group it names, or an empty string.

    >>> groups_of(["The", "Muslims,", "won"])
    ['', 'muslim', '']
    """
    group_by_word = {word: group for group, listed in lists.items() for word in listed}
    return [group_by_word.get(plain(word), "") for word in words]


def identity_share(words: Sequence[str], values: np.ndarray, lists: Mapping[str, Sequence[str]] = IDENTITY_WORDS) -> float:
    """The part of Σ|value| that falls on words naming a group; in [0, 1]. Undefined (NaN) where all values are 0.

    >>> identity_share(["kind", "women"], np.array([1.0, -3.0]))
    0.75
    """
    total = float(np.abs(values).sum())
    if not total:
        return float("nan")
    named = np.array([bool(group) for group in groups_of(words, lists)], dtype=bool)
    return float(np.abs(values)[named].sum() / total)


def read_identity_words(path: Path) -> dict[str, tuple[str, ...]]:
    """A user's lists: a TOML file of group = ["word", …]."""
    try:
        values = tomllib.loads(require_file(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    for group, listed in values.items():
        if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
            raise InputError(f'{path}: {group} must be a list of words, such as {group} = ["word", "other"].')
    if not values:
        raise InputError(f'{path} lists no groups. Write lines such as women = ["woman", "women"].')
    return {group: tuple(plain(word) for word in listed) for group, listed in values.items()}
