"""A server on this machine that generates text on a bad day: 429, 5xx, timeouts, cut JSON, empty and repeated drafts.

It speaks OpenAI's completions and chat, HyperCLOVA (which echoes the prompt) and CLOVA Studio, told apart by the address. It counts
what it answered by prompt and sampling, so that a test can say whether something was paid for twice.
"""

import hashlib
import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-local-test-key-0123456789abcdef"
FAULTS = ("429", "500", "503", "drop", "cut", "slow", "not_json", "no_text")


@dataclass
class Record:
    """What the server saw."""

    received: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    bodies: list[dict] = field(default_factory=list)
    paid: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)
    at_once: int = 0
    most_at_once: int = 0


class GenerationServer(ThreadingHTTPServer):
    """`write(number, prompt, body)` is the completion of the answer with that number (0 first)."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(
        self,
        write: Callable[[int, str, dict], str] | None = None,
        *,
        fault_rate: float = 0.0,
        kinds: tuple[str, ...] = FAULTS,
        delay_s: float = 0.0,
        slow_s: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.write = write or unique
        self.fault_rate, self.kinds, self.delay_s, self.slow_s = fault_rate, kinds, delay_s, slow_s
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.record = Record()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def fault(self) -> str | None:
        with self.lock:
            if self.random.random() >= self.fault_rate:
                return None
            kind = self.random.choice(self.kinds)
            self.record.faults[kind] += 1
            return kind

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        with self.lock:
            self.record.received += 1
            self.record.at_once += 1
            self.record.most_at_once = max(self.record.most_at_once, self.record.at_once)
        try:
            yield
        finally:
            with self.lock:
                self.record.at_once -= 1

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are this server's daily bread."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: GenerationServer

    def log_message(self, *_words: object) -> None:
        pass

    def do_GET(self) -> None:
        record = self.server.record
        twice = sum(count - 1 for count in record.paid.values())
        self.send(200, {"received": record.received, "answered": len(record.bodies), "twice": twice, "most": record.most_at_once})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("x-clova-client-id") or (self.headers.get("authorization") or "").removeprefix("Bearer ")
        self.server.record.keys.add(key)
        if key and key != KEY:
            return self.send(401, {"error": {"message": f"Incorrect API key provided: {key}", "type": "invalid_request_error"}})
        with self.server.in_flight():
            if self.server.delay_s:
                time.sleep(self.server.delay_s)
            kind = self.server.fault()
            if kind:
                return self.misbehave(kind, body)
            return self.answer(body)

    def answer(self, body: dict) -> None:
        prompt = body.get("prompt") or body.get("text") or body["messages"][-1]["content"]
        with self.server.lock:
            number = len(self.server.record.bodies)
            self.server.record.bodies.append(body)
            self.server.record.paid[json.dumps(body, sort_keys=True)] += 1
        text = self.server.write(number, prompt, body)
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
        if "choices" in self.path or self.path.endswith("/chat/completions"):
            self.send(200, {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage})
        elif self.path.endswith("/completions"):
            self.send(200, {"choices": [{"text": text}], "usage": usage})
        elif "messages" in body:
            self.send(
                200, {"status": {"code": "20000"}, "result": {"message": {"content": text}, "inputLength": 1, "outputLength": 2}}
            )
        else:
            self.send(200, {"text": prompt + text})

    def misbehave(self, kind: str, body: dict) -> None:
        if kind == "slow":
            time.sleep(self.server.slow_s)
            self.close_connection = True
            self.answer(body)
        elif kind == "drop":
            self.hang_up()
        elif kind == "cut":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"choic')
            self.wfile.flush()
            self.hang_up()
        elif kind == "not_json":
            self.raw(200, b"<html>oops</html>")
        elif kind == "no_text":
            self.send(200, {"choices": []})
        else:
            self.send(int(kind), {"error": {"message": "try later", "type": "overloaded"}})

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def send(self, status: int, payload: object) -> None:
        self.raw(status, json.dumps(payload).encode())

    def raw(self, status: int, data: bytes) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self.wfile.write(head.encode() + data)
        self.wfile.flush()


def unique(_number: int, prompt: str, body: dict) -> str:
    """A text of its own for every prompt and sampling, the same whenever it is asked."""
    digest = hashlib.blake2b(f"{prompt}|{body.get('temperature')}".encode(), digest_size=12).hexdigest()
    return " " + " ".join(digest[start : start + 4] for start in range(0, 24, 4))


@contextmanager
def serving(server: GenerationServer) -> Iterator[GenerationServer]:
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
    """Run in a process of its own: prints the address, serves until killed; a GET says what was received."""
    import argparse
    import sys

    parser = argparse.ArgumentParser()
    parser.add_argument("--fault_rate", type=float, default=0.0)
    parser.add_argument("--delay_s", type=float, default=0.0)
    words = parser.parse_args()
    kinds = ("429", "500", "503", "drop", "cut", "not_json", "no_text")
    server = GenerationServer(fault_rate=words.fault_rate, delay_s=words.delay_s, kinds=kinds)
    sys.stdout.write(f"{server.base}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
