"""One request over the wire and the reading of what came back: take it, try again, give it up, or stop everything."""

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairwitness.errors import InputError
from fairwitness.files import json_value
from fairwitness.models.redaction import redact, redact_http_logs
from fairwitness.models.retries import Next, reason, retry_after

if TYPE_CHECKING:
    from fairwitness.models.service import Service


class WrongAnswerError(Exception):
    """Raised by a service's `check` when well-formed JSON is not what was asked for. It is tried again."""


@dataclass(frozen=True)
class Outcome:
    """What one try came to: the next step, with the payload or the failure in words."""

    step: Next
    payload: Any = None
    failure: str = ""
    retry_after_s: float | None = None
    refused: bool = False


class Wire:
    """One connection a thread, kept open from request to request."""

    def __init__(self, service: "Service", timeout_s: float) -> None:
        self._service, self._timeout_s = service, timeout_s
        self._local = threading.local()
        self._clients: list[Any] = []
        self._lock = threading.Lock()
        self._verify: Any = None
        # "Bearer abc" may come back as "abc".
        self._secrets = [word for value in (*service.headers.values(), *service.params.values()) for word in value.split()]

    def post(self, body: bytes) -> Outcome:
        """Send a body and read the answer. A failure of the connection is an outcome too."""
        import httpx2

        try:
            response = self._client().post(self._local.url, content=body)
        except (httpx2.TimeoutException, httpx2.TransportError, httpx2.DecodingError) as error:
            return Outcome(Next.RETRY, failure=self._clean(_describe(error, self._timeout_s)))
        return self._read(response)

    def close(self) -> None:
        """Hang up. A later `post` dials anew."""
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
                client = httpx2.Client(verify=self._verify, headers=headers, timeout=self._timeout_s)
                self._clients.append(client)
            self._local.client = client
            self._local.url = httpx2.URL(self._service.url).copy_merge_params(dict(self._service.params))
        return client

    def _read(self, response: Any) -> Outcome:
        payload: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            payload = json_value(response.content)
        status = int(response.status_code)
        step = self._service.judge(status, payload)
        if step is not Next.TAKE:
            wait = retry_after(response.headers, time.time())
            return Outcome(step, failure=self._clean(reason(status, payload)), retry_after_s=wait, refused=status == 429)
        if payload is None:
            return Outcome(Next.RETRY, failure=f"HTTP {status} without JSON")
        try:
            self._service.check(payload)
        except WrongAnswerError as error:
            return Outcome(Next.RETRY, failure=self._clean(f"wrong JSON: {error}"))
        return Outcome(Next.TAKE, payload)

    def _clean(self, text: str) -> str:
        return redact(text, self._secrets)


def check_address(url: str) -> None:
    """Refuse an address that is not http or https."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:  # a bracket that is not closed, for instance
        usable = False
    if not usable:
        raise InputError(f"'{redact(url)}' is not the address of a service. It should look like https://host/path.")


def _describe(error: Exception, timeout_s: float) -> str:
    kind = type(error).__name__
    if "Timeout" in kind:
        return f"no answer within {timeout_s:g} s"
    return f"connection failed ({kind}: {error})" if str(error) else f"connection failed ({kind})"
