"""The sensitivity table: every way of asking, what it agrees on, and what a model does not allow."""

from pathlib import Path

import pytest

from fairwitness.audits.stereoset_sensitivity import SensitivityConfig, sensitivity
from fairwitness.errors import InputError

from ..scorers.tiny_text_models import causal_folder


def test_every_way_has_its_rows(tmp_path: Path) -> None:
    model = causal_folder(tmp_path / "llama", chat=False)
    config = SensitivityConfig(
        model=model,
        out=tmp_path / "s.csv",
        device="cpu",
        draws=100,
        protocols=("reference", "conditional", "chat"),
        dtypes=("float32",),
    )
    result = sensitivity(config)
    table = result.table
    fine = table.filter(table["error"].is_null())
    assert set(fine["way"]) == {"protocol reference", "protocol conditional", "start token none"}
    assert fine.filter(way="protocol reference")["agreement"].to_list() == [100.0] * 3
    assert "no chat template" in table.filter(way="protocol chat")["error"][0]
    assert fine.filter(way="protocol conditional", subset="both")["items"].item() == 20
    assert sensitivity(config).table.equals(table)


def test_an_unknown_protocol(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Unknown protocol"):
        sensitivity(SensitivityConfig(out=tmp_path / "s.csv", protocols=("x",)))
