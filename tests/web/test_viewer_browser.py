"""The viewer in a real browser over a folder with a run of 1,000,000 rows: filters, search, scrolling, a row's attribution."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from benchmarks.viewing import ROWS, million_rows
from tests.report.made_runs import fairness_run, predictions, unfinished_run, zero_shot_run
from tests.web.conftest import free_port, until, wait_for


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The viewer in a process of its own, as a user starts it."""
    root = tmp_path_factory.mktemp("viewer") / "runs"
    million_rows(root / "million")
    zero_shot_run(fairness_run(root / "small", predictions(150)))
    fairness_run(root / "other", predictions(150, shift=0.0))
    unfinished_run(root / "begun")
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "fairwitness", "serve", str(root), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        wait_for(f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def total(browser: Any) -> int:
    words = one(browser, "#total").text.split()
    return int(words[0].replace(",", "")) if words else -1


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_rows(served: str, browsers: Callable[[], Any]) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    browser = browsers()
    browser.get(f"{served}/rows?run=million&audit=scores")
    one(browser, "#fold summary").send_keys(Keys.ENTER)
    until(browser, lambda b: total(b) == ROWS)
    assert browser.title != "broken"
    assert browser.execute_script("return document.querySelectorAll('.line').length") < 200, "only what is seen is drawn"

    for control, value in (("error", "failed"), ("outcome", "false positive"), ("group", "female")):
        before = total(browser)
        Select(one(browser, f"#{control}")).select_by_visible_text(value)
        until(browser, lambda b, seen=before: total(b) not in (seen, -1))
    assert 0 < total(browser) < 400
    for control in ("error", "outcome", "group"):
        Select(one(browser, f"#{control}")).select_by_index(0)
    until(browser, lambda b: total(b) == ROWS)
    one(browser, "#text").send_keys("WOMEN")
    until(browser, lambda b: -1 < total(b) < ROWS // 4)

    one(browser, "#text").send_keys(Keys.CONTROL, "a")
    one(browser, "#text").send_keys("999999")
    until(browser, lambda b: total(b) == 1)
    until(browser, lambda b: "999999" in one(b, ".line").text)
    one(browser, "#text").send_keys(Keys.CONTROL, "a", Keys.DELETE)
    until(browser, lambda b: total(b) == ROWS)
    browser.execute_script("const p = document.getElementById('pane'); p.scrollTop = p.scrollHeight")
    numbers = "return [...document.querySelectorAll('.line')].map(line => line.firstChild.textContent)"
    until(browser, lambda b: str(ROWS - 1) in b.execute_script(numbers))


@pytest.mark.slow
def test_runs_rows_and_attributions(served: str, browsers: Callable[[], Any]) -> None:
    from selenium.webdriver.support.ui import Select

    browser = browsers()
    browser.get(served)
    shown = "return [...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).map(r => r.dataset.run)"
    assert set(browser.execute_script(shown)) == {"begun", "million", "other", "small"}
    Select(one(browser, "#status")).select_by_visible_text("not finished")
    assert browser.execute_script(shown) == ["begun"]
    Select(one(browser, "#status")).select_by_index(0)
    one(browser, "#search").send_keys("SMA")
    assert set(browser.execute_script(shown)) == {"small"}
    one(browser, "#search").clear()
    browser.get(served)
    for name in ("other", "small"):
        one(browser, f"input[value={name}]").click()
    one(browser, "#pair button").click()
    until(browser, lambda b: len(b.find_elements("css selector", "iframe")) == 2)
    browser.find_element("link text", "What changed").click()
    until(browser, lambda b: "What changed" in one(b, "main").text)

    browser.get(f"{served}/row?run=small&audit=zs&idx=0")
    assert "<script>" in one(browser, "#why").text
    assert browser.title.startswith("Row 0")
    browser.get(f"{served}/rows?run=small&audit=fairness")
    one(browser, "#fold summary").click()
    until(browser, lambda b: total(b) == 150)
    Select(one(browser, "#group")).select_by_visible_text("age=2")
    until(browser, lambda b: 0 < total(b) < 150)
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
