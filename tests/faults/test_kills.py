"""kill -9 at fifty random moments, over every stage of every audit: the next life goes on, and the last one ends the same."""

import random
from pathlib import Path

import pytest

from .conftest import Life, entries, outputs
from .small_audits import AUDITS

# Fifty in all.
KILLS = {"zero_shot": 15, "stereoset": 7, "crows": 5, "counterfactual": 10, "fairness": 6, "user_model": 7}


@pytest.mark.slow
@pytest.mark.parametrize("audit", AUDITS)
def test_killed_at_any_touch_of_the_disk_it_ends_the_same(audit: str, live: Life, tmp_path: Path) -> None:
    calm = live(audit, tmp_path / "calm" / "run")[0]
    assert "error" not in calm, calm
    expected = outputs(tmp_path / "calm" / "run")
    assert expected
    chance = random.Random(f"kill {audit}")
    rough = tmp_path / "rough" / "run"
    killed, life = 0, 0
    while killed < KILLS[audit]:
        ended = live(audit, rough, kill_at=chance.randint(1, calm["touched"]))[0]
        assert "error" not in ended, ended
        killed += ended["killed"]
        if not ended["killed"]:  # it got through: begin another rough life
            assert outputs(rough) == expected
            life += 1
            rough = tmp_path / f"rough{life}" / "run"
    last = live(audit, rough)[0]
    assert "error" not in last, last
    assert not last["killed"]
    assert outputs(rough) == expected
    assert all(entry["status"] == "done" for entry in entries(rough).values())
    assert not (rough / ".parts").exists()


def test_fifty_in_all() -> None:
    assert sum(KILLS.values()) == 50
    assert set(KILLS) == set(AUDITS)
