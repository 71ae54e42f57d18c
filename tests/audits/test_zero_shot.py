"""The zero-shot audit end to end on a tiny model: numbers, options, resume, and every kind of bad input."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from fairwitness.audits.zero_shot import ZeroShotConfig, zero_shot
from fairwitness.audits.zero_shot_prompts import auc
from fairwitness.cli.app import call
from fairwitness.errors import InputError, ModelError, RunError
from fairwitness.models import plain_pass
from fairwitness.models.causal_lm import load
from fairwitness.scorers.tasks import task
from fairwitness.scorers.zero_shot import ZeroShot

from ..models.tiny_folders import tiny_folder

TEXTS = ["a kind word", "go away", None, "", "   ", "مرحبا 😀", "Grüße aus Köln", "second to last", "x" * 3000]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("tiny"), chat=True)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    rows = len(TEXTS)
    pl.DataFrame(
        {"text": TEXTS, "n": range(rows), "label": [k % 2 for k in range(rows)], "male": [0.6, None] + [0.0] * (rows - 2)}
    ).write_parquet(path)
    return path


def config(table: Path, folder: Path, **changes: Any) -> ZeroShotConfig:
    base: dict[str, Any] = {"in_": table, "text_col": "text", "task": "toxicity", "out": table.parent / "run" / "preds.parquet"}
    return ZeroShotConfig(**{**base, "model": str(folder), "device": "cpu", "dtype": "float32", **changes})


def plain_scores(folder: Path, texts: list[str], *, prompt: str | None = None) -> list[tuple[float, float]]:
    """The obvious way, straight from the definition."""
    lm = load(str(folder), device="cpu", dtype="float32")
    asked = task("toxicity")
    found = []
    for text in texts:
        tokens = lm.tokenizer((prompt or asked.prompts[0]).replace("{text}", text))["input_ids"]
        labels = [lm.tokenizer(name, add_special_tokens=False)["input_ids"] for name in (asked.positive, asked.negative)]
        with torch.no_grad():
            pair = [plain_pass.continuation_logprobs(lm.model, [(tokens, label)], "cpu").item() for label in labels]
        found.append((pair[0], pair[1]))
    return found


def test_scores_are_the_definition(folder: Path, table: Path) -> None:
    result = zero_shot(config(table, folder, label_col="label", id_cols=("male",)))
    rows = result.table
    assert rows.columns == ["idx", "pred", "score", "lp_pos", "lp_neg", "error", "truncated", "label", "male"]
    assert rows.schema["idx"] == rows.schema["pred"] == pl.Int64
    good = [0, 1, 5, 6, 7]
    for row, (positive, negative) in zip(good, plain_scores(folder, [str(TEXTS[k]) for k in good]), strict=True):
        assert rows["lp_pos"][row] == pytest.approx(positive, abs=1e-4)
        assert rows["lp_neg"][row] == pytest.approx(negative, abs=1e-4)
        assert rows["score"][row] == pytest.approx(positive - negative, abs=2e-4)
        assert rows["pred"][row] == int(positive > negative)
    assert rows["error"].to_list()[2:5] == ["no text"] * 3
    assert rows["pred"].to_list()[2:5] == [None] * 3
    assert rows["truncated"].to_list() == [False, False, None, None, None, False, False, False, True]
    assert rows["male"].to_list() == [0.6, None] + [0.0] * 7
    assert result.facts["counts"] == {"asked": 9, "scored": 6, "failed": 3}


def test_the_cut_text_keeps_instruction_and_label(folder: Path, table: Path) -> None:
    scorer = config(table, folder).scorer()
    row = scorer.prompted(["x" * 3000])[0]
    assert row.truncated
    assert len(row.tokens) == scorer.room == 512 - len("non-toxic") + 1
    words = scorer.lm.tokenizer.decode(row.tokens)
    assert words.startswith("Decide whether")
    assert words.endswith("xxx\nLabel:")
    short = ZeroShot(model=str(folder), device="cpu", max_tokens=20).score(["hello"])
    assert "the instruction alone has" in short["error"][0]


def test_a_hundred_thousand_characters(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    pl.DataFrame({"text": ["long " * 20_000, "short"]}).write_ndjson(path)
    rows = zero_shot(config(path, folder)).table
    assert rows["truncated"].to_list() == [True, False]
    assert rows["error"].null_count() == 2


def test_max_rows_csv_and_the_same_again(folder: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = config(table, folder, max_rows=2, out=table.parent / "run" / "p.csv")
    first = zero_shot(asked)
    assert first.table.height == 2
    data = asked.out.read_bytes()
    assert zero_shot(asked).table.equals(first.table)
    assert "already there" in capsys.readouterr().err
    assert asked.out.read_bytes() == data
    with pytest.raises(RunError, match="max_rows was 2, now 3"):
        zero_shot(config(table, folder, max_rows=3, out=asked.out))
    assert zero_shot(config(table, folder, max_rows=3, out=asked.out, restart=True)).table.height == 3


def test_a_killed_run_goes_on_where_it_stopped(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.csv"
    pl.DataFrame({"text": [f"text number {k}" for k in range(20)]}).write_csv(path)
    monkeypatch.setattr(ZeroShot, "rows_per_part", 4)
    whole = zero_shot(config(path, folder, out=tmp_path / "a" / "p.parquet")).table
    score, calls = ZeroShot.score, []

    def killed(self: ZeroShot, items: list[str]) -> Any:
        calls.append(len(items))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return score(self, items)

    monkeypatch.setattr(ZeroShot, "score", killed)
    with pytest.raises(KeyboardInterrupt):
        zero_shot(config(path, folder, out=tmp_path / "b" / "p.parquet"))
    assert not (tmp_path / "b" / "p.parquet").exists()
    assert zero_shot(config(path, folder, out=tmp_path / "b" / "p.parquet")).table.equals(whole)
    assert calls == [4] * 6, "three parts before, the one that was cut off, and the two that were left"


def test_normalize_calibrate_threshold_and_prior(folder: Path, table: Path) -> None:
    plain = zero_shot(config(table, folder)).table

    def scores(**changes: Any) -> pl.DataFrame:
        return zero_shot(config(table, folder, restart=True, **changes)).table

    means = plain["lp_pos"] / len("toxic") - plain["lp_neg"] / len("non-toxic")
    np.testing.assert_allclose(scores(normalize="tokens")["score"].drop_nulls(), means.drop_nulls(), atol=1e-9)
    (positive, negative), *_ = plain_scores(folder, [""])
    shifted = plain["score"].drop_nulls() - (positive - negative)
    np.testing.assert_allclose(scores(calibrate="content-free")["score"].drop_nulls(), shifted, atol=1e-3)
    half = scores(calibrate="prior", base_rate=0.5)
    assert half["pred"].sum() == 3
    assert scores(calibrate="prior", base_rate=0.5, threshold=2.5)["pred"].sum() == 3
    middle = float(plain["score"].drop_nulls().sort()[3])
    assert scores(threshold=middle)["pred"].sum() == 2


def test_several_wordings_report_their_spread(folder: Path, table: Path) -> None:
    result = zero_shot(config(table, folder, prompts=3, label_col="label", id_cols=("male",)))
    rows = result.table.filter(pl.col("error").is_null())
    expected = plain_scores(folder, ["a kind word"], prompt=task("toxicity").prompts[2])[0]
    assert rows["score_3"][0] == pytest.approx(expected[0] - expected[1], abs=2e-4)
    trio = rows.select("score", "score_2", "score_3").to_numpy()
    np.testing.assert_allclose(rows["score_mean"], trio.mean(axis=1))
    np.testing.assert_allclose(rows["score_sd"], trio.std(axis=1, ddof=1))
    spread = result.tables["prompts"]
    rates = spread.filter((pl.col("metric") == "positive_rate") & (pl.col("group") == "all"))
    assert rates["prompt"].to_list() == ["1", "2", "3", "min", "max", "sd"]
    assert rates["value"][4] == max(rates["value"][:3])
    assert set(spread["metric"]) == {"positive_rate", "agreement_with_first", "accuracy", "auc"}


def test_chat_wraps_the_prompt_in_the_models_template(folder: Path, table: Path, tmp_path: Path) -> None:
    scorer = config(table, folder, chat=True).scorer()
    words = scorer.lm.tokenizer.decode(scorer.prompted(["hello"])[0].tokens)
    assert words.startswith("<s>user: Decide")
    assert words.endswith("Text: hello\nLabel:</s><s>you:")
    assert zero_shot(config(table, folder, chat=True)).facts["counts"]["scored"] == 6
    plain = tiny_folder(tmp_path / "plain")
    with pytest.raises(ModelError, match="no chat template"):
        zero_shot(config(table, plain, chat=True, out=tmp_path / "x" / "p.csv"))


def test_a_task_of_ones_own(folder: Path, table: Path, tmp_path: Path) -> None:
    toml = tmp_path / "spam.toml"
    toml.write_text('positive = "spam"\nnegative = "fine"\nprompt = "{text}\\nIs it spam or fine?"\n', encoding="utf-8")
    assert zero_shot(config(table, folder, task=str(toml))).facts["counts"]["scored"] == 6
    cases = {
        'positive = "spam"\nprompt = "{text}"': "needs negative",
        'positive = "a"\nnegative = "a"\nprompt = "{text}"': "labels are the same",
        'positive = "a"\nnegative = "b"\nprompt = "no place"': "exactly once",
        'positive = "a"\nnegativ = "b"\nprompt = "{text}"': "unknown key 'negativ'. Did you mean 'negative'",
        "positive = ": "not valid TOML",
    }
    for words, message in cases.items():
        toml.write_text(words, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            zero_shot(config(table, folder, task=str(toml), restart=True))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"text_col": "txt"}, r"Column 'txt' is not in .* Did you mean --text_col text\?"),
        ({"text_col": "n"}, "Column 'n' of .* holds Int64, not text. Text columns: text"),
        ({"label_col": "lable"}, "Did you mean --label_col label"),
        ({"id_cols": ("mail",)}, "Did you mean --id_cols male"),
        ({"task": "toxicty"}, "Unknown task 'toxicty'. Did you mean 'toxicity'"),
        ({"task": "nowhere.toml"}, "does not exist"),
        ({"ig_steps": 0}, "--ig_steps is 0; it must be at least 1"),
        ({"ig_rows": 0}, "--ig_rows is 0"),
        ({"ig_tol": 0.0}, "--ig_tol"),
        ({"max_rows": -1}, "--max_rows is -1"),
        ({"threshold": math.nan}, "--threshold"),
        ({"calibrate": "prior"}, "needs --base_rate"),
        ({"base_rate": 0.5}, "with --calibrate prior only"),
        ({"prompts": 99}, "has 5 wordings"),
        ({"force_float32": True, "dtype": "bfloat16"}, "contradict"),
        ({"device": "warp"}, "Unknown device"),
    ],
)
def test_bad_settings_are_one_clear_sentence(folder: Path, table: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        zero_shot(config(table, folder, **changes))


def test_a_label_without_tokens_and_labels_alike(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = ZeroShot(model=str(folder), device="cpu")
    monkeypatch.setattr(type(scorer.lm), "encode", lambda _self, texts: [[] for _ in texts])
    with pytest.raises(InputError, match="becomes no tokens"):
        scorer.labels  # noqa: B018
    monkeypatch.setattr(type(scorer.lm), "encode", lambda _self, texts: [[5] for _ in texts])
    with pytest.raises(InputError, match="same tokens"):
        scorer.labels  # noqa: B018


def test_all_rows_failed_is_an_answer_with_exit_code_3(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.parquet"
    pl.DataFrame({"text": [None, None]}).write_parquet(path)
    out = tmp_path / "run" / "p.parquet"
    words = f"zeroshot --in {path} --text_col text --task hate --out {out} --model {folder} --device cpu --dtype float32 --json"
    assert call(words.split()) == 3
    assert json.loads(capsys.readouterr().out)["counts"] == {"asked": 2, "scored": 0, "failed": 2}
    assert pl.read_parquet(out)["error"].to_list() == ["no text"] * 2


def test_the_command_line(folder: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = table.parent / "run" / "p.csv"
    words = f"zeroshot --in {table} --text-col text --task offense --out {out} --model {folder} --device cpu --force_float32"
    assert call([*words.split(), "--id_cols", "male", "n"]) == 0
    said = capsys.readouterr().out
    assert "6 of 9 rows scored, 3 failed" in said
    assert "failed: 3 × no text" in said
    assert pl.read_csv(out).columns[-2:] == ["male", "n"]


def test_auc_is_undefined_without_both_classes() -> None:
    assert math.isnan(auc(np.array([True, True]), np.array([1.0, 2.0])))


@pytest.mark.model
def test_the_built_in_model_gives_the_plain_numbers(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    texts = ["You are a stupid fool.", "The bus leaves at nine from the square."]
    pl.DataFrame({"text": texts}).write_csv(path)
    rows = zero_shot(config(path, Path("smollm2"), out=tmp_path / "run" / "p.parquet")).table
    for row, (positive, negative) in enumerate(plain_scores(Path("smollm2"), texts)):
        assert rows["score"][row] == pytest.approx(positive - negative, abs=1e-3)
