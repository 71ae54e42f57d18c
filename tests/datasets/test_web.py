"""Plain downloads: resumed, tried again, checked, whole or not at all."""

import hashlib
from pathlib import Path

import pytest

from fairwitness.datasets import web
from fairwitness.datasets.card import WebFile, WebFiles
from fairwitness.errors import ServiceError

DATA = bytes(range(256)) * 2000


def a_file(url: str, *, good: bool = True) -> WebFile:
    digest = hashlib.sha256(DATA if good else b"other").hexdigest()
    return WebFile(url=f"{url}/data.bin", name="data.bin", sha256=digest, size=len(DATA))


def test_a_download_is_whole_and_asked_for_once(web_server, tmp_path: Path) -> None:
    web_server.files["/data.bin"] = DATA
    path = web.fetch_file(a_file(web_server.url), tmp_path / "data.bin")
    assert path.read_bytes() == DATA
    web.fetch_file(a_file(web_server.url), path)
    assert web_server.ranges() == [""]
    assert sorted(entry.name for entry in tmp_path.iterdir() if not entry.name.endswith(".lock")) == ["data.bin"]


def test_a_cut_download_goes_on_where_it_stopped(web_server, tmp_path: Path) -> None:
    web_server.files["/data.bin"] = DATA
    web_server.cut_after = 100_000
    path = web.fetch_file(a_file(web_server.url), tmp_path / "data.bin")
    assert path.read_bytes() == DATA
    assert len(web_server.ranges()) == 2
    assert web_server.ranges()[1].startswith("bytes=")
    assert int(web_server.ranges()[1][6:-1]) > 0


def test_the_next_call_goes_on_too(web_server, tmp_path: Path) -> None:
    web_server.files["/data.bin"] = DATA
    (tmp_path / ".data.bin.part").write_bytes(DATA[:5000])
    (tmp_path / ".data.bin.etag").write_text(f'"{hashlib.sha256(DATA).hexdigest()}"', encoding="utf-8")
    assert web.fetch_file(a_file(web_server.url), tmp_path / "data.bin").read_bytes() == DATA
    assert web_server.ranges() == ["bytes=5000-"]


def test_a_file_that_changed_meanwhile_is_begun_anew(web_server, tmp_path: Path) -> None:
    web_server.files["/data.bin"] = DATA
    (tmp_path / ".data.bin.part").write_bytes(b"of an older file")
    (tmp_path / ".data.bin.etag").write_text('"older"', encoding="utf-8")
    assert web.fetch_file(a_file(web_server.url), tmp_path / "data.bin").read_bytes() == DATA


def test_busy_servers_are_asked_again(web_server, tmp_path: Path) -> None:
    web_server.files["/data.bin"] = DATA
    web_server.fail = [503, 429]
    assert web.fetch_file(a_file(web_server.url), tmp_path / "data.bin").read_bytes() == DATA


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_final_and_leaves_nothing(status: int, web_server, tmp_path: Path) -> None:
    web_server.fail = [status]
    with pytest.raises(ServiceError, match=f"answers HTTP {status}"):
        web.fetch_file(a_file(web_server.url), tmp_path / "data.bin")
    assert len(web_server.asked) == 1
    assert not (tmp_path / "data.bin").exists()


def test_a_wrong_file_is_not_kept(web_server, tmp_path: Path) -> None:
    web_server.files["/data.bin"] = DATA
    with pytest.raises(ServiceError, match="is not the file that was published: its SHA-256"):
        web.fetch_file(a_file(web_server.url, good=False), tmp_path / "data.bin")
    web_server.files["/data.bin"] = DATA[:-1]
    with pytest.raises(ServiceError, match="bytes came"):
        web.fetch_file(a_file(web_server.url), tmp_path / "data.bin")
    assert [entry.name for entry in tmp_path.iterdir() if not entry.name.startswith(".")] == []


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="did not answer"):
        web.fetch_file(a_file("http://127.0.0.1:9"), tmp_path / "data.bin")


def test_only_the_wanted_split_is_fetched(web_server, own_cache: Path) -> None:
    files = tuple(WebFile(url=f"{web_server.url}/{name}", name=name, split=name[:-4]) for name in ("train.csv", "test.csv"))
    web_server.files = {"/train.csv": b"a\n1\n", "/test.csv": b"a\n2\n"}
    assert [file.name for file in web.fetch(WebFiles(files), "x", "test").files] == ["test.csv"]
    assert [file.name for file in web.fetch(WebFiles(files), "x", "").files] == ["train.csv"]
    assert [file.name for file in web.fetch(WebFiles(files), "x", "all").files] == ["train.csv", "test.csv"]


def test_two_who_want_the_same_file_fetch_it_once(web_server, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    web_server.files["/data.bin"] = DATA
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: web.fetch_file(a_file(web_server.url), tmp_path / "data.bin"), range(4)))
    assert {path.read_bytes() for path in paths} == {DATA}
    assert web_server.ranges() == [""]
