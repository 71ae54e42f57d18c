"""Take the README's pictures: the top of the demo's report, in Debian's Chromium.

python scripts/make_screenshots.py runs/demo/report.html
"""

import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).parents[1] / "docs" / "images" / "report.png"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking", "--disable-sync"]


def main() -> None:
    """One picture, 1000 by 1250."""
    page = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as profile:
        size = ["--window-size=1000,1250", f"--user-data-dir={profile}", f"--screenshot={TARGET}"]
        subprocess.run(["chromium", *FLAGS, *size, page.as_uri()], check=True, capture_output=True)
    print(TARGET)


if __name__ == "__main__":
    main()
