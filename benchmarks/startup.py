"""How long it takes to begin: importing the package, and `fairwitness --help`."""

import subprocess
import sys

from benchmarks.figures import HEAD, figure, seconds

COMMANDS = {
    "`import fairwitness`": (["-c", "import fairwitness"], 0.5),
    "`fairwitness --help`": (["-m", "fairwitness", "--help"], 0.5),
    "bare `python -c pass`": (["-c", "pass"], None),
}


def main() -> None:
    """Print medians of nine runs."""
    print(HEAD)
    for name, (words, limit) in COMMANDS.items():
        command = [sys.executable, *words]
        taken = seconds(lambda command=command: subprocess.run(command, check=True, capture_output=True), 9)
        print(figure(name, taken, "s", below=limit), flush=True)


if __name__ == "__main__":
    main()
