"""Try every reader with many bad files: `python scripts/fuzz.py [READER …] [--cases 10000] [--with hypothesis|atheris] [--jobs 2]`.

Each reader runs in a process of its own, so that a crash below Python is seen too. Prints a Markdown table, and each distinct
failure with the file that showed it. Exits with 1 when there was one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]


class Tally:
    """What happened, and one file for each distinct place where something went wrong."""

    def __init__(self, reader: str, folder: Path) -> None:
        from tests.fuzz.readers import READERS

        self.reader, self.folder = READERS[reader], folder
        self.seen = {"taken": 0, "refused": 0, "failed": 0}
        self.failures: dict[str, str] = {}

    def __call__(self, data: bytes) -> None:
        from tests.fuzz.cases import judge

        try:
            self.seen[judge(self.reader, data, self.folder)] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.seen["failed"] += 1
            self.failures.setdefault(where(error), repr(data[:300]))


def where(error: BaseException) -> str:
    """The error, and the last line of ours that it came through."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "fairwitness" in frame.filename]
    last = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "elsewhere"
    return f"{type(error).__name__} at {last}: {' '.join(str(error).split())[:160]}"


def with_hypothesis(tally: Tally, cases: int) -> None:
    """`cases` files made by hypothesis."""
    from hypothesis import HealthCheck, given, settings
    from tests.fuzz.cases import cases as made

    @settings(max_examples=cases, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(data=made(tally.reader))
    def every_file(data: bytes) -> None:
        tally(data)

    every_file()


def with_atheris(tally: Tally, cases: int, done: Path) -> None:
    """`cases` files made by libFuzzer, which looks for new paths through our code."""
    import atheris

    corpus = tally.folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(tally.reader.seeds):
        (corpus / str(number)).write_bytes(seed)

    def one(data: bytes) -> None:
        tally(data)
        if sum(tally.seen.values()) >= cases:
            report(tally, done)
            os._exit(0)

    atheris.Setup([sys.argv[0], f"-runs={cases}", "-max_len=20000", "-verbosity=0", str(corpus)], one)
    atheris.Fuzz()


def report(tally: Tally, done: Path) -> None:
    """Leave what happened for the process that started this one."""
    done.write_text(json.dumps({"seen": tally.seen, "failures": tally.failures}))


def work(reader: str, engine: str, cases: int, done: Path) -> None:
    """One reader, in this process."""
    if engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["fairwitness"]):
            from tests.fuzz import readers  # noqa: F401
    with tempfile.TemporaryDirectory() as folder:
        tally = Tally(reader, Path(folder))
        if engine == "atheris":
            with_atheris(tally, cases, done)
        else:
            with_hypothesis(tally, cases)
        report(tally, done)


def start(reader: str, engine: str, cases: int) -> tuple[str, dict[str, str]]:
    """One reader in a process of its own: a row of the table, and what failed."""
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder) / "done.json"
        words = [sys.executable, __file__, "--child", str(done), "--cases", str(cases), "--with", engine, reader]
        begun = time.monotonic()
        child = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "POLARS_MAX_THREADS": "1"})
        seconds = time.monotonic() - begun
        if not done.exists():
            ended = f"ended with {child.returncode}"
            return f"| {reader} | {engine} | – | – | – | {ended} | {seconds:.0f} |", {ended: child.stderr[-1500:]}
        seen = json.loads(done.read_text())
    counts = seen["seen"]
    shown = [reader, engine, sum(counts.values()), counts["taken"], counts["refused"], counts["failed"], f"{seconds:.0f}"]
    row = f"| {' | '.join(map(str, shown))} |"
    return row, seen["failures"]


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("readers", nargs="*", default=[])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--with", dest="engine", choices=["hypothesis", "atheris", "both"], default="both")
    parser.add_argument("--jobs", type=int, default=1, help="readers tried at once")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        work(asked.readers[0], asked.engine, asked.cases, asked.child)
        return
    from tests.fuzz.readers import READERS  # not before: in a child, atheris must see our modules being imported

    engines = ["hypothesis", "atheris"] if asked.engine == "both" else [asked.engine]
    print("| reader | made by | files | taken | refused | failed | s |\n|---|---|---|---|---|---|---|", flush=True)
    failures: dict[str, dict[str, str]] = {}
    tasks = [(reader, engine) for reader in asked.readers or READERS for engine in engines]
    with ThreadPoolExecutor(asked.jobs) as pool:
        for (reader, _), (row, failed) in zip(tasks, pool.map(lambda task: start(*task, asked.cases), tasks), strict=True):
            print(row, flush=True)
            if failed:
                failures.setdefault(reader, {}).update(failed)
    for reader, found in failures.items():
        for place, data in found.items():
            print(f"\n{reader}: {place}\n    {data}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
