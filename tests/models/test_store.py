"""Naming a model that is not there, or not a model, is answered in one line with what to do; copies are whole or made again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fairwitness.models import four_bit, store
from fairwitness.models.causal_lm import load

from .tiny_folders import tiny_folder


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


def test_a_stored_copy_is_made_once_whole_and_anew_for_other_weights(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU nothing is packed, so the packing itself is left out: benchmarks/gpu_quantize.py looks at that."""
    monkeypatch.setattr(four_bit, "arguments", lambda place, number, **_: {})
    source = tiny_folder(tmp_path / "model")
    copy = store.pull(str(source), quantize=True)
    assert copy.parent == own_cache / "models"
    both = [load(str(folder), device="cpu", dtype="float32") for folder in (source, copy)]
    assert len({lm.logprobs(["It was"], [[" cold", "."]])[0] for lm in both}) == 1
    made = (copy / "model.safetensors").stat().st_mtime_ns
    assert store.pull(str(source), quantize=True) == copy
    assert (copy / "model.safetensors").stat().st_mtime_ns == made
    assert [(row.name, row.kind) for row in store.cached()][1] == (str(source), "4-bit copy")
    (copy / "model.safetensors").write_bytes(b"cut short")
    assert [row.kind for row in store.cached()] == ["built in"]
    store.pull(str(source), quantize=True)
    assert (copy / "model.safetensors").stat().st_size > 1000
    tiny_folder(source, hidden_size=64)
    assert store.pull(str(source), quantize=True) != copy


def _with(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text("{}")
    return folder
