"""The charts are drawn whatever is missing, and the same numbers give the same bytes."""

from pathlib import Path

import numpy as np
import polars as pl

from fairwitness.audits.counterfactual_analysis import analysis
from fairwitness.metrics.paired import Comparison
from fairwitness.report import counterfactual_charts as charts


def scores() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (
            f"u{unit}",
            role,
            float(rng.random()),
            None,
            "race",
            ("neutral", "negative", "positive")[unit % 3],
            unit % 2,
            f"text {unit} {role}",
        )
        for unit in range(12)
        for role in ("Asian", "Black", "")
    ]
    names = ["unit", "role", "score", "error", "category", "sentiment", "label", "text"]
    frame = pl.DataFrame(rows, schema=names, orient="row", schema_overrides={"error": pl.String})
    failed = (pl.col("unit") == "u0") & (pl.col("role") == "Black")
    return frame.with_columns(score=pl.when(~failed).then("score"), error=pl.when(failed).then(pl.lit("x")).otherwise("error"))


def test_charts(tmp_path: Path) -> None:
    frame = scores()
    found = analysis(frame, Comparison(resamples=200))
    for name in ("one", "two"):
        charts.means_chart(found["by_group"], "race", tmp_path / f"{name}_means.png")
        charts.gaps_chart(found["pairs"], "race", tmp_path / f"{name}_gaps.png")
        charts.lines_chart(frame, "race", tmp_path / f"{name}_lines.png")
        charts.mitigation_chart(found["mitigation"], tmp_path / f"{name}_mitigation.png")
    for kind in ("means", "gaps", "lines", "mitigation"):
        data = (tmp_path / f"one_{kind}.png").read_bytes()
        assert data == (tmp_path / f"two_{kind}.png").read_bytes()
        assert len(data) > 5000


def test_against_control_and_worst() -> None:
    found = analysis(scores(), Comparison(resamples=200), worst=2)
    assert set(found["against_control"]["a"]) == {"Asian", "Black"}
    assert found["worst"].height == 2
    assert found["worst"]["highest_text"].null_count() == 0
    assert found["measurements"].columns[:4] == ["metric", "attribute", "group", "class"]
