"""The recipe end to end on a tiny graph: predictions, fairness tables, seeds, views, curve, and bad input."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.graphs.toy import N, write_toy

from fairwitness import runs
from fairwitness.audits.user_model import UserModelConfig, user_model
from fairwitness.audits.user_model_curve import CurveConfig, accuracy_gap_curve
from fairwitness.audits.user_model_tables import over_seeds, performance
from fairwitness.audits.user_model_views import ViewsConfig, compare_views
from fairwitness.errors import InputError, RunError

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def config(folder: Path, **changes) -> UserModelConfig:
    usual = {"model": "catgcn", "dataset": "nba", "label": "salary", "graph_layer": "pna", "epochs": 6, "min_group_size": 1}
    usual |= {"data_dir": folder / "toy", "out": folder / "run", "sens_attr": ("age", "country"), "charts": False, "seed": 3}
    return UserModelConfig(**(usual | changes))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_toy(tmp_path / "toy")
    return tmp_path


def test_predictions_carry_each_users_own_attributes(folder: Path) -> None:
    user_model(config(folder))
    preds = pl.read_parquet(folder / "run" / "preds.parquet")
    users = pl.read_csv(folder / "toy" / "users.csv")
    assert preds.height == N
    joined = preds.join(users, on="user_id", suffix="_file")
    for name in ("age", "country", "salary"):
        assert joined[name].to_list() == joined[f"{name}_file"].to_list()
    assert joined["label"].to_list() == joined["salary_file"].to_list()
    test = pl.read_parquet(folder / "run" / "test.parquet")
    assert set(test["user_id"]) == set(preds.filter(pl.col("split") == "test")["user_id"])


def test_row_order_of_the_files_changes_no_prediction(folder: Path) -> None:
    user_model(config(folder))
    write_toy(folder / "toy", order=np.random.default_rng(1).permutation(N).tolist())
    user_model(config(folder, out=folder / "again"))
    first, again = (pl.read_parquet(folder / name / "preds.parquet") for name in ("run", "again"))
    assert first.equals(again)


def test_an_isolated_user_keeps_its_row_and_can_be_excluded(folder: Path) -> None:
    user_model(config(folder))
    preds = pl.read_parquet(folder / "run" / "preds.parquet")
    assert preds.filter(pl.col("user_id") == N - 1)["split"][0] in ("train", "validation", "test")
    result = user_model(config(folder, out=folder / "without", isolated="exclude"))
    preds = pl.read_parquet(folder / "without" / "preds.parquet")
    assert preds.filter(pl.col("user_id") == N - 1)["split"][0] == "none"
    assert result.facts["graph"]["isolated_users"] >= 1


def test_a_second_call_reads_and_another_question_stops(folder: Path) -> None:
    first = user_model(config(folder))
    stamp = (folder / "run" / "model.pt").stat().st_mtime_ns
    again = user_model(config(folder))
    assert (folder / "run" / "model.pt").stat().st_mtime_ns == stamp
    assert first.tables["multigroup"].equals(again.tables["multigroup"])
    with pytest.raises(RunError, match="dropout"):
        user_model(config(folder, dropout=0.3))
    text = (folder / "toy" / "edges.csv").read_text().splitlines()
    (folder / "toy" / "edges.csv").write_text("\n".join(text[:-1]) + "\n")
    with pytest.raises(RunError, match=r"edges\.csv"):
        user_model(config(folder))


@pytest.mark.parametrize("model", ["rhgn", "logistic", "mlp"])
def test_every_model_goes_through_the_same_door(folder: Path, model: str) -> None:
    result = user_model(config(folder, model=model, n_hid=8, batch_size=0, epochs=3, sens_attr=("age*country",)))
    assert result.tables["multigroup"]["attribute"].unique().to_list() == ["age*country"]
    assert json.loads(result.to_json())["accuracy"] is not None


def test_missing_sensitive_values_are_failed_rows(folder: Path) -> None:
    age = [None if i % 5 == 0 else i % 3 for i in range(N)]
    write_toy(folder / "toy", columns={"age": age})
    user_model(config(folder))
    preds = pl.read_parquet(folder / "run" / "preds.parquet")
    assert preds.filter(pl.col("error").is_not_null())["user_id"].to_list() == list(range(0, N, 5))
    counts = runs.read_manifest(folder / "run")
    failed = pl.read_parquet(folder / "run" / "test.parquet")["error"].is_not_null().sum()
    assert counts["preds"]["counts"]["failed"] == counts["fairness"]["counts"]["failed"] == failed


def test_labels_may_be_words_and_may_be_missing(folder: Path) -> None:
    words = [None if i == 7 else ("low", "mid", "top")[i % 3] for i in range(N)]
    write_toy(folder / "toy", columns={"salary": words})
    result = user_model(config(folder))
    preds = pl.read_parquet(folder / "run" / "preds.parquet")
    assert result.facts["classes"] == ["low", "mid", "top"]
    assert set(preds["pred"].unique()) <= {"low", "mid", "top"}
    assert preds.row(7, named=True)["split"] == "none"
    assert {"prob_low", "prob_mid", "prob_top"} <= set(preds.columns)
    assert set(result.tables["multigroup"]["class"].drop_nulls().unique()) <= {"low", "mid", "top"}


def test_labels_need_not_start_at_nought(folder: Path) -> None:
    write_toy(folder / "toy", columns={"salary": [(10, 20, 70)[i % 3] for i in range(N)]})
    assert user_model(config(folder)).facts["classes"] == ["10", "20", "70"]


def test_several_seeds_have_mean_and_spread(folder: Path) -> None:
    result = user_model(config(folder, seed=None, seeds=(3, 11, 42)))
    by_seed, summary = result.tables["by_seed"], result.tables["seeds"]
    accuracy = by_seed.filter(pl.col("metric") == "accuracy")["value"]
    row = summary.filter(pl.col("metric") == "accuracy").row(0, named=True)
    assert (row["mean"], row["sd"], row["n_seeds"]) == (pytest.approx(accuracy.mean()), pytest.approx(accuracy.std()), 3)
    for seed in (3, 11, 42):
        assert (folder / "run" / f"seed_{seed}" / "preds.parquet").exists()


def test_undefined_values_are_counted_over_seeds() -> None:
    rows = {"seed": [1, 2], "metric": ["m", "m"], "attribute": ["a", "a"], "class": ["0", "0"], "value": [0.5, None], "n": [3, 3]}
    row = over_seeds(pl.DataFrame(rows)).row(0, named=True)
    assert (row["mean"], row["sd"], row["n_seeds"], row["n_undefined"]) == (0.5, None, 1, 1)


def test_performance_is_scikit_learns() -> None:
    from sklearn.metrics import accuracy_score, f1_score

    generator = np.random.default_rng(0)
    truth, pred = generator.integers(0, 4, 50), generator.integers(0, 3, 50)
    table = performance(pl.DataFrame({"label": truth, "pred": pred}), (0, 1, 2, 3))
    found = {row["metric"]: row["value"] for row in table.to_dicts() if row["class"] is None}
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, pred))
    assert found["macro_f1"] == pytest.approx(f1_score(truth, pred, average="macro"))
    assert table.filter((pl.col("metric") == "precision") & (pl.col("class") == "3"))["value"][0] is None


def test_views_show_what_binarising_hides(folder: Path) -> None:
    user_model(config(folder))
    result = compare_views(ViewsConfig(run=folder / "run", sens_attr=("age",), min_group_size=1))
    table = result.table
    assert table.height == 16
    full = table.filter(pl.col("view") == "multiclass × multigroup")
    assert full["hidden"].drop_nulls().abs().max() == 0
    test = pl.read_parquet(folder / "run" / "test.parquet")
    rates = test.with_columns(one=pl.col("age") == 2, hit=pl.col("pred") == "2").group_by("one").agg(pl.col("hit").mean())["hit"]
    both = table.filter((pl.col("view") == "binary × binary groups") & (pl.col("metric") == "statistical_parity"))
    assert both["spread"][0] == pytest.approx(rates.max() - rates.min())


def test_views_take_rules_of_ones_own(folder: Path) -> None:
    user_model(config(folder))
    asked = ViewsConfig(run=folder / "run", sens_attr=("country",), min_group_size=1)
    with pytest.raises(InputError, match="--binarise country=VALUE"):
        compare_views(asked)
    assert compare_views(replace(asked, binarise=("country=1", "salary=0+1"))).table.height == 16
    with pytest.raises(InputError, match="no finished user model"):
        compare_views(ViewsConfig(run=folder / "toy"))


def test_curve_over_strengths(folder: Path) -> None:
    plain = config(folder)
    asked = CurveConfig(
        **{name: getattr(plain, name) for name in plain.__dataclass_fields__} | {"strengths": (0.0, 2.0), "charts": True}
    )
    result = accuracy_gap_curve(replace(asked, seed=None, seeds=(3, 4)))
    assert result.table["strength"].to_list() == [0.0, 2.0]
    assert result.table["n_seeds"].to_list() == [2, 2]
    assert (folder / "run" / "curve.png").stat().st_size > 5000


def test_heat_maps_are_drawn(folder: Path) -> None:
    result = user_model(config(folder, charts=True))
    assert (folder / "run" / "heatmap_age.png") in result.files
    assert (folder / "run" / "heatmap_age.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"label": "salry"}, "Did you mean --label salary"),
        ({"sens_attr": ("agee",)}, "Did you mean --sens-attr age"),
        ({"graph_layer": "pma"}, "pna, none, sgc, gcn, gat"),
        ({"model": "catgnc"}, "Did you mean 'catgcn'"),
        ({"dataset": "nbaa"}, "Did you mean 'nba'"),
        ({"train_ratio": 0.999}, "part is empty"),
        ({"learning_rate": -1.0}, "learning rate"),
        ({"dropout": 1.5}, "--dropout"),
        ({"weight_balanced": "maybe"}, "True or False"),
        ({"epochs": 5, "n_epoch": 6}, "same setting"),
        ({"seed": 1, "seeds": (2,)}, "not both"),
        ({"seeds": (2, 2), "seed": None}, "twice"),
        ({"isolated": "drop"}, "keep or exclude"),
        ({"edge_faults": "ignore"}, "error, drop"),
        ({"clustering_method": "mets"}, "Did you mean 'metis'"),
        ({"model": "rhgn", "n_hid": 30}, "--n-hid"),
        ({"data_dir": Path("nowhere")}, "not a folder"),
        ({"model": "rhgn", "fanout": -1}, "--fanout"),
    ],
)
def test_bad_input_is_named(folder: Path, changes: dict, word: str) -> None:
    with pytest.raises(InputError, match=word):
        user_model(config(folder, **changes))


def test_a_label_of_one_class_is_refused(folder: Path) -> None:
    write_toy(folder / "toy", columns={"salary": [1] * N})
    with pytest.raises(InputError, match="one class"):
        user_model(config(folder))


def test_a_killed_run_goes_on_and_gives_the_same_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    from fairwitness.audits import user_model as module

    user_model(config(folder, out=folder / "whole"))
    calls: list[int] = []

    @contextmanager
    def counting(_what, _total, _unit):
        def advance(done: int, note: str = "") -> None:
            calls.append(done)
            assert "val acc" in note
            if len(calls) == 4:
                raise KeyboardInterrupt

        yield advance

    monkeypatch.setattr(module, "progress", counting)
    with pytest.raises(KeyboardInterrupt):
        user_model(config(folder, checkpoint_s=0.0))
    assert (folder / "run" / ".parts" / "preds" / "checkpoint.pt").exists()
    user_model(config(folder, checkpoint_s=0.0))
    assert len(calls) < 4 + 6
    assert not (folder / "run" / ".parts").exists()
    for name in ("preds.parquet", "test.parquet", "history.csv", "performance.csv", "fairness.multigroup.csv"):
        assert (folder / "run" / name).read_bytes() == (folder / "whole" / name).read_bytes(), name
