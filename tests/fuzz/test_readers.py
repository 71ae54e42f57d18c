"""Whatever is in a file, a reader takes it or refuses it with a sentence, without traceback or hang. scripts/fuzz.py tries more."""

import io
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import Done
from tests.fuzz.cases import cases, judge
from tests.fuzz.readers import READERS
from tests.fuzz.rooms import RESULTS, SBIC

EXAMPLES = int(os.environ.get("FAIRWITNESS_FUZZ", "40"))


@pytest.mark.parametrize("name", READERS)
def test_a_seed_is_taken(name: str, tmp_path: Path) -> None:
    """Else the fuzzers would only ever see how the reader begins to refuse."""
    assert "taken" in [judge(READERS[name], seed, tmp_path) for seed in READERS[name].seeds]


@pytest.mark.parametrize("name", READERS)
def test_no_traceback_and_no_hang(name: str, tmp_path: Path) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize="FAIRWITNESS_FUZZ" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=cases(READERS[name]))
    def every_file(data: bytes) -> None:
        judge(READERS[name], data, tmp_path)

    every_file()


ONCE_FAILED = [
    ("lexicon", b"category = false\nslots = []\ngroup = false"),
    ("http_scorer", b'name = "s"\nurl = "http://localhost:[/x"\nscore = "a.0.b"\nbody = { text = "$text" }'),
    ("loop_toml", b"skip = 3"),
    ("loop_toml", b"skip = [{}, 1.5]"),
    ("raw_jigsaw", b"id,target\rcomment_text\x00\n1,2\n"),
    ("raw_hatecheck", b"\r\r\r,"),
    ("raw_stereoset", b'{"data": {"intersentence": null}}'),
    ("counterfactual_scores", b"unit,role,score,error,category,sentiment\nu,,1,0,,\n,r,,s,s,1\n"),
    (
        "calibration",
        b'{"format": "fairwitness-calibration/1", "scorer": "profanity", "x": [0, 1], "y": [18446744073709551616, 0.9]}',
    ),
    ("task_toml", b'positive = "rude"\nnegative = "polite"\nprompt = "Text: {text} Answer:"\nprompts = 0'),
    ("stereoset_results", RESULTS.replace(b"-1.5", b"{}")),
    ("counterfactual_scores", b"unit,role,score,error,category,sentiment\n,role,,,,\n,role,,,,\nrole,,,,,\n"),
    ("raw_sbic", SBIC.replace(b"a mild text", b"")),
    ("raw_kosbi", b'[{"context": [], "sentence": {}}]'),
    ("raw_hatexplain", b'{"1_x": {"post_id": "1_x", "annotators": {}, "rationales": [], "post_tokens": ["a"]}}'),
    ("record_elsewhere", b'{"format": 1, "audits": {"zs": {"outputs": {".": "1"}, "status": "done"}}}'),
    ("record_elsewhere", b'{"format": 1, "audits": {"zs": {"outputs": {"zs\\ud800t": "0"}, "status": "done"}}}'),
]


@pytest.mark.parametrize(("reader", "data"), ONCE_FAILED)
def test_files_that_once_brought_a_traceback(reader: str, data: bytes, tmp_path: Path) -> None:
    judge(READERS[reader], data, tmp_path)


@pytest.mark.parametrize("facts", [b'{"form\x97', b"[]", None])
def test_a_cassette_whose_facts_or_columns_were_damaged(facts: bytes | None, tmp_path: Path) -> None:
    table = pq.read_table(io.BytesIO(READERS["cassette"].seeds[0]))
    damaged = table.replace_schema_metadata({"fairwitness": facts}) if facts else table.drop_columns(["text_hash"])
    pq.write_table(damaged, tmp_path / "damaged.parquet")
    assert judge(READERS["cassette"], (tmp_path / "damaged.parquet").read_bytes(), tmp_path) == "refused"


@settings(max_examples=10, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.one_of(cases(READERS["predictions_csv"]), cases(READERS["predictions_parquet"])))
def test_the_command_line_exits_with_two_and_a_line(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    path = folder / ("p.parquet" if data.startswith(b"PAR1") else "p.csv")
    path.write_bytes(data)
    words = ["fairness", "--preds", path, "--label_col", "label", "--id_cols", "male", "--out", folder / "r.csv"]
    done = run_main([str(word) for word in words])
    assert done.code in (0, 2, 3)
    assert done.code != 2 or done.err.startswith("fairwitness: ")
    assert done.err.count("\n") <= 3


def run_main(words: list[str]) -> Done:
    import contextlib
    import io

    from fairwitness.cli.app import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            return Done(int(ended.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("main returned")
