"""Take the README's pictures in Debian's Chromium: the demo's report, its top and two charts, and the viewer over its rows.

python scripts/make_screenshots.py runs/demo        needs fairwitness[web,test], chromium and chromium-driver
"""

import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking", "--disable-sync",
    "--no-first-run", "--disable-dev-shm-usage", "--window-size=1000,940",
)  # fmt: skip
PORT = 8791


def open_browser() -> Any:
    """A browser without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS:
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def save(browser: Any, name: str) -> None:
    """What the browser shows now, as a picture."""
    browser.save_screenshot(str(IMAGES / name))
    print(IMAGES / name)


def report_pictures(browser: Any, report: Path) -> None:
    """The top of the report, and in the dark a section with its charts."""
    browser.get(report.as_uri())
    save(browser, "report.png")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    heading = browser.find_element(By.XPATH, "//h2[starts-with(., 'Counterfactual')]")
    browser.execute_script("arguments[0].scrollIntoView()", heading)
    save(browser, "report_section.png")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def viewer_picture(browser: Any, folder: Path) -> None:
    """Rows of the viewer, filtered, from a server that ends with this script."""
    import uvicorn

    from fairwitness.web.viewer import application

    server = uvicorn.Server(uvicorn.Config(application(folder), host="127.0.0.1", port=PORT, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    browser.set_window_size(1150, 700)
    browser.get(f"http://127.0.0.1:{PORT}/rows?run=.&audit=scores#open")
    Select(browser.find_element(By.ID, "outcome")).select_by_visible_text("false positive")
    time.sleep(1.5)
    save(browser, "viewer.png")
    server.should_exit = True


def main() -> None:
    """All pictures, from the folder of a demo."""
    folder = Path(sys.argv[1]).resolve()
    browser = open_browser()
    try:
        report_pictures(browser, folder / "report.html")
        viewer_picture(browser, folder)
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
