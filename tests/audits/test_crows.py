"""`crows`: shares by type, for causal and masked models."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fairwitness import tables
from fairwitness.audits.crows import CrowsConfig, crows, shares
from fairwitness.errors import InputError

from ..scorers.tiny_text_models import bert_folder, causal_folder


@pytest.mark.parametrize("protocol", ["sum", "mean"])
def test_causal(tmp_path: Path, protocol: Any) -> None:
    from fairwitness.scorers.likelihood import WHOLE, Likelihood

    model = causal_folder(tmp_path / "llama")
    result = crows(CrowsConfig(model=model, out=tmp_path / "c.csv", protocol=protocol, device="cpu"))
    pairs = result.tables["pairs"]
    alone = Likelihood(model=model, protocol="full", device="cpu").score([(WHOLE, "", text) for text in pairs["sent_more"]])
    np.testing.assert_allclose(pairs["score_more"], alone[f"logprob_{protocol}"], rtol=1e-4)
    overall = result.table.row(0, named=True)
    assert overall["n"] == 6
    assert overall["value"] == pytest.approx(100 * (pairs["score_more"] > pairs["score_less"]).sum() / 6)
    assert overall["low"] <= overall["value"] <= overall["high"]
    assert set(result.table.filter(attribute="bias_type")["group"]) == {"age", "age-gender", "gender", "nationality", "profession"}


@pytest.mark.parametrize("protocol", ["auto", "pll"])
def test_masked(tmp_path: Path, protocol: Any, fairwitness: Any) -> None:
    model = bert_folder(tmp_path / "bert")
    done = fairwitness("crows", "--model", model, "--out", tmp_path / "c.csv", "--protocol", protocol, "--device", "cpu")
    assert done.code == 0, done.err
    assert f"6 of 6 pairs scored with '{'unmodified' if protocol == 'auto' else 'pll'}'" in done.out
    assert tables.read(tmp_path / "c.csv")["error"].null_count() == 6


def test_the_wrong_kind_of_protocol(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not fit it"):
        crows(CrowsConfig(model=causal_folder(tmp_path / "llama"), out=tmp_path / "c.csv", protocol="unmodified", device="cpu"))


def test_a_failed_pair_is_counted_apart() -> None:
    scored = pl.DataFrame({
        "direction": ["stereo", "stereo", "antistereo"], "bias_type": ["age", "age", "race"],
        "score_more": [2.0, None, 1.0], "score_less": [1.0, 1.0, 1.0], "error": [None, "too long", None],
    })  # fmt: skip
    table = shares(scored)
    overall = table.row(0, named=True)
    assert (overall["value"], overall["n"], overall["n_failed"], overall["ties"]) == (50.0, 2, 1, 1)
    assert table.filter(group="age").row(0, named=True)["n_failed"] == 1
