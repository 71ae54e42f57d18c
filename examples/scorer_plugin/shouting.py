"""A scorer of one's own: an identity, how many rows make a part, and one method. Nothing of Fair Witness is imported."""

from collections.abc import Sequence
from typing import Any


class Shouting:
    """How loud a text is, from 0 to 1: its share of capital letters, and its exclamation marks."""

    # Everything a score depends on. Change the code, change this: kept scores of the old one are then not reused.
    identity = {"scorer": "shouting", "version": 1}  # noqa: RUF012
    rows_per_part = 1000

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """One score per text; a text without letters cannot be scored and says so."""
        scores: list[float | None] = []
        errors: list[str | None] = []
        for text in items:
            letters = [letter for letter in text if letter.isalpha()]
            loud = sum(letter.isupper() for letter in letters) / len(letters) if letters else None
            scores.append(None if loud is None else min(1.0, loud + 0.1 * text.count("!")))
            errors.append("no letters" if loud is None else None)
        return {"score": scores, "error": errors}
