"""The toxicity scorer that is always there: alt-profanity-check, a linear model over words, offline and in milliseconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np

from fairwitness.errors import MissingExtraError


@dataclass(frozen=True, kw_only=True)
class Profanity:
    """The probability that a text is profane or offensive, by alt-profanity-check (a calibrated linear model)."""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on."""
        try:
            version = metadata.version("alt-profanity-check")
        except metadata.PackageNotFoundError:
            raise MissingExtraError("alt-profanity-check", "text", "The scorer 'profanity'") from None
        return {"scorer": "profanity/1", "package": f"alt-profanity-check {version}"}

    @property
    def rows_per_part(self) -> int:
        """Parts are written in milliseconds; large ones keep the files few."""
        return 16_384

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """`score`: the probability in [0, 1]."""
        return {"score": self._predict(items)}

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        try:
            # The package's own `predict_prob` walks row by row in Python; its parts do the same in one matrix product.
            from profanity_check.profanity_check import model, vectorizer
        except ImportError:
            raise MissingExtraError("alt-profanity-check", "text", "The scorer 'profanity'") from None
        return vectorizer, model

    def _predict(self, items: Sequence[str]) -> "np.ndarray[Any, Any]":
        vectorizer, model = self._model
        probabilities: np.ndarray[Any, Any] = model.predict_proba(vectorizer.transform(list(items)))[:, 1]
        return probabilities
