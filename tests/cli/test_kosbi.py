"""What the commands of the authoring loop print."""

from collections.abc import Callable
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["generate-contexts", "--timeout_s", "-1"], "--timeout_s must be above 0"),
        (["generate-contexts", "--temperature", "nan"], "--temperature is nan"),
        (["generate-contexts", "--near_duplicate", "inf"], "--near_duplicate is inf"),
        (["filter-sentences", "--num_generations_per_context", "0"], "at least 1 was expected"),
        (["filter-sentences", "--num_generations_per_context", "-1"], "at least 1 was expected"),
        (["filter-sentences", "--num_extra_ambiguous_samples", "-1"], "must not be negative"),
        (["annotate", "--store", "typo.sqlite", "--export_fname", "x.json"], "does not exist"),
        (
            ["annotate", "--store", "new.sqlite", "--input_fname", "x.json", "--annotators", "lead", "--no_serve"],
            "'lead' is who adjudicates",
        ),
        (["annotate", "--store", "new.sqlite", "--input_fname", "x.json", "--port", "99999"], "--port is 99999"),
    ],
)
def test_what_is_refused_changes_nothing(
    words: list[str], said: str, fairwitness: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text("[]", encoding="utf-8")
    (tmp_path / "g.json").write_text('{"성별": ["남성"]}', encoding="utf-8")
    before = {path.name for path in tmp_path.iterdir()}
    more = {
        "generate-contexts": "--demo_fpath x.json --num_total_demos 0 --num_in_cat_demos 0 --num_in_grp_demos 0 "
        "--demographic_list g.json --api_url http://127.0.0.1:9/v1",
        "filter-sentences": "--input_fname x.json --output_dir out",
    }
    words = [*words, *more.get(words[0], "").split()]
    done = fairwitness("kosbi", *words)
    assert done.code == 2
    assert said in done.err
    assert {path.name for path in tmp_path.iterdir()} == before
