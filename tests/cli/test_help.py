"""Help reads from what must be given to where it runs, in the spelling of our documents."""

import re

import pytest

from fairwitness.cli.app import build


def test_the_order_and_the_spelling_of_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    build()(["zeroshot", "--help"], result_action="return_value")
    flags = re.findall(r"^│ .{3}(--\w+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert flags[:4] == ["--in", "--text_col", "--task", "--out"]
    assert set(flags[-5:]) == {"--engine", "--ray_address", "--ray_cpus", "--devices", "--parts_at"}
    assert len(flags) == len(set(flags))
