"""What every scorer over a remote service shares: a client with the cache, and answers turned into rows with their errors."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fairwitness.errors import ServiceError
from fairwitness.models.answer_cache import AnswerCache
from fairwitness.models.ledger import Ledger
from fairwitness.models.service import Client, Limits, Request, Service

ROWS_PER_PART = 256


class ServiceCalls:
    """The calls of one scorer: one client for all parts, so that the quota and the ledger span the run."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.client = Client(service, limits=limits, cache=AnswerCache())

    @property
    def ledger(self) -> Ledger:
        """What was asked and spent so far."""
        return self.client.ledger

    def rows(self, requests: Sequence[Request | str]) -> Iterator[tuple[Any, str | None]]:
        """Payload or error for each request, in order. A string instead of a request is an error that needs no asking."""
        answers = self.client.call(request for request in requests if isinstance(request, Request))
        for request in requests:
            if isinstance(request, str):
                yield None, request
            else:
                answer = next(answers)
                yield answer.payload, answer.error

    def budget(self, requests: Sequence[Request | str]) -> tuple[int, int]:
        """Different requests, and those answered on disk already."""
        return self.client.count_known(request for request in requests if isinstance(request, Request))


def key_from(variable: str, service: str) -> str:
    """The key, from the environment alone."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ServiceError(f"No API key for {service}. Set {variable}.")
    return key


def number_at(payload: Any, path: Sequence[str | int]) -> float:
    """The number at a path in a payload. Raises KeyError, IndexError, TypeError or ValueError where there is no finite one."""
    for step in path:
        payload = payload[step] if not isinstance(payload, Mapping) else payload[str(step)]
    if isinstance(payload, bool) or not isinstance(payload, int | float):
        raise TypeError(f"{'.'.join(map(str, path))} is not a number")
    # A whole number of a service may have more digits than a float has room for.
    if not -1e300 < payload < 1e300:
        raise ValueError(f"{'.'.join(map(str, path))} is not a finite number")
    return float(payload)


@contextmanager
def as_wrong_answer() -> Iterator[None]:
    """Turn the failures of reading a payload into the error that makes the client try again."""
    from fairwitness.models.service import WrongAnswerError

    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise WrongAnswerError(f"{type(error).__name__}: {error}") from error
