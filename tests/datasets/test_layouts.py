"""The authors' layouts for which no real copy is at hand, built small: Kaggle, the civil zip, WILDS, SBIC, Parquet folders."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairwitness import load_dataset
from fairwitness.datasets.jigsaw_shape import IDENTITIES, SUBTYPES
from fairwitness.errors import InputError

SCORES = ("severe_toxicity", "obscene", "sexual_explicit", "identity_attack", "insult", "threat")


def kaggle(rows: int, *, split: str = "train", target: str = "toxicity", start: int = 0) -> pl.DataFrame:
    """A piece of all_data.csv: the first half annotated for identities, the other half not."""
    numbers = range(start, start + rows)
    asked = [index < rows // 2 for index in range(rows)]
    return pl.DataFrame(
        {
            "id": [str(5000 + number) for number in numbers],
            "comment_text": [f'comment {number}, "quoted"\nand broken' for number in numbers],
            "split": [split] * rows,
            "created_date": ["2017-03-06 15:21:53+00"] * rows,
            "rating": ["approved"] * rows,
            target: [number % 10 / 10 for number in numbers],
            **{name: [0.25] * rows for name in SCORES},
            **{name: [1.0 if yes else None for yes in asked] for name in IDENTITIES},
            "identity_annotator_count": [4] * rows,
        }
    )


def write(frame: pl.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)
    return path


@pytest.mark.parametrize("name", ["all_data.csv", "all_data.csv.gz", "train.csv", "anything.parquet"])
def test_jigsaw(name: str, tmp_path: Path) -> None:
    raw = kaggle(10, target="target" if name == "train.csv" else "toxicity")
    frame = load_dataset("jigsaw", source=write(raw, tmp_path / name))
    assert frame.columns == ["comment_text", "target", *SUBTYPES, *IDENTITIES, "id", "split"]
    assert frame["comment_text"].to_list() == raw["comment_text"].to_list()
    assert frame["target"].to_list() == [number / 10 for number in range(10)]
    assert frame["male"].to_list() == [1.0] * 5 + [None] * 5, "not asked is not 0"
    assert frame["id"].to_list() == raw["id"].to_list()


def test_jigsaw_splits_within_one_file_and_in_a_folder(tmp_path: Path) -> None:
    both = pl.concat([kaggle(6), kaggle(4, split="test", start=6)])
    write(both, tmp_path / "one" / "all_data.csv")
    assert load_dataset("jigsaw", source=tmp_path / "one").height == 10
    assert load_dataset("jigsaw", source=tmp_path / "one", split="train").height == 6
    assert load_dataset("jigsaw", source=tmp_path / "one", split="test").height == 4
    folder = tmp_path / "kaggle"
    write(both, folder / "all_data.csv")
    write(kaggle(6, target="target").drop("split"), folder / "train.csv")
    write(kaggle(2, start=6).drop("split"), folder / "test_public_expanded.csv")
    write(kaggle(2, start=8).drop("split"), folder / "test_private_expanded.csv")
    write(kaggle(2).select("id", "comment_text"), folder / "sample_submission.csv")
    assert load_dataset("jigsaw", source=folder)["split"].to_list() == ["train"] * 6
    assert load_dataset("jigsaw", source=folder, split="all").height == 10, "no comment comes twice"
    assert load_dataset("jigsaw", source=folder, split="validation")["id"].to_list() == ["5006", "5007"]
    assert load_dataset("jigsaw", source=folder, split="test")["id"].to_list() == ["5008", "5009"]


def test_jigsaw_keeps_what_a_smaller_table_has(tmp_path: Path) -> None:
    small = kaggle(4).select("comment_text", pl.col("toxicity").alias("target"), "male", "female")
    frame = load_dataset("jigsaw", source=write(small, tmp_path / "mine.csv"))
    assert frame.columns == ["comment_text", "target", "male", "female", "id", "split"]
    assert frame["id"].to_list() == ["row-0", "row-1", "row-2", "row-3"]
    assert load_dataset("jigsaw", source=tmp_path / "mine.csv", split="train").equals(frame), "what names no split is train"


def civil_zip(path: Path) -> Path:
    pieces = [kaggle(6), kaggle(2, split="test_public", start=6), kaggle(2, split="test_private", start=8)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("civil_comments.csv", pl.concat(pieces).write_csv())
        archive.writestr("__MACOSX/._civil_comments.csv", "x")
    return path


def test_civil_zip_has_identities_and_three_splits(tmp_path: Path) -> None:
    source = civil_zip(tmp_path / "civil_comments_v1.2.zip")
    frame = load_dataset("civil", source=source)
    assert frame["split"].to_list() == ["train"] * 6 + ["validation"] * 2 + ["test"] * 2
    assert "muslim" in frame.columns
    assert load_dataset("civil", source=source, split="validation").height == 2
    annotated = load_dataset("civil_identities", source=source, split="all")
    assert annotated.height == 5
    assert annotated["male"].null_count() == 0


def test_civil_parquet_has_no_identities(tmp_path: Path) -> None:
    labels = kaggle(6).select(pl.col("comment_text").alias("text"), "toxicity", *SCORES)
    write(labels, tmp_path / "data" / "train-00000-of-00001.parquet")
    write(labels.head(2), tmp_path / "data" / "test-00000-of-00001.parquet")
    frame = load_dataset("civil", source=tmp_path)
    assert frame.columns == ["comment_text", "target", *SUBTYPES, "id", "split"]
    assert frame["id"].to_list() == [f"train-{row}" for row in range(6)]
    assert load_dataset("civil", source=tmp_path, split="all").height == 8
    with pytest.raises(InputError, match=r"has no validation split; it has: test, train"):
        load_dataset("civil", source=tmp_path, split="validation")
    with pytest.raises(InputError, match="has no identity columns"):
        load_dataset("civil_identities", source=tmp_path)


def test_wilds(tmp_path: Path) -> None:
    raw = pl.concat([kaggle(3), kaggle(2, split="val", start=3)]).with_columns(LGBTQ=pl.lit(0.5), other_religions=pl.lit(0.0))
    source = write(raw, tmp_path / "all_data_with_identities.csv")
    frame = load_dataset("wilds", source=source)
    assert {"LGBTQ", "other_religions", "target", "male"} <= set(frame.columns)
    assert load_dataset("wilds", source=source, split="validation").height == 2


def sbic_rows() -> pl.DataFrame:
    """One post by two workers (the first with two targets), one that nobody answered."""
    return pl.DataFrame(
        {
            "post": ["a", "a", "a", "b"],
            "WorkerId": ["w1", "w1", "w2", "w1"],
            "offensiveYN": ["1.0", "1.0", "0.5", ""],
            "intentYN": ["1.0", "1.0", "0.0", "0.0"],
            "sexYN": ["0.0"] * 4,
            "whoTarget": ["1.0", "1.0", "", ""],
            "targetMinority": ["x", "y", "", ""],
            "targetCategory": ["race", "gender", "", ""],
            "targetStereotype": ["s", "s", "", ""],
        }
    )


def test_sbic_by_worker(tmp_path: Path) -> None:
    archive = tmp_path / "SBIC.v2.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("SBIC.v2.trn.csv", "SBIC.v2.dev.csv", "SBIC.v2.agg.trn.csv"):
            data = sbic_rows().write_csv().encode()
            info = tarfile.TarInfo(f"SBIC.v2/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    frame = load_dataset("sbic", source=archive)
    assert frame["comment_text"].to_list() == ["a", "b"]
    first = frame.row(0, named=True)
    assert (first["offensiveYN"], first["target"], first["n_annotators"], first["race"], first["gender"]) == (0.75, 1, 2, 0.5, 0.5)
    assert (first["targetMinority"], first["has_implication"], first["split"]) == (["x", "y"], 1, "train")
    assert frame.row(1, named=True)["target"] is None
    assert load_dataset("sbic", source=archive, split="all").height == 4
    hub = tmp_path / "hub"
    write(sbic_rows(), hub / "default" / "train" / "0000.parquet")
    assert load_dataset("sbic", source=hub).drop("split").equals(frame.drop("split"))


def hatexplain_post(votes: list[str], targets: list[list[str]]) -> dict[str, Any]:
    people = [
        {"label": vote, "annotator_id": n, "target": target} for n, (vote, target) in enumerate(zip(votes, targets, strict=True))
    ]
    return {"post_id": "p", "annotators": people, "rationales": [[0, 1], [1, 1]], "post_tokens": ["two", "words"]}


def test_hatexplain_json_and_parquet_agree(tmp_path: Path) -> None:
    posts = {
        "p1": hatexplain_post(["hatespeech", "offensive", "offensive"], [["Women", "Islam"], ["Women"], ["None"]]),
        "p2": hatexplain_post(["normal", "normal", "offensive"], [["None"], ["None"], ["Jewish"]]),
        "p3": hatexplain_post(["normal", "hatespeech", "offensive"], [["None"], ["None"], ["Other"]]),
    }
    (tmp_path / "dataset.json").write_text(json.dumps(posts), encoding="utf-8")
    frame = load_dataset("hatexplain", source=tmp_path / "dataset.json")
    assert frame.select("target", "majority_label").rows() == [(1, "offensive"), (0, "normal"), (None, "undecided")]
    assert frame["women"].to_list() == [2 / 3, 0.0, 0.0]
    assert frame["toxicity"].to_list() == [1.0, 1 / 3, 2 / 3]
    assert frame["rationale"][0].to_list() == [0.5, 1.0]
    order = ["hatespeech", "normal", "offensive"]
    rows = [
        {
            "id": name,
            "annotators": {
                "label": [order.index(person["label"]) for person in post["annotators"]],
                "annotator_id": [0, 1, 2],
                "target": [person["target"] for person in post["annotators"]],
            },
            "rationales": post["rationales"],
            "post_tokens": post["post_tokens"],
        }
        for name, post in posts.items()
    ]
    write(pl.DataFrame(rows), tmp_path / "hub" / "plain_text" / "train" / "0000.parquet")
    assert load_dataset("hatexplain", source=tmp_path / "hub").drop("split").equals(frame.drop("split"))


STEREOSET = {
    "id": "item",
    "target": "chess player",
    "bias_type": "profession",
    "context": "The chess player was BLANK.",
    "sentences": [
        {"id": "s1", "sentence": "one", "labels": [{"human_id": "h", "label": "related"}], "gold_label": "unrelated"},
        {"id": "s2", "sentence": "two", "labels": [{"human_id": "h", "label": "stereotype"}], "gold_label": "stereotype"},
        {"id": "s3", "sentence": "three", "labels": [], "gold_label": "anti-stereotype"},
    ],
}


def test_stereoset_from_the_hub_is_the_authors_json(tmp_path: Path, fairwitness: Callable[..., Any]) -> None:
    gold, human = ["anti-stereotype", "stereotype", "unrelated"], ["anti-stereotype", "stereotype", "unrelated", "related"]
    sentences = STEREOSET["sentences"]
    columns = {
        "id": [one["id"] for one in sentences],
        "sentence": [one["sentence"] for one in sentences],
        "labels": [
            {"human_id": [h["human_id"] for h in one["labels"]], "label": [human.index(h["label"]) for h in one["labels"]]}
            for one in sentences
        ],
        "gold_label": [gold.index(one["gold_label"]) for one in sentences],
    }
    row = {**{key: STEREOSET[key] for key in ("id", "target", "bias_type", "context")}, "sentences": columns}
    for subset in ("intersentence", "intrasentence"):
        write(pl.DataFrame([row]), tmp_path / "hub" / subset / "validation-00000-of-00001.parquet")
    done = fairwitness("data", "download", "--dataset", "stereoset", "--source", tmp_path / "hub", "--out", tmp_path / "dev.json")
    assert done.code == 0, done.err
    document = json.loads((tmp_path / "dev.json").read_text(encoding="utf-8"))
    assert document == {"version": "1.0", "data": {"intersentence": [STEREOSET], "intrasentence": [STEREOSET]}}
    assert load_dataset("stereoset", source=tmp_path / "dev.json").equals(load_dataset("stereoset", source=tmp_path / "hub"))


def test_alibaba_ad_clicks(tmp_path: Path, fairwitness: Callable[..., Any]) -> None:
    folder = tmp_path / "ali"
    folder.mkdir()
    header = (
        "userid,cms_segid,cms_group_id,final_gender_code,age_level,pvalue_level,shopping_level,occupation,new_user_class_level "
    )
    (folder / "user_profile.csv").write_text(f"{header}\n1,0,5,2,5,,3,0,3\n2,0,5,1,4,1,3,0,\n", encoding="utf-8")
    (folder / "raw_sample.csv").write_text(
        "user,time_stamp,adgroup_id,pid,nonclk,clk\n1,10,7,p,1,0\n2,11,8,p,0,1\n", encoding="utf-8"
    )
    (folder / "ad_feature.csv").write_text(
        "adgroup_id,cate_id,campaign_id,customer,brand,price\n8,1,2,3,NULL,9.5\n", encoding="utf-8"
    )
    done = fairwitness("data", "download", "--dataset", "alibaba", "--source", folder, "--out", tmp_path / "out", "--json")
    assert [entry["rows"] for entry in json.loads(done.out)] == [2, 1, 1]
    assert pl.read_parquet(tmp_path / "out" / "edges.parquet").rows() == [(2, 8, "click", "11")]
    assert pl.read_parquet(tmp_path / "out" / "users.parquet")["consumption"].to_list() == [None, 1]
