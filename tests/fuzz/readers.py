"""Every reader of files that people bring, with small valid files to start from. A reader takes a path, and returns or refuses."""

import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
from tests.fuzz.imports import IMPORTS
from tests.fuzz.reader import Reader
from tests.fuzz.rooms import ROOMS, with_cassette

from fairwitness import runs, tables
from fairwitness.cli.app import call
from fairwitness.errors import EvidenceError, RunError

FRAME = pl.DataFrame(
    {
        "idx": [0, 1, 2, 3],
        "text": ["plain", 'with "quotes", and\nlines', "", "ünïcode \u200b ☃"],
        "pred": [0, 1, None, 1],
        "label": [0.0, 1.0, 0.4, 0.9],
        "score": [-1.5, 2.0, None, float("nan")],
        "male": [1, 0, 1, 0],
        "age": ["young", "old", None, "old"],
    }
)


def _whole(path: Path) -> None:
    tables.read(path)
    tables.read(path, rows=2)
    tables.count_rows(path)
    for _ in tables.batches(path, rows=2):
        pass


def _bytes(suffix: str) -> bytes:
    stream = io.BytesIO()
    {
        ".parquet": FRAME.write_parquet,
        ".csv": FRAME.write_csv,
        ".tsv": lambda to: FRAME.write_csv(to, separator="\t"),
        ".jsonl": FRAME.write_ndjson,
        ".json": FRAME.write_json,
    }[suffix](stream)
    return stream.getvalue()


def _predictions(path: Path) -> None:
    from fairwitness.audits.fairness import group_fairness

    group_fairness(path, label="label", pred="pred", score="score", flags=["male"], groups=["age"], min_group_size=1, replicates=10)


def _config(path: Path) -> None:
    """A command line takes most of its words from the file, but not where it writes."""
    run = path.parent / "run"
    run.mkdir(exist_ok=True)
    (run / "run.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    call(["report", str(run), "--out", str(path.parent / "r.md"), "--config", str(path)])


def _manifest(path: Path) -> None:
    from fairwitness.audits.gate import GateConfig, gate
    from fairwitness.audits.reporting import WRITERS, report_of

    runs.read_manifest(path.parent)
    for write in WRITERS.values():
        write(report_of([path.parent]))
    with suppress(EvidenceError):
        gate(path.parent, GateConfig(min_coverage=0.5))
    with suppress(RunError), runs.open_run(path.parent / "zs.parquet", "zeroshot", {}):
        pass


def _suite(path: Path) -> None:
    from fairwitness.audits.suite import read_suite

    read_suite(path, {"zeroshot": "out=scores.parquet", "stereoset eval": "output=s.csv"})


def _rules(path: Path) -> None:
    from fairwitness.audits.gate import GateConfig, rules_of

    rules_of(GateConfig(rules=path))


def _tables() -> Iterator[tuple[str, Reader]]:
    for suffix in tables.SUFFIXES:
        kind = suffix.lstrip(".")
        seed = _bytes(suffix)
        yield f"table_{kind}", Reader(_whole, f"table{suffix}", (seed, seed[: len(seed) // 2]), tuple(FRAME.columns))
        if suffix in (".parquet", ".csv"):
            yield f"predictions_{kind}", Reader(_predictions, f"preds{suffix}", (seed,), tuple(FRAME.columns))


MANIFEST = {
    "format": 1,
    "audits": {
        "zs": {
            "kind": "zeroshot",
            "question": {"model": "a", "task": "toxicity"},
            "status": "done",
            "outputs": {"zs.parquet": "00"},
            "counts": {"asked": 2, "scored": 1, "failed": 1},
            "seconds": 1.5,
            "started": "2026-11-15T09:00:00+00:00",
            "versions": {"python": "3.11"},
        }
    },
}

with tempfile.TemporaryDirectory() as _folder:
    _CASSETTE = with_cassette(Path(_folder))

READERS: dict[str, Reader] = {
    **dict(_tables()),
    **ROOMS,
    **_CASSETTE,
    **IMPORTS,
    "config_toml": Reader(
        _config, "audit.toml", (b'title = "t"\nformat = "md"\n', b"[nested]\nlist = [1, 2]\n"), ("title", "format")
    ),
    "manifest": Reader(_manifest, "run.json", (json.dumps(MANIFEST).encode(),), ("audits", "kind", "status", "outputs", "counts")),
    "suite_toml": Reader(
        _suite,
        "suite.toml",
        (b'title = "t"\n[[audit]]\nverb = "zeroshot"\nmodels = ["a", "b"]\nmax_rows = 3\nid_cols = ["x"]\n',),
        ("audit", "verb", "models", "out", "name"),
    ),
    "rules_toml": Reader(_rules, "rules.toml", (b'[[rule]]\nmetric = "SPD"\nmost = 0.1\n',), ("rule", "metric", "most", "least")),
}
