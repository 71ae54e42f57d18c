"""Several devices of one machine, played by processes on the CPU: the same answers as here, also when one of them dies."""

import os
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.engine.toy_scorers import Echo, Lengths, Refuses, asked, work, workers

from fairwitness import runs
from fairwitness.engine.choose import map_parts
from fairwitness.engine.devices import resolve
from fairwitness.engine.options import EngineOptions
from fairwitness.errors import InputError, ModelError, RunError


def answers(out: Path, scorer: Any, options: EngineOptions | None = None, *, rows: int = 60) -> pl.DataFrame:
    with runs.open_run(out, "lengths", {"rows": rows}) as run:
        return pl.concat(list(map_parts(scorer, work(rows), run.parts, options=options or EngineOptions())))


TWO = EngineOptions(devices=("cpu:2",))
THREE = EngineOptions(devices=("cpu:3",))


def test_the_same_as_here_and_both_work(tmp_path: Path) -> None:
    log = tmp_path / "log"
    there = answers(tmp_path / "there" / "s.parquet", Lengths(log=log), TWO)
    assert_frame_equal(there, answers(tmp_path / "here" / "s.parquet", Lengths()), check_exact=True)
    assert len(workers(log)) == 2
    assert os.getpid() not in workers(log)
    assert sorted(asked(log)) == sorted(text for part in work() for text in part if text)


def test_a_bad_device_does_not_end_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    there = answers(tmp_path / "there" / "s.parquet", Lengths(log=log, fails_where="cpu:1"), THREE)
    assert_frame_equal(there, answers(tmp_path / "here" / "s.parquet", Lengths()), check_exact=True)
    assert len(workers(log)) == 3
    words = capsys.readouterr().err
    assert "cpu:1: its process ended with -9. It is left out" in words
    assert words.count("left out") == 1


def test_no_device_left_is_said_and_resumed_elsewhere(tmp_path: Path) -> None:
    out = tmp_path / "there" / "s.parquet"
    with pytest.raises(RunError, match=r"No device is left. The last was cpu:\d: its process ended with -9"):
        answers(out, Lengths(fails_where="cpu"), TWO)
    assert_frame_equal(answers(out, Lengths()), answers(tmp_path / "here" / "s.parquet", Lengths()), check_exact=True)


def test_a_part_that_kills_is_not_given_to_everyone(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="One part brought down 3 devices"):
        answers(tmp_path / "s.parquet", Lengths(fails_where="cpu"), EngineOptions(devices=("cpu:5",)), rows=5)


def test_our_own_error_comes_back_as_itself(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Pull them"):
        answers(tmp_path / "s.parquet", Refuses(), TWO)


def test_what_was_answered_here_is_not_asked_there(tmp_path: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "s.parquet"
    with runs.open_run(out, "lengths", {}) as run:
        list(map_parts(Lengths(log=log), work(30), run.parts))
        list(map_parts(Lengths(log=log), work(60), run.parts, options=TWO))
        list(map_parts(Lengths(log=log), work(60), run.parts, options=TWO))
    assert len(asked(log)) == 59


def test_large_parts_do_not_make_two_processes_wait_for_each_other(tmp_path: Path) -> None:
    noise = random.Random(1)
    texts = [[noise.randbytes(300_000).hex(), noise.randbytes(300_000).hex()] for _ in range(12)]
    with runs.open_run(tmp_path / "s.parquet", "echo", {}) as run:
        frames = list(map_parts(Echo(), texts, run.parts, options=TWO))
    assert [frame["said"].to_list() for frame in frames] == texts


def test_names_of_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairwitness.models.visible.count_gpus", lambda: 2)
    assert resolve(["auto"]) == ["cuda:0", "cuda:1"]
    assert resolve(["cuda:1", "cpu:1"]) == ["cuda:1", "cpu:0"]
    for wrong, words in {"cuda:2": "has 2 GPUs", "tpu": "Unknown device 'tpu'", "cpu:0": "Unknown device"}.items():
        with pytest.raises(InputError, match=words):
            resolve([wrong])
    with pytest.raises(InputError, match="twice"):
        resolve(["auto", "cuda:0"])


def test_auto_without_gpus_is_this_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    answers(tmp_path / "s.parquet", Lengths(log=log), EngineOptions(devices=("auto",)))
    assert workers(log) == {os.getpid()}
