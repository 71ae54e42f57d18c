"""A run folder that is not on this machine: a real S3 client against a server here, and fsspec's memory. Machines are caches."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.conftest import Done
from tests.engine.toy_scorers import Lengths, asked, work
from tests.servers.s3 import Bucket

from fairwitness import runs, tables
from fairwitness.engine.choose import map_parts
from fairwitness.errors import InputError, RunError
from fairwitness.places import Mirror, local, mirror_of, open_place


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`machine("two")`: from now on everything is as on a machine that has seen nothing yet."""
    return lambda name: monkeypatch.setenv("FAIRWITNESS_CACHE", str(tmp_path / name))


def lengths(url: str, log: Path, *, upto: int, seal: bool = False) -> pl.DataFrame:
    out = local(url)
    with runs.open_run(out, "k", {"q": 1}) as run:
        frame = pl.concat(list(map_parts(Lengths(log=log), work(upto), run.parts)))
        if seal:
            tables.write(frame, out)
            run.seal([out], {"asked": upto})
    return frame


@pytest.mark.parametrize("kind", ["s3", "memory"])
def test_begun_on_one_machine_and_ended_on_another(kind: str, bucket: Bucket, machine: Any, tmp_path: Path) -> None:
    url, log = f"{kind}://bucket-{tmp_path.name}/run/s.parquet", tmp_path / "log"
    machine("one")
    lengths(url, log, upto=30)
    assert not list((tmp_path / "one").rglob("*-*.parquet")), "parts lie elsewhere from the first"
    machine("two")
    lengths(url, log, upto=60, seal=True)
    assert len(asked(log)) == 59, "what the other machine answered was not asked again"
    machine("three")
    with runs.open_run(local(url), "k", {"q": 1}) as run:
        assert run.sealed
    assert tables.read(local(url)).height == 60
    place = open_place(url.rpartition("/")[0])
    assert sorted(place.names()) == ["run.json", "s.parquet"]
    record = json.loads(place.read("run.json") or b"")
    assert record["audits"]["s"]["status"] == "done"


def test_another_question_is_refused_and_restart_begins_anew(bucket: Bucket, machine: Any, tmp_path: Path) -> None:
    url, log = "s3://bucket/run/s.parquet", tmp_path / "log"
    machine("one")
    lengths(url, log, upto=10)
    machine("two")
    with pytest.raises(RunError, match="holds the answer to another question"), runs.open_run(local(url), "k", {"q": 2}):
        pass
    with runs.open_run(local(url), "k", {"q": 2}, restart=True) as run:
        assert run.parts.empty
    assert not [name for name in bucket.objects if name.endswith(".parquet")]


def test_the_command_line_takes_urls(
    bucket: Bucket, machine: Any, tmp_path: Path, fairwitness: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An audit from a bucket into a bucket gives the bytes it gives here, and a second machine has nothing left to do."""
    rows = {"pred": [0, 1, 1, 0] * 20, "label": [0, 1, 0, 1] * 20, "male": [1, 1, 0, 0] * 20}
    pl.DataFrame(rows).write_parquet(tmp_path / "p.parquet")
    bucket.objects["data/in/p.parquet"] = (tmp_path / "p.parquet").read_bytes()
    asked_for = ["--label_col", "label", "--id_cols", "male", "--min_group_size", 1]
    machine("one")
    assert fairwitness("fairness", "--preds", tmp_path / "p.parquet", "--out", tmp_path / "here" / "r.csv", *asked_for).code == 0
    assert fairwitness("fairness", "--preds", "s3://data/in/p.parquet", "--out", "s3://data/run/r.csv", *asked_for).code == 0
    for path in (tmp_path / "here").iterdir():
        if path.suffix in (".csv", ".parquet", ".png"):
            assert bucket.objects[f"data/run/{path.name}"] == path.read_bytes(), path.name
    machine("two")
    before = bucket.record["PUT"] + bucket.record["POST"]
    assert fairwitness("fairness", "--preds", "s3://data/in/p.parquet", "--out", "s3://data/run/r.csv", *asked_for).code == 0
    assert bucket.record["PUT"] + bucket.record["POST"] == before, "nothing was written again"
    assert fairwitness("report", "s3://data/run", "--out", "s3://data/pages/report.html").code == 0
    assert b"<html" in bucket.objects["data/pages/report.html"]


def test_a_place_that_refuses_is_said_and_gone_on_with(bucket: Bucket, machine: Any, tmp_path: Path) -> None:
    url, log = "s3://bucket/run/s.parquet", tmp_path / "log"
    machine("one")
    lengths(url, log, upto=10)
    bucket.fail_writes = True
    with pytest.raises(RunError, match=r"s3://bucket/run cannot be used: .*What was answered before is still there"):
        lengths(url, log, upto=60)
    bucket.fail_writes = False
    lengths(url, log, upto=60)
    assert len(asked(log)) <= 59 + 5


def test_an_output_removed_there_is_made_again(bucket: Bucket, machine: Any, tmp_path: Path) -> None:
    """Also in a folder within the folder, which is a run of its own."""
    url, log = "s3://bucket/suite/a/s.parquet", tmp_path / "log"
    machine("one")
    for where in (url, "s3://bucket/suite"):
        out = local(where) if where == url else local(where) / "a" / "s.parquet"
        with runs.open_run(out, "k", {"q": 1}) as run:
            assert run.sealed is (where != url)
            if not run.sealed:
                tables.write(pl.concat(list(map_parts(Lengths(log=log), work(10), run.parts))), out)
                run.seal([out], {"asked": 10})
    machine("two")
    with runs.open_run(local("s3://bucket/suite") / "a" / "s.parquet", "k", {"q": 1}) as run:
        assert run.sealed, "the record and the output came from the folder within"
    del bucket.objects["bucket/suite/a/s.parquet"]
    with runs.open_run(local(url), "k", {"q": 1}) as run:
        assert not run.sealed


def test_a_record_cannot_lead_out_of_the_mirror(machine: Any, tmp_path: Path) -> None:
    machine("one")
    place = open_place(f"memory://evil-{tmp_path.name}")
    place.write("run.json", json.dumps({"audits": {"a": {"outputs": {"../../../out.txt": "0", "/tmp/out.txt": "0"}}}}).encode())
    folder = local(place.url)
    assert {path.name for path in folder.rglob("*")} == {"run.json", ".elsewhere.json"}


def test_a_part_that_vanished_there_is_done_again(bucket: Bucket, machine: Any, tmp_path: Path) -> None:
    machine("one")
    with runs.open_run(local("s3://bucket/run/s.parquet"), "k", {"q": 1}) as run:
        list(map_parts(Lengths(), work(10), run.parts))
        for key in [key for key in bucket.objects if key.endswith(".parquet")]:
            del bucket.objects[key]
        log = tmp_path / "log"
        list(map_parts(Lengths(log=log), work(10), run.parts))
        assert len(asked(log)) == 10


def test_what_is_no_mirror(machine: Any, tmp_path: Path) -> None:
    machine("one")
    assert mirror_of(tmp_path) is None
    folder = local(f"memory://x-{tmp_path.name}")
    assert isinstance(mirror_of(folder / "deeper"), Mirror)
    with pytest.raises(InputError, match="not a place that can be reached"):
        local("nosuchscheme://x/y.csv")


def test_no_folder_is_left_where_parts_were_kept(tmp_path: Path) -> None:
    place = open_place(f"file://{tmp_path}/parts")
    place.clear("one")  # nothing was kept yet
    place.write("one/a.parquet", b"x")
    place.clear("one")
    assert list((tmp_path / "parts").iterdir()) == []
    place.write("one/a.parquet", b"x")
    assert list(place.names("one")) == ["a.parquet"]
