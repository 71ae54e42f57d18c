"""Which tests run in one process when several share the work (`pytest -n 2`), and in which order.

A file's tests stay together, so that what they share is made once; so do the folders whose tests share a Ray cluster or a process
to fork from. What takes longest begins first, so that the processes end at about the same time. Nothing but time depends on this.
"""

from typing import Any

import pytest

TOGETHER = ("tests/engine/", "tests/faults/")
# As seen on two cores, longest first; whatever is not named follows in the usual order.
LONGEST = (
    *TOGETHER,
    "tests/test_examples.py",
    "tests/authoring/test_real_model.py",
    "tests/web/test_annotate_browser.py",
    "tests/test_runs.py",
    "tests/audits/",
    "tests/authoring/",
    "tests/web/",
    "tests/cli/",
)


def unit_of(nodeid: str) -> str:
    """What a test is handed out with.

    >>> unit_of("tests/engine/test_devices.py::test_one"), unit_of("tests/test_files.py::test_two[a::b]")
    ('tests/engine/', 'tests/test_files.py')
    """
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.split("::", 1)[0])


def rank(nodeid: str) -> int:
    """Its place in the order: 0 begins."""
    return next((place for place, start in enumerate(LONGEST) if nodeid.startswith(start)), len(LONGEST))


def scheduler(config: pytest.Config, log: Any) -> Any:
    """One that hands out units in the order in which they were collected."""
    from xdist.scheduler import LoadScopeScheduling

    class ByUnit(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    config.option.loadscopereorder = False
    return ByUnit(config, log)
