"""A real Ray cluster for the tests of this folder, and the service that misbehaves."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
STORE = 80_000_000


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A head of one CPU and a second node of one CPU."""
    before = dict(os.environ)
    os.environ["PYTHONPATH"] = f"{REPOSITORY / 'src'}:{REPOSITORY}"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    from ray.cluster_utils import Cluster

    started = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False}
    )
    started.add_node(num_cpus=1, object_store_memory=STORE)
    yield started
    started.shutdown()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def perspective(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The server that behaves like Perspective, with its key in the environment."""
    from ..servers.perspective import KEY, PerspectiveServer, serving

    monkeypatch.setenv("PERSPECTIVE_API_KEY", KEY)
    return lambda **faults: serving(PerspectiveServer(**faults))
