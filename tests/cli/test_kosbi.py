"""What the commands of the authoring loop print."""

from pathlib import Path

import polars as pl
import pytest

from fairwitness.authoring.filter_training import Trained, TrainFilterConfig
from fairwitness.cli import kosbi


def test_an_undefined_measurement_is_an_empty_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"metric": "recall", "group": "말투", "value": None, "low": None, "high": None, "n": 0}
    rows = pl.DataFrame([row | {"group": None, "value": 0.5, "low": 0.25, "high": 0.75, "n": 8}, row])
    monkeypatch.setattr(kosbi, "_train_filter", lambda _: Trained(Path("m"), [], rows))
    kosbi.train_filter(TrainFilterConfig.__new__(TrainFilterConfig))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["recall", "0.5000", "[0.2500,", "0.7500]", "n=8", "all"]
    assert lines[1].split() == ["recall", "–", "[–,", "–]", "n=0", "말투"]
