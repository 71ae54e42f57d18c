"""Calling a remote JSON service as if it were a function: requests in, answers out, in order.

A bounded pool of threads sends; a pacer keeps to the quota; what fails for the moment is tried again, what fails for good is an
answer with its reason; every answer is on disk before it counts. What a service expects and says is described by a `Service`;
what its answers mean is the scorer's or author's business.
"""

import contextlib
import json
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fairwitness.errors import InputError, ServiceError
from fairwitness.models.answer_cache import AnswerCache, answer_name
from fairwitness.models.ledger import Ledger, Usage
from fairwitness.models.pacing import Pacer
from fairwitness.models.redaction import redact, redact_http_logs
from fairwitness.models.retries import Next, Patience, by_status, reason, retry_after


class WrongAnswerError(Exception):
    """Raised by a service's `check` when well-formed JSON is not what was asked for. It is tried again."""


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


class Client:
    """Calls one service. Use it as a context manager, or `close` it; `ledger` says what was asked and spent."""

    def __init__(self, service: Service, *, limits: Limits | None = None, cache: AnswerCache | None = None) -> None:
        self.service, self.limits, self.cache = service, limits or Limits(), cache
        self.ledger = Ledger()
        self._stop = threading.Event()
        self._fatal: Exception | None = None
        self._wire = _Wire(service, self.limits)
        self._pacer: Pacer | None = None

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
        """A pool of threads while the block runs, as a function that hands one request to it."""
        check_address(self.service.url)
        self._start()
        twins: dict[str, Future[Answer]] = {}
        # Twice as many threads as requests in flight: one that waits before its next try does not keep another from being sent.
        pool = ThreadPoolExecutor(2 * self.limits.workers, thread_name_prefix="fairwitness-service")
        try:
            yield lambda request: self._submit(pool, twins, request)
        except _StoppedError:
            assert self._fatal is not None
            raise self._fatal from None
        finally:
            self._stop.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def _start(self) -> None:
        self._stop.clear()
        self._fatal = None
        if self._pacer is None:
            limits = self.limits
            self._pacer = Pacer(per_minute=limits.per_minute, qps=limits.qps, minute_s=limits.minute_s, at_once=limits.workers)
            if self.cache is not None and self.limits.per_minute is not None:
                self._pacer.seed(self.cache.recent_starts(self.service.url, self.limits.minute_s))

    def _submit(self, pool: ThreadPoolExecutor, twins: dict[str, Future[Answer]], request: Request) -> Future[Answer]:
        name = self.name_of(request)
        twin = twins.get(name)
        if twin is not None:
            self.ledger.add(cached=1)
            return twin
        stored = self.cache.get(name) if self.cache else None
        if stored is not None:
            self.ledger.add(cached=1)
            done: Future[Answer] = Future()
            done.set_result(Answer(stored.payload, stored.error, cached=True))
            return done
        future = pool.submit(self._ask, request, name)
        twins[name] = future
        future.add_done_callback(lambda _: twins.pop(name, None))
        return future

    def _ask(self, request: Request, name: str) -> Answer:
        """One request from start to end. Whatever must stop everything is noted once; all threads then end as stopped."""
        try:
            return self._persist(request, name)
        except _StoppedError:
            raise
        except Exception as error:
            self._fatal = self._fatal or error
            self._stop.set()
            raise _StoppedError from error

    def _persist(self, request: Request, name: str) -> Answer:
        body = json.dumps(request.body).encode()
        failure = ""
        for attempt in range(1, self.limits.patience.attempts + 1):
            outcome = self._try(body, attempt, name)
            if outcome.step is Next.TAKE:
                self.ledger.add(answered=1, usage=self.service.usage(outcome.payload))
                return Answer(outcome.payload, attempts=attempt)
            failure = outcome.failure
            if outcome.step is Next.STOP:
                raise ServiceError(f"{self.service.name}: {failure}")
            if outcome.step is Next.GIVE_UP:
                self.ledger.add(failed=1)
                return Answer(None, failure, attempts=attempt)
            if attempt < self.limits.patience.attempts:
                self._stop.wait(self.limits.patience.wait(attempt, outcome.retry_after_s))
        self.ledger.add(failed=1)
        failure = f"{failure} (tried {self.limits.patience.attempts} times)"
        # A service that has never answered and was given up three times will not answer the next thousand either.
        if self.ledger.answered == 0 and self.ledger.failed >= 3:
            raise ServiceError(f"{self.service.name}: {failure}. Nothing was answered so far; is {redact(self.service.url)} right?")
        return Answer(None, failure, attempts=self.limits.patience.attempts)

    def _try(self, body: bytes, attempt: int, name: str) -> "_Outcome":
        """Send once. What is final is kept before the place in flight is given up, so a kill loses no more than was in flight."""
        assert self._pacer is not None
        if not self._pacer.acquire(self._stop):
            raise _StoppedError
        noted = self.cache.note_start(self.service.url) if self.cache is not None and self.limits.per_minute is not None else 0
        self.ledger.add(calls=1, retries=int(attempt > 1))
        outcome = _Outcome(Next.RETRY)
        started = time.monotonic()
        try:
            outcome = self._wire.post(body)
            if outcome.step in (Next.TAKE, Next.GIVE_UP):
                self._keep(name, outcome.payload, outcome.failure or None)
        finally:
            self._pacer.release(refused=outcome.refused)
            # A quick answer is as good as its start, and saves a write.
            if self.cache is not None and noted and time.monotonic() - started > 0.05:
                self.cache.note_answer(noted)
        if outcome.refused and outcome.retry_after_s is not None:
            self._pacer.hold(self.limits.patience.wait(attempt, outcome.retry_after_s))
        return outcome

    def _keep(self, name: str, payload: Any, error: str | None) -> None:
        if self.cache is not None:
            self.cache.put(name, self.service.name, payload, error)


@dataclass(frozen=True)
class _Outcome:
    step: Next
    payload: Any = None
    failure: str = ""
    retry_after_s: float | None = None
    refused: bool = False


class _Wire:
    """One connection a thread, and the reading of one answer."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self._service, self._limits = service, limits
        self._local = threading.local()
        self._clients: list[Any] = []
        self._lock = threading.Lock()
        self._verify: Any = None
        # "Bearer abc" may come back as "abc".
        self._secrets = [word for value in (*service.headers.values(), *service.params.values()) for word in value.split()]

    def post(self, body: bytes) -> _Outcome:
        import httpx2

        try:
            response = self._client().post(self._local.url, content=body)
        except (httpx2.TimeoutException, httpx2.TransportError, httpx2.DecodingError) as error:
            return _Outcome(Next.RETRY, failure=self._clean(_describe(error, self._limits.timeout_s)))
        return self._read(response)

    def close(self) -> None:
        with self._lock:
            for client in self._clients:
                client.close()
            self._clients.clear()
            self._local = threading.local()

    def _client(self) -> Any:
        import httpx2

        client = getattr(self._local, "client", None)
        if client is None:
            with self._lock:
                redact_http_logs()
                # Reading the certificates takes 20 ms; all threads share them.
                self._verify = self._verify or httpx2.create_ssl_context()
                headers = {"content-type": "application/json", **self._service.headers}
                client = httpx2.Client(verify=self._verify, headers=headers, timeout=self._limits.timeout_s)
                self._clients.append(client)
            self._local.client = client
            self._local.url = httpx2.URL(self._service.url).copy_merge_params(dict(self._service.params))
        return client

    def _read(self, response: Any) -> _Outcome:
        payload: Any = None
        with contextlib.suppress(ValueError):
            payload = json.loads(response.content)
        status = int(response.status_code)
        step = self._service.judge(status, payload)
        if step is not Next.TAKE:
            wait = retry_after(response.headers, time.time())
            return _Outcome(step, failure=self._clean(reason(status, payload)), retry_after_s=wait, refused=status == 429)
        if payload is None:
            return _Outcome(Next.RETRY, failure=f"HTTP {status} without JSON")
        try:
            self._service.check(payload)
        except WrongAnswerError as error:
            return _Outcome(Next.RETRY, failure=self._clean(f"wrong JSON: {error}"))
        return _Outcome(Next.TAKE, payload)

    def _clean(self, text: str) -> str:
        return redact(text, self._secrets)


def check_address(url: str) -> None:
    """Refuse an address that is not http or https."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"'{redact(url)}' is not the address of a service. It should look like https://host/path.")


def _describe(error: Exception, timeout_s: float) -> str:
    kind = type(error).__name__
    if "Timeout" in kind:
        return f"no answer within {timeout_s:g} s"
    return f"connection failed ({kind}: {error})" if str(error) else f"connection failed ({kind})"
