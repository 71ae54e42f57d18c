"""Builders from raw files, and the generator: what they write is what the loader reads."""

import os
from pathlib import Path

import numpy as np
import pytest

from fairwitness.errors import InputError
from fairwitness.graphs.clicks import co_click_edges, sample_fields
from fairwitness.graphs.generator import generate
from fairwitness.graphs.published import Layout, load_published
from fairwitness.graphs.raw import build

SHARED = os.environ.get("FAIRWITNESS_SHARED")
needs_shared = pytest.mark.skipif(not SHARED, reason="needs FAIRWITNESS_SHARED")


def data(name: str) -> Path:
    return Path(SHARED or "") / "data" / "user_graphs" / name


@pytest.mark.shared
@needs_shared
def test_nba_from_raw_is_the_published_graph(tmp_path: Path) -> None:
    build("nba", data("nba_fairgnn_raw"), tmp_path)
    ours, theirs = (load_published(Layout(dataset="nba", folder=folder)) for folder in (tmp_path, data("nba")))
    assert np.array_equal(ours.edges, theirs.edges)
    assert np.array_equal(ours.fields, theirs.fields)
    assert all(np.array_equal(ours.columns[name].codes, theirs.columns[name].codes) for name in theirs.columns)


@pytest.mark.shared
@needs_shared
def test_the_stand_in_builds_with_its_gaps(tmp_path: Path) -> None:
    counts = build("alibaba", data("alibaba_ecomm"), tmp_path)
    graph = load_published(Layout(dataset="alibaba", folder=tmp_path))
    assert counts["users"] == graph.n_users == 1476
    assert graph.columns["age"].n_missing > 0
    assert graph.relations is not None


@pytest.mark.shared
@needs_shared
def test_a_sample_without_matching_items_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no graph is left"):
        build("jd", data("jd_raw_sample"), tmp_path)


def write_jd(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "user").write_text("user_id,gender,age_range\n70,0,21~25\n50,1,31~35\n60,1,71~\n90,0,16~20\n")
    (folder / "user_click").write_text("user_id,item_id,datetime,dt\n70,3,a,b\n50,3,a,b\n50,4,a,b\n60,4,a,b\n60,9,a,b\n70,3,a,b\n")
    (folder / "user_order").write_text("user_id,item_id,count,datetime,dt\n50,4,2,a,b\n60,3,1,a,b\n")
    names = "item_id,cid1,cid2,cid3,cid1_name,cid2_name,cid3_name,brand_code,price,item_name,seg_name"
    (folder / "item_info").write_text(f"{names}\n4,1,2,3,a,b,c,7.0,10.0,x,y\n3,1,2,5,a,b,c,,4.0,x,y\n8,1,2,5,a,b,c,,4.0,x,y\n")
    return folder


def test_jd_from_raw(tmp_path: Path) -> None:
    counts = build("jd", write_jd(tmp_path / "raw"), tmp_path / "out")
    assert (counts["users"], counts["items"], counts["clicks"]) == (3, 2, 4)
    assert counts["users_left_out"] == 1
    graph = load_published(Layout(dataset="jd", folder=tmp_path / "out"))
    # Raw order is 70, 50, 60: codes of age, and who clicked the same item.
    assert graph.columns["age"].codes.tolist() == [0, 1, 2]
    assert graph.columns["age"].values == (0, 1, 4)
    assert graph.columns["bin_age"].decoded() == [1, 1, 0]
    assert graph.columns["expense"].decoded() == [0, 2, 1]
    assert graph.edges.T.tolist() == [[0, 1], [1, 2]]
    assert graph.relations is not None
    assert graph.relations.edges["user", "purchase", "item"].shape[1] == 2


def test_alibaba_from_raw(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    profile = (
        "userid,cms_segid,cms_group_id,final_gender_code,age_level,pvalue_level,shopping_level,occupation,new_user_class_level "
    )
    (raw / "user_profile.csv").write_text(f"{profile}\n5,0,0,2,3,1,3,0,1\n6,0,0,1,5,2,3,1,2\n7,0,0,1,3,,3,0,1\n")
    (raw / "ad_feature.csv").write_text("adgroup_id,cate_id,campaign_id,customer,brand,price\n1,10,1,1,3,9\n2,11,2,1,,9\n")
    shown = [(5, 1, 1), (6, 1, 1), (6, 2, 1), (5, 2, 0), (7, 1, 1)]
    lines = [f"{u},0,{a},p,{1 - c},{c}" for u, a, c in shown]
    (raw / "raw_sample.csv").write_text("user,time_stamp,adgroup_id,pid,nonclk,clk\n" + "\n".join(lines) + "\n")
    counts = build("alibaba", raw, tmp_path / "out")
    graph = load_published(Layout(dataset="alibaba", folder=tmp_path / "out"))
    assert counts["users"] == 2  # user 7 has no consumption grade
    assert counts["items"] == 1  # the other ad has one click
    assert graph.columns["bin_age"].decoded() == [1, 0]
    assert graph.columns["bin_buy"].decoded() == [0, 1]
    assert graph.edges.T.tolist() == [[0, 1]]


def test_pokec_from_raw(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    names = (
        "user_id,public,completion_percentage,gender,region,AGE,I_am_working_in_field,spoken_languages_indicator,hobbies_indicator"
    )
    rows = ["9,1,50,0,1,20,3,1,0", "8,0,60,1,0,40,1,0,1", "7,0,60,1,0,0,1,0,1", "6,0,70,1,0,16,3,0,1"]
    (raw / "region_job.csv").write_text("\n".join([names, *rows]) + "\n")
    (raw / "region_job_relationship.txt").write_text("9\t8\n8\t9\n6\t7\n6\t6\n")
    counts = build("pokec", raw, tmp_path / "out")
    graph = load_published(Layout(dataset="pokec", folder=tmp_path / "out"))
    assert counts["users"] == 3
    assert counts["users_left_out"] == 1
    assert graph.columns["work_field"].decoded() == [0, 1, 0]
    assert graph.columns["age"].decoded() == [1, 4, 2]
    assert graph.edges.T.tolist() == [[0, 1]]
    assert graph.notes["isolated_users"] == 1


def test_co_click_edges_against_pairs_by_hand() -> None:
    generator = np.random.default_rng(0)
    users, items = generator.integers(0, 15, 80), generator.integers(0, 20, 80)
    clicks = set(zip(users.tolist(), items.tolist(), strict=True))
    expected = {(a, b) for a, i in clicks for b, j in clicks if i == j}
    pairs = np.array(sorted(clicks)).T
    assert {tuple(p) for p in co_click_edges(pairs[0], pairs[1], 15).T.tolist()} == expected


def test_fields_come_from_the_users_clicks() -> None:
    users = np.concatenate([np.zeros(12, int), [1, 1]])
    categories = np.concatenate([np.arange(12), [5, 7]])
    fields = sample_fields(users, categories, 2)
    assert len(set(fields[0].tolist())) == 10
    assert set(fields[1].tolist()) <= {5, 7}


def test_generated_files_are_the_generated_graph(tmp_path: Path) -> None:
    made = generate("jd", scale=0.005, seed=3)
    made.write(tmp_path)
    loaded, direct = load_published(Layout(dataset="jd", folder=tmp_path)), made.graph()
    assert np.array_equal(loaded.edges, direct.edges)
    assert np.array_equal(loaded.columns["age"].codes, direct.columns["age"].codes)
    assert loaded.relations is not None
    assert direct.relations is not None
    for relation, pairs in direct.relations.edges.items():
        assert np.array_equal(np.sort(loaded.relations.edges[relation]), np.sort(pairs))


def test_generated_size_and_frequencies_are_near_the_published() -> None:
    made = generate("alibaba", scale=0.02)
    assert len(made.fields) == 3339
    assert made.edges.shape[1] == pytest.approx(29_061_406 * 0.02, rel=0.35)
    assert (made.columns["gender"] == 0).mean() == pytest.approx(124_766 / 166_958, abs=0.03)
    assert np.array_equal(made.edges, generate("alibaba", scale=0.02).edges)


@pytest.mark.parametrize(("dataset", "scale", "word"), [("nba", 1.0, "alibaba, jd"), ("jd", 0.0, "--scale")])
def test_wrong_asks_are_refused(dataset: str, scale: float, word: str) -> None:
    with pytest.raises(InputError, match=word):
        generate(dataset, scale=scale)
