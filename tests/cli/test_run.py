"""`fairwitness run suite.toml`: several audits in one call that may be killed, one report at its end; what a suite gets wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.report.made_runs import predictions

from fairwitness import tables
from fairwitness.audits.suite import read_suite

AUDIT = """
[[audit]]
verb = "fairness"
name = "{name}"
preds = "{name}.parquet"
label_col = "target"
id_cols = ["female", "muslim"]
replicates = 200
charts = false
"""
SUITE = 'title = "Nightly"\nout = "runs/nightly"\n' + "".join(AUDIT.format(name=name) for name in ("first", "second", "third"))


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, shift in (("first", 0.0), ("second", 0.4), ("third", 0.2)):
        tables.write(predictions(300, shift=shift), tmp_path / f"{name}.parquet")
    (tmp_path / "nightly.toml").write_text(SUITE)
    return tmp_path / "nightly.toml"


def outputs(folder: Path) -> dict[str, bytes]:
    kept = ("*.csv", "*.parquet", "*.png")
    return {str(path.relative_to(folder)): path.read_bytes() for kind in kept for path in folder.rglob(kind)}


def finished() -> str:
    return json.loads(Path("runs/nightly/first/run.json").read_text())["audits"]["fairness"]["finished"]


def test_one_call_one_report(fairwitness: Callable, suite: Path) -> None:
    done = fairwitness("run", suite)
    assert done.code == 0, done.err
    assert Path(done.out.splitlines()[-1]) == Path("runs/nightly/report.html")
    page = Path("runs/nightly/report.html").read_text(encoding="utf-8")
    for words in ("Nightly", "Group fairness (first/fairness)", "Group fairness (third/fairness)", "Side by side"):
        assert words in page
    before = outputs(Path("runs")), finished()
    assert fairwitness("run", suite, "--out", "again.md").code == 0
    assert (outputs(Path("runs")), finished()) == before, "what is done is not done again"
    assert "# Nightly" in Path("again.md").read_text(encoding="utf-8")


def test_killed_and_called_again(fairwitness: Callable, suite: Path, tmp_path: Path) -> None:
    assert fairwitness("run", suite).code == 0
    whole = outputs(Path("runs"))
    Path("runs").rename("whole")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "fairwitness", "run", str(suite)]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    first = tmp_path / "runs" / "nightly" / "first" / "fairness.csv"
    for _ in range(6000):
        if first.exists() or process.poll() is not None:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "runs" / "nightly" / "report.html").exists(), "it was killed before its end"
    assert fairwitness("run", suite).code == 0
    assert outputs(Path("runs")) == whole


def test_several_models_have_folders_of_their_own(tmp_path: Path) -> None:
    models = 'models = ["gpt2", "org/model:v1"]'
    (tmp_path / "s.toml").write_text(f'[[audit]]\nverb = "stereoset eval"\n{models}\nsubset = "both"\nquantize = false')
    title, steps = read_suite(tmp_path / "s.toml", {"stereoset eval": "output=stereoset.csv"})
    assert title == "Suite s"
    assert [str(step.folder) for step in steps] == ["runs/s/01-stereoset-eval-gpt2", "runs/s/01-stereoset-eval-org-model-v1"]
    out = "runs/s/01-stereoset-eval-org-model-v1/stereoset.csv"
    words = ("stereoset", "eval", "--subset", "both", "--quantize=False", "--model", "org/model:v1", "--output", out)
    assert steps[1].words == words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[audit", "not valid TOML"),
        ("", "is empty"),
        ("title = 'x'", "no [[audit]] tables"),
        ("audit = 3", "no [[audit]] tables"),
        ("[[audit]]\nname = 'x'", "has no verb"),
        ("[[audit]]\nverb = 'fairnes'", "Did you mean 'fairness'"),
        ("[[audit]]\nverb = 'gate'", "cannot run 'gate'"),
        ("outt = 'x'\n[[audit]]\nverb = 'fairness'", "Did you mean 'out'"),
        ("[[audit]]\nverb = 'fairness'\npreds = 'missing.csv'\nlabel_col = 'y'", "missing.csv"),
        ("[[audit]]\nverb = 'fairness'\nno_such = 1", "no"),
        ("[[audit]]\nverb = 'fairness'\nmodels = 'gpt2'", "models"),
        ("[[audit]]\nverb = 'fairness'\nname = '../outside'", "name"),
        ("[[audit]]\nverb = 'fairness'\nname = '..'", "name"),
        ("[[audit]]\nverb = 'fairness'\nname = ''", "name"),
        ("[[audit]]\nverb = 'fairness'\nname = 'a'\n[[audit]]\nverb = 'fairness'\nname = 'a'", "two audits"),
    ],
)
def test_what_is_wrong_with_a_suite(
    fairwitness: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.toml").write_text(text)
    done = fairwitness("run", tmp_path / "suite.toml")
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert not list(tmp_path.rglob("report.html"))


def test_an_empty_table_of_predictions(fairwitness: Callable, suite: Path) -> None:
    pl.DataFrame({"target": [], "female": [], "muslim": [], "pred": []}).write_parquet("first.parquet")
    assert fairwitness("run", suite).code in (2, 3)
