"""Google's Perspective API, for as long as it is served (until 31 December 2026), and for whatever speaks its language afterwards.

Facts used: the address, the request and response of `comments:analyze` v1alpha1; 20,480 bytes of UTF-8 at most; 60 requests a
minute by default; 400 with an `errorType` is for good, 429 and 5xx for the moment, 403 for everything.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from fairwitness.errors import InputError, listing, suggestion
from fairwitness.models.retries import Next, Patience, by_status
from fairwitness.models.service import Limits, Request, Service
from fairwitness.scorers.service_scorer import ROWS_PER_PART, ServiceCalls, as_wrong_answer, key_from, number_at

URL = "https://commentanalyzer.googleapis.com/v1alpha1/comments:analyze"
LIMIT_BYTES = 20_480
ATTRIBUTES = ("TOXICITY", "SEVERE_TOXICITY", "IDENTITY_ATTACK", "INSULT", "PROFANITY", "THREAT")


@dataclass(frozen=True, kw_only=True)
class Perspective:
    """Perspective's probability for the first attribute; further attributes are columns of their own.

    The key comes from PERSPECTIVE_API_KEY alone. A text over the byte limit is unscorable, unless `truncate`.
    """

    stays_here: ClassVar[bool] = True  # one process keeps to the quota and holds the key

    attributes: tuple[str, ...] = ("TOXICITY",)
    languages: tuple[str, ...] = ("en",)
    do_not_store: bool = True
    truncate: bool = False
    qps: float | None = None
    url: str = ""
    workers: int = 16
    timeout_s: float = 30.0
    minute_s: float = 60.0
    attempts: int = 8
    backoff_s: float = 0.5
    ask: str = "once"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on. The service names no version of its models; cassettes keep the date instead."""
        if not self.attributes:
            raise InputError(f"Perspective needs an attribute to score: one of {listing(ATTRIBUTES)}.")
        for name in self.attributes:
            if name not in ATTRIBUTES and "EXPERIMENTAL" not in name and suggestion(name, ATTRIBUTES):
                raise InputError(f"Unknown attribute '{name}'.{suggestion(name, ATTRIBUTES)}")
        return {
            "scorer": "perspective/1",
            "url": self.address,
            "attributes": list(self.attributes),
            "languages": list(self.languages),
            "truncate": self.truncate,
        }

    @property
    def rows_per_part(self) -> int:
        """Small parts; each answer is on disk before that anyway."""
        return ROWS_PER_PART

    @property
    def address(self) -> str:
        """Where requests go: the field, else PERSPECTIVE_API_URL, else Google."""
        return self.url or os.environ.get("PERSPECTIVE_API_URL", "") or URL

    @property
    def rate(self) -> float:
        """Requests a second: the field, else PERSPECTIVE_API_QPS, else the default quota of 1."""
        if self.qps is not None:
            rate = self.qps
        else:
            text = os.environ.get("PERSPECTIVE_API_QPS", "1")
            try:
                rate = float(text)
            except ValueError:
                raise InputError(f"PERSPECTIVE_API_QPS is '{text}'; a number of requests a second was expected.") from None
        if not rate > 0:
            raise InputError(f"--qps is {rate:g}; it must be more than 0.")
        return rate

    @cached_property
    def limits(self) -> Limits:
        """The quota by minute, spread evenly over it."""
        patience = Patience(attempts=self.attempts, backoff_s=self.backoff_s)
        per_minute = max(1, int(self.rate * self.minute_s))
        return Limits(
            workers=self.workers,
            per_minute=per_minute,
            qps=self.rate,
            timeout_s=self.timeout_s,
            minute_s=self.minute_s,
            patience=patience,
            ask=self.ask,
        )

    @cached_property
    def calls(self) -> ServiceCalls:
        """The client, made when first needed: only then must there be a key."""
        key = key_from("PERSPECTIVE_API_KEY", "Perspective")
        identity = {"service": "perspective", "url": self.address}
        service = Service(
            name="Perspective", url=self.address, identity=identity, params={"key": key}, check=self._check, judge=judge
        )
        return ServiceCalls(service, self.limits)

    def request(self, text: str) -> Request | str:
        """What is asked about a text, or why it cannot be asked."""
        data = text.encode("utf-8", "replace")
        if len(data) > LIMIT_BYTES:
            if not self.truncate:
                return f"COMMENT_TOO_LONG: {len(data):,} bytes; the limit is {LIMIT_BYTES:,}"
            text = cut_bytes(text, LIMIT_BYTES)
        return Request(
            {
                "comment": {"text": text, "type": "PLAIN_TEXT"},
                "requestedAttributes": {name: {} for name in self.attributes},
                **({"languages": list(self.languages)} if self.languages else {}),
                "doNotStore": self.do_not_store,
            }
        )

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """`score` (the first attribute), a column for each further attribute, `error`."""
        columns: dict[str, list[Any]] = {name: [] for name in ("score", *map(str.lower, self.attributes[1:]), "error")}
        for payload, error in self.calls.rows([self.request(text) for text in items]):
            for index, name in enumerate(self.attributes):
                value = None if payload is None else self._value(payload, name)
                columns["score" if index == 0 else name.lower()].append(value)
            columns["error"].append(error)
        return columns

    def _value(self, payload: Any, attribute: str) -> float:
        return number_at(payload, ("attributeScores", attribute, "summaryScore", "value"))

    def _check(self, payload: Any) -> None:
        with as_wrong_answer():
            for name in self.attributes:
                value = self._value(payload, name)
                if not 0 <= value <= 1:
                    raise ValueError(f"{name} is {value}, outside [0, 1]")


def judge(status: int, payload: Any) -> Next:
    """Perspective's refusals: a key that Google does not know comes as a 400, and must stop everything."""
    if status == 400 and "API_KEY_INVALID" in str(payload):
        return Next.STOP
    return by_status(status)


def cut_bytes(text: str, limit: int) -> str:
    """The longest beginning of a text that has at most `limit` bytes of UTF-8, never half a character.

    >>> cut_bytes("aüü", 4)
    'aü'
    """
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
