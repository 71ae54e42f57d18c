"""kill -9 at fifty random moments, over every stage of every audit: the next life goes on, and the last one ends the same.

FAIRWITNESS_THOROUGH=1 kills each audit fifty times.
"""

import random
from pathlib import Path

import pytest

from ..thorough import THOROUGH
from .conftest import Life, entries, outputs
from .small_audits import AUDITS

# Fifty in all, most of them where a life is short.
KILLS = {"zero_shot": 10, "stereoset": 7, "crows": 5, "counterfactual": 4, "fairness": 6, "user_model": 6}
KILLS |= {"sensitivity": 3, "stereoset_files": 2, "lifeboat": 2, "download": 1, "suite": 2, "kosbi": 2}


@pytest.mark.slow
@pytest.mark.timeout(1200 if THOROUGH else 300)
@pytest.mark.parametrize("audit", AUDITS)
def test_killed_at_any_moment_it_ends_the_same(audit: str, live: Life, tmp_path: Path) -> None:
    calm = live(audit, tmp_path / "calm" / "run")[0]
    assert "error" not in calm, calm
    expected = outputs(tmp_path / "calm" / "run")
    assert expected
    chance = random.Random(f"kill {audit}")
    rough = tmp_path / "rough" / "run"
    killed, life = 0, 0
    while killed < (50 if THOROUGH else KILLS[audit]):
        # In turn: just before it touches a file, and after some time, wherever that finds it.
        at_a_touch, after_a_time = (
            {"kill_at": chance.randint(1, calm["touched"])},
            {"kill_after_s": chance.uniform(0, calm["seconds"])},
        )
        ended = live(audit, rough, **(at_a_touch if killed % 2 == 0 else after_a_time))[0]
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
    for folder in {path.parent for path in rough.rglob("run.json")}:
        assert all(entry["status"] == "done" for entry in entries(folder).values()), folder
        assert not (folder / ".parts").exists()


def test_fifty_in_all() -> None:
    assert sum(KILLS.values()) == 50
    assert set(KILLS) == set(AUDITS)
