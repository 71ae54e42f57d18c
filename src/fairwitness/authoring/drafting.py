"""Drafting several texts about one thing: ask, look whether it is new, warm up and ask again where it is not.

One such chain is a talk with the service (see `Client.converse`); hundreds of them go on at once, and each is decided by its own
answers alone. So what comes out depends neither on the order of answers nor on a kill in between.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairwitness.authoring.sampling import Sampling, duplicate_of
from fairwitness.authoring.services import TextGenerator
from fairwitness.models.generation import Prompt
from fairwitness.models.service import Answer, Talk

# (place of the draft, retry) → the prompt, and what the draft is about (which goes into its row)
Ask = Callable[[int, int], tuple[Prompt, Mapping[str, Any]]]


@dataclass(frozen=True)
class Draft:
    """One text that a service wrote (or failed to write): its place, the retry it came at, and why it was rejected, if it was."""

    place: int
    retry: int
    text: str
    about: Mapping[str, Any]
    temperature: float
    top_p: float
    reason: str | None = None
    like: str | None = None


@dataclass
class Drafts:
    """The drafts of one chain: accepted ones in the order of their places, rejected ones in the order they came."""

    accepted: list[Draft] = field(default_factory=list)
    rejected: list[Draft] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """How many places are empty because the service failed, not because of what it wrote."""
        return sum(draft.reason is not None and draft.reason.startswith("failed") for draft in self.rejected)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How many drafts, and when one is accepted."""

    number: int
    at_once: int
    sampling: Sampling
    near_duplicate: float
    before: Callable[[], None] = lambda: None
    """Called before each round of requests; may raise to stop everything (the budget)."""


def draft_chain(generator: TextGenerator, ask: Ask, rules: Rules) -> Talk[Drafts]:
    """Draft `rules.number` different texts; `rules.at_once` places are asked for together and decided in order.

    A duplicate is rejected and its place asked for again, warmer, up to `retry_tolerance` times. An empty text is an answer: it is
    rejected and uses up its place, as published.
    """
    done = Drafts()
    for start in range(0, rules.number, rules.at_once):
        pending = [(place, 0) for place in range(start, min(start + rules.at_once, rules.number))]
        while pending:
            rules.before()
            asked = [(place, retry, *ask(place, retry)) for place, retry in pending]
            answers = yield [generator.request(prompt) for _, _, prompt, _ in asked]
            pending = list(_decide(generator, rules, done, asked, answers or []))
    done.accepted.sort(key=lambda draft: draft.place)
    return done


def _decide(
    generator: TextGenerator,
    rules: Rules,
    done: Drafts,
    asked: Sequence[tuple[int, int, Prompt, Mapping[str, Any]]],
    answers: Sequence[Answer],
) -> Iterator[tuple[int, int]]:
    """File each answer as accepted or rejected; yield the places to ask for again."""
    for (place, retry, prompt, about), answer in zip(asked, answers, strict=True):
        text = "" if answer.error else generator.text(prompt, answer)
        reason, like = _verdict(text, answer, done, rules)
        draft = Draft(place, retry, text, about, prompt.temperature, prompt.top_p, reason, like)
        if reason is None:
            done.accepted.append(draft)
            continue
        done.rejected.append(draft)
        if like is not None and retry < rules.sampling.retry_tolerance:
            yield place, retry + 1


def _verdict(text: str, answer: Answer, done: Drafts, rules: Rules) -> tuple[str | None, str | None]:
    if answer.error:
        return f"failed: {answer.error}", None
    if not text:
        return "empty", None
    same = duplicate_of(text, (draft.text for draft in done.accepted), rules.near_duplicate)
    return same or (None, None)
