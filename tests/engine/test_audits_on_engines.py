"""Real audits give the same on every engine. Tolerance: 1e-5, because a worker may use another number of threads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from fairwitness import tables
from fairwitness.engine.options import EngineOptions

from ..models.tiny_folders import tiny_folder
from ..thorough import THOROUGH
from .real_audits import AUDITS, counterfactual

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("model"))


def same(one: list[Path], other: list[Path]) -> None:
    for left, right in zip(one, other, strict=True):
        a, b = tables.read(left), tables.read(right)
        assert_frame_equal(a, b, check_exact=False, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITS if THOROUGH else ["crows"])
def test_on_two_processes(name: str, model: Path, tmp_path: Path) -> None:
    here = AUDITS[name](tmp_path / "here", model, EngineOptions())
    there = AUDITS[name](tmp_path / "there", model, EngineOptions(devices=("cpu:2",)))
    same(here, there)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", AUDITS if THOROUGH else ["zero_shot"])
def test_on_a_cluster(name: str, model: Path, tmp_path: Path, cluster: Any) -> None:
    on_ray = EngineOptions(engine="ray", ray_address=cluster.address)
    here = AUDITS[name](tmp_path / "here", model, EngineOptions())
    there = AUDITS[name](tmp_path / "there", model, on_ray)
    same(here, there)


def test_a_service_is_asked_from_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, perspective: Callable[..., Any], own_cache: Path
) -> None:
    """With --engine ray a service scorer stays in this process, and no cluster is even started: nobody else has quota or key."""
    monkeypatch.setattr("fairwitness.engine.ray_cluster.connected", None)
    with perspective() as server:
        options = EngineOptions(engine="ray", ray_address="127.0.0.1:1")
        paths = counterfactual(tmp_path, Path(), options, scorer="perspective", url=server.url)
        assert tables.read(paths[0])["score"].null_count() == 0
        assert set(server.record.answered.values()) == {1}


def test_a_calibrated_service_stays_here_too(tmp_path: Path) -> None:
    from fairwitness.engine.contract import stays_here
    from fairwitness.scorers.by_name import scorer_by_name

    for name in ("perspective", "profanity"):
        path = tmp_path / f"{name}.json"
        path.write_text(f'{{"format": "fairwitness-calibration/1", "scorer": "{name}", "x": [0, 1], "y": [0, 1]}}')
        assert stays_here(scorer_by_name(f"calibrated:{path}")) is (name == "perspective")


def test_every_scorer_says_where_it_may_run() -> None:
    """Whatever talks to a service stays here; whatever holds a large model asks for a GPU."""
    from fairwitness.engine.contract import recipe, stays_here, uses_gpu
    from fairwitness.scorers.by_name import scorer_by_name

    for name in ("perspective", "openai-moderation"):
        assert stays_here(scorer_by_name(name)), name
    for name in ("profanity", "zero_shot:smollm2", "hf:x/y"):
        assert not stays_here(scorer_by_name(name)), name
    assert uses_gpu(scorer_by_name("zero_shot:smollm2"))
    assert uses_gpu(scorer_by_name("hf:x/y"))
    assert not uses_gpu(scorer_by_name("profanity"))
    again = recipe(scorer_by_name("zero_shot:smollm2"))
    assert again == scorer_by_name("zero_shot:smollm2")
    assert "lm" not in vars(again.inner)
