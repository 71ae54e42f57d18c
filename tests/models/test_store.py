"""Naming a model that is not there, or not a model, is answered in one line with what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda folder: folder / "absent" / "model" / "x", "There is no model"),
        (lambda folder: folder, "no config.json"),
        (lambda folder: _with(folder, "config.json"), "no weights in a safe format"),
        (lambda folder: _with(folder, "config.json", "pytorch_model.bin"), "Pickled weights are not loaded"),
        (lambda folder: _with(folder, "model.gguf") / "model.gguf", "is a file"),
    ],
)
def test_what_cannot_be_pulled(
    fairwitness: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable, expected: str
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    done = fairwitness("models", "pull", make(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert done.err.count("\n") == 1


def test_quantize_without_cuda(fairwitness: Callable, tmp_path: Path) -> None:
    folder = _with(tmp_path, "config.json", "model.safetensors")
    done = fairwitness("models", "pull", folder, "--quantize")
    assert done.code == 2
    assert "CUDA" in done.err


def test_list_names_the_built_in_model(fairwitness: Callable, own_cache: Path) -> None:
    done = fairwitness("models", "list")
    assert done.code == 0
    assert "smollm2" in done.out
    assert "not pulled yet" in done.out


def _with(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text("{}")
    return folder
