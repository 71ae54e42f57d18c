"""Drafting contexts against a server of our own: the published call sequence, faults, resume, budget, bad files."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.authoring.conftest import context_demos, write
from tests.servers.generation import KEY, Faults, GenerationServer, serving

from fairwitness.authoring.contexts import ContextsConfig, generate_contexts
from fairwitness.errors import InputError, RunError, ServiceError


def config(tmp_path: Path, server: GenerationServer, groups: Path, context_pool: Path, **more: object) -> ContextsConfig:
    settings = {
        "api_url": f"{server.base}/v1/completions",
        "api_key": KEY,
        "model": "m",
        "language": "en",
        "demo_fpath": context_pool,
        "demographic_list": groups,
        "num_generations": 5,
        "output_dir": tmp_path / "out",
        "cache": tmp_path / "answers.sqlite",
        "backoff_s": 0.02,
        "near_duplicate": 0.99,
    }
    return ContextsConfig(**{**settings, **more})


def test_published_sequence(tmp_path: Path, context_pool: Path) -> None:
    """Two equal drafts, then a warmer retry; an empty one uses up its place; the prompt is echoed and taken off."""
    texts = [" sentence A", " sentence A", " sentence B", " ", " sentence C"]
    groups = write(tmp_path / "one.json", {"age": ["teenagers, pupils"]})
    with serving(GenerationServer(lambda number, _prompt, _body: texts[number])) as server:
        settings = {"api_url": f"{server.base}/clova", "num_generations": 4, "concurrency": 1}
        made = generate_contexts(config(tmp_path, server, groups, context_pool, **settings))
    sampling = [(body["temperature"], body["top_p"]) for body in server.record.bodies]
    assert sampling == [(0.5, 0.8), (0.5, 0.8), (0.55, 0.815), (0.5, 0.8), (0.5, 0.8)]
    assert [row["context"] for row in made.rows] == ["sentence A", "sentence B", "sentence C"]
    assert {row["demographic_group_set"] for row in made.rows} == {"teenagers, pupils"}
    assert {row["demographic_group"] for row in made.rows} <= {"teenagers", "pupils"}
    rejected = [json.loads(line) for line in made.rejected_file.read_text().splitlines()]
    assert [(row["reason"], row["place"]) for row in rejected] == [("duplicate", 1), ("empty", 2)]
    assert server.record.bodies[0].keys() == {"text", "max_tokens", "repeat_penalty", "stop_before", "temperature", "top_p"}


def test_prompt_shows_the_demonstrations_asked_for(tmp_path: Path, groups: Path, context_pool: Path) -> None:
    with serving(GenerationServer()) as server:
        generate_contexts(config(tmp_path, server, groups, context_pool, num_generations=3))
    for body in server.record.bodies:
        blocks = body["prompt"].partition("\n\n")[2].split("\n###\n")
        assert len(blocks) == 11
        assert blocks[-1].endswith("Unjudged situation:")
        category = "age" if "(under age)" in blocks[-1] else "region"
        assert sum(f"(under {category})" in block for block in blocks[:-1]) >= 5
        assert len(set(blocks)) == 11


def test_a_service_that_repeats_itself_is_given_up_after_the_tolerance(tmp_path: Path, context_pool: Path) -> None:
    groups = write(tmp_path / "one.json", {"age": ["teenagers"]})
    with serving(GenerationServer(lambda *_: " always the same words")) as server:
        made = generate_contexts(config(tmp_path, server, groups, context_pool, num_generations=2, concurrency=1))
    assert len(made.rows) == 1
    assert server.record.received == 1 + 11
    assert server.record.bodies[-1]["temperature"] == 1.0
    assert server.record.bodies[-1]["top_p"] == 0.95
    assert made.counts == {"asked": 2, "scored": 1, "failed": 0, "rejected": 11}


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions", "/clova", "/v1"])
def test_every_dialect(tmp_path: Path, groups: Path, context_pool: Path, path: str) -> None:
    with serving(GenerationServer()) as server:
        made = generate_contexts(config(tmp_path, server, groups, context_pool, api_url=server.base + path))
    assert len(made.rows) == 20
    assert server.record.keys == {KEY}


def test_clova_studio(tmp_path: Path, groups: Path, context_pool: Path) -> None:
    with serving(GenerationServer()) as server:
        made = generate_contexts(config(tmp_path, server, groups, context_pool, api_url=f"{server.base}/v3/x", api="clova-studio"))
    assert len(made.rows) == 20
    assert made.ledger["tokens"] == 60


@pytest.mark.slow
def test_two_thousand_drafts_under_faults(tmp_path: Path, context_pool: Path) -> None:
    """32 at once, every fifth answer a fault: nothing lost, nothing paid for twice."""
    groups = write(tmp_path / "many.json", {"age": [f"group {number}" for number in range(40)]})
    kinds = ("429", "500", "503", "drop", "cut", "not_json", "no_text")
    with serving(GenerationServer(faults=Faults(0.2, kinds), delay_s=0.01)) as server:
        settings = config(tmp_path, server, groups, context_pool, num_generations=50, concurrency=32, near_duplicate=2.0)
        made = generate_contexts(settings)
        assert len(made.rows) == 2000
        assert made.counts["failed"] == 0
        assert server.record.most_at_once <= 32
        assert set(server.record.answered.values()) == {1}
        again = generate_contexts(settings)
        assert again.rows == made.rows
        assert len(server.record.bodies) == 2000


def test_order_and_concurrency_change_nothing(tmp_path: Path, groups: Path, context_pool: Path) -> None:
    results = []
    with serving(GenerationServer(faults=Faults(0.2, ("500", "drop")))) as server:
        for concurrency in (1, 4):
            more = {
                "drafts_at_once": 1,
                "concurrency": concurrency,
                "output_dir": tmp_path / str(concurrency),
                "cache": tmp_path / f"{concurrency}.sqlite",
            }
            results.append(generate_contexts(config(tmp_path, server, groups, context_pool, **more)).file.read_bytes())
    assert results[0] == results[1]


KILLED = """
import sys
from pathlib import Path
from tests.authoring.test_contexts import ContextsConfig, generate_contexts
generate_contexts(ContextsConfig(api_url=sys.argv[1], api_key=sys.argv[2], model="m", language="en", demo_fpath=Path(sys.argv[3]),
    demographic_list=Path(sys.argv[4]), num_generations=30, output_dir=Path(sys.argv[5]) / "out",
    cache=Path(sys.argv[5]) / "answers.sqlite", concurrency=4, near_duplicate=2.0))
"""


def test_kill_minus_nine_and_resume(tmp_path: Path, groups: Path, context_pool: Path) -> None:
    with serving(GenerationServer(delay_s=0.01)) as server:
        words = [server.base + "/v1/completions", KEY, context_pool, groups, tmp_path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        process = subprocess.Popen([sys.executable, "-c", KILLED, *map(str, words)], env=environment, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(server.record.bodies) < 40 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.1)
        asked = len(server.record.bodies)
        assert 40 <= asked < 120
        assert not (tmp_path / "out" / "output_contexts.json").exists()
        more = {"num_generations": 30, "concurrency": 4, "near_duplicate": 2.0, "backoff_s": 0.5}
        made = generate_contexts(config(tmp_path, server, groups, context_pool, **more))
        assert 116 <= len(made.rows) <= 120, "at most what was in flight at the kill is missing"
        assert set(server.record.answered.values()) == {1}, "nothing is paid for twice"
        assert len(made.rows) == 120 - made.counts["failed"]
        whole = generate_contexts(config(tmp_path, server, groups, context_pool, **more, ask="again"))
        assert len(whole.rows) == 120
        assert len(server.record.bodies) <= 120 + made.counts["failed"]
        elsewhere = {"output_dir": tmp_path / "calm", "cache": tmp_path / "calm.sqlite"}
        calm = generate_contexts(config(tmp_path, server, groups, context_pool, **more, **elsewhere)).ledger
        assert whole.ledger["answered"] + whole.ledger["cached"] == calm["answered"] == 120
        assert whole.ledger["tokens_before"] > 0
        assert whole.ledger["tokens"] + whole.ledger["tokens_before"] == calm["tokens"], "all lives are in the ledger"


def test_failures_are_counted_and_filled_by_the_next_run(tmp_path: Path, groups: Path, context_pool: Path) -> None:
    with serving(GenerationServer()) as server:
        settings = config(tmp_path, server, groups, context_pool, attempts=1)
        generate_contexts(replace(settings, num_generations=1, output_dir=tmp_path / "warm"))
        server.faults = Faults(0.3, ("500",))
        made = generate_contexts(settings)
        failed = made.counts["failed"]
        assert failed > 0
        assert len(made.rows) == 20 - failed
        server.faults = Faults()
        again = generate_contexts(settings)
        assert len(again.rows) == 20
        assert again.counts["failed"] == 0
        assert set(server.record.answered.values()) == {1}


def test_key_is_nowhere(tmp_path: Path, groups: Path, context_pool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(GenerationServer()) as server:
        settings = config(tmp_path, server, groups, context_pool)
        generate_contexts(settings)
        wrong = config(
            tmp_path, server, groups, context_pool, api_key="sk-wrong-key-000111222333444", output_dir=tmp_path / "b", seed=1
        )
        with pytest.raises(ServiceError) as caught:
            generate_contexts(wrong)
    shown = repr(settings) + str(caught.value) + "".join(capsys.readouterr())
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for key in (KEY, "sk-wrong-key-000111222333444"):
        assert key not in shown
        assert key.encode() not in files


def test_key_from_the_environment_and_none(
    tmp_path: Path, groups: Path, context_pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(GenerationServer()) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        generate_contexts(config(tmp_path, server, groups, context_pool, api_key=None))
        assert server.record.keys == {KEY}
        monkeypatch.delenv("OPENAI_API_KEY")
        away = config(tmp_path, server, groups, context_pool, api_key=None, api_url="https://service.invalid/v1", seed=2)
        with pytest.raises(InputError, match=r"No API key for service.invalid. Set FAIRWITNESS_API_KEY or OPENAI_API_KEY"):
            generate_contexts(replace(away, output_dir=tmp_path / "x"))


def test_budget(tmp_path: Path, groups: Path, context_pool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(GenerationServer()) as server:
        dear = {"price_read": 1000.0, "price_written": 1000.0}
        with pytest.raises(RunError, match=r"more than --max_cost 0.01"):
            generate_contexts(config(tmp_path, server, groups, context_pool, **dear, max_cost=0.01))
        assert server.record.received == 0
        made = generate_contexts(config(tmp_path, server, groups, context_pool, **dear, max_cost=100.0))
        said = capsys.readouterr().err
        again = generate_contexts(config(tmp_path, server, groups, context_pool, **dear, restart=True))
        assert again.ledger["cost"] == 0
        assert again.ledger["cost_before"] == pytest.approx(made.ledger["cost"])
        assert "20 drafts from http://127.0.0.1" in said
        assert "20 to ask" in said
        assert "cost" in said


def test_bad_pools(tmp_path: Path, groups: Path, context_pool: Path) -> None:
    with serving(GenerationServer()) as server:

        def attempt(match: str, **more: object) -> None:
            with pytest.raises(InputError, match=match):
                generate_contexts(config(tmp_path, server, groups, context_pool, **more))

        attempt("pool is empty", demo_fpath=write(tmp_path / "empty.json", []))
        attempt("has 7 different demonstrations, fewer than the 10 asked. Try --num_total_demos 7",
                demo_fpath=write(tmp_path / "seven.json", context_demos()[:7]))  # fmt: skip
        attempt("row 1 has no 'context'", demo_fpath=write(tmp_path / "typo.json", [{"contxt": "x"}]))
        attempt("num_total_demos 4 is fewer", num_total_demos=4)
        attempt("no prompts in 'fr'", language="fr")
        attempt("Unknown kind of service 'chatt'. Did you mean 'chat'", api="chatt")
        attempt("needs the name of a model", model="")
        assert server.record.received == 0
