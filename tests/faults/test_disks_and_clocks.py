"""Full and read-only disks, damaged parts, a jumping clock, lack of memory, a bad network, two at once: no silent loss."""

import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairwitness import tables
from fairwitness.engine.options import EngineOptions

from ..engine.real_audits import counterfactual as scored_templates
from ..servers.perspective import KEY, Faults, PerspectiveServer, serving
from .conftest import Life, entries, outputs
from .small_audits import zero_shot


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def remount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


def leave(place: Path, room: int) -> Path:
    """Fill the disk but for so many bytes."""
    filler = place / "filler"
    filler.write_bytes(b"x" * (1_048_576 - room))
    return filler


@pytest.mark.parametrize("audit", ["zero_shot", "counterfactual", "fairness"])
def test_a_full_disk_is_said_and_nothing_is_lost(audit: str, live: Life, tmp_path: Path, small_disk: Path) -> None:
    live(audit, tmp_path / "calm" / "run")
    expected = outputs(tmp_path / "calm" / "run")
    live("fairness", small_disk / "earlier")  # its input, which is this audit's too, is there before the disk is full
    filler = leave(small_disk, 40_000)
    ended = live(audit, small_disk / "run")[0]
    assert "No space left" in ended.get("error", ""), ended
    assert "it goes on where it stopped" in ended["error"]
    filler.unlink()
    again = live(audit, small_disk / "run")[0]
    assert "error" not in again, again
    assert outputs(small_disk / "run") == expected


def test_a_read_only_folder_is_said(live: Life, small_disk: Path) -> None:
    live("fairness", small_disk / "run")
    remount(small_disk, "ro")
    try:
        for audit in ("zero_shot", "crows", "counterfactual"):
            error = live(audit, small_disk / "other")[0].get("error", "")
            assert "cannot be written" in error, (audit, error)
    finally:
        remount(small_disk, "rw")


def test_damaged_parts_are_done_again_and_counted(live: Life, tmp_path: Path) -> None:
    calm = live("zero_shot", tmp_path / "calm" / "run")[0]
    expected = outputs(tmp_path / "calm" / "run")
    for kill_at in range(30, calm["touched"], 6):
        rough = tmp_path / f"rough{kill_at}" / "run"
        live("zero_shot", rough, kill_at=kill_at)
        parts = sorted(rough.glob(".parts/zs/*.parquet"))
        if len(parts) >= 4:
            break
    parts[0].write_bytes(parts[0].read_bytes()[:-9])
    parts[1].write_bytes(b"")
    data = bytearray(parts[2].read_bytes())
    data[len(data) // 2] ^= 1
    parts[2].write_bytes(bytes(data))
    parts[3].write_bytes(parts[0].read_bytes() + b"PAR1")
    assert "error" not in live("zero_shot", rough)[0]
    assert outputs(rough) == expected
    assert entries(rough)["zs"]["damaged_parts_redone"] == 4


def test_two_at_once_one_works_and_one_is_told(live: Life, tmp_path: Path) -> None:
    live("zero_shot", tmp_path / "calm" / "run")
    both = live("zero_shot", tmp_path / "both" / "run", copies=2)
    told = [answer["error"] for answer in both if "error" in answer]
    assert all("Another process is working in" in words for words in told), told
    assert len(told) <= 1
    assert outputs(tmp_path / "both" / "run") == outputs(tmp_path / "calm" / "run")


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    """A service with a quota by the minute, while the clock on the wall leaps by up to a day in both directions."""
    monkeypatch.setenv("PERSPECTIVE_API_KEY", KEY)
    chance, real = random.Random(5), time.time
    with serving(PerspectiveServer()) as server:
        calm = scored_templates(tmp_path / "calm", Path(), EngineOptions(), scorer="perspective", url=server.url)
        monkeypatch.setenv("FAIRWITNESS_CACHE", str(tmp_path / "another cache"))
        monkeypatch.setattr(time, "time", lambda: real() + chance.uniform(-86_400, 86_400))
        jumpy = scored_templates(tmp_path / "jumpy", Path(), EngineOptions(), scorer="perspective", url=server.url)
    assert tables.read(calm[0]).equals(tables.read(jumpy[0]))
    assert entries(tmp_path / "jumpy")["scores"]["seconds"] >= 0


def test_a_bad_network_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    monkeypatch.setenv("PERSPECTIVE_API_KEY", KEY)
    with serving(PerspectiveServer()) as server:
        calm = scored_templates(tmp_path / "calm", Path(), EngineOptions(), scorer="perspective", url=server.url)
    monkeypatch.setenv("FAIRWITNESS_CACHE", str(tmp_path / "another cache"))
    kinds = ("500", "503", "drop", "cut", "wrong_json", "not_json")
    with serving(PerspectiveServer(faults=Faults(rate=0.2, kinds=kinds, seed=3))) as server:
        rough = scored_templates(tmp_path / "rough", Path(), EngineOptions(), scorer="perspective", url=server.url)
        assert server.record.faults.total() > 0
        assert set(server.record.answered.values()) == {1}, "no text was paid for twice"
    one, other = tables.read(calm[0]), tables.read(rough[0])
    assert one.equals(other)
    assert other["error"].null_count() == other.height


def test_lack_of_memory_halves_batches_and_loses_nothing(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from fairwitness.models import tree_attention
    from fairwitness.scorers.zero_shot import ZeroShot

    monkeypatch.setattr(ZeroShot, "rows_per_part", 4)
    zero_shot(tmp_path / "calm" / "run", model, explain=False)
    run, refused = tree_attention.run, []

    def small_memory(lm: Any, batch: Any, *more: Any, **named: Any) -> Any:
        if batch.rows > 2:  # two are tried when a model is loaded, to see whether the fast way fits it
            refused.append(batch.rows)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return run(lm, batch, *more, **named)

    monkeypatch.setattr(tree_attention, "run", small_memory)
    zero_shot(tmp_path / "rough" / "run", model, explain=False)
    assert refused
    calm, rough = (tables.read(tmp_path / name / "run" / "zs.parquet") for name in ("calm", "rough"))
    assert rough["error"].to_list() == calm["error"].to_list()
    assert (calm["score"] - rough["score"]).drop_nulls().abs().max() < 1e-4  # type: ignore[operator]
    assert rough.filter(pl.col("error").is_not_null())["score"].null_count() == calm["error"].count()
    assert entries(tmp_path / "rough" / "run")["zs"]["batches_halved"] > 0
