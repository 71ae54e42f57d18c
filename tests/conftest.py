"""What several tests share: a cache of their own, the real data where it is, and the command line as a function."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fairwitness.cli.app import main

from . import sharing_out
from .servers.s3 import Bucket, serving


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """How several processes share the tests."""
    return sharing_out.scheduler(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long begins first, where several processes share the tests."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: sharing_out.rank(item.nodeid))


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def fairwitness(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run `fairwitness` with the given words, in this process."""

    def run(*words: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        seen = capsys.readouterr()
        return Done(int(ended.value.code or 0), seen.out, seen.err)

    return run


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data, or a skip with the reason."""
    folder = os.environ.get("FAIRWITNESS_SHARED")
    if not folder:
        pytest.skip("FAIRWITNESS_SHARED is not set: real data is not here")
    return Path(folder)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty user cache for this test alone."""
    monkeypatch.setenv("FAIRWITNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An object store on this machine that any s3:// URL leads to."""
    for name, value in {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    with serving(Bucket()) as started:
        monkeypatch.setenv("AWS_ENDPOINT_URL", started.url)
        yield started
