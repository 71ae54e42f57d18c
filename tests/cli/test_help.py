"""Help reads from what must be given to where it runs, in the spelling of our documents."""

import json
import re

import pytest

from fairwitness.audits.fairness import group_fairness
from fairwitness.cli.app import build


def test_the_order_and_the_spelling_of_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    build()(["zeroshot", "--help"], result_action="return_value")
    flags = re.findall(r"^│ .{3}(--\w+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert flags[:4] == ["--in", "--text_col", "--task", "--out"]
    assert set(flags[-5:]) == {"--engine", "--ray_address", "--ray_cpus", "--devices", "--parts_at"}
    assert len(flags) == len(set(flags))


def test_defaults_as_they_are_typed_and_config_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for words in (["--help"], ["counterfactual", "run", "--help"]):
        build()(words, result_action="return_value")
        shown = capsys.readouterr().out
        assert "--config FILE" in shown
    assert "[default: disability gender race religion sexual_orientation]" in shown
    assert not re.search(r"default: (\(|False|\"\")", shown)
    assert "Print the result as JSON" in shown


def test_metrics_are_listed_with_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    build()(["list", "metrics"], result_action="return_value")
    listed = {line.split()[0]: line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()}
    table = {
        "toxic": [1, 0, 1] * 30,
        "pred": [1, 0, 0] * 30,
        "score": [0.9, 0.2, 0.1] * 30,
        "men": [1, 1, 0] * 30,
        "age": ["a", "b"] * 45,
    }
    result = group_fairness(table, label="toxic", pred="pred", score="score", flags=["men"], groups=["age"])
    assert set(result.tables["measurements"]["metric"]) <= set(listed)
    build()(["list", "scorers", "--json"], result_action="return_value")
    assert "profanity" in json.loads(capsys.readouterr().out)
