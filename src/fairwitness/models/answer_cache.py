"""Answers of services on disk, by content: what was paid for once is never asked again.

One sqlite file in the cache folder. The name of an answer is the hash of the service's identity and the request's body; neither
the text nor any secret is in the file. A request is noted before it is sent and its answer is committed before it counts
(write-ahead log: a kill at any instant loses none of the committed ones), so a request that is noted and has no answer was in
flight when its process died. Several processes may read and write at once.
"""

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fairwitness.errors import RunError
from fairwitness.files import cache_folder, content_hash, database_fault, disk_errors

# sent.name is set while the answer is awaited; sent.asker is the process that waits.
_TABLES = """
CREATE TABLE IF NOT EXISTS answers (name TEXT PRIMARY KEY, service TEXT, answer TEXT, error TEXT, at REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sent (number INTEGER PRIMARY KEY, service TEXT, at REAL, name TEXT, asker TEXT);
CREATE INDEX IF NOT EXISTS sent_by_time ON sent (service, at);
"""
# The number of a process may be given out again, and in a container it always is.
_MARK = secrets.token_hex(4)


class Stored(NamedTuple):
    """One kept answer: a payload, or the reason why the service will never give one."""

    payload: Any
    error: str | None


class AnswerCache:
    """The kept answers. One object may be used by all threads; they take turns at one connection."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_folder() / "answers.sqlite"
        self._opened: sqlite3.Connection | None = None
        self._turn = threading.Lock()

    def get(self, name: str) -> Stored | None:
        """The answer of this name, or None."""
        with self._connection() as connection:
            row = connection.execute("SELECT answer, error FROM answers WHERE name = ?", (name,)).fetchone()
        return None if row is None else Stored(None if row[0] is None else json.loads(row[0]), row[1])

    def put(self, name: str, service: str, payload: Any, error: str | None = None, *, number: int = 0) -> None:
        """Keep the answer to the request of this number. It is safe from a kill when this returns. The first one kept stays."""
        text = None if error else json.dumps(payload, ensure_ascii=False)
        now = time.time()
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", (name, service, text, error, now))
            connection.execute("UPDATE sent SET at = ?, name = NULL WHERE number = ?", (now, number))
            connection.execute("COMMIT")

    def note_sent(self, service: str, name: str) -> int:
        """Note that a request is about to be sent: for the quota of a later run, and to know it again after a kill. Its number."""
        with self._connection() as connection:
            row = (service, time.time(), name, _asker())
            return connection.execute("INSERT INTO sent (service, at, name, asker) VALUES (?, ?, ?, ?)", row).lastrowid or 0

    def note_heard(self, number: int) -> None:
        """The request of this number was answered or refused now: it arrived at the service no later."""
        with self._connection() as connection:
            connection.execute("UPDATE sent SET at = ?, name = NULL WHERE number = ?", (time.time(), number))

    def in_doubt(self) -> set[str]:
        """Names of the requests that were in flight when their process died: nobody here can know whether they were answered."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT name, asker FROM sent WHERE name IS NOT NULL AND name NOT IN (SELECT name FROM answers)"
            ).fetchall()
        return {name for name, asker in rows if not _is_waiting(asker)}

    def recent_starts(self, service: str, within_s: float) -> list[float]:
        """How many seconds ago each request of the last `within_s` seconds was sent; older ones that were heard are forgotten."""
        now = time.time()
        with self._connection() as connection:
            old = now - max(within_s, 120)
            connection.execute("DELETE FROM sent WHERE service = ? AND at < ? AND name IS NULL", (service, old))
            rows = connection.execute("SELECT at FROM sent WHERE service = ? AND at > ?", (service, now - within_s)).fetchall()
        return [max(0.0, now - at) for (at,) in rows]

    def known(self, names: list[str]) -> set[str]:
        """Which of these names have an answer."""
        found: set[str] = set()
        with self._connection() as connection:
            for start in range(0, len(names), 500):
                some = names[start : start + 500]
                marks = ",".join("?" * len(some))
                found |= {name for (name,) in connection.execute(f"SELECT name FROM answers WHERE name IN ({marks})", some)}
        return found

    def close(self) -> None:
        """Close the connection. A later use opens anew."""
        with self._turn:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """The connection, for as long as the block runs. Taking turns here is quicker than sqlite's own waiting for a lock."""
        with self._turn, self._failures():
            if self._opened is None:
                self._opened = self._open()
            try:
                yield self._opened
            except BaseException:
                if self._opened.in_transaction:
                    with suppress(sqlite3.DatabaseError):
                        self._opened.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        with disk_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        # NORMAL survives the death of the process; only the machine losing power can take the last few answers back.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.executescript(_TABLES)
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


def _asker() -> str:
    return f"{os.getpid()}-{_MARK}"


def _is_waiting(asker: str) -> bool:
    """Whether the process that asked is this one, or another that still runs."""
    number = int(asker.partition("-")[0])
    if number == os.getpid():
        return asker == _asker()
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's process, but a living one
    return True
