"""On a real Ray cluster of two nodes with one CPU each: the same answers as here, whatever dies in between."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.engine.toy_scorers import Lengths, Refuses, asked, work, workers

from fairwitness import runs, tables
from fairwitness.engine.choose import map_parts
from fairwitness.engine.options import EngineOptions
from fairwitness.errors import InputError, ModelError, RunError
from fairwitness.places import local

from ..servers.s3 import Bucket
from .conftest import REPOSITORY, STORE

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture
def on_ray(cluster: Any) -> EngineOptions:
    return EngineOptions(engine="ray", ray_address=cluster.address)


# An audit in a process of its own: folder, address, rows.
DRIVER = """
import sys
from pathlib import Path
import polars as pl
from fairwitness import runs
from fairwitness.engine.choose import map_parts
from fairwitness.engine.options import EngineOptions
from tests.engine.toy_scorers import Lengths, work

folder, address, rows = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with runs.open_run(folder / "s.parquet", "lengths", {"rows": rows}) as run:
    options = EngineOptions(engine="ray", ray_address=address)
    frames = list(map_parts(Lengths(log=folder / "log", pause_s=0.3), work(rows), run.parts, options=options))
    pl.concat(frames).write_parquet(folder / "s.parquet")
"""


def drive(folder: Path, cluster: Any, rows: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", DRIVER, str(folder), cluster.address, str(rows)]
    return subprocess.Popen(words, cwd=REPOSITORY, stderr=subprocess.DEVNULL)


def kept(folder: Path) -> int:
    return len(list(folder.glob(".parts/s/*.parquet")))


def answers(out: Path, scorer: Any, options: EngineOptions, *, rows: int = 60) -> pl.DataFrame:
    with runs.open_run(out, "lengths", {"rows": rows}) as run:
        return pl.concat(list(map_parts(scorer, work(rows), run.parts, options=options)))


def wait_for(condition: Any, timeout_s: float = 60.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_the_same_as_here(on_ray: EngineOptions, tmp_path: Path) -> None:
    here = answers(tmp_path / "here" / "s.parquet", Lengths(), EngineOptions())
    there = answers(tmp_path / "there" / "s.parquet", Lengths(log=tmp_path / "log"), on_ray)
    assert_frame_equal(there, here, check_exact=True)
    assert sorted(asked(tmp_path / "log")) == sorted(text for part in work() for text in part if text)


def test_begun_on_one_engine_and_ended_on_the_other(on_ray: EngineOptions, tmp_path: Path) -> None:
    scorer = Lengths(log=tmp_path / "log")
    out = tmp_path / "s.parquet"
    answers(out, scorer, EngineOptions(), rows=30)
    begun = len(asked(tmp_path / "log"))
    with runs.open_run(out, "lengths", {"rows": 30}) as run:
        there = pl.concat(list(map_parts(scorer, work(60), run.parts, options=on_ray)))
    assert_frame_equal(there, answers(tmp_path / "calm" / "s.parquet", Lengths(), EngineOptions()), check_exact=True)
    assert len(asked(tmp_path / "log")) == 59, "what was answered here was not asked again there"
    with runs.open_run(out, "lengths", {"rows": 30}) as run:
        again = pl.concat(list(map_parts(scorer, work(60), run.parts, options=EngineOptions())))
    assert_frame_equal(again, there, check_exact=True)
    assert len(asked(tmp_path / "log")) == 59
    assert begun == 29


def test_a_run_folder_in_an_object_store(
    on_ray: EngineOptions, tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun by the cluster, gone on with by another machine alone, ended by a third with the cluster: nothing is asked twice."""
    log, here = tmp_path / "log", EngineOptions()
    for name, options, rows in (("one", on_ray, 20), ("two", here, 40), ("three", on_ray, 60)):
        monkeypatch.setenv("FAIRWITNESS_CACHE", str(tmp_path / name))
        out = local("s3://bucket/run/s.parquet")
        with runs.open_run(out, "lengths", {}) as run:
            found = pl.concat(list(map_parts(Lengths(log=log), work(rows), run.parts, options=options)))
            kept_there = [key for key in bucket.objects if key.startswith("bucket/run/.parts/") and key.endswith(".parquet")]
            assert len(kept_there) == rows // 5
            if rows == 60:
                tables.write(found, out)
                run.seal([out], {"asked": 60})
    assert len(asked(log)) == 59
    assert_frame_equal(found, answers(tmp_path / "calm" / "s.parquet", Lengths(), here), check_exact=True)
    assert sorted(key for key in bucket.objects if not key.endswith("/")) == ["bucket/run/run.json", "bucket/run/s.parquet"]


def test_our_own_error_comes_back_as_itself(on_ray: EngineOptions, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Pull them"):
        answers(tmp_path / "s.parquet", Refuses(), on_ray)


def test_a_worker_with_another_model_is_refused(on_ray: EngineOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_VERSION", "2")
    with pytest.raises(RunError, match=r"version is 1 there and 2 here"):
        answers(tmp_path / "s.parquet", Lengths(), on_ray)


def test_counting_is_map_and_reduce(on_ray: EngineOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fairness audit of three Parquet files, in four tasks on the cluster and at once here: the same tables."""
    from fairwitness.audits import fairness_input
    from fairwitness.audits.fairness import FairnessConfig, audit_fairness

    chance = np.random.default_rng(3)
    rows = 4000
    table = {"idx": np.arange(rows), "pred": chance.integers(0, 2, rows), "label": chance.integers(0, 2, rows)}
    table |= {"score": chance.normal(size=rows), "male": chance.integers(0, 2, rows), "age": chance.choice(["a", "b", "c"], rows)}
    whole = pl.DataFrame(table)
    for number, start in enumerate(range(0, rows, 1500)):
        whole.slice(start, 1500).write_parquet(tmp_path / f"p{number}.parquet")
    monkeypatch.setattr(fairness_input, "ROWS_PER_TASK", 1000)
    monkeypatch.chdir(tmp_path)
    asked = {"preds": Path("p*.parquet"), "label_col": "label", "id_cols": ("male",), "group_cols": ("age",), "charts": False}
    here = audit_fairness(FairnessConfig(out=tmp_path / "here" / "r.csv", **asked))
    there = audit_fairness(FairnessConfig(out=tmp_path / "there" / "r.csv", engine="ray", ray_address=on_ray.ray_address, **asked))
    assert set(here.tables) == set(there.tables)
    for name, one in here.tables.items():
        assert_frame_equal(there.tables[name], one, check_exact=True)


def test_a_worker_killed_and_a_node_removed(cluster: Any, tmp_path: Path) -> None:
    """First a worker dies, then a whole node goes; the run ends as if nothing had been."""
    log = tmp_path / "log"
    node = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    driver = drive(tmp_path, cluster, 200)
    wait_for(lambda: len(workers(log)) >= 3)
    os.kill(next(iter(workers(log))), signal.SIGKILL)
    before = kept(tmp_path)
    wait_for(lambda: kept(tmp_path) > before + 3)
    cluster.remove_node(node, allow_graceful=False)
    assert driver.wait(timeout=120) == 0
    calm = answers(tmp_path / "calm" / "s.parquet", Lengths(), EngineOptions(), rows=200)
    assert_frame_equal(pl.read_parquet(tmp_path / "s.parquet"), calm, check_exact=True)
    assert kept(tmp_path) == 40, "each part was kept once"


def test_the_driver_killed_and_started_again(cluster: Any, tmp_path: Path) -> None:
    driver = drive(tmp_path, cluster, 60)
    wait_for(lambda: kept(tmp_path) >= 4)
    driver.kill()
    driver.wait()
    answered = 5 * kept(tmp_path)
    (tmp_path / "log").unlink()
    assert drive(tmp_path, cluster, 60).wait(timeout=120) == 0
    # Workers of the killed driver may still write the line of the part they were at.
    assert len(asked(tmp_path / "log")) <= 60 - answered + 10
    calm = answers(tmp_path / "calm" / "s.parquet", Lengths(), EngineOptions())
    assert_frame_equal(pl.read_parquet(tmp_path / "s.parquet"), calm, check_exact=True)


def test_bad_addresses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must run on a machine of the cluster"):
        answers(tmp_path / "s.parquet", Lengths(), EngineOptions(engine="ray", ray_address="ray://host:10001"))
    with pytest.raises(InputError, match="Add --engine ray"):
        answers(tmp_path / "s.parquet", Lengths(), EngineOptions(ray_address="host:6379"))
    with pytest.raises(InputError, match="Leave one of them out"):
        answers(tmp_path / "s.parquet", Lengths(), EngineOptions(engine="ray", devices=("auto",)))
