"""The pictures are made of the numbers, the same bytes every time, and survive what is undefined."""

from pathlib import Path

import polars as pl

from fairwitness.datasets.stereoset_published import published
from fairwitness.report.stereoset_charts import bars, beside_published


def cells(ss: float = 60.0) -> pl.DataFrame:
    rows = [
        {
            "subset": "intrasentence",
            "domain": domain,
            "metric": metric,
            "value": value,
            "low": value - 5,
            "high": value + 5,
            "n": 40,
        }
        for domain in ("gender", "overall")
        for metric, value in (("lms", 90.0), ("ss", ss), ("icat", 72.0))
    ]
    return pl.DataFrame(rows)


def test_bars_are_the_same_bytes_twice_and_draw_gaps(tmp_path: Path) -> None:
    one = bars(cells(), tmp_path / "a.png", title="A model").read_bytes()
    assert one == bars(cells(), tmp_path / "b.png", title="A model").read_bytes()
    undefined = bars(cells(float("nan")), tmp_path / "c.svg", title="A model").read_text()
    assert "undefined" in undefined


def test_the_model_stands_beside_nine(tmp_path: Path) -> None:
    point = {
        "model": "mine",
        "subset": "both",
        "lms": 80.0,
        "lms_low": 78.0,
        "lms_high": 82.0,
        "ss": 55.0,
        "ss_low": 53.0,
        "ss_high": 57.0,
    }
    drawn = beside_published(pl.DataFrame([point]), published(), tmp_path / "a.svg", title="Beside").read_text()
    assert published()["model"].n_unique() == 9
    assert all(f"<!-- {name} -->" in drawn for name in ["mine", "ideal", *published()["model"].unique()])
