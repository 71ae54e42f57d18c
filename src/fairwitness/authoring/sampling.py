"""How a draft is sampled, and how it warms up when the service repeats itself; and when two drafts count as the same."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Temperature and top-p at the start and at most; each retry goes one step of (most − start) / retry_tolerance further.

    >>> Sampling().at(0), Sampling().at(1), Sampling().at(10)
    ((0.5, 0.8), (0.55, 0.815), (1.0, 0.95))
    """

    temperature: float = 0.5
    max_temperature: float = 1.0
    top_p: float = 0.8
    max_top_p: float = 0.95
    retry_tolerance: int = 10

    def at(self, retry: int) -> tuple[float, float]:
        """Temperature and top-p of the given retry, 0 being the first attempt."""
        share = retry / self.retry_tolerance if self.retry_tolerance else 0.0
        warmer = self.temperature + (self.max_temperature - self.temperature) * share
        wider = self.top_p + (self.max_top_p - self.top_p) * share
        # Rounded, so that a request's content (and with it its place in the cache) does not hang on the last bit.
        return round(min(warmer, max(self.temperature, self.max_temperature)), 6), round(
            min(wider, max(self.top_p, self.max_top_p)), 6
        )


def duplicate_of(text: str, accepted: Iterable[str], threshold: float = 0.9) -> tuple[str, str] | None:
    """Why `text` repeats one of `accepted`, as (reason, the other text); None when it is new.

    Exact: the same string. Near: the same but for case, spacing and punctuation, or an edit similarity (Indel, 0 to 1) of at least
    `threshold`; texts whose numbers differ say different things and are never near. A threshold above 1 turns the similarity off.

    >>> duplicate_of("He came home.", ["he came  home"])
    ('near duplicate', 'he came  home')
    >>> duplicate_of("Born in 1970.", ["Born in 1980."]) is None
    True
    """
    accepted = list(accepted)
    if text in accepted:
        return "duplicate", text
    for other in accepted:
        if _near(text, other, threshold):
            return "near duplicate", other
    return None


def _near(one: str, other: str, threshold: float) -> bool:
    if threshold > 1:
        return False
    if _DIGITS.findall(one) != _DIGITS.findall(other):
        return False
    own, others = plain(one), plain(other)
    if own == others:
        return True
    from rapidfuzz.fuzz import ratio

    return bool(ratio(own, others, score_cutoff=100 * threshold) >= 100 * threshold)


def plain(text: str) -> str:
    """A text without what spelling adds: case, spacing, punctuation.

    >>> plain("He came  Home!") == plain("he came home")
    True
    """
    composed = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in composed if character.isalnum())
