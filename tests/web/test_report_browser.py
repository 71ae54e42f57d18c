"""The report opened from disk in a real browser: nothing goes out, nothing goes wrong, all that moves works by mouse and keys."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.report.made_runs import LONG, SCRIPT, fairness_run, predictions, zero_shot_run
from tests.web.conftest import until

from fairwitness.audits.reporting import ReportConfig, write_report


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    zero_shot_run(fairness_run(folder / "run"), [f"{SCRIPT} {LONG}", "مرحبا", "c"])
    other = fairness_run(folder / "other", predictions(shift=0.0))
    return write_report([folder / "run", other], ReportConfig(out=folder / "report.html", title="Tested")).as_uri()


def find(browser: Any, selector: str) -> Any:
    from selenium.webdriver.common.by import By

    return browser.find_element(By.CSS_SELECTOR, selector)


def requests_of(browser: Any) -> list[str]:
    """Addresses that the page asked for, other than itself and what is inside it."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # The browser's own first page asks for things too.
    asked = [one["request"]["url"] for one in sent if one["documentURL"].startswith("file:")]
    assert asked, "the page itself is among them"
    return [url for url in asked if not url.startswith(("file:", "data:"))]


def colours(browser: Any) -> tuple[str, str]:
    style = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    return tuple(browser.execute_script(style))


@pytest.mark.slow
def test_the_report_in_a_browser(page: str, browsers: Callable[[], Any]) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser = browsers()
    browser.get(page)
    assert browser.title == "Tested", "the script in the text did not run"

    hint = find(browser, "svg .hint .hit")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", hint)
    ActionChains(browser).move_to_element(hint).perform()
    tip = find(browser, "#tip")
    until(browser, lambda b: "on" in tip.get_attribute("class"))
    assert "95 % interval" in tip.text
    assert "n = " in tip.text
    ActionChains(browser).move_to_element(find(browser, "h1")).perform()

    # The same by keyboard alone: focus moves from mark to mark.
    browser.execute_script("document.querySelectorAll('svg .hint')[1].focus()")
    until(browser, lambda b: "on" in tip.get_attribute("class"))
    first = tip.text
    ActionChains(browser).send_keys(Keys.TAB).perform()
    until(browser, lambda b: tip.text != first)

    column = "return [...document.querySelector('table.sortable').tBodies[0].rows].map(r => r.cells[COLUMN].dataset.v)"
    head = browser.execute_script("return [...document.querySelectorAll('table.sortable th')].findIndex(h => h.className === 'n')")
    button = browser.execute_script("return document.querySelectorAll('table.sortable th button')[arguments[0]]", head)
    browser.execute_script("arguments[0].closest('details') && (arguments[0].closest('details').open = true)", button)
    values = [[float(v) for v in _pressed(browser, button, key, column.replace("COLUMN", str(head))) if v] for key in range(2)]
    assert values[0] == sorted(values[0])
    assert values[1] == sorted(values[1], reverse=True)

    fold = find(browser, "details.warning")
    assert fold.get_attribute("open") is None
    assert SCRIPT not in fold.text
    fold.find_element("css selector", "summary").send_keys(Keys.ENTER)
    assert SCRIPT in " ".join(fold.text.split()), "shown as text"
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), "a long word breaks"

    light = colours(browser)
    find(browser, "button.theme").send_keys(Keys.ENTER)
    assert colours(browser) != light
    assert not [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert requests_of(browser) == []


def _pressed(browser: Any, button: Any, _key: int, script: str) -> list[str]:
    from selenium.webdriver.common.keys import Keys

    button.send_keys(Keys.ENTER)
    return browser.execute_script(script)


@pytest.mark.slow
def test_dark_by_preference_and_small_screens(page: str, browsers: Callable[[], Any]) -> None:
    browser = browsers()
    browser.get(page)
    light = colours(browser)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    dark = colours(browser)
    assert light == ("rgb(255, 255, 255)", dark[0]) or light[0] != dark[0]
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    tall = browser.execute_script("return document.querySelector('svg.chart text').getBoundingClientRect().height")
    assert tall >= 9, "words in charts stay readable"
    small = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(small) > 10_000
