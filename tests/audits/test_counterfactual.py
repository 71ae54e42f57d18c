"""The whole audit on our own templates, from foreign files, through failures, and across a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.servers.perspective import KEY, Faults, PerspectiveServer, score_of, serving

import fairwitness as fw
from fairwitness.audits import lifeboat
from fairwitness.audits.counterfactual import AnalyzeConfig, CounterfactualConfig, analyze, counterfactual
from fairwitness.audits.counterfactual_expand import ExpandConfig, expand
from fairwitness.audits.counterfactual_score import ScoreConfig, score
from fairwitness.audits.counterfactual_templates import TemplatesConfig, make_templates
from fairwitness.errors import EvidenceError, FairWitnessError, InputError, RunError, ServiceError
from fairwitness.files import file_hash
from fairwitness.models.service import IN_DOUBT
from fairwitness.runs import read_manifest


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRWITNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PERSPECTIVE_API_KEY", KEY)


@pytest.fixture
def expanded(tmp_path: Path) -> Path:
    """A hundred texts or so: two templates of each category and sentiment."""
    make_templates(TemplatesConfig(out=tmp_path / "made" / "templates.parquet"))
    out = tmp_path / "made" / "expanded.parquet"
    expand(ExpandConfig(in_=tmp_path / "made" / "templates.parquet", out=out, sample=2))
    return out


def test_out_of_the_box(tmp_path: Path) -> None:
    result = fw.counterfactual(CounterfactualConfig(out=tmp_path / "run", categories=("sexual_orientation",), resamples=200))
    by_group = result.tables["by_group"].filter((pl.col("category") == "sexual_orientation") & (pl.col("sentiment") == "all"))
    means = dict(by_group.select("role", "mean").iter_rows())
    assert means["Gay"] > means["Heterosexual"] + 0.2, "the built-in scorer is known to mind this word"
    assert "(control)" in means
    page = (tmp_path / "run" / "report.html").read_text()
    assert "data:image/png" in page
    assert "Difference on the same sentences: sexual orientation" in page
    names = {path.name for path in result.files}
    assert {
        "measurements.parquet",
        "pairs.csv",
        "differences.csv",
        "ratios.csv",
        "sexual_orientation_means.png",
        "report.html",
    } <= names
    facts = json.loads((tmp_path / "run" / "run.json").read_text())["audits"]["scores"]
    assert facts["counts"] == {"asked": 180, "scored": 180, "failed": 0}
    again = counterfactual(CounterfactualConfig(out=tmp_path / "run", categories=("sexual_orientation",), resamples=200))
    assert again.table.equals(result.table)


def test_units_and_roles(expanded: Path) -> None:
    frame = pl.read_parquet(expanded)
    assert frame.columns[:4] == ["id", "text", "unit", "role"]
    assert frame["id"].n_unique() == frame.height
    race = frame.filter(pl.col("category") == "race")
    assert race.group_by("unit").len()["len"].unique().to_list() == [7]
    assert (race["role"] == "").sum() == 6
    assert frame["substitutions"].null_count() == 0


def test_from_comments_with_labels(tmp_path: Path) -> None:
    rows = [f"My {word} friend is number {n}" for n in range(24) for word in ("Black", "Asian")]
    texts = [*rows, None, "", "no identity", "{x} | a gay man"]
    comments = pl.DataFrame({"comment_text": texts, "toxic": [n // 2 % 2 for n in range(len(texts))]})
    path = tmp_path / "comments.csv"
    comments.write_csv(path)
    made = make_templates(TemplatesConfig(in_=path, out=tmp_path / "t.parquet", label_col="toxic"))
    assert made.facts["left_out"]["empty"] == 2
    assert made.facts["left_out"]["no identity word"] == 1
    assert set(made.table["category"]) == {"race", "sexual_orientation", "gender"}
    assert made.table["label"].null_count() == 0
    result = counterfactual(CounterfactualConfig(in_=path, out=tmp_path / "run", label_col="toxic", resamples=200, charts=False))
    assert set(result.tables["mitigation"]["mitigation"]) >= {"nothing", "average over variants", "threshold per group"}


def test_shares_of_annotators_count_from_a_half_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [f"My Black friend is number {n}" for n in range(5)]
    pl.DataFrame({"text": texts, "toxic": [0.0, 1 / 3, 0.5, 1.0, None]}).write_csv(tmp_path / "c.csv")
    made = make_templates(TemplatesConfig(in_=tmp_path / "c.csv", out=tmp_path / "t.parquet", label_col="toxic"))
    assert made.table["label"].to_list() == [0.0, 0.0, 1.0, 1.0, None]
    assert "holds shares" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"text_col": "comment_txt"}, "Did you mean --text_col comment_text"),
        ({"label_col": "toxicc"}, "Did you mean --label_col toxic"),
        ({"label_col": "word"}, "--label_col word of .* holds 'rude'; 0 and 1"),
        ({"categories": ("gendr",)}, "Did you mean 'gender'"),
        ({"in_": "missing.csv"}, "does not exist"),
        ({"categories": ("religion",)}, "No template came out"),
    ],
)
def test_bad_input(tmp_path: Path, config: dict, message: str) -> None:
    path = tmp_path / "comments.csv"
    pl.DataFrame({"comment_text": ["a Black man"], "toxic": [1], "word": ["rude"]}).write_csv(path)
    with pytest.raises(InputError, match=message):
        make_templates(TemplatesConfig(**{"in_": path, "out": tmp_path / "t.parquet"} | config))


def test_failures_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [("u1", "a", 0.9, None), ("u1", "b", 0.1, None), ("u2", "a", 0.5, None), ("u2", "b", None, "too long")]
    rows.append(("u3", "a", 1.7, None))
    names = ["unit", "role", "score", "error", "category", "sentiment"]
    frame = pl.DataFrame([(*row, "c", "neutral") for row in rows], schema=names, orient="row")
    path = tmp_path / "scores.parquet"
    frame.write_parquet(path)
    result = analyze(AnalyzeConfig(in_=path, charts=False))
    pair = result.tables["pairs"].filter((pl.col("sentiment") == "all") & (pl.col("a") == "a")).row(0, named=True)
    assert (pair["n"], pair["n_incomplete"]) == (1, 2)
    assert pair["difference"] == pytest.approx(0.8)
    assert result.facts["failed"] == 2
    frame.filter(pl.col("role") == "a").write_parquet(tmp_path / "one.parquet")
    with pytest.raises(EvidenceError, match="1 of 3 texts failed"):
        analyze(AnalyzeConfig(in_=tmp_path / "one.parquet", out=tmp_path / "m.parquet", charts=False))


def test_perspective_with_faults_and_resume(tmp_path: Path, expanded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(PerspectiveServer(faults=Faults(0.2, kinds=("500", "drop", "wrong_json")))) as server:
        config = ScoreConfig(in_=expanded, out=tmp_path / "s" / "scores.parquet", scorer="perspective", url=server.url, qps=1000)
        score(config)
        assert "calls to make" in capsys.readouterr().err
        asked = server.record.received
        score(ScoreConfig(**{**vars(config), "restart": True}))
        assert server.record.received == asked, "everything was answered before"
        assert max(server.record.answered.values()) == 1
    frame = pl.read_parquet(config.out)
    assert frame["error"].null_count() == frame.height
    assert frame["score"].to_list() == [score_of(text) for text in frame["text"]]
    assert KEY not in "".join(path.read_text(errors="replace") for path in (tmp_path / "s").iterdir() if path.is_file())


def test_a_table_of_ones_own_needs_no_categories(tmp_path: Path) -> None:
    pl.DataFrame({"text": ["a", "b"], "unit": ["u", "u"], "role": ["x", "y"]}).write_parquet(tmp_path / "in.parquet")
    with serving(PerspectiveServer()) as server:
        config = ScoreConfig(
            in_=tmp_path / "in.parquet", out=tmp_path / "s.parquet", scorer="perspective", url=server.url, qps=1000
        )
        assert score(config).facts["counts"]["scored"] == 2


def test_a_wrong_key_in_the_middle_keeps_what_is_scored(tmp_path: Path, expanded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(PerspectiveServer()) as server:
        half = tmp_path / "half.parquet"
        pl.read_parquet(expanded).head(100).write_parquet(half)
        score(ScoreConfig(in_=half, out=tmp_path / "a" / "s.parquet", scorer="perspective", url=server.url, qps=1000))
        monkeypatch.setenv("PERSPECTIVE_API_KEY", "AIzaRevoked0000000000000000000000000000")
        config = ScoreConfig(in_=expanded, out=tmp_path / "b" / "s.parquet", scorer="perspective", url=server.url, qps=1000)
        with pytest.raises(ServiceError, match="403 PERMISSION_DENIED"):
            score(config)
        monkeypatch.setenv("PERSPECTIVE_API_KEY", KEY)
        score(config)
        assert max(server.record.answered.values()) == 1


COMMAND = [sys.executable, "-m", "fairwitness", "counterfactual", "score", "--scorer", "perspective", "--qps", "100000"]


def test_kill_minus_nine_and_the_same_command_again(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(600)]
    rows = {"text": texts, "unit": texts, "role": ["x"] * 600, "category": ["race"] * 600, "sentiment": ["neutral"] * 600}
    pl.DataFrame(rows).write_parquet(tmp_path / "in.parquet")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with serving(PerspectiveServer(delay_s=0.02)) as server:
        command = [*COMMAND, "--in", str(tmp_path / "in.parquet"), "--out", str(tmp_path / "run/s.parquet"), "--url", server.url]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 90
        while server.record.received < 300 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.2)
        asked = server.record.received
        assert 300 <= asked < 600
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        left = pl.read_parquet(tmp_path / "run/s.parquet").filter(pl.col("score").is_null())
        assert f"{600 - left.height} scored, {left.height} failed" in done.stdout
        assert left.height <= 16, "no more than were in flight at the kill, one a worker"
        assert set(left["error"]) <= {IN_DOUBT}
        assert ("--ask again" in done.stderr) == (left.height > 0)
        assert set(server.record.answered.values()) == {1}, "no text is asked twice"
        done = subprocess.run(
            [*command, "--ask", "again", "--restart"], env=environment, capture_output=True, text=True, check=True
        )
        assert "600 scored, 0 failed" in done.stdout
        assert server.record.received <= 600 + left.height
    assert pl.read_parquet(tmp_path / "run/s.parquet")["score"].to_list() == [score_of(text) for text in texts]


def test_lifeboat(tmp_path: Path, expanded: Path) -> None:
    with serving(PerspectiveServer()) as server:
        tape = tmp_path / "boat" / "tape.parquet"
        config = lifeboat.RecordConfig(
            in_=expanded, out=tape, url=server.url, qps=1000, attributes=("TOXICITY", "INSULT"), keep_text=True
        )
        recorded = lifeboat.record(config)
        assert recorded.facts["failed"] == 0
    lifeboat.replay(lifeboat.ReplayConfig(in_=expanded, cassette=tape, out=tmp_path / "boat" / "scores.parquet"))
    served = pl.read_parquet(tmp_path / "boat" / "scores.parquet")
    assert served["score"].to_list() == [score_of(text) for text in served["text"]]
    result = lifeboat.calibrate(lifeboat.CalibrateConfig(cassette=tape, in_=expanded, out=tmp_path / "boat" / "cal.json"))
    assert any("variance" in line for line in result.facts["cannot_be_replaced"]), "hashes cannot be predicted from words"
    assert result.tables["by_group"].height > 20
    entry = read_manifest(tmp_path / "boat")["cal"]
    assert set(entry["inputs"]) == {"cassette", "in"}
    assert {file_hash(Path(path)) for path in entry["inputs"].values()} == set(entry["data"].values())
    scores = tmp_path / "boat" / "calibrated.parquet"
    score(ScoreConfig(in_=expanded, out=scores, scorer=f"calibrated:{tmp_path / 'boat' / 'cal.json'}"))
    assert pl.read_parquet(scores)["score"].is_between(0, 1).all()
    names = ("profanity", f"cassette:{tape}")
    compared = lifeboat.compare(lifeboat.CompareConfig(in_=expanded, scorers=names, out=tmp_path / "boat" / "compared.parquet"))
    assert compared.table.row(0, named=True)["n"] == served.height
    # Asked again, both read what they wrote.
    assert lifeboat.compare(
        lifeboat.CompareConfig(in_=expanded, scorers=names, out=tmp_path / "boat" / "compared.parquet")
    ).table.equals(compared.table)
    again = lifeboat.calibrate(lifeboat.CalibrateConfig(cassette=tape, in_=expanded, out=tmp_path / "boat" / "cal.json"))
    assert again.tables["by_group"].equals(result.tables["by_group"])


def test_lifeboat_bad_input(tmp_path: Path, expanded: Path) -> None:
    with pytest.raises(InputError, match="two scorers or more"):
        lifeboat.compare(lifeboat.CompareConfig(in_=expanded, scorers=("profanity",)))
    with pytest.raises(InputError, match="not a cassette"):
        lifeboat.replay(lifeboat.ReplayConfig(in_=expanded, cassette=expanded, out=tmp_path / "s.parquet"))


def test_another_question_is_refused(tmp_path: Path, expanded: Path) -> None:
    config = ScoreConfig(in_=expanded, out=tmp_path / "s" / "scores.parquet")
    score(config)
    with pytest.raises(RunError, match="threshold was"):
        score(ScoreConfig(**{**vars(config), "threshold": 0.7}))


def test_a_folder_is_meant(tmp_path: Path) -> None:
    with pytest.raises(FairWitnessError, match="folder"):
        counterfactual(CounterfactualConfig(out=tmp_path / "x.parquet"))


def test_the_question_is_the_same_in_every_process() -> None:
    """Sets print in an order that changes from process to process; a resumed run must not take that for another question."""
    import os
    import subprocess
    import sys

    imports = "from fairwitness.audits.counterfactual_templates import _content as c"
    imports += "\nfrom fairwitness.datasets.counterfactual import lexicon"
    command = [sys.executable, "-c", f"{imports}\nprint(c(lexicon.lexicon('gender')))"]
    printed = set()
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        printed.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(printed) == 1


def test_groups_that_are_called_like_columns_and_scores_that_are_words(tmp_path: Path) -> None:
    from fairwitness.audits.counterfactual import read_scores
    from fairwitness.audits.counterfactual_analysis import slices_of

    head = "unit,role,score,category,sentiment\n"
    (tmp_path / "s.csv").write_text(f"{head}a,unit,0.1,race,neutral\na,sentiment,0.2,race,neutral\na,,0.3,race,neutral\n")
    [first, *_] = slices_of(read_scores(tmp_path / "s.csv"))
    assert first.roles[:2] == ["unit", "sentiment"]
    assert first.values.tolist() == [[0.1, 0.2, 0.3]]
    (tmp_path / "w.csv").write_text(f"{head}a,x,0.1,race,neutral\na,y,high,race,neutral\n")
    with pytest.raises(InputError, match="no number, first in row 2"):
        read_scores(tmp_path / "w.csv")


def test_a_variant_that_was_not_made_is_no_failure(tmp_path: Path) -> None:
    """ "my lesbian brother" is not made where only plausible ones are asked for: it is in no pair, and nothing has failed."""
    chosen = {"categories": ("sexual_orientation",), "resamples": 100, "charts": False}
    result = counterfactual(CounterfactualConfig(out=tmp_path / "cf", plausible_only=True, **chosen))
    by_group = result.tables["by_group"].filter(pl.col("sentiment") == "all")
    counts = {role: (n, failed) for role, n, failed in by_group.select("role", "n", "n_failed").iter_rows()}
    assert counts["Gay"] == (30, 0)
    assert counts["Lesbian"] == (29, 0)
    assert result.tables["pairs"]["n_incomplete"].sum() == 0
    assert read_manifest(tmp_path / "cf")["expanded"]["left_out"] == {"Lesbian said of a male person": 1}


def test_a_folder_may_have_a_point_in_its_name(tmp_path: Path) -> None:
    counterfactual(CounterfactualConfig(out=tmp_path / "v1.2", categories=("gender",), sample=1, resamples=100, charts=False))
    with pytest.raises(InputError, match="is the run's folder here, not a file"):
        counterfactual(CounterfactualConfig(out=tmp_path / "scores.parquet"))


def test_what_is_in_the_file_is_the_question_and_not_where_it_lies(tmp_path: Path) -> None:
    comments, folder = tmp_path / "comments.csv", tmp_path / "run"
    comments.write_text("text\nShe is a kind woman\n", encoding="utf-8")
    config = CounterfactualConfig(in_=comments, out=folder, categories=("gender",), resamples=100, charts=False)
    counterfactual(config)
    folder.rename(tmp_path / "moved")
    comments.rename(tmp_path / "also.csv")
    moved = replace(config, in_=tmp_path / "also.csv", out=tmp_path / "moved")
    before = file_hash(tmp_path / "moved" / "run.json")
    counterfactual(moved)
    assert {entry["status"] for entry in read_manifest(tmp_path / "moved").values()} == {"done"}
    moved.in_.write_text("text\nHe was a rude man, a very rude man\n", encoding="utf-8")
    with pytest.raises(RunError, match="another question: in was"):
        counterfactual(moved)
    assert file_hash(tmp_path / "moved" / "run.json") == before
