"""Real text from a real model: `transformers serve` as the service, and the same model in this process."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from tests.authoring.conftest import write

from fairwitness.authoring.contexts import ContextsConfig, generate_contexts
from fairwitness.models import smollm2

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The built-in model behind `transformers serve`, on a port of this machine."""
    pytest.importorskip("fastapi", reason="transformers[serving] is not installed")
    folder = str(smollm2.pull())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = str(Path(sys.executable).with_name("transformers"))
    command = [program, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", folder]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(1200):
            assert process.poll() is None, "transformers serve ended"
            try:
                urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
                break
            except (URLError, TimeoutError):
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def config(tmp_path: Path, context_pool: Path, **more: object) -> ContextsConfig:
    settings = {
        "language": "en",
        "demo_fpath": context_pool,
        "demographic_list": write(tmp_path / "one.json", {"age": ["pupils"]}),
        "num_generations": 2,
        "num_total_demos": 4,
        "num_in_cat_demos": 2,
        "num_in_grp_demos": 1,
        "max_tokens": 16,
        "retry_tolerance": 2,
        "concurrency": 1,
        "timeout_s": 240.0,
        "output_dir": tmp_path / "out",
        "cache": tmp_path / "answers.sqlite",
    }
    return ContextsConfig(**{**settings, **more})


@pytest.mark.timeout(900)
def test_transformers_serve(tmp_path: Path, context_pool: Path, served: str) -> None:
    made = generate_contexts(config(tmp_path, context_pool, api_url=f"{served}/completions", model=str(smollm2.pull())))
    assert made.counts["failed"] == 0
    assert made.rows
    assert all("\n" not in row["context"] for row in made.rows)
    assert made.ledger["tokens"] > 100
    again = generate_contexts(config(tmp_path, context_pool, api_url=f"{served}/completions", model=str(smollm2.pull())))
    assert again.rows == made.rows


@pytest.mark.timeout(900)
def test_the_model_in_this_process(tmp_path: Path, context_pool: Path) -> None:
    """Batches, order and what was drafted before change nothing: two drafts at once are the two drafts one by one."""
    together = generate_contexts(config(tmp_path, context_pool, model="smollm2", drafts_at_once=2, near_duplicate=2.0))
    more = {"drafts_at_once": 1, "near_duplicate": 2.0, "output_dir": tmp_path / "b", "cache": tmp_path / "b.sqlite"}
    alone = generate_contexts(config(tmp_path, context_pool, model="smollm2", **more))
    assert together.rows
    assert together.rows == alone.rows
    assert together.ledger["answered"] >= 2
