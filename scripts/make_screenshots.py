"""Take the README's pictures in Debian's Chromium: the top of the demo's report, light and dark, and the viewer over its rows.

python scripts/make_screenshots.py runs/demo
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking", "--disable-sync",
    "--no-first-run", "--virtual-time-budget=4000",
)  # fmt: skip
PORT = 8791


def picture(url: str, name: str, size: str, *more: str) -> None:
    """One picture of a page."""
    target = IMAGES / name
    with tempfile.TemporaryDirectory() as profile:
        words = [f"--window-size={size}", f"--user-data-dir={profile}", f"--screenshot={target}", *more]
        subprocess.run(["chromium", *FLAGS, *words, url], check=True, capture_output=True, timeout=120)
    print(target)


def main() -> None:
    """The report from disk, then the viewer from a server that ends with this script."""
    folder = Path(sys.argv[1]).resolve()
    report = (folder / "report.html").as_uri()
    picture(report, "report.png", "1000,1250")
    picture(report, "report_dark.png", "1000,900", "--blink-settings=preferredColorScheme=0")
    import uvicorn

    from fairwitness.web.viewer import application

    server = uvicorn.Server(uvicorn.Config(application(folder), host="127.0.0.1", port=PORT, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    query = urlencode({"run": ".", "audit": "scores"})
    picture(f"http://127.0.0.1:{PORT}/rows?{query}#open", "viewer.png", "1200,620")
    server.should_exit = True


if __name__ == "__main__":
    main()
