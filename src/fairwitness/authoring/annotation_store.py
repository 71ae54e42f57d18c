"""Annotations on disk: one SQLite file that loses nothing when the process is killed at any moment or two annotators save at once.

Every answer is a new line in a log, committed (write-ahead log, flushed to disk) before it is confirmed; undoing marks a line, it
never removes one. What an annotator now thinks of an item is the last line that is not undone. Tokens are kept as hashes.
"""

import hashlib
import hmac
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairwitness.authoring.records import Row, look_up
from fairwitness.authoring.schema import Kind, Schema, load_schema
from fairwitness.authoring.votes import Vote, check_vote
from fairwitness.errors import InputError, RunError
from fairwitness.files import content_hash, database_fault, disk_errors

# How long an item that somebody looks at is kept free for them.
LEASE_S = 20 * 60.0
_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS items (id TEXT PRIMARY KEY, position INTEGER NOT NULL, row TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS annotators (name TEXT PRIMARY KEY, token_hash TEXT NOT NULL, lead INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
  number INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL REFERENCES items, annotator TEXT NOT NULL REFERENCES annotators,
  skipped INTEGER NOT NULL, includes INTEGER, label TEXT, sub_labels TEXT NOT NULL, at REAL NOT NULL, undone_at REAL);
CREATE INDEX IF NOT EXISTS answers_of_annotator ON answers (annotator, item);
CREATE TABLE IF NOT EXISTS standing (
  item TEXT, annotator TEXT, number INTEGER NOT NULL REFERENCES answers, skipped INTEGER NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (item, annotator)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rulings (
  number INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL REFERENCES items, annotator TEXT NOT NULL,
  includes INTEGER, label TEXT, sub_labels TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS leases (item TEXT, annotator TEXT, until REAL NOT NULL, PRIMARY KEY (item, annotator));
CREATE TABLE IF NOT EXISTS sessions (hash TEXT PRIMARY KEY, annotator TEXT NOT NULL, at REAL NOT NULL);
"""
# What an annotator now thinks of an item is kept beside the log and changed with it, so that no page has to read the whole log.
_CURRENT = "SELECT answers.* FROM standing JOIN answers USING (number)"
# How many others have answered an item or are looking at it.
_OTHERS = """
(SELECT count(*) FROM (
   SELECT annotator FROM standing WHERE item = items.id AND skipped = 0 AND annotator <> :me
   UNION SELECT annotator FROM leases WHERE item = items.id AND annotator <> :me))
"""


@dataclass(frozen=True)
class Item:
    """A text to annotate: its id and the row it came in."""

    id: str
    row: Row


@dataclass(frozen=True)
class Progress:
    """How far one annotator is: own answers and skips, and what is still open for them."""

    done: int
    skipped: int
    left: int


class AnnotationStore:
    """The file. One object may be used by all threads; several processes may open it at once."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._local = threading.local()

    # ---- setting up -------------------------------------------------------------------------------------------------------

    def create(self, schema: Schema, kind: Kind, rows: Sequence[Row], *, per_item: int) -> int:
        """Put rows in, or more of them into a store that exists; how many were new. Its schema and kind cannot change."""
        if per_item < 1:
            raise InputError(f"--annotators_per_item is {per_item}; at least 1 was expected.")
        facts = {"schema": schema.source, "kind": kind.name, "per_item": str(per_item), "secret": secrets.token_hex(32)}
        with self._writing() as connection:
            known = dict(connection.execute("SELECT name, value FROM facts").fetchall())
            if known and (known["schema"], known["kind"]) != (schema.source, kind.name):
                raise InputError(f"{self.path} holds {known['schema']} {known['kind']}s, not {schema.name} {kind.name}s.")
            connection.executemany("INSERT OR IGNORE INTO facts VALUES (?, ?)", facts.items())
            connection.execute("UPDATE facts SET value = ? WHERE name = 'per_item'", (str(per_item),))
            before = connection.execute("SELECT count(*) FROM items").fetchone()[0]
            items = [(item_id(kind, row), before + place, json.dumps(row, ensure_ascii=False)) for place, row in enumerate(rows)]
            connection.executemany("INSERT OR IGNORE INTO items VALUES (?, ?, ?)", items)
            return int(connection.execute("SELECT count(*) FROM items").fetchone()[0]) - int(before)

    def add_annotator(self, name: str, *, lead: bool = False, token: str | None = None) -> str:
        """Admit an annotator and return the token, which is shown this once; adding a name again gives it a new token."""
        if not name or len(name) > 60 or not name.isprintable():
            raise InputError(f"'{name}' cannot be an annotator's name: 1 to 60 printable characters were expected.")
        token = token or secrets.token_urlsafe(24)
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO annotators VALUES (?, ?, ?)", (name, _hash(token), int(lead)))
            connection.execute("DELETE FROM sessions WHERE annotator = ?", (name,))
        return token

    @property
    def schema(self) -> Schema:
        """The schema the store was made for."""
        return load_schema(self.fact("schema"))

    @property
    def kind(self) -> Kind:
        """The kind of text in it."""
        return self.schema.kind(self.fact("kind"))

    @property
    def per_item(self) -> int:
        """How many annotators each item wants."""
        return int(self.fact("per_item"))

    def fact(self, name: str) -> str:
        """A fact about the store; an error where the file is no store."""
        row = self._connection().execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise InputError(f"{self.path} holds no annotations yet. Put texts in first, with --input_fname.")
        return str(row[0])

    # ---- who is asking ----------------------------------------------------------------------------------------------------

    def annotators(self) -> list[tuple[str, bool]]:
        """All annotators with whether they lead, by name."""
        rows = self._connection().execute("SELECT name, lead FROM annotators ORDER BY name").fetchall()
        return [(str(name), bool(lead)) for name, lead in rows]

    def annotator_of_token(self, token: str) -> str | None:
        """Whose token this is. Every stored hash is compared, in constant time, so the time tells nothing."""
        return self._whose("SELECT name, token_hash FROM annotators", token)

    def open_session(self, annotator: str) -> str:
        """A new session's secret."""
        session = secrets.token_urlsafe(32)
        with self._writing() as connection:
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash(session), annotator, time.time()))
        return session

    def annotator_of_session(self, session: str) -> str | None:
        """Whose session this is."""
        return self._whose("SELECT annotator, hash FROM sessions", session)

    def close_session(self, session: str) -> None:
        """Forget a session."""
        with self._writing() as connection:
            connection.execute("DELETE FROM sessions WHERE hash = ?", (_hash(session),))

    def is_lead(self, annotator: str) -> bool:
        """Whether this annotator may see everything and adjudicate."""
        row = self._connection().execute("SELECT lead FROM annotators WHERE name = ?", (annotator,)).fetchone()
        return bool(row and row[0])

    def _whose(self, query: str, secret: str) -> str | None:
        wanted, found = _hash(secret), None
        for name, stored in self._connection().execute(query):
            if hmac.compare_digest(wanted, stored):
                found = str(name)
        return found

    # ---- annotating -------------------------------------------------------------------------------------------------------

    def next_item(self, annotator: str) -> Item | None:
        """The next item for an annotator: one that still wants somebody, not answered by them; skipped ones come last.

        It is leased to them, so that the last free place of an item is not given to two.
        """
        now = time.time()
        with self._writing() as connection:
            connection.execute("DELETE FROM leases WHERE until < ?", (now,))
            row = connection.execute(
                f"""
                SELECT items.id, items.row FROM items
                LEFT JOIN standing AS own ON own.item = items.id AND own.annotator = :me
                LEFT JOIN leases AS mine ON mine.item = items.id AND mine.annotator = :me
                WHERE (own.number IS NULL OR own.skipped = 1) AND {_OTHERS} < :wanted
                ORDER BY coalesce(own.skipped, 0), coalesce(own.at, 0), mine.item IS NULL, items.position LIMIT 1
                """,
                {"me": annotator, "wanted": self.per_item},
            ).fetchone()
            if row is None:
                return None
            connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (row[0], annotator, now + LEASE_S))
        return Item(str(row[0]), json.loads(row[1]))

    def item(self, item: str) -> Item:
        """An item by its id."""
        row = self._connection().execute("SELECT id, row FROM items WHERE id = ?", (item,)).fetchone()
        if row is None:
            raise InputError(f"There is no item '{item[:40]}'.")
        return Item(str(row[0]), json.loads(row[1]))

    def may_answer(self, item: str, annotator: str) -> bool:
        """Whether an item is this annotator's to answer: they hold or answered it, or it still wants somebody."""
        own = "SELECT 1 FROM {} WHERE item = :item AND annotator = :me"
        held = f"{own.format('leases')} UNION {own.format('answers')}"
        others = "SELECT count(*) FROM standing WHERE item = :item AND annotator <> :me AND skipped = 0"
        names, connection = {"item": item, "me": annotator}, self._connection()
        if connection.execute(held, names).fetchone():
            return True
        return int(connection.execute(others, names).fetchone()[0]) < self.per_item

    def save(self, item: str, vote: Vote) -> None:
        """Keep one annotator's answer. It is on disk when this returns."""
        check_vote(self.kind, vote)
        self._answer(item, vote, skipped=False)

    def skip(self, item: str, annotator: str) -> None:
        """Put an item off: it comes back to this annotator after all others."""
        self._answer(item, Vote(annotator=annotator, label=None), skipped=True)

    def undo(self, annotator: str) -> str | None:
        """Take back the annotator's own last answer or skip; the item comes next again. None when there is nothing to undo."""
        with self._writing() as connection:
            row = connection.execute(
                "SELECT number, item FROM answers WHERE annotator = ? AND undone_at IS NULL ORDER BY number DESC LIMIT 1",
                (annotator,),
            ).fetchone()
            if row is None:
                return None
            now = time.time()
            connection.execute("UPDATE answers SET undone_at = ? WHERE number = ?", (now, row[0]))
            self._restand(connection, row[1], annotator)
            connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (row[1], annotator, now + LEASE_S))
            return str(row[1])

    def progress(self, annotator: str) -> Progress:
        """How far this annotator is."""
        connection = self._connection()
        counts = dict(
            connection.execute(
                "SELECT skipped, count(*) FROM standing WHERE annotator = ? GROUP BY skipped", (annotator,)
            ).fetchall()
        )
        left = connection.execute(
            """
            SELECT count(*) FROM items LEFT JOIN standing AS own ON own.item = items.id AND own.annotator = :me AND own.skipped = 0
            WHERE own.item IS NULL
              AND (SELECT count(*) FROM standing WHERE item = items.id AND skipped = 0 AND annotator <> :me) < :wanted
            """,
            {"me": annotator, "wanted": self.per_item},
        ).fetchone()[0]
        return Progress(int(counts.get(0, 0)), int(counts.get(1, 0)), int(left))

    # ---- what was said ----------------------------------------------------------------------------------------------------

    def items(self) -> list[Item]:
        """All items, in their order."""
        rows = self._connection().execute("SELECT id, row FROM items ORDER BY position")
        return [Item(str(name), json.loads(row)) for name, row in rows]

    def votes(self) -> dict[str, list[Vote]]:
        """The answers that stand, by item, in the order of the annotators' names."""
        votes: dict[str, list[Vote]] = {}
        query = f"SELECT item, annotator, includes, label, sub_labels FROM ({_CURRENT}) WHERE skipped = 0 ORDER BY item, annotator"
        for item, annotator, includes, label, sub_labels in self._connection().execute(query):
            votes.setdefault(str(item), []).append(_vote(annotator, includes, label, sub_labels))
        return votes

    def rule(self, item: str, vote: Vote) -> None:
        """Keep an adjudication: it decides the item whatever the votes are. The last one counts."""
        check_vote(self.kind, vote)
        self.item(item)
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO rulings (item, annotator, includes, label, sub_labels, at) VALUES (?, ?, ?, ?, ?, ?)",
                (item, vote.annotator, _bit(vote.includes), vote.label, json.dumps(vote.sub_labels), time.time()),
            )

    def rulings(self) -> dict[str, Vote]:
        """The adjudications that stand, by item."""
        query = "SELECT item, annotator, includes, label, sub_labels FROM rulings ORDER BY number"
        return {str(item): _vote(*rest) for item, *rest in self._connection().execute(query)}

    # ---- the file ---------------------------------------------------------------------------------------------------------

    def _answer(self, item: str, vote: Vote, *, skipped: bool) -> None:
        self.item(item)
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO answers (item, annotator, skipped, includes, label, sub_labels, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (item, vote.annotator, int(skipped), _bit(vote.includes), vote.label, json.dumps(vote.sub_labels), time.time()),
            )
            connection.execute("DELETE FROM leases WHERE item = ? AND annotator = ?", (item, vote.annotator))
            self._restand(connection, item, vote.annotator)

    def _restand(self, connection: sqlite3.Connection, item: str, annotator: str) -> None:
        """Set what stands to the last line of the log that is not undone, inside the transaction that changed the log."""
        connection.execute("DELETE FROM standing WHERE item = ? AND annotator = ?", (item, annotator))
        connection.execute(
            """
            INSERT INTO standing SELECT item, annotator, number, skipped, at FROM answers
            WHERE item = ? AND annotator = ? AND undone_at IS NULL ORDER BY number DESC LIMIT 1
            """,
            (item, annotator),
        )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, begun as a writer: who comes second waits instead of failing half-way."""
        connection = self._connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            plain = RunError(f"{self.path} cannot be written: {error}. Nothing of this answer was kept; save it again.")
            raise database_fault(error, self.path) or plain from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with disk_errors(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
                connection.execute("PRAGMA journal_mode=WAL")
                # FULL: an answer that was confirmed survives even the machine losing power.
                connection.execute("PRAGMA synchronous=FULL")
                connection.executescript(_TABLES)
            except sqlite3.DatabaseError as error:
                other = InputError(f"{self.path} is not a store of annotations ({error}).")
                raise database_fault(error, self.path) or other from error
            self._local.connection = connection
        return connection


def item_id(kind: Kind, row: Row) -> str:
    """A row's own id, or one made from what it is about and its text."""
    if row.get("id"):
        return str(row["id"])
    names = (*kind.carry, *kind.required, kind.text)
    return content_hash(*(json.dumps(look_up(row, name), ensure_ascii=False) for name in names))[:16]


def _vote(annotator: str, includes: int | None, label: str | None, sub_labels: str) -> Vote:
    answer = None if includes is None else bool(includes)
    return Vote(annotator=annotator, label=label, includes=answer, sub_labels=tuple(json.loads(sub_labels)))


def _bit(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _hash(secret: str) -> str:
    # Tokens are long and random, so a plain hash is as good as a slow one.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
