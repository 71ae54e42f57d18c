"""How long it takes to begin: importing the package, and `fairwitness --help`."""

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "`import fairwitness`": ["-c", "import fairwitness"],
    "`fairwitness --help`": ["-m", "fairwitness", "--help"],
    "bare `python -c pass`": ["-c", "pass"],
}


def seconds(words: list[str]) -> float:
    """One run of Python with these words, start to end."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return time.perf_counter() - begun


def main() -> None:
    """Print medians of nine runs."""
    print("| what | median s | spread s | limit s |\n|---|---|---|---|")
    for name, words in COMMANDS.items():
        times = [seconds(words) for _ in range(9)]
        print(f"| {name} | {statistics.median(times):.3f} | {min(times):.3f}–{max(times):.3f} | 0.5 |")


if __name__ == "__main__":
    main()
