"""A folder of the cache is made once, whole; what a call that was cut off left beside it goes."""

from pathlib import Path

import pytest

from fairwitness.models.made_once import is_whole, made_once, sealed


def make(scratch: Path, target: Path) -> None:
    (scratch / "raw").write_bytes(b"raw")
    target.mkdir()
    (target / "weights").write_bytes(b"12345")


def never(_scratch: Path, _target: Path) -> None:
    raise AssertionError("it is there already")


def test_made_once_and_again_where_a_file_was_cut(tmp_path: Path) -> None:
    folder = made_once(tmp_path / "model", make, {"from": "here"})
    assert sealed(folder) == {"from": "here", "sizes": {"weights": 5}}
    assert made_once(folder, never, {}) == folder
    (folder / "weights").write_bytes(b"123")
    assert not is_whole(folder)
    assert (made_once(folder, make, {}) / "weights").read_bytes() == b"12345"


@pytest.mark.parametrize("whole", [True, False])
def test_leftovers_of_a_call_that_was_cut_off_go(tmp_path: Path, whole: bool) -> None:
    if whole:
        made_once(tmp_path / "model", make, {})
    left = tmp_path / "model.making-abc" / "wheel"
    left.mkdir(parents=True)
    made_once(tmp_path / "model", never if whole else make, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.lock"]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        made_once(tmp_path / "model", never, {})
    assert [path.name for path in tmp_path.iterdir()] == ["model.lock"]
