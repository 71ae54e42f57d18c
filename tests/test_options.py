"""Configs made in Python: paths as text, lists as lists, and the mistakes people make."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import fairwitness as fw
from fairwitness.errors import InputError
from fairwitness.options import Options


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    in_: Path
    out: Path | None = None
    names: tuple[str, ...] = ()
    data: str = "builtin"


def test_text_becomes_a_path_and_a_list_a_tuple() -> None:
    config = Config(in_="in.csv", out="out.csv", names=["a", "b"], data=Path("dev.json"))  # type: ignore[arg-type]
    assert config == Config(in_=Path("in.csv"), out=Path("out.csv"), names=("a", "b"), data="dev.json")
    assert Config(in_=Path("x"), names="one").names == ("one",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"in_": pl.DataFrame()}, "--in is a DataFrame; the path of a file was expected"),
        ({"in_": None}, "--in is None; the path"),
        ({"in_": "x", "out": 3}, "--out is an int; the path"),
        ({"in_": "x", "names": 3}, "--names is an int; a list was expected."),
    ],
)
def test_what_is_no_path_or_list_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Config(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in dir(fw) if name.endswith("Config")])
def test_every_public_config_takes_text_for_paths(name: str) -> None:
    assert issubclass(getattr(fw, name), Options)


def test_a_config_may_name_its_files_as_text(tmp_path: Path) -> None:
    pl.DataFrame({"toxic": [1, 0] * 40, "pred": [1, 1, 0, 0] * 20, "women": [1, 0, 0, 1] * 20}).write_csv(tmp_path / "preds.csv")
    config = fw.FairnessConfig(
        preds=f"{tmp_path}/preds.csv", label_col="toxic", id_cols="women", charts=False, out=f"{tmp_path}/run/fairness.csv"
    )
    result = fw.audit_fairness(config)
    assert repr(result).startswith("FairnessResult(tables: groups, per_identity")


@pytest.mark.parametrize(
    "audit", ["zero_shot", "audit_fairness", "stereoset", "crows", "counterfactual", "user_model", "train_filter"]
)
def test_a_path_in_place_of_a_config_is_refused_in_words(audit: str) -> None:
    with pytest.raises(fw.FairWitnessError, match="Config was expected, not a str"):
        getattr(fw, audit)("comments.csv")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"label": [1, 0, 1], "pred": [1, 0]}, "'label' has 3 values and 'pred' has 2"),
        ({"label": None, "pred": [1, 0]}, "label is None"),
        ({"table": pl.Series([1]), "label": "toxic"}, "A table was expected .*, not Series"),
    ],
)
def test_group_fairness_says_what_is_wrong(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        fw.group_fairness(flags={"a": [1, 0, 1]}, **given)
