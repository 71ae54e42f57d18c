"""What every audit's result can do: show itself in a notebook, become JSON, become a report."""

import json
from pathlib import Path

import pytest
from tests.report.made_runs import fairness_run, predictions

import fairwitness as fw
from fairwitness.audits.gate import GateConfig


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return fairness_run(folder / "a", predictions(150)), fairness_run(folder / "b", predictions(150, shift=0.0))


def results(runs: tuple[Path, Path]) -> dict:
    config = fw.FairnessConfig(
        preds=runs[0] / "preds.parquet", label_col="target", id_cols=("female", "muslim"), group_cols=("age",), charts=False,
        out=runs[0] / "fairness.csv", replicates=200,
    )  # fmt: skip
    return {
        "on disk": fw.audit_fairness(config),
        "in memory": fw.group_fairness(predictions(150), label="target", pred="pred", flags=["female"], replicates=100),
        "comparison": fw.compare(*runs),
        "gate": fw.gate(runs[0], GateConfig(max_spd=0.5))[1],
    }


def test_notebooks_show_html(runs: tuple[Path, Path]) -> None:
    for name, result in results(runs).items():
        shown = result._repr_html_()
        assert "<table" in shown, name
        assert "<h4>" in shown, name
        assert "<script" not in shown, name


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_every_result_writes_a_report(runs: tuple[Path, Path], tmp_path: Path, ending: str) -> None:
    for name, result in results(runs).items():
        path = result.report(tmp_path / f"{name}.{ending}", title="Mine")
        text = path.read_text(encoding="utf-8")
        assert len(text) > 500, name
        assert (json.loads(text)["results"] is not None) if ending == "json" else ("Mine" in text)


def test_in_memory_says_the_same_as_on_disk(runs: tuple[Path, Path], tmp_path: Path) -> None:
    frame = predictions(150)
    mine = fw.group_fairness(
        frame, label="target", pred="pred", score="score", flags=["female", "muslim"], groups=["age"], replicates=200
    )
    stored = results(runs)["on disk"].report(tmp_path / "stored.json")
    [ours, theirs] = (json.loads(path.read_text())["results"] for path in (mine.report(tmp_path / "mine.json"), stored))
    assert ours == theirs


def test_other_endings_are_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(fw.FairWitnessError, match=r"\.html, \.md or \.json"):
        results(runs)["on disk"].report(tmp_path / "report.pdf")
