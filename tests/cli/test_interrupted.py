"""Ctrl-C: said in one line, with what to do next, and the exit code that shells expect."""

import pytest

from fairwitness import registry
from fairwitness.cli import app


def test_an_interrupted_command_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_kind: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(registry, "names", interrupted)
    with pytest.raises(SystemExit) as ended:
        app.main(["list", "scorers"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "fairwitness: stopped. The same command goes on from here.\n"
