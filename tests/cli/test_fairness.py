"""`fairwitness fairness` from the outside: flags, exit codes, what is printed."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fairwitness.cli.app import call, main


@pytest.fixture
def preds(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    rows = 400
    truth = random.random(rows)
    frame = pl.DataFrame(
        {
            "idx": range(rows),
            "pred": (truth + random.normal(0, 0.3, rows) > 0.5).astype(int),
            "score": truth,
            "target": truth,
            "male": random.random(rows),
            "female": random.random(rows),
            "age": random.choice(["a", "b", "c"], rows),
        }
    )
    frame.write_parquet(tmp_path / "p.parquet")
    return tmp_path / "p.parquet"


def words(preds: Path, *more: str) -> list[str]:
    return ["fairness", "--preds", str(preds), "--label_col", "target", "--out", str(preds.parent / "out" / "R.csv"), *more]


@pytest.mark.parametrize("flags", [["--id_cols", "male", "female"], ["--id-cols", "male,female"]])
def test_json_and_files(preds: Path, capsys: pytest.CaptureFixture[str], flags: list[str]) -> None:
    call(words(preds, *flags, "--group_cols", "age", "age*male", "--json"))
    told = json.loads(capsys.readouterr().out)
    assert told["n_measured"] == 400
    assert [row["identity"] for row in told["per_identity"]] == ["male", "female"]
    assert {row["attribute"] for row in told["multigroup"]} == {"age", "age*male"}
    skipped = pl.read_csv(preds.parent / "out" / "R.csv", infer_schema=False)["skipped"]
    assert set(skipped) == {"False"}


def test_printed_for_people(preds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(words(preds, "--id_cols", "male", "--group_cols", "age"))
    told = capsys.readouterr().out
    assert "400 rows measured" in told
    assert "R.per_identity.csv" in told


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--id_cols", "malee"], "Did you mean --id_cols male"),
        (["--id_cols", "male", "--pred_col", "prd"], "Did you mean --pred_col pred"),
        (["--id_cols", "male", "--score_col", "scor"], "Did you mean --score_col score"),
        ([], "--id_cols"),
        (["--id_cols", "male", "--missing", "drop"], "drop"),
        (["--id_cols", "age"], "--group_cols age"),
    ],
)
def test_bad_calls_exit_with_2(preds: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words(preds, *more))
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_out_must_be_csv(preds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "fairness",
                "--preds",
                str(preds),
                "--label_col",
                "target",
                "--id_cols",
                "male",
                "--out",
                str(preds.parent / "o" / "R.txt"),
            ]
        )
    assert ended.value.code == 2
    assert ".csv" in capsys.readouterr().err


def test_config_file_fills_the_same_options(preds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "audit.toml").write_text('id_cols = ["male"]\ncharts = false\nreplicates = 50\n')
    call(words(preds, "--config", str(tmp_path / "audit.toml"), "--json"))
    assert json.loads(capsys.readouterr().out)["per_identity"][0]["identity"] == "male"
    assert not list((preds.parent / "out").glob("*.png"))
