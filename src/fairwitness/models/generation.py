"""Text generation behind one client, whatever serves it: OpenAI-compatible completions and chat, HyperCLOVA, CLOVA Studio, or a
Hugging Face model in this process.

A `Dialect` knows one service's shape: how a prompt becomes a request, how an answer becomes text and tokens. Sending, retrying,
keeping and counting are service.py's; the local model is in local_generation.py.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from fairwitness.errors import InputError, suggestion
from fairwitness.models.answer_cache import AnswerCache
from fairwitness.models.ledger import Ledger, Usage
from fairwitness.models.service import Answer, Client, Limits, Request, Result, Service, Talk, WrongAnswerError


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One draft to ask for. `sample` tells apart drafts that are meant to differ though they ask the same."""

    text: str
    temperature: float
    top_p: float
    max_tokens: int = 50
    stop: tuple[str, ...] = ("\n",)
    repeat_penalty: float = 5.0
    sample: str = ""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The shape of one kind of service."""

    path: str
    """What its addresses end in; a base address gets it appended."""
    keys: tuple[str, ...]
    """Environment variables that may hold its key, the first that is set wins."""
    headers: Callable[[str], dict[str, str]]
    """The headers that carry a key."""
    body: Callable[[Prompt, str], dict[str, Any]]
    """The request for a prompt and a model's name."""
    text: Callable[[Any], str]
    """The generated text in an answer; raises KeyError, IndexError or TypeError where there is none."""
    tokens: Callable[[Any], tuple[int, int]]
    """Tokens read and written, as the answer says; zeros where it does not."""
    needs_model: bool = True


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a million tokens cost, read and written, in the service's currency."""

    read: float = 0.0
    written: float = 0.0

    def of(self, read: int, written: int) -> float:
        """The cost of so many tokens.

        >>> Price(read=1.0, written=2.0).of(500_000, 250_000)
        1.0
        """
        return (read * self.read + written * self.written) / 1e6


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where text is generated, and by what. The key is never shown, stored or part of what names an answer."""

    url: str
    dialect: str = "auto"
    model: str = ""
    key: str | None = field(default=None, repr=False)
    price: Price = Price()


class RemoteGenerator:
    """Text from a service. Use it as a context manager; `ledger` counts requests, tokens and cost."""

    def __init__(self, endpoint: Endpoint, *, limits: Limits | None = None, cache: AnswerCache | None = None) -> None:
        self.dialect = dialect_of(endpoint)
        self.endpoint = endpoint
        self._client = Client(_service(endpoint, self.dialect), limits=limits, cache=cache)

    def __enter__(self) -> "RemoteGenerator":
        return self

    def __exit__(self, *_failure: object) -> None:
        self._client.close()

    @property
    def ledger(self) -> Ledger:
        """What was asked and spent so far."""
        return self._client.ledger

    @property
    def identity(self) -> dict[str, Any]:
        """What a draft depends on besides its prompt; no secret."""
        return dict(self._client.service.identity)

    def request(self, prompt: Prompt) -> Request:
        """The request for a prompt."""
        return Request(self.dialect.body(prompt, self.endpoint.model), prompt.sample)

    def text(self, prompt: Prompt, answer: Answer) -> str:
        """The completion in an answer: without the prompt where a service echoes it, up to the first stop, stripped."""
        return completion(self.dialect.text(answer.payload), prompt)

    def known(self, requests: Iterable[Request]) -> int:
        """How many of the requests are answered on disk already."""
        return self._client.count_known(requests)[1]

    def converse(self, talks: Iterable[Talk[Result]]) -> Iterator[tuple[int, Result]]:
        """Drive talks that yield requests; see `Client.converse`."""
        return self._client.converse(talks)


def completion(text: str, prompt: Prompt) -> str:
    """What a service wrote after a prompt. An echoed prompt is taken off; nothing is assumed of a service that does not echo.

    >>> completion("Say: hello\\nmore", Prompt(text="Say:", temperature=1, top_p=1))
    'hello'
    >>> completion(" hello", Prompt(text="Say:", temperature=1, top_p=1))
    'hello'
    """
    written = text[len(prompt.text) :] if text.startswith(prompt.text) else text
    written = written.lstrip(" \t\u3000")
    for stop in prompt.stop:
        written = written.partition(stop)[0]
    return written.strip()


def dialect_of(endpoint: Endpoint) -> Dialect:
    """The dialect that an endpoint names, or that its address shows."""
    name = endpoint.dialect
    if name == "auto":
        path = urlsplit(endpoint.url).path.rstrip("/")
        shown = [known for known, dialect in DIALECTS.items() if dialect.path and path.endswith(dialect.path)]
        name = shown[0] if shown else "completions" if path.endswith("/v1") else "hyperclova"
    if name not in DIALECTS:
        raise InputError(
            f"Unknown kind of service '{name}'.{suggestion(name, DIALECTS)} Expected auto or one of: {', '.join(DIALECTS)}."
        )
    dialect = DIALECTS[name]
    if dialect.needs_model and not endpoint.model:
        raise InputError(f"The service at {endpoint.url} needs the name of a model. Give it with --model.")
    return dialect


def key_of(endpoint: Endpoint, dialect: Dialect) -> str | None:
    """The key: given, or from the environment. A service on this machine may need none."""
    return endpoint.key or next((os.environ[name] for name in dialect.keys if os.environ.get(name)), None)


def _service(endpoint: Endpoint, dialect: Dialect) -> Service:
    key = key_of(endpoint, dialect)
    host = urlsplit(endpoint.url).hostname
    if key is None and host not in ("localhost", "127.0.0.1", "::1"):
        raise InputError(f"No API key for {host}. Set {' or '.join(dialect.keys)}.")
    url = endpoint.url.rstrip("/")
    if dialect.path and not urlsplit(url).path.endswith(dialect.path):
        url += dialect.path if url.endswith("/v1") else f"/v1{dialect.path}"
    return Service(
        name=f"The service at {host}",
        url=url,
        identity={"service": url, "model": endpoint.model},
        headers=dialect.headers(key) if key else {},
        check=lambda payload: _check(dialect, payload),
        usage=lambda payload: _usage(dialect, endpoint.price, payload),
    )


def _check(dialect: Dialect, payload: Any) -> None:
    try:
        text = dialect.text(payload)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise WrongAnswerError(f"no text in it ({type(error).__name__} {error})") from error
    if not isinstance(text, str):
        raise WrongAnswerError(f"its text is {type(text).__name__}")


def _usage(dialect: Dialect, price: Price, payload: Any) -> Usage:
    try:
        read, written = dialect.tokens(payload)
    except (KeyError, TypeError, AttributeError):
        return Usage()
    return Usage(tokens=read + written, cost=price.of(read, written))


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def _openai_body(prompt: Prompt, model: str) -> dict[str, Any]:
    return {
        "model": model,
        "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature,
        "top_p": prompt.top_p,
        "stop": list(prompt.stop),
    }


def _openai_tokens(payload: Mapping[str, Any]) -> tuple[int, int]:
    usage = payload.get("usage") or {}
    return int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)


def _message(payload: Any) -> str:
    content = payload["choices"][0]["message"]["content"]
    # A model that stops at once may say null instead of an empty text.
    return "" if content is None else content


def _hyperclova_body(prompt: Prompt, _model: str) -> dict[str, Any]:
    return {
        "text": prompt.text,
        "max_tokens": prompt.max_tokens,
        "repeat_penalty": prompt.repeat_penalty,
        "stop_before": list(prompt.stop),
        "temperature": prompt.temperature,
        "top_p": prompt.top_p,
    }


def _clova_studio_body(prompt: Prompt, _model: str) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": prompt.text}],
        "maxTokens": prompt.max_tokens,
        "repeatPenalty": prompt.repeat_penalty,
        "stopBefore": list(prompt.stop),
        "temperature": prompt.temperature,
        "topP": prompt.top_p,
    }


DIALECTS: dict[str, Dialect] = {
    # The chat address ends in the completions address, so it is looked for first.
    "chat": Dialect(
        path="/chat/completions",
        keys=("FAIRWITNESS_API_KEY", "OPENAI_API_KEY"),
        headers=_bearer,
        body=lambda prompt, model: {**_openai_body(prompt, model), "messages": [{"role": "user", "content": prompt.text}]},
        text=_message,
        tokens=_openai_tokens,
    ),
    "completions": Dialect(
        path="/completions",
        keys=("FAIRWITNESS_API_KEY", "OPENAI_API_KEY"),
        headers=_bearer,
        body=lambda prompt, model: {**_openai_body(prompt, model), "prompt": prompt.text},
        text=lambda payload: payload["choices"][0]["text"],
        tokens=_openai_tokens,
    ),
    "hyperclova": Dialect(
        path="",
        keys=("FAIRWITNESS_API_KEY", "CLOVA_API_KEY"),
        headers=lambda key: {"x-clova-client-id": key},
        body=_hyperclova_body,
        text=lambda payload: payload["text"],
        tokens=lambda payload: (int(payload.get("inputLength") or 0), int(payload.get("outputLength") or 0)),
        needs_model=False,
    ),
    "clova-studio": Dialect(
        path="",
        keys=("FAIRWITNESS_API_KEY", "CLOVA_API_KEY"),
        headers=_bearer,
        body=_clova_studio_body,
        text=lambda payload: payload["result"]["message"]["content"],
        tokens=lambda payload: (int(payload["result"].get("inputLength") or 0), int(payload["result"].get("outputLength") or 0)),
        needs_model=False,
    ),
}
