"""The built-in examples: enough of them, balanced, mild in size, and what the committed script makes."""

import importlib.util
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from fairwitness.datasets.examples import CARD, CATEGORIES, IDENTITIES, table
from fairwitness.datasets.jigsaw_shape import IDENTITIES as JIGSAW

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_examples.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_examples", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["make_examples"] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_makes_the_file(script: ModuleType) -> None:
    assert script.table().equals(table())
    assert not any(mark in text for text in table()["comment_text"] for mark in "[]{}")
    assert not table()["comment_text"].str.contains(r"\b[Aa] (Asian|atheist)").any()


def test_counts_are_those_of_the_card() -> None:
    examples = table()
    none = examples.filter(pl.col("role") == "none")
    assert dict(CARD.counts) == {
        "comments": examples.height,
        "toxic": examples["target"].sum(),
        "identities": len(IDENTITIES),
        "comments without an identity": none.height,
    }
    assert examples.height >= 400
    assert examples["id"].n_unique() == examples["comment_text"].n_unique() == examples.height


def test_every_identity_has_both_labels_and_enough_rows() -> None:
    examples = table()
    assert set(IDENTITIES) <= set(JIGSAW)
    assert set(CATEGORIES) == {"disability", "gender", "race", "religion", "sexual_orientation"}
    for name in IDENTITIES:
        own = examples.filter(pl.col(name) >= 0.5)
        assert own.height >= 30, name
        assert 0.3 <= own["target"].mean() <= 0.7, name
    assert examples.select(pl.sum_horizontal(IDENTITIES)).to_series().is_in([0.0, 1.0]).all()


def test_units_differ_only_in_who_is_mentioned() -> None:
    units = table().filter(pl.col("unit").str.starts_with("t")).group_by("unit").agg(pl.len(), pl.col("target").n_unique())
    assert units["len"].unique().to_list() == [len(IDENTITIES) + 1]
    assert units["target"].unique().to_list() == [1]


def test_the_file_is_small_and_in_the_package() -> None:
    assert len(files("fairwitness.datasets").joinpath("builtin", "examples.parquet").read_bytes()) < 200_000
