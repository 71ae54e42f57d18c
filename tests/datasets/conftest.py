"""Two small servers on this machine: one holds files, with ranges and faults on demand; one speaks the Hub's file API."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import stamina


@dataclass
class Server:
    """What a server holds, how it misbehaves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: int | None = None
    """Break the connection after this many bytes of a body, once."""
    fail: list[int] = field(default_factory=list)
    """Status codes to answer with first."""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and Range of every request."""
    tokens: list[str] = field(default_factory=list)
    url: str = ""

    def ranges(self) -> list[str]:
        return [wanted for method, _, wanted in self.asked if method == "GET"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, *_words: Any) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        state: Server = self.server.state
        path = unquote(urlsplit(self.path).path)
        state.asked.append((self.command, path, self.headers.get("Range", "")))
        state.tokens.append(self.headers.get("Authorization", ""))
        if state.fail:
            self.plain(state.fail.pop(0), b"")
        elif path in state.files:
            self.send_file(state.files[path], {}, body=body)
        else:
            self.plain(404, b"")

    def plain(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_file(self, data: bytes, headers: dict[str, str], *, body: bool) -> None:
        etag = headers.get("ETag") or f'"{hashlib.sha256(data).hexdigest()}"'
        start, end = 0, len(data)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        fresh = self.headers.get("If-Range") in (None, etag)
        if wanted and fresh:
            start = int(wanted[1])
            end = min(int(wanted[2]) + 1, len(data)) if wanted[2] else len(data)
            if start >= len(data):
                self.plain(416, b"", {"Content-Range": f"bytes */{len(data)}"})
                return
        self.send_response(206 if wanted and fresh else 200)
        if wanted and fresh:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        for name, value in ({"ETag": etag, "Accept-Ranges": "bytes"} | headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if body:
            self.send_body(data[start:end])

    def send_body(self, data: bytes) -> None:
        state: Server = self.server.state
        if state.cut_after is not None and len(data) > state.cut_after:
            data, state.cut_after = data[: state.cut_after], None
            self.close_connection = True
        self.wfile.write(data)


class HubHandler(Handler):
    """The part of the Hub that its client needs: revision, tree, paths and resolve, with the hashes of large files."""

    def answer(self, *, body: bool) -> None:
        state: Server = self.server.state
        path = unquote(urlsplit(self.path).path)
        state.asked.append((self.command, path, self.headers.get("Range", "")))
        state.tokens.append(self.headers.get("Authorization", ""))
        if resolve := re.fullmatch(r"/datasets/(\w+/[\w.-]+)/resolve/(.+?)/((?:data|default|plain_text|inter|intra|all).*)", path):
            self.resolve(resolve[3], body=body)
        elif path.startswith("/api/datasets/"):
            self.describe(path)
        else:
            self.plain(200, b"")

    def resolve(self, name: str, *, body: bool) -> None:
        data = self.server.state.files.get(name)
        if data is None:
            self.plain(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        digest = hashlib.sha256(data).hexdigest()
        linked = {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data)), "ETag": f'"{digest}"'}
        self.send_file(data, {"X-Repo-Commit": COMMIT, **linked}, body=body)

    def describe(self, path: str) -> None:
        state: Server = self.server.state
        if "/gone/" in path:
            self.plain(404, b"", {"X-Error-Code": "RepoNotFound"})
            return
        if "/gated/" in path:
            self.plain(403, b"", {"X-Error-Code": "GatedRepo"})
            return
        if "/revision/" in path:
            siblings = [{"rfilename": name} for name in state.files]
            self.json({"id": "own/set", "sha": COMMIT, "siblings": siblings, "tags": [], "private": False})
            return
        if "/paths-info/" in path:
            length = int(self.headers.get("Content-Length", 0))
            wanted = self.rfile.read(length).decode()
            names = [unquote(part.partition("=")[2]) for part in wanted.split("&") if part.startswith("paths=")]
            if not names and wanted.startswith("{"):
                names = json.loads(wanted)["paths"]
            self.json([entry for entry in self.tree("", recursive=True) if entry["path"] in names])
            return
        under = (
            path.partition("/tree/")[2].removeprefix("refs/convert/parquet").removeprefix(COMMIT).removeprefix("main").strip("/")
        )
        self.json(self.tree(under, recursive="recursive=true" in self.path.lower()))

    def do_POST(self) -> None:
        self.answer(body=True)

    def tree(self, under: str, *, recursive: bool) -> list[dict[str, Any]]:
        entries: dict[str, dict[str, Any]] = {}
        for name, data in self.server.state.files.items():
            if under and not name.startswith(f"{under}/"):
                continue
            parts = name.split("/")
            for depth in range(1, len(parts)):
                folder = "/".join(parts[:depth])
                entries[folder] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": folder}
            digest = hashlib.sha256(data).hexdigest()
            lfs = {"oid": digest, "size": len(data), "pointerSize": 130}
            entries[name] = {"type": "file", "oid": "1" * 40, "size": len(data), "path": name, "lfs": lfs}
        depth = under.count("/") + 1 if under else 0
        return [entry for path, entry in entries.items() if path != under and (recursive or path.count("/") == depth)]

    def json(self, value: Any) -> None:
        self.plain(200, json.dumps(value).encode(), {"Content-Type": "application/json"})


COMMIT = "c" * 40


def _serve(handler: type[Handler]) -> Iterator[Server]:
    httpd: Any = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    httpd.daemon_threads = True
    httpd.state = Server(url=f"http://127.0.0.1:{httpd.server_address[1]}")
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield httpd.state
    finally:
        httpd.shutdown()
        httpd.server_close()


@pytest.fixture
def web_server() -> Iterator[Server]:
    yield from _serve(Handler)


@pytest.fixture
def hub_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A Hub of our own, its cache empty, its client pointed at it."""
    from huggingface_hub import constants

    for server in _serve(HubHandler):
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield server


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """Retries happen at once."""
    with stamina.set_testing(True, attempts=5):
        yield
