"""The options of everything that asks a text-generation service, and the service they describe, opened.

A key is taken from `--api_key` or the environment, put into the request's headers, and into nothing else.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

from fairwitness.authoring.sampling import Sampling
from fairwitness.errors import InputError, RunError
from fairwitness.models.answer_cache import AnswerCache
from fairwitness.models.generation import Endpoint, Price, Prompt, RemoteGenerator, dialect_of
from fairwitness.models.ledger import Ledger
from fairwitness.models.retries import Patience
from fairwitness.models.service import Answer, Limits, Request, Result, Talk
from fairwitness.options import Options

LOCAL = "local"


@dataclass(frozen=True, kw_only=True)
class GenerationConfig(Options):
    """Which service drafts, how it samples, how hard it may be pressed."""

    api_url: str = LOCAL
    """Address of the service (`http://host/v1/completions`, HyperCLOVA's, …), or 'local' for a model in this process."""
    api_key: str | None = field(default=None, repr=False)
    """Its key. Better in the environment: OPENAI_API_KEY, CLOVA_API_KEY or FAIRWITNESS_API_KEY. Never stored or logged."""
    api: str = "auto"
    """Kind of service: completions, chat, hyperclova, clova-studio; 'auto' reads it off the address."""
    model: str = ""
    """Model that the service is asked for; for 'local' a built-in name (smollm2), a Hugging Face name or a folder."""
    schema: str = "kosbi"
    """Which dataset is authored: kosbi, square, or a schema file of your own (TOML)."""
    language: str = "ko"
    """Language of the prompts: ko or en."""
    max_tokens: int = 50
    """Longest draft, in tokens."""
    repeat_penalty: float = 5.0
    """Penalty on repetition; only HyperCLOVA and CLOVA Studio know it."""
    temperature: float = 0.5
    """Temperature of the first attempt."""
    max_temperature: float = 1.0
    """Temperature that repeated duplicates warm up to."""
    top_p: float = 0.8
    """Top-p of the first attempt."""
    max_top_p: float = 0.95
    """Top-p that repeated duplicates widen to."""
    retry_tolerance: int = 10
    """How often a duplicate is drafted again before its place is given up."""
    near_duplicate: float = 0.9
    """Similarity from which a draft counts as a near-duplicate; above 1 only exact ones count."""
    seed: int = 42
    """Seed of all choices: demonstrations and words for a group."""
    concurrency: int = 8
    """Requests in flight at once."""
    drafts_at_once: int | None = None
    """Drafts of one group (or context) asked for together; by default just enough to keep the requests in flight up."""
    timeout_s: float = 60.0
    """How long to wait for one answer."""
    attempts: int = 8
    """How often a request that failed for the moment is sent, with growing, jittered waits."""
    backoff_s: float = 0.5
    """The longest first wait before trying again; it doubles."""
    ask: str = "once"
    """A draft that was on its way when an earlier run was killed: once leaves its place empty, again asks (and pays) once more."""
    price_read: float = 0.0
    """Price of a million tokens read, for the ledger."""
    price_written: float = 0.0
    """Price of a million tokens written, for the ledger."""
    max_cost: float | None = None
    """Stop before more than this is spent on these drafts, earlier runs included (needs prices)."""
    cache: Path | None = None
    """File that keeps paid answers; by default in the user cache."""
    restart: bool = False
    """Start over beside results of another question."""

    @property
    def sampling(self) -> Sampling:
        """The part of it that the sampling follows."""
        names = [one.name for one in fields(Sampling)]
        return Sampling(**{name: getattr(self, name) for name in names})

    @property
    def price(self) -> Price:
        """The price list."""
        return Price(read=self.price_read, written=self.price_written)


class TextGenerator(Protocol):
    """What drafting needs of a generator, remote or local."""

    @property
    def ledger(self) -> Ledger: ...
    @property
    def identity(self) -> dict[str, Any]: ...
    def request(self, prompt: Prompt) -> Request: ...
    def text(self, prompt: Prompt, answer: Answer) -> str: ...
    def known(self, requests: Iterable[Request]) -> int: ...
    def converse(self, talks: Iterable[Talk[Result]]) -> Iterator[tuple[int, Result]]: ...


def open_generator(config: GenerationConfig) -> AbstractContextManager[TextGenerator]:
    """The generator that a config describes. Nothing is sent yet."""
    cache = AnswerCache(config.cache)
    if config.api_url == LOCAL:
        from fairwitness.models.local_generation import LocalGenerator

        return LocalGenerator(config.model or "smollm2", cache=cache)
    patience = Patience(attempts=config.attempts, backoff_s=config.backoff_s)
    limits = Limits(workers=config.concurrency, timeout_s=config.timeout_s, patience=patience, ask=config.ask)
    return RemoteGenerator(_endpoint(config), limits=limits, cache=cache)


def check(config: GenerationConfig) -> None:
    """Refuse settings that cannot mean anything."""
    at_least_one = ("max_tokens", "concurrency", "attempts")
    for name in at_least_one:
        if getattr(config, name) < 1:
            raise InputError(f"--{name} is {getattr(config, name)}; at least 1 was expected.")
    # A number that is none compares as false with everything, so that no limit below would notice it.
    for name, value in vars(config).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"--{name} is {value:g}; a finite number was expected.")
    if config.timeout_s <= 0 or config.backoff_s < 0:
        raise InputError("--timeout_s must be above 0, and --backoff_s must not be negative.")
    if config.retry_tolerance < 0 or config.temperature < 0 or not 0 < config.top_p <= 1:
        raise InputError("--retry_tolerance and --temperature must not be negative, and --top_p must be above 0 and at most 1.")
    if config.max_cost is not None and not (config.price_read or config.price_written):
        raise InputError("--max_cost needs the prices of a million tokens: --price_read and --price_written.")
    if config.api_url != LOCAL:
        dialect_of(_endpoint(config))


def _endpoint(config: GenerationConfig) -> Endpoint:
    return Endpoint(url=config.api_url, dialect=config.api, model=config.model, key=config.api_key, price=config.price)


def drafts_at_once(config: GenerationConfig, talks: int) -> int:
    """How many drafts of one group are asked for together: 1 as published, more only where there are fewer groups than places."""
    if config.drafts_at_once is not None:
        return max(1, config.drafts_at_once)
    if config.concurrency == 1:
        return 1
    # Four times as many as there are places: some wait before they are tried again, and groups do not end at the same moment.
    return max(1, math.ceil(4 * config.concurrency / max(1, talks)))


def budget_line(config: GenerationConfig, prompts: Sequence[Prompt], known: int) -> str:
    """What is about to be asked, and about what it may cost, in one line. Tokens are guessed: three bytes each.

    The guess is for one attempt per draft; duplicates that are drafted again come on top.
    """
    new = max(0, len(prompts) - known)
    share = new / len(prompts) if prompts else 0.0
    read = int(sum(len(prompt.text.encode()) for prompt in prompts) / 3 * share)
    written = sum(prompt.max_tokens for prompt in prompts[: max(1, new)]) if new else 0
    where = config.api_url if config.api_url != LOCAL else f"the model {config.model or 'smollm2'} in this process"
    cost = config.price.of(read, written)
    money = f", at most about {cost:,.2f} at the given prices" if cost else ""
    if config.max_cost is not None and cost > config.max_cost:
        raise RunError(f"This may cost about {cost:,.2f}, more than --max_cost {config.max_cost:,.2f}. Raise it, or ask for less.")
    return f"{len(prompts):,} drafts from {where}: {known:,} answered already, {new:,} to ask (~{read + written:,} tokens{money})."


def check_budget(config: GenerationConfig, ledger: Ledger) -> None:
    """Stop when more was spent than allowed. What was paid for stays in the cache."""
    spent = ledger.cost + ledger.cost_before
    if config.max_cost is not None and spent > config.max_cost:
        raise RunError(
            f"{spent:,.4f} were spent, more than --max_cost {config.max_cost:,.4f}. "
            "Raise it and run the same command again: it goes on where it stopped, at no further cost for what is there."
        )
