"""The client against a real server that misbehaves: nothing lost, nothing asked twice, the quota holds, no secret gets out."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.servers.perspective import KEY, Faults, PerspectiveServer, score_of, serving

from fairwitness.errors import InputError, ServiceError
from fairwitness.models.answer_cache import AnswerCache
from fairwitness.models.retries import Next, Patience
from fairwitness.models.service import IN_DOUBT, Client, Limits, Request, Service
from fairwitness.models.wire import Outcome, Wire, WrongAnswerError

QUICK = Patience(attempts=10, backoff_s=0.01, longest_wait_s=0.2)


def check(payload: object) -> None:
    try:
        float(payload["attributeScores"]["TOXICITY"]["summaryScore"]["value"])
    except (TypeError, KeyError, ValueError) as error:
        raise WrongAnswerError("no score") from error


def service_at(url: str, key: str = KEY) -> Service:
    return Service(name="Perspective", url=url, identity={"service": "perspective"}, params={"key": key}, check=check)


def requests_for(texts: list[str]) -> list[Request]:
    return [Request({"comment": {"text": text}, "requestedAttributes": {"TOXICITY": {}}}) for text in texts]


def value(answer) -> float:
    return answer.payload["attributeScores"]["TOXICITY"]["summaryScore"]["value"]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[AnswerCache]:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    yield cache
    cache.close()


def test_answers_come_in_order_and_are_kept(cache: AnswerCache) -> None:
    texts = [f"text {index}" for index in range(300)]
    with serving(PerspectiveServer()) as server:
        with Client(service_at(server.url), cache=cache) as client:
            assert [value(answer) for answer in client.call(requests_for(texts))] == [score_of(text) for text in texts]
            assert client.ledger.calls == client.ledger.answered == 300
        with Client(service_at(server.url), cache=cache) as again:
            answers = list(again.call(requests_for(texts)))
            assert [value(answer) for answer in answers] == [score_of(text) for text in texts]
            assert again.ledger.calls == 0
            assert again.ledger.cached == 300
            assert again.count_known(requests_for([*texts, "new"])) == (301, 300)
        assert server.record.received == 300


def test_equal_requests_are_sent_once(cache: AnswerCache) -> None:
    with serving(PerspectiveServer(delay_s=0.05)) as server, Client(service_at(server.url), cache=cache) as client:
        answers = list(client.call(requests_for(["same"] * 20)))
        assert server.record.received == 1
        assert {value(answer) for answer in answers} == {score_of("same")}


def test_samples_of_one_prompt_are_apart(cache: AnswerCache) -> None:
    body = requests_for(["prompt"])[0].body
    with serving(PerspectiveServer()) as server, Client(service_at(server.url), cache=cache) as client:
        list(client.call([Request(body, sample="1"), Request(body, sample="2")]))
        assert server.record.received == 2


def test_a_thousand_texts_under_thirty_percent_faults(cache: AnswerCache) -> None:
    texts = [f"text {index}" for index in range(1000)]
    limits = Limits(workers=16, timeout_s=1.0, patience=QUICK, minute_s=1.0)
    with (
        serving(PerspectiveServer(faults=Faults(0.3, slow_s=1.3))) as server,
        Client(service_at(server.url), limits=limits, cache=cache) as client,
    ):
        answers = list(client.call(requests_for(texts)))
    assert len(answers) == 1000
    for text, answer in zip(texts, answers, strict=True):
        assert (answer.payload is None) != (answer.error is None)
        if answer.error is None:
            assert value(answer) == score_of(text)
        else:
            assert "tried 10 times" in answer.error
    assert sum(answer.error is None for answer in answers) >= 990
    assert server.record.faults.total() > 250
    # A slow answer that the client stopped waiting for is asked again; nothing else is answered twice.
    assert sum(count - 1 for count in server.record.answered.values()) <= server.record.faults["slow"]


def test_quota_is_kept(cache: AnswerCache) -> None:
    limits = Limits(workers=16, per_minute=60, minute_s=1.0, patience=QUICK, timeout_s=2)
    with (
        serving(PerspectiveServer(quota=60, minute_s=1.0, faults=Faults(0.3, kinds=("500", "drop", "wrong_json")))) as server,
        Client(service_at(server.url), limits=limits, cache=cache) as client,
    ):
        answers = list(client.call(requests_for([f"text {index}" for index in range(200)])))
    assert all(answer.error is None for answer in answers)
    assert server.overrun() <= 1


def test_quota_counts_what_an_earlier_run_sent(cache: AnswerCache) -> None:
    limits = Limits(per_minute=50, minute_s=1.5, patience=QUICK)
    with serving(PerspectiveServer(quota=50, minute_s=1.5)) as server:
        for run in range(3):
            with Client(service_at(server.url), limits=limits, cache=cache) as client:
                list(client.call(requests_for([f"run {run} text {index}" for index in range(30)])))
    assert server.overrun() <= 1


def test_refusals_hold_everybody_until_the_next_minute(cache: AnswerCache) -> None:
    """Somebody else spends our quota: we learn it from 429s and do not hammer."""
    limits = Limits(workers=8, per_minute=1000, minute_s=1.0, patience=Patience(attempts=20, backoff_s=0.05))
    with (
        serving(PerspectiveServer(quota=40, minute_s=1.0)) as server,
        Client(service_at(server.url), limits=limits, cache=cache) as client,
    ):
        answers = list(client.call(requests_for([f"text {index}" for index in range(120)])))
    assert all(answer.error is None for answer in answers)
    assert server.overrun() <= 20


def test_qps_spreads_the_starts(cache: AnswerCache) -> None:
    with serving(PerspectiveServer()) as server, Client(service_at(server.url), limits=Limits(qps=50), cache=cache) as client:
        start = time.monotonic()
        list(client.call(requests_for([f"text {index}" for index in range(26)])))
        assert time.monotonic() - start >= 0.5


def test_permanent_errors_have_their_reason_and_are_not_asked_again(cache: AnswerCache) -> None:
    texts = ["fine", " ", "ü" * 20_000]
    with serving(PerspectiveServer()) as server:
        for _ in range(2):
            with Client(service_at(server.url), cache=cache) as client:
                fine, empty, long = client.call(requests_for(texts))
            assert fine.error is None
            assert "COMMENT_EMPTY" in empty.error
            assert "COMMENT_TOO_LONG" in long.error
        assert server.record.received == 3


def test_a_wrong_key_stops_at_once_and_is_not_shown(cache: AnswerCache, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "AIzaWrongKey0123456789012345678901234"
    with serving(PerspectiveServer()) as server, Client(service_at(server.url, wrong), cache=cache) as client:
        with pytest.raises(ServiceError, match="403 PERMISSION_DENIED") as caught:
            list(client.call(requests_for([f"text {index}" for index in range(1000)])))
        assert client.ledger.calls <= 2 * client.limits.workers
    shown = str(caught.value) + repr(client.service) + caplog.text
    assert wrong not in shown
    assert "key=***" in shown
    assert wrong.encode() not in b"".join(path.read_bytes() for path in cache.path.parent.iterdir())


def test_a_service_that_is_not_there_stops(cache: AnswerCache) -> None:
    patience = Patience(attempts=2, backoff_s=0.01)
    with (
        Client(service_at("http://127.0.0.1:9/x"), limits=Limits(patience=patience), cache=cache) as client,
        pytest.raises(ServiceError, match="Nothing was answered so far"),
    ):
        list(client.call(requests_for([f"text {index}" for index in range(1000)])))


def test_not_an_address() -> None:
    with pytest.raises(InputError, match="not the address"):
        list(Client(service_at("localhost/x?key=abc")).call([]))


def test_a_consumer_that_leaves_early_loses_nothing(cache: AnswerCache) -> None:
    with serving(PerspectiveServer()) as server, Client(service_at(server.url), cache=cache) as client:
        answers = client.call(requests_for([f"text {index}" for index in range(200)]))
        next(answers)
        answers.close()
        asked = server.record.received
        assert asked == client.ledger.answered
        list(client.call(requests_for([f"text {index}" for index in range(200)])))
        assert server.record.received == 200


KILLED = """
import sys
from pathlib import Path
from tests.models.test_service import Client, AnswerCache, Limits, service_at, requests_for
with Client(service_at(sys.argv[1]), limits=Limits(workers=4), cache=AnswerCache(Path(sys.argv[2]))) as client:
    for _ in client.call(requests_for([f"text {index}" for index in range(400)])):
        pass
"""


def test_kill_minus_nine_and_resume(cache: AnswerCache) -> None:
    """By the server's own count no text is answered twice: what was on its way at the kill is left, with that reason."""
    requests = requests_for([f"text {index}" for index in range(400)])
    with serving(PerspectiveServer(delay_s=0.005)) as server:
        command = [sys.executable, "-c", KILLED, server.url, str(cache.path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while server.record.received < 150 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        time.sleep(0.1)
        assert 150 <= server.record.received < 400
        with Client(service_at(server.url), limits=Limits(workers=4), cache=cache) as client:
            answers = list(client.call(requests))
        doubtful = [index for index, answer in enumerate(answers) if answer.error is not None]
        assert all(answers[index].error == IN_DOUBT for index in doubtful)
        assert len(doubtful) <= 4, "no more than were in flight"
        assert set(server.record.answered.values()) == {1}, "nothing was asked twice"
        assert {f"text {index}" for index in range(400)} - set(server.record.answered) <= {f"text {index}" for index in doubtful}
        # Asked for in so many words, they are asked once more, and nothing else is.
        with Client(service_at(server.url), limits=Limits(workers=4, ask="again"), cache=cache) as client:
            answers = list(client.call(requests))
        assert [value(answer) for answer in answers] == [score_of(f"text {index}") for index in range(400)]
        assert client.ledger.calls == len(doubtful)


def test_what_another_process_is_waiting_for_is_not_in_doubt(cache: AnswerCache) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        for name, asker in {"theirs": f"{other.pid}-x", "mine": None, "same number": f"{os.getpid()}-x"}.items():
            number = cache.note_sent("url", name)
            if asker is not None:
                with cache._connection() as connection:
                    connection.execute("UPDATE sent SET asker = ? WHERE number = ?", (asker, number))
        assert cache.in_doubt() == {"same number"}
        other.kill()
        other.wait()
        assert cache.in_doubt() == {"same number", "theirs"}
    cache.put("theirs", "s", 1)
    assert cache.in_doubt() == {"same number"}


def test_not_an_answer_to_ask(cache: AnswerCache) -> None:
    with pytest.raises(InputError, match=r"neither once nor again. Did you mean 'again'"):
        list(Client(service_at("http://127.0.0.1:9/x"), limits=Limits(ask="agian"), cache=cache).call([]))


def test_a_waiting_job_does_not_delay_the_end(cache: AnswerCache) -> None:
    """One request waits a minute for its next try; another meets a wrong key: everything stops at once."""
    service = service_at("http://127.0.0.1:9/x")
    with Client(service, limits=Limits(workers=2), cache=cache) as client:
        outcomes = iter([Outcome(Next.RETRY, failure="later", retry_after_s=60.0), Outcome(Next.STOP, failure="wrong key")])
        client._wire.post = lambda _body: next(outcomes)
        start = time.monotonic()
        with pytest.raises(ServiceError, match="wrong key"):
            list(client.call(requests_for(["a", "b"])))
        assert time.monotonic() - start < 10


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"text": "\\ud83d"}', b"<html>", b'{"text": "\xff"}'])
def test_what_cannot_be_read_is_no_answer(body: bytes) -> None:
    """Nested without end, half a character (which no file holds), no JSON, no text."""
    wire = Wire(service_at("http://127.0.0.1"), 1.0)
    assert wire._read(SimpleNamespace(content=body, status_code=200, headers={})).step is Next.RETRY
