"""`train-filter` from the command line: checkpoints of every epoch, measurements, the published flags, bad rows."""

import json
from pathlib import Path

import pytest
from tests.authoring.conftest import write

from fairwitness import tables
from fairwitness.authoring.filter_metrics import measure
from fairwitness.authoring.schema import BUILT_IN
from fairwitness.models.text_classifier import find_checkpoints


def rows(number: int, **more: object) -> list[dict]:
    return [
        {
            "demographic_category": "age" if n % 3 else "region",
            "demographic_group": "pupils",
            "context": f"상황 {n}.",
            "sentence": f"{n} {'고맙습니다' if n % 2 else '저리 가라'}.",
            "sentence_label": "safe" if n % 2 else "unsafe",
            "include?": n % 2,
            **more,
        }
        for n in range(number)
    ]


def words(tmp_path: Path, train: object, task: str = "kosbi_unsafe_sent_classify") -> list[object]:
    path = write(tmp_path / "train.json", train)
    return ["kosbi", "train-filter", "--task", task, "--filter_model_type", "ngram", "--trn_pth", path, "--val_pth", path,
            "--tst_pth", write(tmp_path / "test.json", rows(21)), "--epoch", 3,
            "--checkpoint_dirpath", tmp_path / "models"]  # fmt: skip


def test_every_epoch_is_kept_and_the_best_is_measured(tmp_path: Path, fairwitness) -> None:
    done = fairwitness(*words(tmp_path, rows(40)), "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    folder = Path(result["folder"])
    assert folder.name == "kosbi_unsafe_sent_classify-ep3-lr10-bsz16-gclip0"
    assert len(find_checkpoints(tmp_path / "models")) == 3
    overall = {row["metric"]: row for row in result["test"] if not row["group"]}
    assert overall["accuracy"]["value"] == 1.0
    assert overall["accuracy"]["n"] == 21
    assert 0.8 < overall["accuracy"]["low"] < 1.0
    assert {row["group"] for row in result["test"]} == {"", "age", "region"}
    predictions = tables.read(folder / "test_preds.parquet")
    assert predictions["label"].sum() == 11, "unsafe is the positive class of the audit"
    assert fairwitness(*words(tmp_path, rows(40)), "--json").out == done.out


def test_a_task_of_ones_own_schema(tmp_path: Path, fairwitness) -> None:
    own = tmp_path / "own.toml"
    own.write_text((BUILT_IN / "kosbi.toml").read_text(encoding="utf-8").replace("kosbi_unsafe_sent_classify", "own_task"))
    assert "Unknown task 'own_task'" in fairwitness(*words(tmp_path, rows(40), "own_task")).err
    done = fairwitness(*words(tmp_path, rows(40), "own_task"), "--schema", own, "--json")
    assert done.code == 0, done.err
    assert "own_task" in json.loads(done.out)["folder"]


def test_published_flags(tmp_path: Path, fairwitness) -> None:
    more = [
        "--do_train_only",
        "True",
        "--checkpoint_save_top_k",
        "2",
        "--earlystop_patience",
        "3",
        "--lr",
        "1.5",
        "--batch_size",
        "8",
    ]
    done = fairwitness(*words(tmp_path, rows(40), "kosbi_incl_grp_classify"), *more, "--gradient_clip_val", "1.0")
    assert done.code == 0, done.err
    assert len(find_checkpoints(tmp_path / "models")) == 2
    folder = tmp_path / "models" / "kosbi_incl_grp_classify-ep3-lr1.5-bsz8-gclip1"
    assert not (folder / "test_preds.parquet").exists()


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (rows(4, sentence_label="saef"), "row 1: Unknown label 'saef' for a sentence. Did you mean 'safe'?"),
        (rows(4, sentence_label="safe"), "4 labelled rows of 1 classes"),
        (rows(4, sentence=None), "row 1: 'sentence' is null"),
        ([], "0 labelled rows"),
    ],
)
def test_bad_training_rows(tmp_path: Path, fairwitness, train: list, message: str) -> None:
    done = fairwitness(*words(tmp_path, train))
    assert done.code == 2
    assert message in done.err


def test_rows_without_a_label_are_left_out_aloud(tmp_path: Path, fairwitness) -> None:
    done = fairwitness(*words(tmp_path, [*rows(20), *rows(3, sentence_label=None)]))
    assert done.code == 0
    assert "3 of 23 rows" in done.err


def test_measurements_of_a_missing_class() -> None:
    table = measure([1, 1], [1, 1], ["a", "a"])
    assert table["value"][0] == 1.0
    assert table["value"].is_nan()[1], "macro-F1 of a class that neither occurs nor is predicted is undefined"


@pytest.mark.slow
@pytest.mark.shared
def test_built_in_classifier_on_the_published_data(tmp_path: Path, shared: Path, fairwitness) -> None:
    """Trained on the published validation set: clearly better than 0.60 on the published test set."""
    data = shared / "data" / "kosbi"
    done = fairwitness("kosbi", "train-filter", "--task", "kosbi_unsafe_sent_classify", "--filter_model_type", "ngram",
                       "--trn_pth", data / "kosbi_valid.json", "--val_pth", data / "kosbi_valid.json",
                       "--tst_pth", data / "kosbi_test.json", "--epoch", 5, "--checkpoint_dirpath", tmp_path, "--json")  # fmt: skip
    overall = {row["metric"]: row for row in json.loads(done.out)["test"] if not row["group"]}
    assert overall["accuracy"]["low"] > 0.60
    assert overall["macro_f1"]["value"] > 0.615
