"""Many conversations at once over one client: each goes its own way, nothing waits for a stranger, all is kept."""

from collections.abc import Generator
from pathlib import Path

from tests.models.test_service import QUICK, requests_for, service_at, value
from tests.servers.perspective import Faults, PerspectiveServer, score_of, serving

from fairwitness.models.answer_cache import AnswerCache
from fairwitness.models.service import Client, Limits


def talk(name: str, turns: int) -> Generator:
    seen = []
    for turn in range(turns):
        answers = yield requests_for([f"{name} {turn}", f"{name} {turn} b"])
        seen += [value(answer) for answer in answers]
    answers = yield []
    assert answers == []
    return seen


def expected(name: str, turns: int) -> list[float]:
    return [score_of(text) for turn in range(turns) for text in (f"{name} {turn}", f"{name} {turn} b")]


def test_talks_get_their_own_answers_under_faults(tmp_path: Path) -> None:
    lengths = [0, 1, 5, 3] * 10
    faults = Faults(0.2, kinds=("429", "500", "drop", "cut"))
    cache = AnswerCache(tmp_path / "answers.sqlite")
    with serving(PerspectiveServer(faults=faults)) as server:
        for _ in range(2):
            with Client(service_at(server.url), limits=Limits(workers=2, patience=QUICK, minute_s=0.5), cache=cache) as client:
                results = dict(client.converse(talk(f"t{n}", length) for n, length in enumerate(lengths)))
            assert results == {n: expected(f"t{n}", length) for n, length in enumerate(lengths)}
        assert client.ledger.calls == 0, "the second time everything comes from the disk"
        assert set(server.record.answered.values()) == {1}
    cache.close()


def test_no_more_in_flight_than_asked(tmp_path: Path) -> None:
    with serving(PerspectiveServer(delay_s=0.02)) as server, Client(service_at(server.url), limits=Limits(workers=3)) as client:
        list(client.converse(talk(f"t{n}", 2) for n in range(10)))
        assert 0 < server.record.most_at_once <= 3
