"""The report in its three formats, over good runs and over everything that can be wrong with a run."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.report.made_runs import (
    LONG,
    TEXTS,
    fairness_run,
    predictions,
    undefined_run,
    unfinished_run,
    zero_shot_run,
)

import fairwitness as fw
from fairwitness import runs, tables
from fairwitness.audits.gate import judge_run
from fairwitness.audits.reporting import WRITERS, report_of
from fairwitness.errors import InputError
from fairwitness.report.content import Finding, Picture, Report, Section, Table
from fairwitness.report.markdown import MOST_IN_ALL
from fairwitness.report.markdown import render as markdown

FORMATS = tuple(WRITERS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    zero_shot_run(folder)
    return fairness_run(folder)


@pytest.mark.parametrize(("words", "name", "start"), [
    (["--out", "r.html"], "r.html", "<!doctype html>"),
    (["--out", "r.md"], "r.md", "# Fair Witness report"),
    (["--out", "r.json"], "r.json", "{"),
    (["--format", "md"], "report.md", "# Fair Witness report"),
    (["--format", "json", "--out", "results.txt"], "results.txt", "{"),
    ([], "report.html", "<!doctype html>"),
])  # fmt: skip
def test_format_by_flag_or_by_name(
    fairwitness: Callable, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], name: str, start: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = fairwitness("report", run, *words)
    assert (done.code, done.out.strip()) == (0, name), done.err
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--out", "r.docx"], ".html, .md or .json"), (["--format", "pdf"], "html"), (["--out", "."], "is a folder")],
)
def test_other_formats_are_refused(fairwitness: Callable, run: Path, words: list[str], said: str) -> None:
    done = fairwitness("report", run, *words)
    assert done.code == 2
    assert said in done.err


def test_markdown_says_what_the_page_says(run: Path) -> None:
    report = report_of([run])
    text = markdown(report)
    assert "flagged" in report.findings()[0].text
    for words in ("## What stands out", "**What this data cannot tell**", "| female |", "<details><summary>Show 1 scored texts",
                  "<details><summary>Where this came from", "fairwitness", "<details><summary>What the numbers mean"):  # fmt: skip
        assert words in text
    assert "<script" not in text
    assert "@somebody" not in text
    assert text.count("<details>") == text.count("</details>")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows
    assert all(line.endswith("|") for line in rows)


def test_markdown_fits_into_a_comment() -> None:
    table = Table("t", ["word", "value"], [(f"w{n}" * 30, n / 7) for n in range(5000)])
    text = markdown(Report("long", [Section(f"s{n}", blocks=[table] * 3) for n in range(12)]))
    assert len(text) <= MOST_IN_ALL
    assert "more rows are in the HTML report" in text


def test_json_has_the_shape_of_lm_eval(run: Path) -> None:
    found = json.loads(WRITERS["json"](report_of([run])))
    assert {"results", "versions", "n-samples", "n-shot", "config", "configs", "higher_is_better", "group_subtasks"} <= set(found)
    female = found["results"]["fairness.female"]
    assert female["statistical_parity_difference,none"] == pytest.approx(0.3, abs=0.12)
    low, high = found["intervals"]["fairness.female"]["statistical_parity_difference"]
    assert female["statistical_parity_difference_stderr,none"] == pytest.approx((high - low) / 3.92, rel=0.01)
    assert found["target"]["fairness.female"]["statistical_parity_difference"] == 0
    assert found["higher_is_better"]["fairness"]["accuracy"] is True
    assert found["higher_is_better"]["fairness.female"]["statistical_parity_difference"] is None
    assert found["n-samples"]["fairness"] == {"original": 400, "effective": 400}
    assert "fairness.female" in found["group_subtasks"]["fairness"]
    assert set(found["results"]) == set(found["versions"]) == set(found["target"])
    assert found["model_name"] == "tiny"
    [model] = found["hub"]["model-index"]
    assert model["name"] == "tiny", "the model that scored the rows in the same folder"
    assert model["results"][0]["metrics"][0]["args"]["interval_95"]


def test_lm_eval_and_the_hub_read_it(run: Path) -> None:
    from huggingface_hub import EvalResult, ModelCardData
    from huggingface_hub.repocard_data import model_index_to_eval_results

    found = json.loads(WRITERS["json"](report_of([run])))
    name, results = model_index_to_eval_results(found["hub"]["model-index"])
    assert all(isinstance(result, EvalResult) for result in results)
    assert "model-index" in ModelCardData(model_name=name, eval_results=results).to_yaml()
    lm_eval = pytest.importorskip("lm_eval.utils", reason="lm-eval comes with fairwitness[bench]")
    assert "statistical_parity_difference" in lm_eval.make_table(found)


def test_a_whole_benchmark_has_hub_entries(tmp_path: Path) -> None:
    assert hub_entries_of(tmp_path / "sample", max_samples=100)["hub"]["eval_results"] == []
    found = hub_entries_of(tmp_path / "whole", max_samples=None)
    assert found["target"]["ss"] == {"reference_ss": 50.0, "reference_lms": 100.0}
    entries = {entry["dataset"]["task_id"]: entry for entry in found["hub"]["eval_results"]}
    assert set(entries) == {"reference_ss", "reference_lms"}
    assert entries["reference_ss"]["dataset"]["id"] == "McGill-NLP/stereoset"
    assert "target 50.0" in entries["reference_ss"]["notes"]
    from huggingface_hub import parse_eval_result_entries

    assert {entry.value for entry in parse_eval_result_entries(list(entries.values()))} == {60.0, 90.0}


def hub_entries_of(tmp_path: Path, max_samples: int | None) -> dict:
    """The JSON report of a StereoSet run."""
    tmp_path.mkdir()
    out = tmp_path / "run" / "ss.csv"
    (tmp_path / "dev.json").write_text("{}")
    rows = [
        {"metric": metric, "attribute": "both", "group": group, "class": None, "value": value, "low": value - 2, "high": value + 2}
        for group in ("overall", "gender")
        for metric, value in (("reference_ss", 60.0), ("reference_lms", 90.0))
    ]
    inputs = {"data": tmp_path / "dev.json"}
    question = {"model": "gpt2", "subset": "both", "max_samples": max_samples}
    with runs.open_run(out, "stereoset eval", question, inputs=inputs) as run:
        frame = pl.DataFrame(rows, schema_overrides={"class": pl.String}).with_columns(n=pl.lit(2106), n_failed=pl.lit(0))
        run.seal([tables.write(frame, out.with_suffix(".measurements.parquet"))], {"asked": 2106, "scored": 2106, "failed": 0})
    return json.loads(WRITERS["json"](report_of([out.parent])))


@pytest.mark.parametrize("format_", FORMATS)
def test_texts_stay_texts(run: Path, format_: str) -> None:
    text = WRITERS[format_](report_of([run]))
    assert "<script>document" not in text
    assert "<img src=x" not in text
    assert len(text) < 5_000_000


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_may_be_explained(tmp_path: Path, text: str) -> None:
    report = report_of([zero_shot_run(tmp_path, [text, "b", "c"])])
    for write in WRITERS.values():
        assert write(report)
    assert report.sections[1].examples[0].text


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_could_be_measured(tmp_path: Path, format_: str) -> None:
    text = WRITERS[format_](report_of([undefined_run(tmp_path)]))
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)
    assert ("null" in text) if format_ == "json" else ("No difference was judged here" in text)


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError), runs.open_run(tmp_path / "scores.parquet", "zeroshot", {}) as run:
        stop_behind_a_part(run)
    page = WRITERS["html"](report_of([tmp_path]))
    assert "was stopped: the key &lt;b&gt; was refused. Run the same command again" in page
    verdict, result = judge_run(tmp_path, [], min_coverage=None)
    assert verdict.value == 3
    assert "was refused" in result.table["why"][0]


def stop_behind_a_part(run: runs.Run) -> None:
    run.parts.write("a", pl.DataFrame({"score": [1.0]}))
    raise InputError("the key <b> was refused.")


@pytest.mark.parametrize("format_", FORMATS)
def test_an_unfinished_run_is_shown_as_such(tmp_path: Path, format_: str) -> None:
    text = WRITERS[format_](report_of([unfinished_run(fairness_run(tmp_path))]))
    assert ('"unfinished": [\n    "other"' in text) if format_ == "json" else ("not finished" in text and "female" in text)


def test_empty_or_no_folder(fairwitness: Callable, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for verb in (("report",), ("gate", "--max_spd", "0.1")):
        done = fairwitness(verb[0], tmp_path / "empty", *verb[1:])
        assert done.code == 2
        assert "there is no run.json" in done.err
        assert "not a folder" in fairwitness(verb[0], tmp_path / "nowhere", *verb[1:]).err
    assert fairwitness("report").code == 2


@pytest.mark.parametrize("cut", [0, 7, 200])
@pytest.mark.parametrize(
    "name", ["fairness.measurements.parquet", "fairness.csv", "fairness.multigroup.csv", "zs.parquet", "zs.ig.parquet"]
)
def test_half_written_files(run: Path, tmp_path: Path, name: str, cut: int) -> None:
    folder = Path(shutil.copytree(run, tmp_path / "copy"))
    path = folder / name
    path.write_bytes(path.read_bytes()[:cut])
    report = report_of([folder])
    assert any("changed since" in limit and name in limit for limit in report.limits())
    for write in WRITERS.values():
        assert write(report)


def test_half_written_run_json(fairwitness: Callable, tmp_path: Path) -> None:
    path = fairness_run(tmp_path, predictions(120)) / "run.json"
    path.write_text(path.read_text()[:300])
    done = fairwitness("report", tmp_path)
    assert done.code == 2
    assert "run.json" in done.err
    assert "Traceback" not in done.err


def test_two_runs_are_compared(tmp_path: Path) -> None:
    a, b = fairness_run(tmp_path / "a", predictions(shift=0.0)), fairness_run(tmp_path / "b", predictions(shift=0.4))
    report = report_of([a, b])
    assert [section.title for section in report.sections[:2]] == ["What changed", "Side by side"]
    assert "changed" in report.sections[0].lede[0]
    chart = report.sections[1].blocks[0]
    assert {line.series for line in chart.lines} == {"a", "b"}
    page = WRITERS["html"](report)
    assert "series1" in page
    assert "a/fairness.female" in json.loads(WRITERS["json"](report))["results"]
    three = report_of([a, b, fairness_run(tmp_path / "c" / "a", predictions(200))])
    assert {line.series for line in three.sections[0].blocks[0].lines} >= {"b", "c/a"}


def test_two_runs_of_different_tasks(tmp_path: Path) -> None:
    a, b = fairness_run(tmp_path / "a", predictions(120)), zero_shot_run(tmp_path / "b")
    report = report_of([a, b])
    assert "cannot be compared" in report.sections[0].lede[0]
    assert any("unlike" in limit for limit in report.limits())
    assert len(report.sections) == 4


def test_a_long_words_chart(tmp_path: Path) -> None:
    frame = predictions(200).rename({"age": LONG[:300]})
    page = WRITERS["html"](report_of([fairness_run(tmp_path, frame, groups=(LONG[:300],))]))
    assert "overflow-wrap" in page


def test_a_page_stays_small_enough_to_send(tmp_path: Path) -> None:
    made = np.random.default_rng(0)
    flags = {f"identity {n}": made.integers(0, 2, 200) for n in range(400)}
    classes = {"target": made.integers(0, 40, 200), "pred": made.integers(0, 40, 200)}
    frame = pl.DataFrame({**classes, "who": np.arange(200) % 150, **flags})
    binary = frame.with_columns(pl.col("target", "pred") % 2)
    wide = fw.group_fairness(binary, label="target", pred="pred", flags=list(flags), replicates=20)
    many = fw.group_fairness(frame, label="target", pred="pred", groups=["who"], replicates=20)
    pictures = [Picture("p", "data:image/png;base64," + "A" * 900_000, "a") for _ in range(9)]
    page = WRITERS["html"](Report("big", [*wide.sections(), *many.sections(), Section("pictures", blocks=pictures)]))
    assert len(page.encode()) < 5_000_000
    assert page.count("Left out to keep this page small") == 7
    assert "those at both ends" in page


def test_an_audit_that_nothing_is_known_of_shows_its_tables(tmp_path: Path) -> None:
    small, texts = tmp_path / "ways.csv", tmp_path / "drafts.csv"
    with runs.open_run(small, "of another package", {}) as run:
        tables.write(pl.DataFrame({"way": ["a", "b"], "value": [0.5, None], "n": [3, 0]}), small)
        tables.write(pl.DataFrame({"text": ["an offensive text, as long as texts are, " * 3]}), texts)
        run.seal([small, texts], {"asked": 2, "scored": 1, "failed": 1})
    [section] = report_of([tmp_path]).sections
    assert [block.title for block in section.blocks] == ["ways.csv"]
    assert "1 of 2 rows could be scored" in section.lede[0]
    assert "offensive" not in WRITERS["html"](report_of([tmp_path])).replace("may be offensive", "")


def test_findings_are_ranked_over_all_sections() -> None:
    sections = [Section("a", findings=[Finding("weak", 0.1, "x")]), Section("b", findings=[Finding("strong", 0.9, "y")])]
    assert [finding.text for finding in Report("t", sections).findings()] == ["strong", "weak"]


@pytest.mark.slow
def test_a_million_rows(tmp_path: Path) -> None:
    report = report_of([fairness_run(tmp_path, predictions(1_000_000))])
    assert report.findings()
    assert len(WRITERS["html"](report)) < 1_000_000


def test_only_what_was_judged_may_not_have_stood_out(tmp_path: Path) -> None:
    """An audit without any test of a difference says that nothing was judged; one with tests says that none stood out."""
    path = tables.write(pl.DataFrame({"x": [1]}), tmp_path / "a" / "t.csv")
    runs.note(path, "usermodel curve", {}, [path])
    assert "No difference was judged here" in WRITERS["md"](report_of([tmp_path / "a"]))
    assert json.loads(WRITERS["json"](report_of([tmp_path / "a"])))["differences_judged"] == 0
    even = fairness_run(tmp_path / "b", predictions(shift=0.0))
    assert "No difference stood out beyond" in WRITERS["md"](report_of([even]))


def test_several_seeds_are_said_together(tmp_path: Path) -> None:
    frame = predictions(900, shift=0.0).with_columns(pred=pl.when(pl.col("age") == 2).then(1).otherwise("target"))
    for seed in (3, 11):
        fairness_run(tmp_path / f"seed_{seed}", frame)
    summary = pl.DataFrame({"metric": ["accuracy", "statistical_parity_spread"], "attribute": [None, "age"], "class": [None, "1"]})
    summary = summary.with_columns(mean=pl.lit(0.3), min=pl.lit(0.2), max=pl.lit(0.4), n_seeds=pl.lit(2))
    question = {"dataset": "nba", "label": "salary", "model": "rhgn", "seeds": [3, 11]}
    runs.note(tmp_path / "seeds.csv", "usermodel seeds", question, [tables.write(summary, tmp_path / "seeds.csv")])
    text = WRITERS["md"](report_of([tmp_path]))
    assert "on average over 2 seeds" in text
    assert "beyond chance in 2 of them" in text
    assert "rhgn learned to predict" in text
