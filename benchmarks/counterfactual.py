"""The counterfactual audit's speed: requests a second, expansion of a hundred thousand comments, analysis of a million scores."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.figures import HEAD, figure
from fairwitness.audits.counterfactual_analysis import analysis
from fairwitness.audits.counterfactual_expand import ExpandConfig, expand
from fairwitness.datasets.counterfactual.sources import as_templates
from fairwitness.metrics.paired import Comparison
from fairwitness.models.answer_cache import AnswerCache
from fairwitness.models.service import Client, Limits, Request, Service
from fairwitness.scorers.profanity import Profanity

KEY = "AIzaLocalTestKey_0123456789abcdefghijk"
SHARE = float(os.environ.get("BENCH_SHARE", "1"))  # a tenth, to try the benchmark itself
REQUESTS, COMMENTS, SCORES = (int(count * SHARE) for count in (3_000, 100_000, 1_000_000))
GROUPS, TIMES = 8, 3


def requests_a_second(folder: Path) -> float:
    """Against the tests' server in a process of its own, every answer written to the cache."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in [*sys.path, os.getcwd()] if path)}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.servers.perspective"], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        service = Service(name="local", url=url, identity={"service": "local"}, params={"key": KEY})
        bodies = [{"comment": {"text": f"text {n}"}, "requestedAttributes": {"TOXICITY": {}}} for n in range(REQUESTS)]
        cache = AnswerCache(folder / "answers.sqlite")
        with Client(service, limits=Limits(workers=8, per_minute=10_000_000), cache=cache) as client:
            list(client.call([Request({**bodies[0], "languages": ["en"]})]))
            return REQUESTS / timed(lambda: list(client.call(map(Request, bodies))))
    finally:
        server.kill()
        server.communicate()


def expansion_s(folder: Path) -> float:
    """A hundred thousand templates about religion (eight groups and the control), from file to file."""
    folder.mkdir()
    texts = [
        f"In comment {n} a {{FOLLOWER}} said that number {n * 7 % 977} was a good {{RELIGION_ADJ}} day." for n in range(COMMENTS)
    ]
    rows = [{"category": "religion", "template": text, "sentiment": "neutral"} for text in texts]
    as_templates(rows).write_parquet(folder / "templates.parquet")
    config = ExpandConfig(in_=folder / "templates.parquet", out=folder / "expanded.parquet")
    return timed(lambda: expand(config))


def analysis_s(_folder: Path) -> float:
    """A million scores: 125,000 templates × 8 groups in three sentiments, every table of the analysis with 1,000 resamples."""
    units = SCORES // GROUPS
    rng = np.random.default_rng(0)
    names = [f"u{n:06d}" for n in range(units)]
    frame = pl.DataFrame(
        {
            "unit": np.repeat(names, GROUPS),
            "role": [f"group {n}" for n in range(GROUPS)] * units,
            "score": rng.beta(1, 5, SCORES),
            "error": pl.Series([None] * SCORES, dtype=pl.String),
            "category": ["race"] * SCORES,
            "sentiment": np.repeat(rng.choice(["neutral", "negative", "positive"], units), GROUPS),
        }
    )
    return timed(lambda: analysis(frame, Comparison()))


def profanity_a_second(_folder: Path) -> float:
    """Texts a second of the built-in scorer."""
    texts = [f"I have many good friends, number {n}" for n in range(20_000)]
    scorer = Profanity()
    scorer.score(texts[:10])
    return len(texts) / timed(lambda: scorer.score(texts))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(HEAD)
        for what, measure, unit, target in (
            ("requests to a local Perspective, each answer kept", requests_a_second, "a second", {"at_least": 500.0}),
            (f"expansion, {COMMENTS:,} comments × {GROUPS} groups and control", expansion_s, "s", {"below": 30.0}),
            (f"analysis, {SCORES:,} scores, {GROUPS} groups, 3 sentiments", analysis_s, "s", {"below": 5.0}),
            ("profanity scorer", profanity_a_second, "texts a second", {}),
        ):
            print(figure(what, [measure(folder / f"{measure.__name__}{n}") for n in range(TIMES)], unit, **target), flush=True)


if __name__ == "__main__":
    main()
