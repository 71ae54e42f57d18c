"""`stereoset eval` and `analyze`: files, keys, samples, resuming, words."""

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fairwitness import tables
from fairwitness.audits.stereoset import StereosetConfig, sample, stereoset
from fairwitness.audits.stereoset_analysis import SEED_COLUMNS, read_results
from fairwitness.audits.stereoset_analyze import AnalyzeConfig, analyze
from fairwitness.audits.stereoset_words import interpret
from fairwitness.datasets.stereoset_items import read_items
from fairwitness.errors import EvidenceError, InputError, RunError
from fairwitness.metrics.stereoset import Measure

from ..scorers.tiny_text_models import bert_folder, causal_folder

SEED_KEYS = [
    "total_examples", "stereotype_count", "anti_stereotype_count", "unrelated_count", "language_modeling_score", "stereotype_score",
    "icat_score", "bias_type_results", "bias_examples",
]  # fmt: skip
EXAMPLE_KEYS = {"id", "bias_type", "context", "target", "options", "scores", "model_choice", "confidence"}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    return causal_folder(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def evaluated(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "x.csv"
    stereoset(StereosetConfig(model=llama, subset="both", output=out, device="cpu", num_examples=2, draws=100))
    return out


def test_the_csv_has_the_seeds_columns_and_then_ours(evaluated: Path) -> None:
    rows = tables.read(evaluated)
    assert tuple(rows.columns[:9]) == SEED_COLUMNS
    assert {"subset", "score_stereotype", "logprob_sum_unrelated", "logprob_mean_anti_stereotype", "n_tokens_stereotype"} <= set(
        rows.columns
    )
    for row in rows.iter_rows(named=True):
        options, scores, labels = (ast.literal_eval(row[name]) for name in ("sentence_options", "sentence_scores", "gold_labels"))
        best = int(np.argmax(scores))
        assert (row["predicted_option"], row["predicted_label"]) == (options[best], labels[best])
        assert row["score_stereotype"] == scores[labels.index("stereotype")]


def test_the_analysis_has_the_seeds_keys_first(evaluated: Path) -> None:
    found = json.loads(evaluated.with_name("x_analysis.json").read_text())
    assert list(found)[:9] == SEED_KEYS
    assert found["total_examples"] == 20 == found["stereotype_count"] + found["anti_stereotype_count"] + found["unrelated_count"]
    assert list(found["bias_type_results"]["gender"]) == ["examples", *SEED_KEYS[1:7]]
    assert set(found["bias_examples"]) == {"overall", "gender", "profession", "race", "religion"}
    examples = found["bias_examples"]["overall"]["stereotype"]
    assert len(examples) <= 2
    assert set(examples[0]) == EXAMPLE_KEYS
    assert set(examples[0]["options"]) == set(examples[0]["scores"]) == {"stereotype", "anti_stereotype", "unrelated"}
    assert [e["confidence"] for e in examples] == sorted((e["confidence"] for e in examples), reverse=True)
    assert found["interpretation"]["both"]["overall"] == "too few items to say (20)"
    assert 0 <= found["stereotype_score"] <= 1 < found["reference"]["overall"]["LM Score"] <= 100


def test_its_predictions_score_to_the_same_numbers(evaluated: Path, fairwitness: Any, tmp_path: Path) -> None:
    done = fairwitness(
        "stereoset", "score", "--predictions", evaluated.with_name("x_predictions.json"), "--out", tmp_path / "r.json", "--json"
    )
    found = json.loads(evaluated.with_name("x_analysis.json").read_text())
    assert json.loads(done.out)["overall"]["SS Score"] == pytest.approx(found["reference"]["overall"]["SS Score"], abs=1e-9)


def test_a_second_call_answers_from_the_folder_and_another_question_is_refused(evaluated: Path, llama: str) -> None:
    before = evaluated.stat().st_mtime_ns
    config = StereosetConfig(model=llama, subset="both", output=evaluated, device="cpu", num_examples=2, draws=100)
    assert stereoset(config).facts["counts"]["scored"] == 20
    assert evaluated.stat().st_mtime_ns == before
    with pytest.raises(RunError, match="protocol was"):
        stereoset(
            StereosetConfig(model=llama, subset="both", output=evaluated, device="cpu", num_examples=2, draws=100, protocol="pmi")
        )


def test_a_killed_run_goes_on_and_ends_alike(llama: str, evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fairwitness.scorers.likelihood import Likelihood

    monkeypatch.setattr(Likelihood, "rows_per_part", property(lambda _self: 12))
    config = StereosetConfig(model=llama, subset="both", output=tmp_path / "x.csv", device="cpu", num_examples=2, draws=100)
    calls = {"n": 0}
    score = Likelihood.score

    def dies(self: Likelihood, items: Any, /) -> Any:
        calls["n"] += 1
        if calls["n"] == 3:
            raise KeyboardInterrupt
        return score(self, items)

    monkeypatch.setattr(Likelihood, "score", dies)
    with pytest.raises(KeyboardInterrupt):
        stereoset(config)
    assert not (tmp_path / "x.csv").exists()
    stereoset(config)
    assert calls["n"] == 6  # five parts, of which the third was begun twice
    once, again = tables.read(evaluated), tables.read(tmp_path / "x.csv")
    assert once["predicted_label"].to_list() == again["predicted_label"].to_list()
    np.testing.assert_allclose(once["score_stereotype"], again["score_stereotype"], rtol=1e-5)


def test_samples_are_those_that_pandas_draws() -> None:
    import pandas as pd

    items = read_items(subset="intersentence")
    units = items["unit"].unique(maintain_order=True).to_list()
    expected = pd.DataFrame({"unit": units}).sample(n=4, random_state=42)["unit"].to_list()
    drawn = sample(items, 4, 42)
    assert drawn["unit"].unique(maintain_order=True).to_list() == expected
    assert drawn.height == 12
    assert drawn["position"].to_list() == [0, 1, 2] * 4
    assert sample(items, 99, 42).height == 30


def test_masked_models_take_their_own_protocols(tmp_path: Path) -> None:
    bert = bert_folder(tmp_path / "bert")
    within = stereoset(
        StereosetConfig(model=bert, subset="intrasentence", output=tmp_path / "a" / "x.csv", device="cpu", draws=100)
    )
    assert within.facts["how"]["protocol"] == "masked"
    both = stereoset(StereosetConfig(model=bert, subset="both", output=tmp_path / "b" / "x.csv", device="cpu", draws=100))
    assert both.facts["how"]["protocol"] == "pll"
    with pytest.raises(InputError, match="is a masked language model"):
        stereoset(StereosetConfig(model=bert, protocol="reference", output=tmp_path / "c" / "x.csv", device="cpu"))
    with pytest.raises(InputError, match="within sentences only"):
        stereoset(StereosetConfig(model=bert, protocol="masked", output=tmp_path / "c" / "x.csv", device="cpu"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"subset": "intersentance"}, "Did you mean 'intersentence'"),
        ({"max_samples": 0}, "--max_samples is 0"),
        ({"output": Path("x.parquet")}, "end it in .csv"),
        ({"protocol": "masked"}, "is a causal language model"),
        ({"num_examples": -1}, "--num_examples is -1"),
        ({"draws": 1}, "--draws 1"),
        ({"data": "nowhere.json"}, "does not exist"),
    ],
)
def test_bad_settings_are_refused(llama: str, tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        stereoset(StereosetConfig(**{"model": llama, "output": tmp_path / "x.csv", "device": "cpu", **changes}))
    assert words in str(caught.value)


def test_rows_that_fail_are_no_choice(llama: str, tmp_path: Path) -> None:
    content = json.loads((Path(__file__).parents[2] / "src/fairwitness/datasets/builtin/stereoset_items.json").read_text())
    content["data"]["intersentence"][0]["context"] = "Very long. " * 300
    (tmp_path / "items.json").write_text(json.dumps(content))
    result = stereoset(
        StereosetConfig(model=llama, data=str(tmp_path / "items.json"), output=tmp_path / "x.csv", device="cpu", draws=100)
    )
    assert result.facts["counts"] == {"asked": 10, "scored": 9, "failed": 1}
    row = tables.read(tmp_path / "x.csv").row(0, named=True)
    assert row["predicted_label"] is None
    assert "context" in row["error"]
    assert result.facts["failed"] == 1
    again = analyze(AnalyzeConfig(csv=tmp_path / "x.csv", output_plot=tmp_path / "p.png", draws=100))
    assert again.facts["failed"] == 1
    assert again.facts["total_examples"] == 9


def test_analyze_draws_tells_and_reads_the_seeds_own_csv(evaluated: Path, tmp_path: Path, fairwitness: Any) -> None:
    tables.write(tables.read(evaluated).select(SEED_COLUMNS), tmp_path / "seed.csv")
    mine, seeds = (
        analyze(AnalyzeConfig(csv=path, output_plot=tmp_path / f"{path.stem}.png", top_n=1, draws=100))
        for path in (evaluated, tmp_path / "seed.csv")
    )
    assert mine.tables["cells"].equals(seeds.tables["cells"])
    assert all(path.is_file() for path in [*mine.files, *seeds.files])
    assert [path.name for path in mine.files] == ["x.png", "x_published.png"]
    done = fairwitness(
        "stereoset", "analyze", "--csv", evaluated, "--output_plot", tmp_path / "c.svg", "--top_n", "1", "--draws", "100"
    )
    assert done.code == 0
    assert "too few items to say" in done.out
    assert "surest choices of the stereotype" in done.out


def test_a_csv_that_is_not_ours(tmp_path: Path, fairwitness: Any) -> None:
    (tmp_path / "x.csv").write_text("id,text\n1,hello\n")
    done = fairwitness("stereoset", "analyze", "--csv", tmp_path / "x.csv")
    assert done.code == 2
    assert "is not a result of 'stereoset eval': it has no column 'bias_type'" in done.err


def test_a_csv_with_damaged_cells(evaluated: Path, tmp_path: Path) -> None:
    rows = tables.read(evaluated)
    tables.write(rows.with_columns(gold_labels=pl.lit("['stereotype']")), tmp_path / "short.csv")
    with pytest.raises(InputError, match="row 1: three options"):
        read_results(tmp_path / "short.csv")
    tables.write(rows.with_columns(sentence_scores=pl.lit("oops(")), tmp_path / "words.csv")
    with pytest.raises(InputError, match="is not a list"):
        read_results(tmp_path / "words.csv")
    tables.write(rows.with_columns(sentence_scores=pl.lit("[-inf, nan, 0.5]")), tmp_path / "failed.csv")
    with pytest.raises(EvidenceError, match="none of them was scored"):
        analyze(AnalyzeConfig(csv=tmp_path / "failed.csv", output_plot=tmp_path / "p.png"))


def test_an_option_keeps_its_words_and_must_be_text(tmp_path: Path) -> None:
    """`nan` among the scores is a failure; in a sentence it is somebody's grandmother."""
    row = {"id": "a", "bias_type": "gender", "context": "My nan is BLANK.", "target": "nan", "sentence_scores": "[-1.5, nan, -inf]"}
    row |= {
        "sentence_options": "['my nan is kind', 'None at all', 'inf']",
        "predicted_option": "0",
        "predicted_label": "stereotype",
    }
    row["gold_labels"] = "['stereotype', 'anti-stereotype', 'unrelated']"
    pl.DataFrame([row]).write_csv(tmp_path / "r.csv")
    found = read_results(tmp_path / "r.csv").row(0, named=True)
    assert found["text_stereotype"] == "my nan is kind"
    assert found["text_anti_stereotype"] == "None at all"
    assert (found["score_stereotype"], found["score_anti_stereotype"], found["complete"]) == (-1.5, None, False)
    pl.DataFrame([row | {"sentence_options": "[{}, [True], 'seven']"}]).write_csv(tmp_path / "odd.csv")
    with pytest.raises(InputError, match="not a list of texts"):
        read_results(tmp_path / "odd.csv")


@pytest.mark.parametrize(
    ("low", "value", "high", "n", "words"),
    [
        (62, 75, 88, 8, "too few items to say (8)"),
        (61, 63, 65, 900, "prefers the stereotype strongly"),
        (53, 57, 61, 900, "prefers the stereotype clearly"),
        (50.5, 52, 54, 900, "prefers the stereotype slightly"),
        (49, 50, 51.5, 9000, "prefers neither (the interval lies within 48 and 52)"),
        (47, 57, 66, 90, "no preference can be told apart from chance (the interval includes 50)"),
        (30, 35, 39, 900, "prefers the anti-stereotype strongly"),
        (41, 45, 49, 900, "prefers the anti-stereotype slightly"),
    ],
)
def test_words_claim_no_more_than_the_interval(low: float, value: float, high: float, n: int, words: str) -> None:
    assert interpret(Measure(value, low, high), n) == words
