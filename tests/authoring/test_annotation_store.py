"""The store: nothing lost to kills or to saving at once, everybody's answers their own, undo and skip, k per item."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fairwitness.authoring.annotation_store import AnnotationStore
from fairwitness.authoring.exchange import conflicts, counts, state_of
from fairwitness.authoring.schema import load_schema
from fairwitness.authoring.votes import Vote
from fairwitness.errors import InputError

SCHEMA = load_schema("kosbi")


def sentences(number: int) -> list[dict]:
    return [
        {
            "demographic_category": "age" if n % 2 else "region",
            "demographic_group": "pupils",
            "context": f"Context {n}.",
            "sentence": f"Sentence {n}.",
            "context_label": "safe",
            "context_sub_label": None,
        }
        for n in range(number)
    ]


@pytest.fixture
def store(tmp_path: Path) -> AnnotationStore:
    store = AnnotationStore(tmp_path / "a.sqlite")
    store.create(SCHEMA, SCHEMA.second, sentences(6), per_item=2)
    return store


def vote(who: str, label: str = "safe", *sub_labels: str) -> Vote:
    return Vote(annotator=who, label=label, sub_labels=sub_labels)


def test_each_item_gets_its_number_of_annotators_and_no_more(store: AnnotationStore) -> None:
    for name in ("ann", "bob", "eve"):
        store.add_annotator(name)
    seen = dict.fromkeys(("ann", "bob", "eve"), 0)
    while True:
        offered = {name: store.next_item(name) for name in seen}
        if not any(offered.values()):
            break
        # All three hold an item at once: the third must have been given another one.
        for name, item in offered.items():
            if item is not None:
                store.save(item.id, vote(name))
                seen[name] += 1
    assert sum(seen.values()) == 12
    assert all(len(votes) == 2 for votes in store.votes().values())
    assert store.progress("ann").left == 0


def test_the_same_item_is_offered_until_it_is_answered(store: AnnotationStore) -> None:
    store.add_annotator("ann")
    first = store.next_item("ann")
    assert store.next_item("ann") == first


def test_skip_puts_off_and_undo_takes_back(store: AnnotationStore) -> None:
    store.add_annotator("ann")
    first = store.next_item("ann")
    store.skip(first.id, "ann")
    second = store.next_item("ann")
    assert second.id != first.id
    store.save(second.id, vote("ann", "unsafe", "other"))
    assert store.progress("ann").done == 1
    assert store.progress("ann").skipped == 1
    assert store.undo("ann") == second.id
    assert store.votes() == {}
    assert store.next_item("ann").id == second.id
    for _ in range(5):
        store.save(store.next_item("ann").id, vote("ann"))
    assert store.next_item("ann").id == first.id, "what was skipped comes last"
    assert store.undo("bob") is None


def test_undo_reaches_ones_own_answers_only(store: AnnotationStore) -> None:
    store.add_annotator("ann")
    store.add_annotator("bob")
    item = store.next_item("ann")
    store.save(item.id, vote("ann"))
    assert store.undo("bob") is None
    assert store.votes()[item.id] == [vote("ann")]


def test_answers_can_be_changed_and_history_stays(store: AnnotationStore) -> None:
    store.add_annotator("ann")
    item = store.next_item("ann")
    store.save(item.id, vote("ann"))
    store.save(item.id, vote("ann", "unsafe", "other"))
    assert store.votes()[item.id] == [vote("ann", "unsafe", "other")]
    lines = sqlite3.connect(store.path).execute("SELECT count(*) FROM answers").fetchone()[0]
    assert lines == 2


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (vote("ann", "nonsense"), "Unknown label 'nonsense'"),
        (Vote(annotator="ann", label=None), "needs a label"),
        (vote("ann", "safe", "other"), "'other' is no sub-label of 'safe'"),
        (vote("ann", "unsafe", "nonsense"), "no sub-label"),
    ],
)
def test_wrong_votes_are_refused(store: AnnotationStore, wrong: Vote, match: str) -> None:
    store.add_annotator("ann")
    with pytest.raises(InputError, match=match):
        store.save(store.next_item("ann").id, wrong)
    assert store.votes() == {}


def test_tokens_are_kept_as_hashes_and_found(store: AnnotationStore) -> None:
    token = store.add_annotator("ann")
    assert store.annotator_of_token(token) == "ann"
    assert store.annotator_of_token(token + "x") is None
    assert store.annotator_of_token("") is None
    assert token.encode() not in b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    renewed = store.add_annotator("ann")
    assert store.annotator_of_token(token) is None
    assert store.annotator_of_token(renewed) == "ann"


def test_many_save_at_once(tmp_path: Path) -> None:
    """Eight annotators, threads of their own, the same fifty items: every answer is there."""
    store = AnnotationStore(tmp_path / "a.sqlite")
    store.create(SCHEMA, SCHEMA.second, sentences(50), per_item=8)
    names = [f"p{number}" for number in range(8)]
    for name in names:
        store.add_annotator(name)
    failures = []

    def work(name: str) -> None:
        try:
            while (item := store.next_item(name)) is not None:
                store.save(item.id, vote(name, "safe" if int(name[1]) % 2 else "unsafe", *(() if int(name[1]) % 2 else ("other",))))
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(len(votes) for votes in store.votes().values()) == 400


KILLED = """
import sys
from pathlib import Path
from tests.authoring.test_annotation_store import AnnotationStore, vote
store = AnnotationStore(Path(sys.argv[1]))
while (item := store.next_item("ann")) is not None:
    store.save(item.id, vote("ann"))
    print(item.id, flush=True)
"""


def test_kill_minus_nine_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    store = AnnotationStore(tmp_path / "a.sqlite")
    store.create(SCHEMA, SCHEMA.second, sentences(2000), per_item=1)
    store.add_annotator("ann")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(store.path)], stdout=subprocess.PIPE, text=True, env=environment)
    confirmed = [process.stdout.readline().strip() for _ in range(25)]
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    confirmed += [line.strip() for line in process.communicate()[0].splitlines() if line.endswith("\n") or len(line.strip()) == 16]
    votes = store.votes()
    assert all(item in votes for item in confirmed)
    assert len(votes) - len(confirmed) <= 1, "at most the one that was saved but not yet confirmed"


def test_conflicts_and_rulings(store: AnnotationStore) -> None:
    for name in ("ann", "bob"):
        store.add_annotator(name)
    items = store.items()
    store.save(items[0].id, vote("ann", "safe"))
    store.save(items[0].id, vote("bob", "unsafe", "other"))
    store.save(items[1].id, vote("ann", "safe"))
    store.save(items[1].id, vote("bob", "safe"))
    store.save(items[2].id, vote("ann", "safe"))
    assert [item.id for item in conflicts(store)] == [items[0].id]
    store.rule(items[0].id, vote("lead", "unsafe", "stereotype_implicit"))
    assert conflicts(store) == []
    verdict = state_of(store).verdict(items[0])
    assert (verdict.label, verdict.sub_labels, verdict.decided) == ("unsafe", ("stereotype_implicit",), True)
    assert counts(store) == {"items": 6, "answered": 3, "full": 2, "done": 2, "conflicts": 0, "adjudicated": 1}


def test_more_texts_can_be_added_and_another_kind_cannot(store: AnnotationStore) -> None:
    assert store.create(SCHEMA, SCHEMA.second, sentences(8), per_item=2) == 2
    with pytest.raises(InputError, match="holds kosbi sentences, not kosbi contexts"):
        store.create(SCHEMA, SCHEMA.first, [], per_item=2)
    (store.path.parent / "b.sqlite").write_text("nonsense " * 100)
    with pytest.raises(InputError, match="not a store"):
        AnnotationStore(store.path.parent / "b.sqlite").fact("schema")
