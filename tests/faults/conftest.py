"""The zygote, the tiny model, and how two folders of results are compared."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairwitness.files import file_hash

from ..models.tiny_folders import tiny_folder
from ..servers.generation import GenerationServer, serving, unique

REPOSITORY = Path(__file__).parents[2]
# What depends on the moment of the run and not on its answer. A datasheet does not: it says what all lives together paid.
_NOT_COMPARED = {"run.json", ".lock", "report.html", "cassette.parquet"}

Life = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def live(model: Path) -> Iterator[Life]:
    """`live("crows", folder, kill_at=7)`: one life of an audit (or several at once, with copies), and how it ended."""
    paths = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-m", "tests.faults.zygote"]
    with (
        serving(GenerationServer(speak)) as service,
        subprocess.Popen(
            words,
            env={**environment, "FAULTS_SERVICE": f"{service.base}/v1/completions"},
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as zygote,
    ):
        assert zygote.stdin
        assert zygote.stdout

        def ask(audit: str, folder: Path, **how: Any) -> list[dict[str, Any]]:
            zygote.stdin.write(json.dumps({"audit": audit, "folder": str(folder), "model": str(model), **how}) + "\n")
            zygote.stdin.flush()
            # A test that was cut off may have left its answer in the pipe.
            answered: dict[str, Any] = {}
            while answered.get("folder") != str(folder):
                answered = json.loads(zygote.stdout.readline())
            answers: list[dict[str, Any]] = answered["answers"]
            assert not any("bug" in answer for answer in answers), answers
            return answers

        yield ask
        zygote.stdin.close()


def speak(number: int, prompt: str, body: dict[str, Any]) -> str:
    """Drafts whose class can be learnt from their words, the same whenever they are asked for."""
    text = unique(number, prompt, body)
    return text + (" were late again" if int(text.split()[1], 16) % 2 else " waved kindly")


def outputs(folder: Path) -> dict[str, str]:
    """Every file of a finished run that its answer is in, by its bytes."""
    found = (
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in _NOT_COMPARED and ".sqlite" not in path.name
    )
    return {str(path.relative_to(folder)): file_hash(path) for path in found}


def entries(folder: Path) -> dict[str, Any]:
    """The audits recorded in a run folder."""
    return dict(json.loads((folder / "run.json").read_text())["audits"])
