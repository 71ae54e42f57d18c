"""Loading: everybody is who their id says, whatever the order of rows; isolated users stay; faults are named."""

import os
from pathlib import Path

import numpy as np
import pytest
from tests.graphs.toy import N, write_toy

from fairwitness.errors import InputError
from fairwitness.graphs.published import Layout, load_published

SHARED = os.environ.get("FAIRWITNESS_SHARED")


def load(folder: Path, **options: object) -> object:
    return load_published(Layout(dataset="nba", folder=folder, **options))  # type: ignore[arg-type]


def test_row_order_of_the_users_changes_nothing(tmp_path: Path) -> None:
    """The published misalignment: positions among some users taken for rows of all users. Here ids decide."""
    order = np.random.default_rng(3).permutation(N).tolist()
    plain, shuffled = load(write_toy(tmp_path / "a")), load(write_toy(tmp_path / "b", order=order))
    assert np.array_equal(plain.user_ids, shuffled.user_ids)
    assert np.array_equal(plain.edges, shuffled.edges)
    assert np.array_equal(plain.fields, shuffled.fields)
    for name in plain.columns:
        assert np.array_equal(plain.columns[name].codes, shuffled.columns[name].codes), name
    for one, other in zip(plain.relations.attributes, shuffled.relations.attributes, strict=True):
        assert np.array_equal(one.codes, other.codes)


def test_isolated_users_stay_and_are_reported(tmp_path: Path) -> None:
    graph = load(write_toy(tmp_path))
    assert graph.n_users == N
    assert not graph.connected[N - 1]
    assert graph.notes["isolated_users"] == int((~graph.connected).sum()) >= 1


def test_target_file_is_joined_by_id(tmp_path: Path) -> None:
    write_toy(tmp_path)
    rows = list(range(N))[::-1]
    (tmp_path / "target.csv").write_text("user_id,grade\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in rows))
    grade = load(tmp_path, target_path=tmp_path / "target.csv").columns["grade"]
    assert grade.values == ("a", "b")
    assert grade.codes.tolist() == [i % 2 for i in range(N)]


@pytest.mark.parametrize(
    ("line", "word", "note"),
    [
        ("0,999\n", "unknown users", "unknown_user_edges"),
        ("5,5\n", "self edges", "self_edges"),
        (None, "repeats", "duplicate_edges"),
    ],
)
def test_edge_faults(tmp_path: Path, line: str | None, word: str, note: str) -> None:
    write_toy(tmp_path)
    path = tmp_path / "edges.csv"
    clean = load(tmp_path)
    text = path.read_text()
    path.write_text(text + (line or text.splitlines()[1] + "\n"))
    with pytest.raises(InputError, match=word):
        load(tmp_path)
    dropped = load(tmp_path, edge_faults="drop")
    assert dropped.notes[note] == 1
    assert np.array_equal(dropped.edges, clean.edges)


def test_both_directions_are_one_edge(tmp_path: Path) -> None:
    write_toy(tmp_path)
    path = tmp_path / "edges.csv"
    before = load(tmp_path).edges
    first, second = path.read_text().splitlines()[1].split(",")
    lines = set(path.read_text().splitlines()[1:]) | {f"{second},{first}"}
    path.write_text("uid1,uid2\n" + "\n".join(sorted(lines)) + "\n")
    assert np.array_equal(load(tmp_path).edges, before)


def test_gaps_in_features_are_refused(tmp_path: Path) -> None:
    write_toy(tmp_path)
    fields = np.load(tmp_path / "points.npy").astype(float)
    fields[4, 2] = np.nan
    np.save(tmp_path / "points.npy", fields)
    with pytest.raises(InputError, match=r"NaN.*row 4"):
        load(tmp_path)
    write_toy(tmp_path)
    text = (tmp_path / "features.csv").read_text().splitlines()
    text[3] = "2,,181,82"
    (tmp_path / "features.csv").write_text("\n".join(text) + "\n")
    with pytest.raises(InputError, match="'pts' has 1 empty"):
        load(tmp_path)


def test_a_user_named_twice_is_refused(tmp_path: Path) -> None:
    write_toy(tmp_path, order=[0, *range(N)])
    with pytest.raises(InputError, match="user 0 more than once"):
        load(tmp_path)


def test_wrong_number_of_field_rows_is_refused(tmp_path: Path) -> None:
    write_toy(tmp_path)
    np.save(tmp_path / "points.npy", np.zeros((N - 1, 10), dtype=np.int64))
    with pytest.raises(InputError, match=f"{N - 1} rows but there are {N} users"):
        load(tmp_path)


def test_pickled_arrays_are_not_opened(tmp_path: Path) -> None:
    write_toy(tmp_path)
    np.save(tmp_path / "points.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="safely"):
        load(tmp_path)


def test_a_measurement_among_the_columns_is_in_nobodys_way(tmp_path: Path) -> None:
    write_toy(tmp_path, columns={"income": [i + 0.5 for i in range(N)]})
    graph = load(tmp_path)
    assert "income" not in graph.columns
    with pytest.raises(InputError, match="fractions"):
        graph.column("income", "--label")


def test_a_pickled_graph_is_refused_only_where_it_is_needed(tmp_path: Path) -> None:
    import torch

    from fairwitness.graphs.generator import generate
    from fairwitness.graphs.runner import build_learner
    from fairwitness.graphs.settings import Experiment

    generate("jd", scale=0.002).write(tmp_path)
    (tmp_path / "G.npz").rename(tmp_path / "G.pkl")
    graph = load_published(Layout(dataset="jd", folder=tmp_path))
    build_learner(graph, 3, Experiment(model="catgcn", seed=1), torch.device("cpu"))
    with pytest.raises(InputError, match="pickled DGL graph"):
        build_learner(graph, 3, Experiment(model="rhgn", seed=1), torch.device("cpu"))


def test_tables_saved_by_torch_are_read(tmp_path: Path) -> None:
    import torch

    write_toy(tmp_path)
    vectors = torch.randn(6, 200)
    torch.save(vectors, tmp_path / "pts_feature.npy")
    assert np.allclose(load(tmp_path).relations.attributes[0].vectors, vectors.numpy())


@pytest.mark.shared
@pytest.mark.skipif(not SHARED, reason="needs FAIRWITNESS_SHARED")
@pytest.mark.parametrize(("dataset", "users", "edges", "isolated"), [("nba", 403, 10_621, 3), ("pokec", 13_504, 17_229, 4_124)])
def test_published_counts(dataset: str, users: int, edges: int, isolated: int) -> None:
    folder = Path(SHARED or "") / "data" / "user_graphs" / dataset
    graph = load_published(Layout(dataset=dataset, folder=folder))
    assert (graph.n_users, graph.edges.shape[1], graph.notes["isolated_users"]) == (users, edges, isolated)
    stored = np.load(folder / "rhgn" / "G.npz")
    for attribute in graph.relations.attributes:
        assert np.array_equal(stored[f"user1_{attribute.name}"], attribute.codes)
    for name in graph.columns:
        if f"user1_{name}" in stored:
            assert np.array_equal(stored[f"user1_{name}"], graph.columns[name].codes)
