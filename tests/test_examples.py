"""Every example runs as a user would run it: in a process of its own, in an empty folder."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.models.tiny_folders import tiny_folder

EXAMPLES = Path(__file__).parents[1] / "examples"
SOURCE = EXAMPLES.parent / "src"


def run(words: list[object], folder: Path, *more: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in `folder` with Fair Witness and `more` on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, *more))), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False)


def test_all_examples_are_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "own_predictions.py", "hugging_face_model.py", "own_scorer.py", "gate_in_ci.py", "test_gate.py",
    }  # fmt: skip


def test_own_predictions(tmp_path: Path) -> None:
    done = run([EXAMPLES / "own_predictions.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "My classifier" in (tmp_path / "own_predictions.html").read_text(encoding="utf-8")
    code = (EXAMPLES / "own_predictions.py").read_text().split('"""')[2]
    lines = [line for line in code.splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith(("import", "from"))]) <= 5, "five lines were promised"


def test_gate_in_ci_and_in_pytest(tmp_path: Path) -> None:
    done = run([EXAMPLES / "gate_in_ci.py"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in done.stdout
    # Installed, the plug-in is found by its entry point; from a checkout alone it is named.
    known = any(point.value == "fairwitness.pytest_plugin" for point in entry_points(group="pytest11"))
    plugin = [] if known else ["-p", "fairwitness.pytest_plugin"]
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, EXAMPLES / "test_gate.py", "--rootdir", tmp_path]
    done = run(words, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_hugging_face_model(tmp_path: Path) -> None:
    model = tiny_folder(tmp_path / "tiny")
    done = run([EXAMPLES / "hugging_face_model.py", model, "60"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Group fairness" in (tmp_path / "runs" / "hugging_face_model" / "report.html").read_text(encoding="utf-8")


def test_own_scorer(tmp_path: Path) -> None:
    target = tmp_path / "installed"
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", target]
    done = run([*install, EXAMPLES / "scorer_plugin"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "shouting" in run(["-m", "fairwitness", "list", "scorers"], tmp_path, target).stdout
    done = run([EXAMPLES / "own_scorer.py"], tmp_path, target)
    assert done.returncode == 0, done.stderr
    assert "gender:" in done.stdout
    assert (tmp_path / "runs" / "own_scorer" / "report.html").is_file()


def test_the_workflow_is_valid_and_its_commands_run(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load((EXAMPLES / "github-actions" / "fairness-gate.yml").read_text())["jobs"]["gate"]["steps"]
    commands = "\n".join(step.get("run", "") for step in steps)
    for line in (line.strip() for line in commands.splitlines() if line.strip().startswith("fairwitness ")):
        words = line.replace("predictions.csv", str(EXAMPLES / "my_predictions.csv")).split(" || ")[0].split()[1:]
        words = [str(EXAMPLES / "gate.toml") if word == "gate.toml" else word for word in words]
        done = run(["-m", "fairwitness", *words], tmp_path)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
    assert (tmp_path / "report.md").is_file()
