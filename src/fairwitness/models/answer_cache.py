"""Answers of services on disk, by content: what was paid for once is never asked again.

One sqlite file in the cache folder. The name of an answer is the hash of the service's identity and the request's body; neither
the text nor any secret is in the file. Each answer is committed before it counts (write-ahead log: a kill at any instant loses none
of the committed ones), and several processes may read and write at once.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fairwitness.errors import RunError
from fairwitness.files import cache_folder, content_hash, database_fault, disk_errors

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (name TEXT PRIMARY KEY, service TEXT, answer TEXT, error TEXT, at REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS starts (service TEXT, at REAL);
CREATE INDEX IF NOT EXISTS starts_by_time ON starts (service, at);
"""


class Stored(NamedTuple):
    """One kept answer: a payload, or the reason why the service will never give one."""

    payload: Any
    error: str | None


class AnswerCache:
    """The kept answers. One object may be used by all threads."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_folder() / "answers.sqlite"
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []

    def get(self, name: str) -> Stored | None:
        """The answer of this name, or None."""
        with self._failures():
            row = self._connection().execute("SELECT answer, error FROM answers WHERE name = ?", (name,)).fetchone()
        return None if row is None else Stored(None if row[0] is None else json.loads(row[0]), row[1])

    def put(self, name: str, service: str, payload: Any, error: str | None = None) -> None:
        """Keep an answer. It is safe from a kill when this returns. The first one kept stays."""
        text = None if error else json.dumps(payload, ensure_ascii=False)
        with self._failures():
            self._connection().execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", (name, service, text, error, time.time())
            )

    def note_start(self, service: str) -> int:
        """Remember that a request is sent now, so that a run after a kill knows what of the quota is spent; gives its number."""
        with self._failures():
            return self._connection().execute("INSERT INTO starts VALUES (?, ?)", (service, time.time())).lastrowid or 0

    def note_answer(self, number: int) -> None:
        """The request of this number was answered now: it arrived at the service no later."""
        with self._failures():
            self._connection().execute("UPDATE starts SET at = ? WHERE rowid = ?", (time.time(), number))

    def recent_starts(self, service: str, within_s: float) -> list[float]:
        """How many seconds ago each request of the last `within_s` seconds was sent; older ones are forgotten."""
        now = time.time()
        with self._failures():
            connection = self._connection()
            connection.execute("DELETE FROM starts WHERE service = ? AND at < ?", (service, now - max(within_s, 120)))
            rows = connection.execute("SELECT at FROM starts WHERE service = ? AND at > ?", (service, now - within_s)).fetchall()
        return [max(0.0, now - at) for (at,) in rows]

    def known(self, names: list[str]) -> set[str]:
        """Which of these names have an answer."""
        found: set[str] = set()
        with self._failures():
            for start in range(0, len(names), 500):
                some = names[start : start + 500]
                marks = ",".join("?" * len(some))
                found |= {name for (name,) in self._connection().execute(f"SELECT name FROM answers WHERE name IN ({marks})", some)}
        return found

    def close(self) -> None:
        """Close every thread's connection. A later use opens anew."""
        for connection in self._connections:
            connection.close()
        self._connections, self._local = [], threading.local()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with disk_errors(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode=WAL")
            # NORMAL survives the death of the process; only the machine losing power can take the last few answers back.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(_TABLES)
            self._connections.append(connection)
            self._local.connection = connection
        return connection

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            advice = "Remove the file, or name another folder in FAIRWITNESS_CACHE"
            plain = RunError(f"The answers kept in {self.path} cannot be used: {error}. {advice}.")
            raise database_fault(error, self.path) or plain from error


def answer_name(identity: Mapping[str, Any], body: Any, sample: str = "") -> str:
    """The name under which an answer is kept: the same service asked the same thing has the same name.

    >>> answer_name({"service": "a"}, {"text": "x"}) == answer_name({"service": "a"}, {"text": "y"})
    False
    """
    return content_hash(*(json.dumps(part, sort_keys=True, default=str) for part in (identity, body)), sample)
