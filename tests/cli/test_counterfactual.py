"""The verbs as typed: flags in both spellings, one-line errors, JSON."""

import json
from pathlib import Path

import polars as pl
import pytest

from fairwitness.cli.app import main


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    return int(caught.value.code or 0)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRWITNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PERSPECTIVE_API_KEY", raising=False)


def test_step_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / name for name in ("t.parquet", "e.parquet", "s.parquet", "m.parquet")]
    assert run("counterfactual", "templates", "--categories", "race", "gender", "--out", files[0]) == 0
    assert run("counterfactual", "expand", "--in", files[0], "--out", files[1], "--sample", "3") == 0
    assert run("counterfactual", "score", "--in", files[1], "--out", files[2]) == 0
    capsys.readouterr()
    assert (
        run("counterfactual", "analyze", "--in", files[2], "--out", files[3], "--json", "--resamples", "200", "--charts=false") == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert {row["category"] for row in answer["by_group"]} == {"race", "gender"}
    assert answer["failed"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("counterfactual", "templates", "--categories", "rase"), "Did you mean 'race'"),
        (("counterfactual", "expand", "--in", "nowhere.parquet"), "does not exist"),
        (("counterfactual", "run", "--scorer", "profanty"), "Did you mean 'profanity'"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, words: tuple[str, ...], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 2
    shown = capsys.readouterr().err.strip()
    assert message in shown
    assert "\n" not in shown


def test_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("counterfactual", "run", "--scorer", "perspective", "--sample", "1", "--out", "r") == 2
    assert "No API key for Perspective. Set PERSPECTIVE_API_KEY." in capsys.readouterr().err


def test_failures_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(f"u{k}", role, 0.5, None) for k in range(3) for role in ("a", "b")]
    rows[-1] = ("u2", "b", None, "HTTP 500")
    frame = pl.DataFrame(rows, schema=["unit", "role", "score", "error"], orient="row")
    frame.with_columns(category=pl.lit("c"), sentiment=pl.lit("neutral")).write_parquet(tmp_path / "s.parquet")
    assert run("counterfactual", "analyze", "--in", tmp_path / "s.parquet", "--charts=false") == 0
    assert "5 of 6 texts scored, 1 failed. Only complete pairs are compared." in capsys.readouterr().out
