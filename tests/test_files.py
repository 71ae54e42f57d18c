"""Files: replaced whole or not at all, hashed, and refused with a sentence."""

import errno
import hashlib
import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwitness import files
from fairwitness.errors import InputError, RunError


def test_replacing_ends_well_or_leaves_the_old(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    files.write_text(path, "old")

    def failing() -> None:
        with files.replacing(path) as temporary:
            temporary.write_text("new", encoding="utf-8")
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert path.read_text(encoding="utf-8") == "old"
    files.write_text(path, "né")
    assert path.read_bytes() == "né".encode()
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_new_files_obey_the_umask(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    files.write_bytes(tmp_path / "ours", b"x")
    assert (tmp_path / "ours").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left for"),
        (errno.EACCES, "Choose another --out"),
        (errno.EROFS, "Choose another --out"),
        (errno.ENOTDIR, "a file stands where a folder is needed"),
        (errno.EIO, "cannot be written"),
    ],
)
def test_disk_errors_are_sentences(number: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=words), files.disk_errors(tmp_path):
        raise OSError(number, "what the system says")


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"x")
    with pytest.raises(RunError, match="a file stands where a folder is needed"):
        files.write_text(tmp_path / "taken" / "file", "x")


def test_what_a_killed_process_left_is_swept_also_where_this_one_has_its_number(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    gone, again = (tmp_path / f".a.csv.{owner}.x.fairwitness-tmp" for owner in ("999999999-0a", f"{os.getpid()}-former"))
    living = tmp_path / "inner" / ".b.csv.1-0a.x.fairwitness-tmp"
    for path in (gone, again, living):
        path.touch()
    with files.replacing(tmp_path / "c.csv") as ours:
        files.sweep(tmp_path)
        assert ours.exists()
        assert [path.exists() for path in (gone, again, living)] == [False, False, True]


def test_require_file(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "full.csv").write_bytes(b"x")
    assert files.require_file(tmp_path / "full.csv") == tmp_path / "full.csv"
    for name, words in (
        ("", "is a folder"),
        ("empty.csv", "is empty"),
        ("ful.csv", "Did you mean 'full.csv'"),
        ("no/way", "not exist"),
    ):
        with pytest.raises(InputError, match=words):
            files.require_file(tmp_path / name)


def test_file_hash_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc" * 100_000)
    assert files.file_hash(tmp_path / "file") == hashlib.sha256(b"abc" * 100_000).hexdigest()


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_content_hash_tells_lists_apart(one: list[str], other: list[str]) -> None:
    assert (files.content_hash(*one) == files.content_hash(*other)) == (one == other)


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("FAIRWITNESS_CACHE", raising=False)
    assert files.cache_folder() == Path("/x/fairwitness")
    monkeypatch.setenv("FAIRWITNESS_CACHE", "/own")
    assert files.cache_folder() == Path("/own")


def test_what_rust_and_sqlite_say_of_the_disk_is_understood(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="No space left for"), files.disk_errors(tmp_path / "x"):
        raise OSError("No space left on device (os error 28)")
    with pytest.raises(RunError, match="cannot be written: Read-only file system"), files.disk_errors(tmp_path / "x"):
        raise OSError("Read-only file system (os error 30)")
    with pytest.raises(OSError, match="something of its own"), files.disk_errors(tmp_path / "x"):
        raise OSError("something of its own")
    full, locked, other = sqlite3.OperationalError("full"), sqlite3.OperationalError("readonly"), sqlite3.DatabaseError("malformed")
    full.sqlite_errorcode, locked.sqlite_errorcode, other.sqlite_errorcode = 13, 8, 11
    assert "No space left" in str(files.database_fault(full, tmp_path / "x"))
    assert "cannot be written" in str(files.database_fault(locked, tmp_path / "x"))
    assert files.database_fault(other, tmp_path / "x") is None
