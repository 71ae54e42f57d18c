"""Calling a remote JSON service as if it were a function: requests in, answers out, in order.

A crew of threads sends; a pacer keeps to the quota; what fails for the moment is tried again, what fails for good is an answer
with its reason; every answer is on disk before it counts. What a service expects and says is described by a `Service`; what its
answers mean is the scorer's or author's business.
"""

import contextlib
import json
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fairwitness.errors import InputError, ServiceError, suggestion
from fairwitness.models.answer_cache import AnswerCache, answer_name
from fairwitness.models.dispatch import Crew
from fairwitness.models.ledger import Ledger, Usage
from fairwitness.models.pacing import Pacer
from fairwitness.models.redaction import redact
from fairwitness.models.retries import Next, Patience, by_status
from fairwitness.models.wire import Outcome, Wire, WrongAnswerError, check_address

__all__ = ["Answer", "Client", "Limits", "Request", "Service", "Talk", "WrongAnswerError", "check_address"]

ASK = ("once", "again")
IN_DOUBT = (
    "in doubt: it was on its way when an earlier run was killed, so it may have been answered and paid for. "
    "--ask again asks it once more"
)


class _StoppedError(Exception):
    """Another request failed for all; this one was not sent."""


@dataclass(frozen=True)
class Request:
    """One thing to ask. `sample` tells apart repetitions that are meant to differ (several drafts from one prompt)."""

    body: Mapping[str, Any]
    sample: str = ""


@dataclass(frozen=True)
class Answer:
    """The service's JSON, or the reason why there is none: exactly one of `payload` and `error` is set."""

    payload: Any
    error: str | None = None
    cached: bool = False
    attempts: int = 0


Result = TypeVar("Result")
Talk = Generator[Sequence[Request], Sequence[Answer] | None, Result]
"""A conversation: requests out, their answers in, and so on until it returns."""


@dataclass
class _Job:
    """One request on its way: what is sent, how often it was tried, and where its answer goes."""

    name: str
    body: bytes
    future: Future[Answer] = field(default_factory=Future)
    attempts: int = 0
    failures: int = 0
    answered_elsewhere: int = -1

    def failures_that_count(self, answered: int, *, refused: bool) -> int:
        """How many failures the next wait doubles by. While the service answers others it needs no rest, only this request did not
        get through; so a failure counts alone then, unless the service itself said "too many"."""
        alone = not refused and answered != self.answered_elsewhere
        self.failures = 1 if alone else self.failures + 1
        self.answered_elsewhere = answered
        return self.failures


@dataclass
class _Going:
    """A talk under way: what it has asked, and how many of those are still open."""

    generator: Generator[Sequence[Request], Any, Any]
    asked: list[Future[Answer]] | None = None
    open: int = 0


def _accept(_payload: Any) -> None:
    """Any JSON will do."""


def _no_usage(_payload: Any) -> Usage:
    return Usage()


def _by_status(status: int, _payload: Any) -> Next:
    return by_status(status)


@dataclass(frozen=True, kw_only=True)
class Service:
    """A JSON-over-POST service: where it is, how to ask it, how to read its refusals. Secrets live in `headers` and `params`."""

    name: str
    """What people call it; it opens every error message."""
    url: str
    """Where requests are posted, without any secret."""
    identity: Mapping[str, Any]
    """What an answer depends on besides the body (service, version), as JSON values, never a secret. It names kept answers."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with each request; may hold secrets."""
    params: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Put behind the address of each request; may hold secrets."""
    check: Callable[[Any], None] = _accept
    """Raises WrongAnswerError when a payload is not what was asked for."""
    judge: Callable[[int, Any], Next] = _by_status
    """What a status and its body mean."""
    usage: Callable[[Any], Usage] = _no_usage
    """Tokens and cost of an answer."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How hard a service may be pressed. Nothing here changes an answer."""

    workers: int = 16
    """Requests in flight at once."""
    per_minute: int | None = None
    """Requests a minute at most; unset = no limit."""
    qps: float | None = None
    """Requests a second at most, evenly spread; unset = no limit."""
    timeout_s: float = 30.0
    """How long to wait for one answer."""
    minute_s: float = 60.0
    """Seconds in the service's minute; only tests change it."""
    patience: Patience = field(default_factory=Patience)
    """How often to try, and how long to wait in between."""
    ask: str = "once"
    """What becomes of a request that was in flight when an earlier run was killed: `once` leaves it, with that reason, because it
    may have been answered and paid for; `again` asks it once more."""

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be asked, before a request is noted as sent."""
        if self.workers < 1 or not 0 < self.timeout_s < float("inf"):
            raise InputError(
                f"{self.workers} requests at once, {self.timeout_s:g} s each: at least 1 and more than 0 s are needed."
            )


def check_ask(ask: str) -> None:
    """Refuse a value of `Limits.ask` that there is not."""
    if ask not in ASK:
        raise InputError(f"--ask {ask} is neither once nor again.{suggestion(ask, ASK)}")


class Client:
    """Calls one service. Use it as a context manager, or `close` it; `ledger` says what was asked and spent."""

    def __init__(self, service: Service, *, limits: Limits | None = None, cache: AnswerCache | None = None) -> None:
        self.service, self.limits, self.cache = service, limits or Limits(), cache
        self.ledger = Ledger()
        self._stop = threading.Event()
        self._fatal: Exception | None = None
        self._wire = Wire(service, self.limits.timeout_s)
        self._pacer: Pacer | None = None
        self._crew: Crew[_Job] | None = None
        self._doubtful: set[str] = set()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._stop.set()
        self._wire.close()

    def name_of(self, request: Request) -> str:
        """The name under which the answer to this request is kept."""
        return answer_name(self.service.identity, request.body, request.sample)

    def count_known(self, requests: Iterable[Request]) -> tuple[int, int]:
        """How many different requests there are, and how many of them are answered on disk already."""
        names = list({self.name_of(request) for request in requests})
        return len(names), len(self.cache.known(names)) if self.cache else 0

    def call(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Answers in the order of the requests, as they become available.

        Equal requests are sent once. A refusal that no other request would escape (a wrong key) raises ServiceError at once; the
        answers already received stay on disk, and those in flight are still waited for and kept.
        """
        waiting: deque[Future[Answer]] = deque()
        with self._sending() as submit:
            # Enough are handed out to keep every thread busy while the oldest one is being tried again.
            for request in requests:
                waiting.append(submit(request))
                if len(waiting) >= 64 * self.limits.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def converse(self, talks: Iterable[Talk[Result]]) -> Iterator[tuple[int, Result]]:
        """Drive many talks at once and yield (number of the talk, what it returned) as each ends.

        A talk is a generator: it yields the requests it wants answered, is sent their answers in that order, and may then ask
        further ones that depend on them. Talks wait for their own answers only, never for one another. Errors are as in `call`.
        """
        finished: queue.SimpleQueue[int] = queue.SimpleQueue()
        fresh = enumerate(talks)
        going: dict[int, _Going] = {}
        with self._sending() as submit:
            while True:
                while len(going) < 8 * self.limits.workers and (new := next(fresh, None)) is not None:
                    yield from self._go_on(new[0], _Going(new[1]), going, submit, finished)
                if not going:
                    return
                number = finished.get()
                going[number].open -= 1
                if going[number].open == 0:
                    yield from self._go_on(number, going.pop(number), going, submit, finished)

    def _go_on(
        self,
        number: int,
        talk: "_Going",
        going: "dict[int, _Going]",
        submit: Callable[[Request], Future[Answer]],
        finished: "queue.SimpleQueue[int]",
    ) -> Iterator[tuple[int, Any]]:
        """Give a talk the answers it waited for, and hand out what it asks next; yield its result when it has ended."""
        answers = [future.result() for future in talk.asked] if talk.asked is not None else None
        try:
            requests = talk.generator.send(answers)
        except StopIteration as end:
            yield number, end.value
            return
        talk.asked = [submit(request) for request in requests]
        talk.open = max(1, len(talk.asked))
        going[number] = talk
        for future in talk.asked:
            future.add_done_callback(lambda _: finished.put(number))
        if not talk.asked:
            finished.put(number)

    @contextlib.contextmanager
    def _sending(self) -> Iterator[Callable[[Request], "Future[Answer]"]]:
        """A crew of threads while the block runs, as a function that hands one request to it."""
        self._start()
        twins: dict[str, Future[Answer]] = {}
        crew = self._crew = Crew(self._work, self.limits.workers)
        try:
            yield lambda request: self._submit(crew, twins, request)
        except _StoppedError:
            assert self._fatal is not None
            raise self._fatal from None
        finally:
            self._stop.set()
            for job in crew.end():
                job.future.cancel()

    def _start(self) -> None:
        check_address(self.service.url)
        limits = self.limits
        check_ask(limits.ask)
        self._stop.clear()
        self._fatal = None
        if self._pacer is not None:
            return
        self._pacer = Pacer(per_minute=limits.per_minute, qps=limits.qps, minute_s=limits.minute_s)
        if self.cache is not None:
            recent = self.cache.recent_starts(self.service.url, limits.minute_s)
            if limits.per_minute is not None:
                self._pacer.seed(recent)
            if limits.ask == "once":
                self._doubtful = self.cache.in_doubt()

    def _submit(self, crew: "Crew[_Job]", twins: dict[str, Future[Answer]], request: Request) -> Future[Answer]:
        name = self.name_of(request)
        twin = twins.get(name)
        if twin is not None:
            self.ledger.add_cached()
            return twin
        stored = self.cache.get(name) if self.cache else None
        if stored is not None:
            self.ledger.add_cached(name, self.service.usage(stored.payload) if stored.error is None else None)
            return _settled(Answer(stored.payload, stored.error, cached=True))
        if name in self._doubtful:
            self.ledger.add(failed=1)
            return _settled(Answer(None, IN_DOUBT))
        job = _Job(name, json.dumps(request.body).encode())
        twins[name] = job.future
        job.future.add_done_callback(lambda _: twins.pop(name, None))
        crew.add(job)
        return job.future

    def _work(self, job: _Job) -> float | None:
        """One try of a job, in a thread of the crew. What must stop everything is noted once; all others then end as stopped."""
        try:
            outcome = self._try(job)
            return self._settle(job, outcome)
        except Exception as error:  # noqa: BLE001 - it is raised where the answers are awaited
            if not isinstance(error, _StoppedError):
                self._fatal = self._fatal or error
                self._stop.set()
                if self._crew is not None:
                    self._crew.hurry()
            job.future.set_exception(_StoppedError())
            return None

    def _settle(self, job: _Job, outcome: Outcome) -> float | None:
        """What a try means for its job: an answer, or the seconds until the next try."""
        patience = self.limits.patience
        if outcome.step is Next.TAKE:
            self.ledger.add_answer(job.name, self.service.usage(outcome.payload))
            job.future.set_result(Answer(outcome.payload, attempts=job.attempts))
            return None
        if outcome.step is Next.STOP:
            raise ServiceError(f"{self.service.name}: {outcome.failure}")
        if outcome.step is Next.RETRY and job.attempts < patience.attempts:
            return patience.wait(job.failures_that_count(self.ledger.answered, refused=outcome.refused), outcome.retry_after_s)
        self.ledger.add(failed=1)
        failure = outcome.failure
        if outcome.step is Next.RETRY:
            failure = f"{failure} (tried {job.attempts} times)"
            # A service that has never answered and was given up three times will not answer the next thousand either.
            if self.ledger.answered == 0 and self.ledger.failed >= 3:
                where = redact(self.service.url)
                raise ServiceError(f"{self.service.name}: {failure}. Nothing was answered so far; is {where} right?")
        job.future.set_result(Answer(None, failure, attempts=job.attempts))
        return None

    def _try(self, job: _Job) -> Outcome:
        """Send once. It is noted before, and what is final is kept before the place in flight is given up: after a kill it is known
        of every request that it was answered, that it was not sent, or that it was on its way."""
        assert self._pacer is not None
        if not self._pacer.acquire(self._stop):
            raise _StoppedError
        number = self.cache.note_sent(self.service.url, job.name) if self.cache is not None else 0
        job.attempts += 1
        self.ledger.add(calls=1, retries=int(job.attempts > 1))
        outcome = Outcome(Next.RETRY)
        try:
            outcome = self._wire.post(job.body)
            self._pacer.heard(refused=outcome.refused)
            if self.cache is not None:
                if outcome.step in (Next.TAKE, Next.GIVE_UP):
                    self.cache.put(job.name, self.service.name, outcome.payload, outcome.failure or None, number=number)
                else:
                    self.cache.note_heard(number)
        finally:
            self._pacer.release()
        if outcome.refused and outcome.retry_after_s is not None:
            self._pacer.hold(self.limits.patience.wait(job.attempts, outcome.retry_after_s))
        return outcome


def _settled(answer: Answer) -> Future[Answer]:
    future: Future[Answer] = Future()
    future.set_result(answer)
    return future
