"""A text scorer from the words a user types: `profanity`, `hf:unitary/toxic-bert`, `cassette:file.parquet@INSULT`.

    NAME[:WHICH][@LABEL]

What comes out scores texts between 0 and 1; a number outside that is an error of its row, never clipped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fairwitness import registry
from fairwitness.errors import InputError
from fairwitness.scorers.service_options import ServiceOptions, check_service


@dataclass(frozen=True, kw_only=True)
class ScorerSettings(ServiceOptions):
    """What a user may set about a scorer besides its name. Each scorer takes what concerns it."""

    device: str = "auto"
    task: str = "toxicity"

    @classmethod
    def of(cls, config: ServiceOptions) -> "ScorerSettings":
        """What concerns the scorer in an audit's config; a task or a device that it does not have stays as it is here."""
        return cls(**{each.name: getattr(config, each.name) for each in fields(cls) if hasattr(config, each.name)})


@dataclass(frozen=True)
class TextScorer:
    """A scorer of texts whose scores are probabilities. `name` is what the user typed."""

    name: str
    inner: Any
    is_log_odds: bool = False

    @property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on."""
        identity = dict(self.inner.identity)
        return identity | {"as": "probability"} if self.is_log_odds else identity

    @property
    def rows_per_part(self) -> int:
        """As the scorer inside says."""
        return int(self.inner.rows_per_part)

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """As the scorer inside says, with scores outside [0, 1] made errors."""
        columns = dict(self.inner.score(items))
        scores = np.array([np.nan if value is None else value for value in columns["score"]], dtype=np.float64)
        if self.is_log_odds:
            columns["log_odds"] = scores
            scores = 1.0 / (1.0 + np.exp(-np.clip(scores, -700, 700)))
        errors = list(columns.get("error", [None] * len(items)))
        for row in np.flatnonzero((scores < 0) | (scores > 1)):
            errors[row] = errors[row] or f"score {scores[row]:g} is outside [0, 1]"
        return columns | {"score": scores, "error": errors}

    @property
    def attribute(self) -> str:
        """What is scored, in the scorer's own words."""
        attributes = getattr(self.inner, "attributes", None)
        named = getattr(self.inner, "attribute", "") or getattr(self.inner, "positive", "")
        return str(attributes[0] if attributes else named or "score")


def scorer_by_name(name: str, settings: ScorerSettings | None = None) -> TextScorer:
    """The scorer behind a name. An unknown one is an InputError with the near name; nothing is loaded or asked yet."""
    settings = settings or ScorerSettings()
    check_service(settings)
    word, _, which = name.partition(":")
    key = word.strip().replace("_", "-") if word.strip() in ("openai_moderation",) else word.strip()
    which, _, label = which.partition("@") if key in ("hf", "cassette", "openai-moderation") else (which, "", "")
    build = _BUILDERS.get(key)
    if build is None:
        return TextScorer(name, registry.load("scorers", key)())
    return build(name, which, label, settings)


def _profanity(name: str, which: str, label: str, settings: ScorerSettings) -> TextScorer:
    return TextScorer(name, registry.load("scorers", "profanity")())


def _hf(name: str, which: str, label: str, settings: ScorerSettings) -> TextScorer:
    _require(which, "hf", "a model: hf:unitary/toxic-bert, or a folder")
    return TextScorer(name, registry.load("scorers", "hf")(model=which, label=label, device=settings.device))


def _zero_shot(name: str, which: str, label: str, settings: ScorerSettings) -> TextScorer:
    # Without the content-free correction the shorter label wins everywhere and every probability sits at one end of the scale.
    make = registry.load("scorers", "zero_shot")
    scorer = make(model=which or "smollm2", task=settings.task, device=settings.device, content_free=True)
    return TextScorer(name, scorer, is_log_odds=True)


def _perspective(name: str, which: str, label: str, settings: ScorerSettings) -> TextScorer:
    attributes = settings.attributes or ((which.upper(),) if which else ("TOXICITY",))
    scorer = registry.load("scorers", "perspective")(
        attributes=attributes,
        languages=settings.languages,
        do_not_store=not settings.allow_store,
        truncate=settings.truncate,
        qps=settings.qps,
        url=settings.url,
        workers=settings.workers or 16,
        timeout_s=settings.timeout_s,
        ask=settings.ask,
    )
    return TextScorer(name, scorer)


def _openai(name: str, which: str, label: str, settings: ScorerSettings) -> TextScorer:
    more = {"model": which} if which else {}
    scorer = registry.load("scorers", "openai-moderation")(
        category=label, qps=settings.qps, workers=settings.workers or 8, timeout_s=settings.timeout_s, ask=settings.ask, **more
    )
    return TextScorer(name, scorer)


def _http(name: str, which: str, label: str, settings: ScorerSettings) -> TextScorer:
    _require(which, "http", "its description: http:my_scorer.toml")
    return TextScorer(name, registry.load("scorers", "http")(path=Path(which), ask=settings.ask))


def _cassette(name: str, which: str, label: str, settings: ScorerSettings) -> TextScorer:
    _require(which, "cassette", "a recorded file: cassette:recorded.parquet")
    return TextScorer(name, registry.load("scorers", "cassette")(path=Path(which), attribute=label))


def _calibrated(name: str, which: str, label: str, settings: ScorerSettings) -> TextScorer:
    _require(which, "calibrated", "the file that calibrate wrote: calibrated:calibration.json")
    return TextScorer(name, registry.load("scorers", "calibrated")(path=Path(which), settings=settings))


_BUILDERS: dict[str, Callable[[str, str, str, ScorerSettings], TextScorer]] = {
    "profanity": _profanity,
    "hf": _hf,
    "zero_shot": _zero_shot,
    "perspective": _perspective,
    "openai-moderation": _openai,
    "http": _http,
    "cassette": _cassette,
    "calibrated": _calibrated,
}


def _require(which: str, word: str, what: str) -> None:
    if not which:
        raise InputError(f"The scorer '{word}' needs {what}.")
