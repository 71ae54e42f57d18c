"""A server on this machine that behaves like Perspective on a bad day.

Quota per minute with 429, error bodies with `errorType`, slow answers, dropped connections, 5xx bursts, wrong JSON. It counts
what it received, so that a test can say whether a text was answered twice or the quota overrun. Scores are made from the text's
hash. Run it in a process of its own with `python -m tests.servers.perspective`; it prints its address.
"""

import argparse
import hashlib
import json
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KINDS = ("429", "500", "503", "drop", "cut", "slow", "wrong_json", "not_json", "no_scores")
KEY = "AIzaLocalTestKey_0123456789abcdefghijk"
LIMIT_BYTES = 20_480
LANGUAGES = {"en", "es", "de", "fr", "ko"}


@dataclass
class Faults:
    """Which faults, how often, and from which seed. `burst` makes 5xx come in a row, as they do."""

    rate: float = 0.0
    kinds: tuple[str, ...] = KINDS
    seed: int = 0
    slow_s: float = 0.4
    burst: int = 3


@dataclass
class Record:
    """What the server saw. `answered` counts the texts that were given a score."""

    received: int = 0
    answered: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    windows: Counter[int] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)
    bodies: list[dict] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0


class PerspectiveServer(ThreadingHTTPServer):
    """The server; `url` is its endpoint."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(
        self, *, quota: int | None = None, minute_s: float = 60.0, faults: Faults | None = None, delay_s: float = 0.0
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.quota, self.minute_s, self.faults, self.delay_s = quota, minute_s, faults or Faults(), delay_s
        self.record = Record()
        self.lock = threading.Lock()
        self.random = random.Random(self.faults.seed)
        self.bursting = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1alpha1/comments:analyze"

    def admit(self) -> bool:
        """Count one request; False when this minute's quota is spent."""
        window = int(time.monotonic() / self.minute_s)
        with self.lock:
            self.record.received += 1
            self.record.windows[window] += 1
            return self.quota is None or self.record.windows[window] <= self.quota

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count how many requests are being worked on at once."""
        with self.lock:
            self.record.at_once += 1
            self.record.most_at_once = max(self.record.most_at_once, self.record.at_once)
        try:
            yield
        finally:
            with self.lock:
                self.record.at_once -= 1

    def overrun(self) -> int:
        """The most requests received beyond the quota in any one minute."""
        return max((count - (self.quota or count) for count in self.record.windows.values()), default=0)

    def fault(self) -> str | None:
        with self.lock:
            if self.bursting:
                self.bursting -= 1
                kind = "503"
            elif self.random.random() >= self.faults.rate:
                return None
            else:
                kind = self.random.choice(self.faults.kinds)
                self.bursting = self.random.randrange(self.faults.burst) if kind == "503" else 0
            self.record.faults[kind] += 1
            return kind

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are this server's daily bread."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: PerspectiveServer

    def log_message(self, *_words: object) -> None:
        pass

    def do_GET(self) -> None:
        record = self.server.record
        self.send(200, {"received": record.received, "answered": record.answered, "overrun": self.server.overrun()})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        key = parse_qs(urlsplit(self.path).query).get("key", [self.headers.get("x-goog-api-key", "")])[0]
        with server.lock:
            server.record.keys.add(key)
        if key != KEY:
            return self.refuse(403, "The caller does not have permission", "PERMISSION_DENIED", f"consumer key={key}")
        if not server.admit():
            return self.quota_exceeded()
        text = body["comment"]["text"]
        if server.delay_s:
            with server.in_flight():
                time.sleep(server.delay_s)
        kind = server.fault()
        if kind and self.misbehave(kind):
            return None
        return self.answer(body, text)

    def answer(self, body: dict, text: str) -> None:
        languages = set(body.get("languages", ["en"]))
        if not text.strip():
            return self.permanent("COMMENT_EMPTY", "Comment must be non-empty.")
        if len(text.encode()) > LIMIT_BYTES:
            return self.permanent("COMMENT_TOO_LONG", "Comment text too long.")
        if not languages <= LANGUAGES:
            return self.permanent(
                "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE", f"Attribute TOXICITY does not support request languages: {languages}"
            )
        if not body.get("requestedAttributes"):
            return self.permanent("NO_REQUESTED_ATTRIBUTES", "No requested_attributes specified.")
        with self.server.lock:
            self.server.record.answered[text] += 1
            self.server.record.bodies.append(body)
        scores = {
            name: {"summaryScore": {"value": score_of(text, name), "type": "PROBABILITY"}} for name in body["requestedAttributes"]
        }
        return self.send(200, {"attributeScores": scores, "languages": ["en"], "detectedLanguages": ["en"]})

    def misbehave(self, kind: str) -> bool:
        """Do the fault; False when the request shall be answered after all."""
        if kind == "slow":
            time.sleep(self.server.faults.slow_s)
            self.close_connection = True
        elif kind == "drop":
            self.hang_up()
        elif kind == "cut":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"attr')
            self.wfile.flush()
            self.hang_up()
        elif kind == "429":
            self.quota_exceeded()
        elif kind == "wrong_json":
            self.send(200, {"attributeScores": {"TOXICITY": {"summaryScore": {"value": None}}}})
        elif kind == "not_json":
            self.raw(200, b"<html>Service Unavailable</html>", "text/html")
        elif kind == "no_scores":
            self.send(200, ["surprise"])
        else:
            self.refuse(int(kind), "The service is currently unavailable.", "UNAVAILABLE")
        return True

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def quota_exceeded(self) -> None:
        self.refuse(429, "Quota exceeded for quota metric 'Analysis requests'", "RESOURCE_EXHAUSTED", reason="RATE_LIMIT_EXCEEDED")

    def permanent(self, error_type: str, message: str) -> None:
        details = [{"@type": "type.googleapis.com/google.commentanalyzer.v1alpha1.Error", "errorType": error_type}]
        self.send(400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": details}})

    def refuse(self, status: int, message: str, name: str, more: str = "", reason: str = "") -> None:
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
        self.send(status, {"error": {"code": status, "message": f"{message} {more}".strip(), "status": name, "details": details}})

    def send(self, status: int, payload: object) -> None:
        self.raw(status, json.dumps(payload).encode(), "application/json")

    def raw(self, status: int, data: bytes, kind: str) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        self.wfile.write(head.encode() + data)
        self.wfile.flush()


def score_of(text: str, attribute: str = "TOXICITY") -> float:
    """The score this server gives: a fixed number in [0, 1) made from the text."""
    return int.from_bytes(hashlib.blake2b(f"{attribute}|{text}".encode(), digest_size=6).digest(), "big") / 2**48


@contextmanager
def serving(server: PerspectiveServer) -> Iterator[PerspectiveServer]:
    """Serve from a thread while the block runs."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quota", type=int)
    parser.add_argument("--minute_s", type=float, default=60.0)
    parser.add_argument("--fault_rate", type=float, default=0.0)
    parser.add_argument("--delay_s", type=float, default=0.0)
    words = parser.parse_args()
    sys.setswitchinterval(0.0005)
    server = PerspectiveServer(quota=words.quota, minute_s=words.minute_s, faults=Faults(words.fault_rate), delay_s=words.delay_s)
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
