"""What the servers of the tests share: faults on demand, a record of what was received and answered, HTTP by hand.

A server of its own kind says how it answers (`Handler.respond`) and which faults are its own (`Handler.misbehave`).
"""

import argparse
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

COMMON = ("429", "500", "503", "drop", "cut", "slow", "not_json")


@dataclass
class Faults:
    """Which faults, how often, and from which seed. `burst` makes 503 come in a row, as they do."""

    rate: float = 0.0
    kinds: tuple[str, ...] = ()
    seed: int = 0
    slow_s: float = 0.4
    burst: int = 1


@dataclass
class Record:
    """What the server saw. `answered` counts by what was asked, so that more than 1 means paid for twice."""

    received: int = 0
    answered: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    windows: Counter[int] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)
    bodies: list[dict] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    @property
    def twice(self) -> int:
        """How many answers were given for something that had been answered before."""
        return sum(count - 1 for count in self.answered.values())


class FaultyServer(ThreadingHTTPServer):
    """A server on this machine that has bad days. A subclass names its handler."""

    daemon_threads = True
    request_queue_size = 512
    handler: type["Handler"]
    kinds: tuple[str, ...] = COMMON

    def __init__(
        self, *, faults: Faults | None = None, delay_s: float = 0.0, quota: int | None = None, minute_s: float = 60.0
    ) -> None:
        super().__init__(("127.0.0.1", 0), self.handler)
        self.faults, self.delay_s, self.quota, self.minute_s = faults or Faults(), delay_s, quota, minute_s
        self.record = Record()
        self.lock = threading.Lock()
        self.random = random.Random(self.faults.seed)
        self.bursting = 0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        """The address to print when run in a process of its own."""
        return self.base

    def admit(self) -> bool:
        """Count one request; False when this minute's quota is spent."""
        window = int(time.monotonic() / self.minute_s)
        with self.lock:
            self.record.received += 1
            self.record.windows[window] += 1
            return self.quota is None or self.record.windows[window] <= self.quota

    def overrun(self) -> int:
        """The most requests received beyond the quota in any one minute."""
        return max((count - (self.quota or count) for count in self.record.windows.values()), default=0)

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

    def fault(self) -> str | None:
        """The fault that strikes now, or None."""
        with self.lock:
            if self.bursting:
                self.bursting -= 1
                kind = "503"
            elif self.random.random() >= self.faults.rate:
                return None
            else:
                kind = self.random.choice(self.faults.kinds or self.kinds)
                self.bursting = self.random.randrange(self.faults.burst) if kind == "503" else 0
            self.record.faults[kind] += 1
            return kind

    def note_answer(self, asked: str, body: dict) -> int:
        """Count an answer; its number, 0 first."""
        with self.lock:
            self.record.answered[asked] += 1
            self.record.bodies.append(body)
            return len(self.record.bodies) - 1

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are this server's daily bread."""


class Handler(BaseHTTPRequestHandler):
    """A POST is checked for its key, counted, delayed, struck by a fault or answered; a GET tells the record."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: FaultyServer

    def key(self) -> str:
        """The key that came with a request."""
        return (self.headers.get("authorization") or "").removeprefix("Bearer ")

    def wrong_key(self, key: str) -> bool:
        """Refuse a wrong key; False when it is right."""
        raise NotImplementedError

    def respond(self, body: dict) -> None:
        """Answer a request."""
        raise NotImplementedError

    def log_message(self, *_words: object) -> None:
        pass

    def do_GET(self) -> None:
        record = self.server.record
        facts = {"received": record.received, "answered": len(record.bodies), "twice": record.twice, "most": record.most_at_once}
        self.send(200, {**facts, "overrun": self.server.overrun()})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.key()
        with self.server.lock:
            self.server.record.keys.add(key)
        if self.wrong_key(key):
            return
        with self.server.in_flight():
            if not self.server.admit():
                return self.refuse(429)
            if self.server.delay_s:
                time.sleep(self.server.delay_s)
            kind = self.server.fault()
            if kind:
                self.misbehave(kind, body)
            else:
                self.respond(body)

    def misbehave(self, kind: str, body: dict) -> None:
        """Do a fault."""
        if kind == "slow":
            time.sleep(self.server.faults.slow_s)
            self.close_connection = True
            self.respond(body)
        elif kind == "drop":
            self.hang_up()
        elif kind == "cut":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"begi')
            self.wfile.flush()
            self.hang_up()
        elif kind == "not_json":
            self.raw(200, b"<html>Service Unavailable</html>", "text/html")
        else:
            self.refuse(int(kind))

    def refuse(self, status: int) -> None:
        """Say no for the moment."""
        self.send(status, {"error": {"message": "try later", "type": "overloaded"}})

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def send(self, status: int, payload: object) -> None:
        self.raw(status, json.dumps(payload).encode(), "application/json")

    def raw(self, status: int, data: bytes, kind: str) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        self.wfile.write(head.encode() + data)
        self.wfile.flush()


@contextmanager
def serving(server: FaultyServer) -> Iterator[FaultyServer]:
    """Serve from a thread while the block runs."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serve_alone(make: type[FaultyServer], kinds: tuple[str, ...] = ()) -> None:
    """Run in a process of its own: prints the address, serves until killed; a GET says what was received."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quota", type=int)
    parser.add_argument("--minute_s", type=float, default=60.0)
    parser.add_argument("--fault_rate", type=float, default=0.0)
    parser.add_argument("--delay_s", type=float, default=0.0)
    words = parser.parse_args()
    sys.setswitchinterval(0.0005)
    faults = Faults(words.fault_rate, kinds)
    server = make(quota=words.quota, minute_s=words.minute_s, faults=faults, delay_s=words.delay_s)
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    server.serve_forever()
