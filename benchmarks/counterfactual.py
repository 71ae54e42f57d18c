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

from fairwitness.audits.counterfactual_analysis import analysis
from fairwitness.audits.counterfactual_steps import ExpandConfig, expand
from fairwitness.datasets.counterfactual.sources import as_templates
from fairwitness.metrics.paired import Comparison
from fairwitness.models.answer_cache import AnswerCache
from fairwitness.models.service import Client, Limits, Request, Service
from fairwitness.scorers.profanity import Profanity

KEY = "AIzaLocalTestKey_0123456789abcdefghijk"
REQUESTS, COMMENTS, SCORES, GROUPS = 3_000, 100_000, 1_000_000, 8


def requests_a_second(folder: Path) -> float:
    """Against the tests' server in a process of its own, every answer written to the cache."""
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
    texts = [
        f"In comment {n} a {{FOLLOWER}} said that number {n * 7 % 977} was a good {{RELIGION_ADJ}} day." for n in range(COMMENTS)
    ]
    rows = [{"category": "religion", "template": text, "sentiment": "neutral"} for text in texts]
    as_templates(rows).write_parquet(folder / "templates.parquet")
    config = ExpandConfig(in_=folder / "templates.parquet", out=folder / "expanded.parquet")
    return timed(lambda: expand(config))


def analysis_s() -> float:
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


def profanity_a_second() -> float:
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
        rows = [
            ("requests to a local Perspective, each answer kept", f"{requests_a_second(folder):,.0f} a second", "≥ 500"),
            (f"expansion, {COMMENTS:,} comments × {GROUPS} groups and control", f"{expansion_s(folder):.1f} s", "< 30 s"),
            (f"analysis, {SCORES:,} scores, {GROUPS} groups, 3 sentiments", f"{analysis_s():.1f} s", "< 5 s"),
            ("profanity scorer", f"{profanity_a_second():,.0f} texts a second", ""),
        ]
    print("| counterfactual | measured | wanted |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
