"""OpenAI's moderation endpoint as a scorer: the largest of its category scores, and every category as a column."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from fairwitness.errors import InputError, listing, suggestion
from fairwitness.models.retries import Next, Patience, by_status
from fairwitness.models.service import Limits, Request, Service
from fairwitness.scorers.service_scorer import ROWS_PER_PART, ServiceCalls, as_wrong_answer, key_from


@dataclass(frozen=True, kw_only=True)
class OpenAIModeration:
    """`category` picks one category ("hate", "harassment"); unset, the score is the largest of all."""

    stays_here: ClassVar[bool] = True  # one process keeps to the quota and holds the key

    model: str = "omni-moderation-latest"
    category: str = ""
    qps: float | None = None
    workers: int = 8
    timeout_s: float = 30.0
    attempts: int = 8
    backoff_s: float = 0.5
    ask: str = "once"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on."""
        return {"scorer": "openai-moderation/1", "url": self.address, "model": self.model, "category": self.category}

    @property
    def rows_per_part(self) -> int:
        """Small parts; each answer is on disk before that anyway."""
        return ROWS_PER_PART

    @property
    def address(self) -> str:
        """The moderation endpoint under OPENAI_BASE_URL."""
        return f"{os.environ.get('OPENAI_BASE_URL', 'https://api.openai.com/v1').rstrip('/')}/moderations"

    @cached_property
    def calls(self) -> ServiceCalls:
        """The client, made when first needed: only then must there be a key."""
        key = key_from("OPENAI_API_KEY", "OpenAI")
        service = Service(
            name="OpenAI moderation",
            url=self.address,
            identity={"service": "openai-moderation", "url": self.address},
            headers={"Authorization": f"Bearer {key}"},
            check=_check,
            judge=judge,
        )
        patience = Patience(attempts=self.attempts, backoff_s=self.backoff_s)
        limits = Limits(workers=self.workers, qps=self.qps, timeout_s=self.timeout_s, patience=patience, ask=self.ask)
        return ServiceCalls(service, limits)

    def request(self, text: str) -> Request | str:
        """What is asked about a text."""
        return Request({"model": self.model, "input": text})

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """`score`, one column a category, the model that answered, `error`."""
        answers = list(self.calls.rows([self.request(text) for text in items]))
        found = [{} if payload is None else payload["results"][0]["category_scores"] for payload, _ in answers]
        names = sorted({name for scores in found for name in scores})
        if self.category and names and self.category not in names:
            near = suggestion(self.category, names)
            raise InputError(f"The moderation answer has no category '{self.category}'. It has: {listing(names)}.{near}")
        return {
            "score": [_pick(scores, self.category) for scores in found],
            **{name: [scores.get(name) for scores in found] for name in names},
            "answered_by": [None if payload is None else payload.get("model") for payload, _ in answers],
            "error": [error for _, error in answers],
        }


def judge(status: int, payload: Any) -> Next:
    """A spent budget comes as a 429 that no waiting helps."""
    return Next.STOP if status == 429 and "insufficient_quota" in str(payload) else by_status(status)


def _check(payload: Any) -> None:
    with as_wrong_answer():
        scores = payload["results"][0]["category_scores"]
        if not scores or not all(0 <= float(value) <= 1 for value in scores.values()):
            raise ValueError("category_scores are missing or outside [0, 1]")


def _pick(scores: dict[str, float], category: str) -> float | None:
    if not scores:
        return None
    return float(scores[category]) if category else float(max(scores.values()))
