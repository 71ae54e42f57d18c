"""What an answer of a service means for the next step: take it, try again, give this request up, or stop everything.

stamina is not used: it waits by its own schedule alone, while here the wait may be the service's own (`Retry-After`), and one
refusal must be able to hold all threads at once. The schedule is the same: exponential, with full jitter.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any


class Next(Enum):
    """The next step."""

    TAKE = "take"
    RETRY = "retry"
    GIVE_UP = "give up"
    STOP = "stop"


# 401-405: key, payment, rights, address. 410: the service has ended. No other request would fare better.
_STOP = {401, 402, 403, 404, 405, 407, 410}
_RETRY = {408, 409, 425, 429}


def by_status(status: int) -> Next:
    """The usual meaning of an HTTP status.

    >>> by_status(429).value, by_status(400).value, by_status(403).value, by_status(503).value
    ('retry', 'give up', 'stop', 'retry')
    """
    if 200 <= status < 300:
        return Next.TAKE
    if status in _RETRY or status >= 500:
        return Next.RETRY
    return Next.STOP if status in _STOP or status < 400 else Next.GIVE_UP


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How often to try, and how long to wait in between."""

    attempts: int = 8
    """How often one request is sent at most."""
    backoff_s: float = 0.5
    """The longest first wait; it doubles with each failure in which the service answers nobody or says "too many". A wait is drawn
    evenly between nothing and that."""
    longest_wait_s: float = 60.0
    """No wait of our own is longer. A Retry-After up to ten times this is honoured."""

    def wait(self, failures: int, retry_after_s: float | None) -> float:
        """Seconds to wait after so many failures: the service's own wish where it named one, else full jitter."""
        if retry_after_s is not None:
            return min(retry_after_s, 10 * self.longest_wait_s)
        return random.uniform(0, min(self.longest_wait_s, self.backoff_s * 2 ** min(failures - 1, 30)))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that `Retry-After` asks for, given as seconds or as a date; None where it is absent or unreadable.

    >>> retry_after({"retry-after": "3"}, 0.0)
    3.0
    """
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def reason(status: int, payload: Any) -> str:
    """What an error body says, in one line: its type, and its message.

    >>> reason(400, {"error": {"message": "Too long.", "details": [{"errorType": "COMMENT_TOO_LONG"}]}})
    'HTTP 400 COMMENT_TOO_LONG: Too long.'
    >>> reason(502, "<html>")
    'HTTP 502'
    """
    error = payload.get("error") if isinstance(payload, dict) else None
    if isinstance(error, str):
        return f"HTTP {status}: {_short(error)}"
    if not isinstance(error, dict):
        return f"HTTP {status}"
    names = [detail.get("errorType") or detail.get("reason") for detail in error.get("details") or [] if isinstance(detail, dict)]
    names += [error.get("code"), error.get("type"), error.get("status")]
    name = next((f" {name}" for name in names if isinstance(name, str) and name), "")
    message = error.get("message")
    return f"HTTP {status}{name}" + (f": {_short(message)}" if isinstance(message, str) and message else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
