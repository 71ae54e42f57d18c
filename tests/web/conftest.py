"""A real browser for the tests: Debian's Chromium through selenium. In CI a missing one fails; elsewhere the test is skipped."""

import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--window-size=900,1000", "--lang=ko",
)  # fmt: skip


def missing() -> str:
    """Why there is no browser to test in; empty when there is one."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed (fairwitness[test] brings it)"
    return "" if CHROMIUM and DRIVER else "chromium and chromedriver are not installed (Debian: chromium, chromium-driver)"


@pytest.fixture
def browsers(tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """A function that opens a fresh browser, which records its console and its network."""
    if reason := missing():
        assert not os.environ.get("CI"), f"the browser test must run in CI, but {reason}"
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    opened = []

    def open_browser() -> Any:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        for flag in (*FLAGS, f"--user-data-dir={tmp_path / f'profile{len(opened)}'}"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=Service(DRIVER))
        browser.set_page_load_timeout(30)
        opened.append(browser)
        return browser

    yield open_browser
    for browser in opened:
        browser.quit()


def until(browser: Any, condition: Callable[[Any], Any]) -> None:
    """Wait up to 20 s for something on a page that may be changing under our eyes.

    Between finding an element and reading it the browser may have gone to the next page; chromedriver says so in several ways
    (a stale element, an inspector's error that has no class of its own), and each means: look again.
    """
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 20, poll_frequency=0.02, ignored_exceptions=[WebDriverException]).until(condition)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    for _ in range(1500):
        try:
            urlopen(url)
            return
        except URLError:
            time.sleep(0.02)
    raise AssertionError(f"{url} does not answer")
