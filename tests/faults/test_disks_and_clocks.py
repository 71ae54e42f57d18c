"""Full and read-only disks, damaged parts, a jumping clock, lack of memory, a bad network, two at once: no silent loss."""

import os
import random
import shutil
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
from ..thorough import THOROUGH
from .conftest import Life, entries, outputs
from .small_audits import AUDITS, zero_shot

SOME = AUDITS if THOROUGH else ["counterfactual", "fairness"]
WITH_PARTS = ["zero_shot", "stereoset", "crows", "counterfactual", "lifeboat", "sensitivity"]
DISK = 6_000_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def remount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


def leave(place: Path, room: int) -> Path:
    """Fill the disk but for so many bytes."""
    filler = place / "filler"
    free = os.statvfs(place)
    filler.write_bytes(b"x" * max(0, free.f_bavail * free.f_frsize - room))
    return filler


def on_disk(folder: Path) -> int:
    """The bytes a folder takes, in whole pages."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.rglob("*") if path.is_file())


@pytest.mark.timeout(600)
@pytest.mark.parametrize("audit", SOME)
def test_a_full_disk_is_said_and_nothing_is_lost(audit: str, live: Life, small_disk: Path) -> None:
    """The disk is full from the first write on, half way, and at the last one."""
    live(audit, small_disk / "calm")  # its inputs are there before the disk is full
    expected, needed = outputs(small_disk / "calm"), on_disk(small_disk / "calm")
    shutil.rmtree(small_disk / "calm")
    said = 0
    for share in (0.0, 0.25, 0.5, 0.75, 0.9, 1.0) if THOROUGH else (0.0, 0.6):
        filler = leave(small_disk, int(needed * share))
        ended = live(audit, small_disk / "run")[0]
        if "error" in ended:
            said += 1
            assert "No space left" in ended["error"], ended
            assert "it goes on where it stopped" in ended["error"]
        filler.unlink()
        again = live(audit, small_disk / "run")[0]
        assert "error" not in again, again
        assert outputs(small_disk / "run") == expected
        shutil.rmtree(small_disk / "run")
    assert said


def test_a_read_only_folder_is_said(live: Life, small_disk: Path) -> None:
    for audit in SOME:
        live(audit, small_disk / "run")  # its inputs are there
        shutil.rmtree(small_disk / "run")
    remount(small_disk, "ro")
    try:
        for audit in SOME:
            error = live(audit, small_disk / "run")[0].get("error", "")
            assert "cannot be written" in error, (audit, error)
    finally:
        remount(small_disk, "rw")


@pytest.mark.parametrize("audit", WITH_PARTS if THOROUGH else WITH_PARTS[:1])
def test_damaged_parts_are_done_again_and_counted(audit: str, live: Life, tmp_path: Path) -> None:
    calm = live(audit, tmp_path / "calm" / "run")[0]
    for kill_at in range(calm["touched"] - 1, 0, -max(3, calm["touched"] // 12)):
        rough = tmp_path / f"rough{kill_at}" / "run"
        live(audit, rough, kill_at=kill_at)
        parts = sorted(rough.glob(".parts/*/*.parquet"))
        if parts and any(entry["status"] == "running" for entry in entries(rough).values()):
            break
    for number, part in enumerate(parts):
        part.write_bytes(damaged(part.read_bytes(), number))
    assert "error" not in live(audit, rough)[0]
    assert outputs(rough) == outputs(tmp_path / "calm" / "run")
    assert sum(entry["damaged_parts_redone"] for entry in entries(rough).values()) == len(parts)


def damaged(data: bytes, way: int) -> bytes:
    """Cut, empty, with one bit changed, or longer."""
    half = len(data) // 2
    return (data[:-9], b"", data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :], data + b"PAR1")[way % 4]


def test_a_damaged_checkpoint_of_a_training_is_said_or_done_again(live: Life, tmp_path: Path) -> None:
    calm = live("user_model", tmp_path / "calm" / "run")[0]
    for way, kill_at in enumerate(range(calm["touched"] // 2, calm["touched"], max(1, calm["touched"] // 8))):
        rough = tmp_path / f"rough{way}" / "run"
        live("user_model", rough, kill_at=kill_at)
        for checkpoint in rough.glob(".parts/*/checkpoint.pt"):
            checkpoint.write_bytes(damaged(checkpoint.read_bytes(), way))
        assert "error" not in live("user_model", rough)[0]
        assert outputs(rough) == outputs(tmp_path / "calm" / "run")


@pytest.mark.parametrize("audit", AUDITS if THOROUGH else ["zero_shot"])
def test_two_at_once_one_works_and_one_is_told(audit: str, live: Life, tmp_path: Path) -> None:
    live(audit, tmp_path / "calm" / "run")
    both = live(audit, tmp_path / "both" / "run", copies=2)
    told = [answer["error"] for answer in both if "error" in answer]
    assert all("Another process is working in" in words for words in told), told
    # Audits of several steps hold the folder step by step, so that each of the two may find the other at work.
    if len(told) == 2:
        live(audit, tmp_path / "both" / "run")
    assert outputs(tmp_path / "both" / "run") == outputs(tmp_path / "calm" / "run")


@pytest.mark.parametrize("audit", AUDITS if THOROUGH else ["kosbi"])
def test_a_clock_that_jumps_changes_no_audit(audit: str, live: Life, tmp_path: Path) -> None:
    live(audit, tmp_path / "calm" / "run")
    ended = live(audit, tmp_path / "jumpy" / "run", clock_jumps=True)[0]
    assert "error" not in ended, ended
    assert outputs(tmp_path / "jumpy" / "run") == outputs(tmp_path / "calm" / "run")


def test_a_clock_that_jumps_changes_no_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
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


def test_lack_of_memory_when_a_model_is_first_tried(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any batch there is nothing to halve: a message. What all rows begin with not fitting: each row brings its own."""
    import torch

    from fairwitness.errors import ModelError
    from fairwitness.models import causal_lm, tree_attention

    def no_memory(*_words: Any, **_named: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    lm = causal_lm.load(str(model), dtype="float32")
    rows = [([*range(5, 21), k], [[3], [4, 5]]) for k in range(4)]
    calm = lm.score(rows)
    with monkeypatch.context() as patched:
        patched.setattr(tree_attention, "hear", no_memory)
        starved = causal_lm.load(str(model), dtype="float32")
        with pytest.raises(ModelError, match=r"Out of memory: a pass of .* does not fit on cpu"):
            starved.score(rows)
        again = causal_lm.load(str(model), dtype="float32")
        again._packs = True
        for one, other in zip(calm, again.score(rows), strict=True):
            assert other.logprob_sum == pytest.approx(one.logprob_sum, abs=1e-4)
        assert again.batches_halved == 1


def test_lack_of_memory_in_a_classifier_halves_its_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairwitness.errors import ModelError
    from fairwitness.models.memory import in_batches

    seen: list[list[int]] = []

    def fits(most: int) -> Any:
        def one_batch(places: Any) -> None:
            if len(places) > most:
                raise RuntimeError("CUDA out of memory")
            seen.append(list(places))

        return one_batch

    import torch

    in_batches(range(10), 8, fits(3), torch.device("cpu"))
    assert [place for places in seen for place in places] == list(range(10))
    assert max(map(len, seen)) == 2
    with pytest.raises(ModelError, match="one text alone does not fit"):
        in_batches(range(3), 2, fits(0), torch.device("cpu"))
    with pytest.raises(RuntimeError, match="something else"):
        in_batches(range(3), 2, lambda _places: (_ for _ in ()).throw(RuntimeError("something else")), torch.device("cpu"))
