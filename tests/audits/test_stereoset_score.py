"""`stereoset score`: the published figures again, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairwitness.audits.stereoset_score import ScoreConfig, score_predictions
from fairwitness.datasets.stereoset_items import read_items
from fairwitness.datasets.stereoset_published import PUBLISHED
from fairwitness.errors import InputError

# LMS, SS and ICAT of GPT-2 as the authors published them, to two decimals.
DOMAINS = {
    "intrasentence": {
        "gender": (93.28, 62.67, 69.65),
        "profession": (92.29, 63.97, 66.50),
        "race": (89.76, 60.35, 71.18),
        "religion": (88.46, 58.02, 74.27),
    },
    "intersentence": {
        "gender": (85.95, 53.38, 80.14),
        "profession": (72.79, 52.39, 69.31),
        "race": (76.50, 51.49, 74.22),
        "religion": (75.83, 56.93, 65.33),
    },
}
NAMES = ("LM Score", "SS Score", "ICAT Score")


def write(path: Path, change: Callable[[list[dict[str, Any]]], Any] = lambda entries: None) -> Path:
    """Predictions for the built-in items: the stereotype always wins, unrelated always loses."""
    value = {"stereotype": 3.0, "anti-stereotype": 2.0, "unrelated": 1.0}
    items = read_items()
    content = {
        subset: [{"id": i, "score": value[role]} for i, role in items.filter(subset=subset).select("id", "role").iter_rows()]
        for subset in ("intrasentence", "intersentence")
    }
    change(content["intrasentence"])
    path.write_text(json.dumps(content))
    return path


@pytest.mark.shared
def test_gpt2s_published_figures(shared: Path, tmp_path: Path) -> None:
    predictions = shared / "reference" / "stereoset_predictions_gpt2.json.gz"
    out = tmp_path / "r.json"
    result = score_predictions(ScoreConfig(data=str(shared / "data" / "stereoset" / "dev.json"), predictions=predictions, out=out))
    written = json.loads(out.read_text())
    assert written["overall"]["LM Score"] == pytest.approx(83.65206453498921, abs=1e-9)
    assert written["overall"]["SS Score"] == pytest.approx(57.0307794493581, abs=1e-9)
    assert written["overall"]["ICAT Score"] == pytest.approx(71.8892802104096, abs=1e-9)
    for subset, domains in DOMAINS.items():
        cells = {**domains, "overall": PUBLISHED["gpt2"][subset]}
        for domain, published in cells.items():
            assert [round(written[subset][domain][name], 2) for name in NAMES] == list(published), (subset, domain)
    # The authors count an item of a domain once per sentence.
    assert written["intrasentence"]["gender"]["Count"] == 765
    assert written["intrasentence"]["overall"]["Count"] == 2106
    assert written["overall"]["Count"] == 4229
    assert written["argmax"]["intrasentence"]["overall"]["language_modeling_score"] == pytest.approx(0.9639, abs=5e-5)
    assert result.table.filter(pl.col("class").is_not_null() & (pl.col("attribute") == "both"))["class"].n_unique() == 79


def test_everything_and_the_stereotype_wins(tmp_path: Path) -> None:
    result = score_predictions(ScoreConfig(predictions=write(tmp_path / "p.json"), out=tmp_path / "r.json"))
    assert [result.facts["overall"][name] for name in NAMES] == [100.0, 100.0, 0.0]
    assert result.facts["coverage"]["items_complete"] == 20
    assert (tmp_path / "r.measurements.parquet").is_file()
    assert json.loads((tmp_path / "run.json").read_text())["audits"]["r"]["counts"] == {"asked": 20, "scored": 20, "failed": 0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda entries: entries.pop(3), "misses 1 of 60 sentence ids: "),
        (lambda entries: entries[4].update(score=float("nan")), "1 scores that are no finite number: "),
        (lambda entries: entries[4].update(score=float("-inf")), "1 scores that are no finite number: "),
        (
            lambda entries: entries.clear(),
            "Nothing of intrasentence is in it: score the other test alone with --subset intersentence",
        ),
    ],
)
def test_missing_and_broken_scores_are_refused_unless_allowed(tmp_path: Path, change: Callable[[Any], Any], words: str) -> None:
    predictions = write(tmp_path / "p.json", change)
    gone = read_items(subset="intrasentence")["id"][3]
    with pytest.raises(InputError) as caught:
        score_predictions(ScoreConfig(predictions=predictions, out=tmp_path / "r.json"))
    assert words in str(caught.value)
    assert "--allow_missing" in str(caught.value)
    if "misses 1 of" in words:
        assert gone in str(caught.value)
    result = score_predictions(ScoreConfig(predictions=predictions, out=tmp_path / "r.json", allow_missing=True))
    coverage = result.facts["coverage"]
    assert coverage["items_complete"] < coverage["items"] == 20
    assert coverage["sentences_missing"] + coverage["sentences_without_a_finite_score"] > 0
    assert result.table["n_failed"].max() == 20 - coverage["items_complete"]


def test_one_subset_alone(tmp_path: Path) -> None:
    predictions = write(tmp_path / "p.json", lambda entries: entries.clear())
    result = score_predictions(ScoreConfig(predictions=predictions, out=tmp_path / "r.json", subset="intersentence"))
    assert "intrasentence" not in result.facts
    assert result.facts["overall"]["items"] == 10


def test_predictions_for_other_data(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"intrasentence": [{"id": "x", "score": 1.0}]}))
    with pytest.raises(InputError, match="Is it a file for other data"):
        score_predictions(ScoreConfig(predictions=tmp_path / "p.json", out=tmp_path / "r.json", allow_missing=True))


def test_too_few_draws(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--draws 5"):
        score_predictions(ScoreConfig(predictions=write(tmp_path / "p.json"), out=tmp_path / "r.json", draws=5))


def test_the_command(fairwitness: Any, tmp_path: Path) -> None:
    write(tmp_path / "p.json")
    done = fairwitness("stereoset", "score", "--predictions", tmp_path / "p.json", "--out", tmp_path / "r.json")
    assert done.code == 0
    assert "20 of 20 items scored" in done.out
    done = fairwitness("stereoset", "score", "--predictions", tmp_path / "p.json", "--out", tmp_path / "r.json", "--json")
    assert json.loads(done.out)["overall"]["SS Score"] == 100.0
    done = fairwitness("stereoset", "score", "--predictions", tmp_path / "q.json")
    assert done.code == 2
    assert "does not exist" in done.err
