"""Items and predictions: every fault is named, every source gives the same table."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairwitness import tables
from fairwitness.datasets.stereoset_items import read_items, read_predictions
from fairwitness.errors import InputError


def item(number: int = 1, subset: str = "intersentence") -> dict[str, Any]:
    labels = ("anti-stereotype", "unrelated", "stereotype")
    sentences = [{"id": f"s{number}{k}", "sentence": f"Text {k}.", "gold_label": label} for k, label in enumerate(labels)]
    context = "A context." if subset == "intersentence" else "It was BLANK."
    return {"id": f"i{number}", "target": "chef", "bias_type": "profession", "context": context, "sentences": sentences}


def write(path: Path, *, inter: list[Any] | None = None, intra: list[Any] | None = None) -> Path:
    path.write_text(json.dumps({"version": "1.0", "data": {"intersentence": inter or [], "intrasentence": intra or []}}))
    return path


def broken(change: Callable[[dict[str, Any]], None], subset: str = "intersentence") -> dict[str, Any]:
    faulty = copy.deepcopy(item(2, subset))
    change(faulty)
    return faulty


FAULTS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda i: i["sentences"].pop(), "2 associations; exactly 3"),
    (lambda i: i["sentences"].append({"id": "s9", "sentence": "More.", "gold_label": "unrelated"}), "4 associations; exactly 3"),
    (lambda i: i["sentences"][0].pop("gold_label"), "gold_label None is not one of"),
    (lambda i: i["sentences"][0].update(gold_label="stereotype"), "'stereotype' occurs 2 times and 'anti-stereotype' is missing"),
    (lambda i: i["sentences"][0].update(gold_label="antistereotype"), "Did you mean 'anti-stereotype'"),
    (lambda i: i.update(context="  "), "'context' is empty"),
    (lambda i: i.update(target=""), "'target' is empty"),
    (lambda i: i.pop("bias_type"), "has no 'bias_type'"),
    (lambda i: i.update(sentences="three"), "str associations"),
    (lambda i: i["sentences"][1].update(sentence=""), "has no 'sentence'"),
    (lambda i: i["sentences"][1].pop("id"), "without an 'id'"),
    (lambda i: i.update(id="i1"), "item id occurs before"),
    (lambda i: i["sentences"][1].update(id="s10"), "sentence id s10 occurs before"),
]


@pytest.mark.parametrize(("change", "words"), FAULTS)
def test_a_faulty_item_is_named(tmp_path: Path, change: Callable[[dict[str, Any]], Any], words: str) -> None:
    path = write(tmp_path / "dev.json", inter=[item(1), broken(change)])
    with pytest.raises(InputError, match=r"intersentence item 2") as caught:
        read_items(path)
    assert words in str(caught.value)


def test_no_blank_is_named(tmp_path: Path) -> None:
    path = write(
        tmp_path / "dev.json", intra=[item(1, "intrasentence"), broken(lambda i: i.update(context="None."), "intrasentence")]
    )
    with pytest.raises(InputError, match=r"intrasentence item 2 \(id i2\): the context has no BLANK"):
        read_items(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not readable JSON"),
        ("[]", "not StereoSet's JSON"),
        ('{"data": {"intersentense": []}}', "Did you mean 'intersentence'"),
        ('{"data": {"intersentence": {}}}', "must be a list"),
        ('{"data": {"intersentence": ["x"]}}', "is not an object"),
        ('{"data": {"intersentence": []}}', "has no intrasentence or intersentence items"),
    ],
)
def test_a_file_that_is_something_else(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "dev.json").write_text(text)
    with pytest.raises(InputError) as caught:
        read_items(tmp_path / "dev.json")
    assert words in str(caught.value)


def test_the_wrong_subset_name_is_said() -> None:
    with pytest.raises(InputError, match="Did you mean 'intersentence'"):
        read_items(subset="intersentance")


def test_a_subset_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no intrasentence items\. It has: intersentence"):
        read_items(write(tmp_path / "dev.json", inter=[item(1)]), subset="intrasentence")


def test_the_built_in_items_are_twenty_and_sound() -> None:
    items = read_items()
    assert items["unit"].n_unique() == 20
    assert items.filter(subset="intrasentence")["unit"].n_unique() == 10
    assert set(items["bias_type"]) == {"gender", "profession", "race", "religion"}


def test_our_own_table_and_the_hubs_parquet_give_the_same_items(tmp_path: Path) -> None:
    items = read_items()
    tables.write(items, tmp_path / "own.parquet")
    assert read_items(tmp_path / "own.parquet").equals(items)
    numbers = {"anti-stereotype": 0, "stereotype": 1, "unrelated": 2}
    hub = items.group_by("unit", "bias_type", "target", "context", maintain_order=True).agg(
        pl.col("id").alias("sid"), "text", gold_label=pl.col("role").replace_strict(numbers)
    )
    hub = hub.select(
        "target", "bias_type", "context", id="unit",
        sentences=pl.struct(sentence="text", id="sid", gold_label="gold_label"),
    )  # fmt: skip
    hub.write_parquet(tmp_path / "hub.parquet")
    assert read_items(tmp_path / "hub.parquet").equals(items)


def test_predictions_plain_and_gzipped(tmp_path: Path) -> None:
    content = {"intrasentence": [{"id": "a", "score": 0.5}, {"id": "b", "score": float("nan")}, {"id": "c", "score": None}]}
    (tmp_path / "p.json").write_text(json.dumps(content))
    (tmp_path / "p.json.gz").write_bytes(gzip.compress(json.dumps(content).encode()))
    plain = read_predictions(tmp_path / "p.json")
    assert plain.equals(read_predictions(tmp_path / "p.json.gz"))
    assert plain["id"].to_list() == ["a", "b", "c"]
    assert plain["score"].null_count() == 1


def test_a_prediction_listed_again_says_nothing_new(tmp_path: Path) -> None:
    twice = {"id": "a", "score": 0.5}
    content = {"intrasentence": [twice, {"id": "b", "score": 0.5}], "intersentence": [twice]}
    (tmp_path / "p.json").write_text(json.dumps(content))
    assert read_predictions(tmp_path / "p.json").rows() == [("intrasentence", "a", 0.5), ("intrasentence", "b", 0.5)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], "no StereoSet prediction file"),
        ({"intra": []}, "unknown subset 'intra'"),
        ({"intrasentence": {}}, "must be a list"),
        ({"intrasentence": [{"id": "a"}]}, 'is not {"id", "score"}'),
        ({"intrasentence": [{"id": "a", "score": "high"}]}, "a number was expected"),
        ({"intrasentence": [{"id": "a", "score": 1}, {"id": "a", "score": 2}]}, "more than once: a"),
    ],
)
def test_faulty_predictions_are_named(tmp_path: Path, content: Any, words: str) -> None:
    (tmp_path / "p.json").write_text(json.dumps(content))
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / "p.json")
    assert words in str(caught.value)


@pytest.mark.shared
def test_the_real_dev_set(shared: Path) -> None:
    items = read_items(shared / "data" / "stereoset" / "dev.json")
    counts = items.group_by("subset", "bias_type").agg(pl.col("unit").n_unique()).sort("subset", "bias_type")["unit"].to_list()
    assert counts == [242, 827, 976, 78, 255, 810, 962, 79]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_with_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "dev.json", inter=[item(1)])
    marked = tmp_path / "marked.json"
    marked.write_text(path.read_text(), encoding=encoding)
    assert read_items(marked).equals(read_items(path))
    marked.write_text('{"intrasentence": [{"id": "a", "score": 0.5}]}', encoding=encoding)
    assert read_predictions(marked)["score"].to_list() == [0.5]
