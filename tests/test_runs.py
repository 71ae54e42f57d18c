"""Runs survive what happens to runs: kill -9 at any instant, damage, a second process, a full disk, another question."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.small_audit import SECONDS, begin, ended

from fairwitness import runs, tables
from fairwitness.engine.local import map_parts
from fairwitness.errors import InputError, RunError
from fairwitness.files import file_hash


def written_since(path: Path, moment: int) -> bool:
    return path.exists() and path.stat().st_mtime_ns > moment


def test_killed_at_any_moment_it_ends_the_same(tmp_path: Path) -> None:
    assert ended(begin(tmp_path / "calm" / "scores.parquet")) == 0
    expected = file_hash(tmp_path / "calm" / "scores.parquet")
    random_moments = random.Random(7)
    out = tmp_path / "rough" / "scores.parquet"
    kills = 0
    while kills < 20:
        started = time.time_ns()
        process = begin(out)
        while process.is_alive() and not written_since(out.parent / "run.json", started):
            time.sleep(0.002)
        time.sleep(SECONDS * random_moments.random())
        if not process.is_alive():  # it got through: begin another rough life
            out.unlink()
            (out.parent / "run.json").unlink()
            continue
        process.kill()
        process.join()
        kills += 1
    assert ended(begin(out)) == 0
    assert file_hash(out) == expected
    assert not (out.parent / ".parts").exists()
    assert json.loads((out.parent / "run.json").read_text())["audits"]["scores"]["status"] == "done"


def test_nothing_answered_is_asked_again(tmp_path: Path) -> None:
    out = tmp_path / "scores.parquet"
    process = begin(out)
    while len(list(tmp_path.glob(".parts/scores/*.parquet"))) < 5:
        time.sleep(0.005)
    process.kill()
    process.join()
    kept = len(list(tmp_path.glob(".parts/scores/*.parquet"))) * 5
    (tmp_path / "asked").unlink()
    assert ended(begin(out)) == 0
    assert len((tmp_path / "asked").read_text().split()) <= 199 - kept + 1


class Length:
    """The smallest scorer there can be."""

    identity = {"name": "length"}  # noqa: RUF012
    rows_per_part = 2

    def score(self, texts: list[str]) -> dict[str, Any]:
        return {"score": [float(len(text)) if text != "bad" else float("nan") for text in texts]}


def finish(out: Path, question: dict[str, Any] | None = None, **options: Any) -> pl.DataFrame:
    with runs.open_run(out, "length", question or {"model": "a", "task": "x"}, **options) as run:
        if not run.sealed:
            with tables.writer(out) as append:
                for frame in map_parts(Length(), [["a", None], ["", "bad"]], run.parts):
                    append(frame)
            run.seal([out], {"asked": 4, "scored": 1, "failed": 3})
    return tables.read(out)


def test_a_failure_is_never_a_score(tmp_path: Path) -> None:
    frame = finish(tmp_path / "s.parquet")
    assert frame["score"].to_list() == [1.0, None, None, None]
    assert frame["error"].to_list() == [None, "no text", "no text", "score is not a finite number"]


def test_another_question_is_refused_and_named(tmp_path: Path) -> None:
    finish(tmp_path / "s.parquet")
    before = file_hash(tmp_path / "s.parquet")
    with pytest.raises(RunError, match=r'task was "x", now "y".*--restart'):
        finish(tmp_path / "s.parquet", {"model": "a", "task": "y"})
    assert file_hash(tmp_path / "s.parquet") == before
    finish(tmp_path / "s.parquet", {"model": "a", "task": "y"}, restart=True)


def test_two_audits_share_a_folder(tmp_path: Path) -> None:
    finish(tmp_path / "one.parquet")
    finish(tmp_path / "two.parquet", {"other": 1})
    assert set(runs.read_manifest(tmp_path)) == {"one", "two"}


def test_a_changed_output_is_made_again(tmp_path: Path) -> None:
    out = tmp_path / "s.parquet"
    finish(out)
    good = file_hash(out)
    out.write_bytes(b"damaged")
    finish(out)
    assert file_hash(out) == good


def test_a_second_process_is_told_to_wait(tmp_path: Path) -> None:
    opening = f"runs.open_run(Path({str(tmp_path / 's.parquet')!r}), 'k', {{}})"
    code = f"from fairwitness import runs\nfrom pathlib import Path\nwith {opening}: pass"
    with runs.open_run(tmp_path / "s.parquet", "k", {}):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Another process is working in" in done.stderr


def test_damaged_parts_are_done_again_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "s.parquet"
    with runs.open_run(out, "length", {"model": "a", "task": "x"}) as run:
        list(map_parts(Length(), [["a", None], ["", "bad"]], run.parts))
    first, second = sorted(tmp_path.glob(".parts/s/*.parquet"))
    first.write_bytes(first.read_bytes()[:-20])
    second.write_bytes(second.read_bytes().replace(b"PAR1", b"PAR2", 1))
    assert finish(out)["score"].to_list() == [1.0, None, None, None]
    assert runs.read_manifest(tmp_path)["s"]["damaged_parts_redone"] == 2
    assert capsys.readouterr().err == "2 damaged parts were noticed by checksum and done again.\n"


def test_no_room_and_no_right(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="a file stands where a folder is needed"):
        finish(tmp_path / "file" / "s.parquet")


def test_full_disk_is_a_clear_error_and_loses_nothing(tmp_path: Path) -> None:
    mounted = tmp_path / "small"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(mounted)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        out = mounted / "s.parquet"
        with runs.open_run(out, "length", {"model": "a", "task": "x"}) as run:
            list(map_parts(Length(), [["a", None]], run.parts))
            (mounted / "filler").write_bytes(b"x" * 150_000)
            with pytest.raises(RunError, match="No space left"):
                run.parts.write("big", pl.DataFrame({"noise": random.Random(1).randbytes(200_000)}))
        (mounted / "filler").unlink()
        assert finish(out)["score"].to_list() == [1.0, None, None, None]
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def test_secrets_are_struck_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/fairwitness", "kosbi", "--api_key", "hush", "--token=hush", "--in", "x"])
    finish(tmp_path / "s.parquet")
    assert "hush" not in (tmp_path / "run.json").read_text()
    assert runs.read_manifest(tmp_path)["s"]["command"] == ["fairwitness", "kosbi", "--api_key", "***", "--token=***", "--in", "x"]
    with pytest.raises(AssertionError), runs.open_run(tmp_path / "t.parquet", "k", {"service": {"api_key": "hush"}}):
        pass


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), runs.open_run(tmp_path / "s.parquet", "k", {}):
        raise KeyboardInterrupt
    assert runs.read_manifest(tmp_path)["s"]["status"] == "running"


def stop(error: BaseException, out: Path, question: dict[str, Any], *, restart: bool = False, part: bool = False) -> None:
    with runs.open_run(out, "k", question, restart=restart) as run:
        if part:
            run.parts.write("a", pl.DataFrame({"score": [1.0]}))
        raise error


def refuse(out: Path, question: dict[str, Any], *, restart: bool = False, part: bool = False) -> None:
    with pytest.raises(InputError):
        stop(InputError("--threshold is 7."), out, question, restart=restart, part=part)


def test_a_refused_run_leaves_the_record_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "s.parquet"
    refuse(out, {"q": 1})
    assert not (tmp_path / "run.json").exists()
    finish(out)
    before = (tmp_path / "run.json").read_bytes()
    refuse(tmp_path / "t.parquet", {})
    refuse(out, {"q": 2}, restart=True)
    assert (tmp_path / "run.json").read_bytes() == before


def test_a_run_that_fails_behind_its_first_part_says_why(tmp_path: Path) -> None:
    out = tmp_path / "s.parquet"
    refuse(out, {"q": 1}, part=True)
    entry = runs.read_manifest(tmp_path)["s"]
    assert (entry["status"], entry["reason"]) == ("failed", "--threshold is 7.")
    with pytest.raises(KeyboardInterrupt):
        stop(KeyboardInterrupt(), out, {"q": 1})
    entry = runs.read_manifest(tmp_path)["s"]
    assert entry["status"] == "running"
    assert "reason" not in entry


def test_a_command_done_in_one_go_is_noted_beside_an_audit_of_the_same_name(tmp_path: Path) -> None:
    out = tmp_path / "ss.csv"
    with runs.open_run(out, "stereoset eval", {"q": 1}) as run:
        out.write_text("a\n1\n")
        run.seal([out], {"asked": 1})
    for top in (3, 4):
        chart = tmp_path / "ss.png"
        chart.write_bytes(b"x" * top)
        runs.note(chart, "stereoset analyze", {"top_n": top}, [chart], counts={"asked": 1})
    found = runs.read_manifest(tmp_path)
    assert set(found) == {"ss", "ss.analyze"}
    assert found["ss"]["kind"] == "stereoset eval"
    assert found["ss.analyze"]["question"] == {"top_n": 4}
    assert found["ss.analyze"]["status"] == "done"
    assert list(found["ss.analyze"]["outputs"]) == ["ss.png"]


@pytest.mark.parametrize(
    "entry",
    [
        {"outputs": True},
        {"outputs": [], "status": "done", "question": {}},
        {"outputs": {"a\0b": "1"}, "status": "done", "question": {}},
    ],
)
def test_a_record_that_says_nothing_is_refused_or_started_over(tmp_path: Path, entry: dict[str, object]) -> None:
    out = tmp_path / "r.csv"
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "audits": {"r": entry}}), encoding="utf-8")
    with pytest.raises(RunError, match="says nothing usable of 'r'"), runs.open_run(out, "k", {}):
        pass
    with runs.open_run(out, "k", {}, restart=True) as run:
        assert not run.sealed


def test_what_an_earlier_call_answered_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "s.parquet"
    with runs.open_run(out, "length", {"model": "a", "task": "x"}) as run:
        list(map_parts(Length(), [["a", None]], run.parts))
    finish(out)
    assert capsys.readouterr().err == "2 rows had been answered by an earlier call and were not asked again.\n"
    finish(tmp_path / "new" / "s.parquet")
    assert capsys.readouterr().err == ""
