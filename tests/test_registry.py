"""Names of scorers, datasets and models: ours, those of other packages, and unknown ones."""

from importlib.metadata import EntryPoint

import pytest

from fairwitness import registry
from fairwitness.errors import InputError


def test_unknown_names_suggest_the_near_one() -> None:
    with pytest.raises(InputError, match=r"Unknown dataset 'jigsw'. Did you mean 'jigsaw'\?  \(fairwitness list datasets\)"):
        registry.load("datasets", "jigsw")


def test_every_dataset_can_be_loaded() -> None:
    for name in registry.names("datasets"):
        assert registry.load("datasets", name).card.name == name


def test_other_packages_add_names_and_ours_win(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("theirs", "fairwitness.datasets.nba:DATASET", "fairwitness.datasets"),
        EntryPoint("jigsaw", "nowhere:NOTHING", "fairwitness.datasets"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "fairwitness.datasets" else [])
    registry._plugged_in.cache_clear()
    try:
        assert "theirs" in registry.names("datasets")
        assert registry.load("datasets", "theirs").card.name == "nba"
        assert registry.load("datasets", "jigsaw").card.name == "jigsaw"
    finally:
        registry._plugged_in.cache_clear()
