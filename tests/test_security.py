"""Nothing that comes from outside can run: no pickles, no code of models, no shell. Read from the source, proven on files."""

import ast
import contextlib
import json
import pickle
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairwitness.errors import FairWitnessError, ModelError

SOURCE = Path(__file__).parents[1] / "src" / "fairwitness"
FILES = sorted(SOURCE.rglob("*.py"))
# Bytes that one of our own processes sends another within a run; none of these files opens a file that a user brings.
BETWEEN_OUR_PROCESSES = {"engine/spool.py", "engine/device_worker.py", "engine/ray_cluster.py", "engine/map_reduce.py"}
RUNS_CODE = {
    "eval",
    "exec",
    "os.system",
    "os.popen",
    "pickle.load",
    "pickle.Unpickler",
    "joblib.load",
    "marshal.loads",
    "shelve.open",
}
RUNS_CODE |= {
    "yaml.load",
    "dill.loads",
    "cloudpickle.loads",
    "pickle.loads",
    "runpy.run_path",
    "importlib.machinery.SourceFileLoader",
}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def keyword(call: ast.Call, name: str) -> Any:
    return next((ast.literal_eval(word.value) for word in call.keywords if word.arg == name and is_plain(word.value)), None)


def is_plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_from_outside_is_run(path: Path) -> None:
    where = str(path.relative_to(SOURCE))
    for name, call in calls(path):
        allowed = name == "pickle.loads" and where in BETWEEN_OUR_PROCESSES
        assert name not in RUNS_CODE or allowed, f"{where}:{call.lineno} {name}"
        assert keyword(call, "shell") is not True, f"{where}:{call.lineno} shell=True"
        assert keyword(call, "trust_remote_code") is not True, f"{where}:{call.lineno} trust_remote_code"
        if name == "torch.load":
            assert keyword(call, "weights_only") is True, f"{where}:{call.lineno} torch.load without weights_only"
        if name in ("np.load", "numpy.load"):
            assert keyword(call, "allow_pickle") is False, f"{where}:{call.lineno} np.load that could unpickle"


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "models"], ids=lambda path: path.name)
def test_weights_are_loaded_in_a_safe_format(path: Path) -> None:
    for name, call in calls(path):
        if not name.startswith("AutoModel") or not name.endswith("from_pretrained"):
            continue
        words = ast.unparse(call)
        assert "safe(" in words or "**arguments" in words or "gguf_file=" in words or "use_safetensors=True" in words, words


class Bomb:
    """Unpickled, it leaves a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (Path.touch, (self.mark,))


def test_a_pickle_of_weights_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as a causal model, a masked one, a classifier, or a filter; and not by torch's own guard when it is asked for."""
    pytest.importorskip("transformers")
    from fairwitness.models import causal_lm, masked_lm
    from fairwitness.models.text_classifier import load_classifier
    from fairwitness.scorers.by_name import scorer_by_name

    from .models.tiny_folders import tiny_folder

    folder, mark = tiny_folder(tmp_path / "model"), tmp_path / "it ran"
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(ModelError, match="could run code, so it is not opened"):
        causal_lm.load(str(folder))
    with pytest.raises(FairWitnessError):
        masked_lm.load(str(folder))
    with pytest.raises(FairWitnessError):
        scorer_by_name(f"hf:{folder}").score(["text"])
    with pytest.raises(ModelError, match="pickle"):
        load_classifier(folder / "pytorch_model.bin")
    monkeypatch.setenv("FAIRWITNESS_ALLOW_PICKLED_WEIGHTS", "1")
    with pytest.raises(ModelError):
        causal_lm.load(str(folder))
    assert not mark.exists()


@pytest.mark.parametrize(
    "asked",
    [
        {"auto_map": {"AutoConfig": "brought.Code", "AutoModelForCausalLM": "brought.Code"}},
        {"auto_map": {"AutoConfig": "brought.Code"}, "trust_remote_code": True},
        {"_attn_implementation_internal": "somebody/kernel"},
        {"_attn_implementation": "somebody/kernel"},
        {"attn_implementation": "somebody/kernel"},
    ],
    ids=str,
)
def test_code_that_a_config_asks_for_is_not_run(tmp_path: Path, asked: dict[str, Any]) -> None:
    """Loaded without it, or refused; and nothing is fetched (the tests have no network)."""
    pytest.importorskip("transformers")
    from fairwitness.models import causal_lm

    from .models.tiny_folders import tiny_folder

    folder, mark = tiny_folder(tmp_path / "model"), tmp_path / "it ran"
    (folder / "brought.py").write_text(f"open({str(mark)!r}, 'w')\nclass Code: pass\n", encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | asked), encoding="utf-8")
    with contextlib.suppress(ModelError):
        causal_lm.load(str(folder), device="cpu")
    assert not mark.exists()


def test_what_users_install_has_none_of_the_packages_with_a_weakness_that_nobody_mends() -> None:
    """`make audit` accepts those of our own tools by name (docs/security.md says why); they must not come to users."""
    pins = runpy.run_path(str(SOURCE.parents[1] / "scripts" / "pins.py"))
    shipped, tools = ({line.partition("==")[0].lower() for line in pins[part]()} for part in ("shipped", "tools"))
    assert {"polars", "torch", "transformers", "ray", "starlette"} <= shipped
    assert not {"sqlitedict", "ply"} & shipped
    assert not shipped & tools


def test_arrays_and_graphs_are_not_unpickled(tmp_path: Path) -> None:
    import numpy as np

    from fairwitness.graphs.reading import read_array
    from fairwitness.models.ngram_classifier import load_ngram_classifier

    mark = tmp_path / "it ran"
    np.save(tmp_path / "a.npy", np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", head=np.array([Bomb(mark)], dtype=object))
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Bomb(mark)))
    for read, name in ((read_array, "a.npy"), (read_array, "b.npy"), (load_ngram_classifier, "a.npz")):
        with pytest.raises(FairWitnessError):
            read(tmp_path / name)
    assert not mark.exists()
