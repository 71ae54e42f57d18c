"""The trainer: best weights come back, an interrupted training ends like an uninterrupted one, test labels leak nowhere."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.graphs.toy import N, write_toy

from fairwitness.errors import InputError
from fairwitness.graphs import trainer
from fairwitness.graphs.columns import Codes
from fairwitness.graphs.published import Layout, load_published
from fairwitness.graphs.runner import (
    build_learner,
    learning_target,
    load_model,
    reproducible,
    run_experiment,
    save_model,
)
from fairwitness.graphs.settings import Experiment, RHGNSettings, TrainSettings
from fairwitness.graphs.splits import draw
from fairwitness.graphs.trainer import fit, weighted_loss


@pytest.fixture
def graph(tmp_path: Path):
    return load_published(Layout(dataset="nba", folder=write_toy(tmp_path / "toy")))


def experiment(model: str = "catgcn", seed: int = 5, **changes) -> Experiment:
    settings = {"epochs": 12, "patience": 0, "learning_rate": 0.05, "checkpoint_s": 0.0} | changes.pop("training", {})
    if model == "rhgn":
        settings |= {"optimiser": "adamw", "one_cycle": True, "clip": 1.0, "select": "val_accuracy"}
    rhgn = RHGNSettings(n_hid=8, n_heads=2)
    return Experiment(model=model, seed=seed, rhgn=rhgn, training=TrainSettings(**settings), batch_size=16, **changes)


def everything(graph, one: Experiment, column: str = "salary"):
    """Learner, target and split of an experiment, without training."""
    label = graph.columns[column]
    split = draw(np.arange(N), one.seed, train_ratio=0.8, method="catgcn")
    with reproducible(one.seed, torch.device("cpu")):
        return build_learner(graph, 3, one, torch.device("cpu")), learning_target(label, None, split, one), split


def test_the_best_weights_come_back(graph) -> None:
    """The published code keeps a live reference, so its 'best' weights are the last ones."""
    one = experiment(training={"epochs": 40, "learning_rate": 0.5})
    # Nothing in the fields tells the age, so that training on makes validation worse.
    learner, target, split = everything(graph, one, "age")
    with reproducible(1, torch.device("cpu")):
        state = fit(learner, target, split, one.training)
        after = trainer._validate(learner, target, split.validation)["val_loss"]
    losses = [record["val_loss"] for record in state.history]
    assert state.best_epoch == int(np.argmin(losses)) < len(losses) - 1
    assert after == pytest.approx(min(losses), rel=1e-6)
    assert after < losses[-1]


def test_patience_stops(graph) -> None:
    one = experiment(training={"epochs": 500, "learning_rate": 0.5, "patience": 4})
    state = run_experiment(graph, graph.columns["salary"], one)
    assert len(state.history) == state.best_epoch + 1 + 4


@pytest.mark.parametrize("model", ["catgcn", "rhgn", "logistic", "mlp"])
def test_the_same_seed_gives_the_same_bytes(graph, model: str) -> None:
    first, again, other = (run_experiment(graph, graph.columns["salary"], experiment(model, seed)) for seed in (5, 5, 6))
    assert np.array_equal(first.probabilities, again.probabilities)
    assert not np.array_equal(first.probabilities, other.probabilities)


@pytest.mark.parametrize(("model", "changes"), [("catgcn", {}), ("rhgn", {}), ("rhgn", {"fanout": 2}), ("mlp", {})])
def test_an_interrupted_training_ends_like_an_uninterrupted_one(
    graph, tmp_path: Path, model: str, changes: dict, capsys: pytest.CaptureFixture[str]
) -> None:
    label = graph.columns["salary"]
    whole = run_experiment(graph, label, experiment(model, **changes))
    path = tmp_path / "checkpoint.pt"

    def stop(record: dict[str, float]) -> None:
        if record["epoch"] == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(graph, label, experiment(model, **changes), checkpoint=path, identity="a", on_epoch=stop)
    seen: list[float] = []
    resumed = run_experiment(
        graph, label, experiment(model, **changes), checkpoint=path, identity="a", on_epoch=lambda r: seen.append(r["epoch"])
    )
    assert seen[0] == 6
    assert capsys.readouterr().err == "Going on behind epoch 6 of a training that was cut off.\n"
    assert np.array_equal(whole.probabilities, resumed.probabilities)


def test_a_checkpoint_of_another_question_or_a_damaged_one_is_not_used(graph, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    run_experiment(graph, graph.columns["salary"], experiment(), checkpoint=path, identity="a")
    seen: list[float] = []
    run_experiment(
        graph, graph.columns["salary"], experiment(), checkpoint=path, identity="b", on_epoch=lambda r: seen.append(r["epoch"])
    )
    path.write_bytes(path.read_bytes()[:500])
    run_experiment(
        graph, graph.columns["salary"], experiment(), checkpoint=path, identity="b", on_epoch=lambda r: seen.append(r["epoch"])
    )
    assert seen.count(0) == 2


def test_class_weights_know_nothing_of_test_users(graph) -> None:
    """The published weights are counted over all users, test included."""
    one = experiment()
    _, target, split = everything(graph, one)
    changed = graph.columns["salary"].codes.copy()
    changed[split.test] = 0
    changed[split.validation] = 0
    other = learning_target(Codes((0, 1, 2), changed), None, split, one)
    assert np.array_equal(target.class_weights, other.class_weights)
    train = target.labels[split.train]
    assert target.class_weights == pytest.approx(len(train) / (3 * np.bincount(train, minlength=3)))


def test_group_weights_make_groups_and_labels_independent(graph) -> None:
    one = experiment(reweight=1.0)
    label, groups = graph.columns["salary"], graph.columns["age"]
    split = draw(np.arange(N), 5, train_ratio=0.8, method="catgcn")
    weights = learning_target(label, groups, split, one).row_weights[split.train]
    cells = np.zeros((3, 3))
    np.add.at(cells, (groups.codes[split.train], label.codes[split.train]), weights)
    joint = cells / cells.sum()
    assert joint == pytest.approx(np.outer(joint.sum(axis=1), joint.sum(axis=0)))


def test_weighted_loss_is_torchs(graph) -> None:
    _, target, split = everything(graph, experiment())
    scores = torch.randn(len(split.train), 3)
    labels = torch.from_numpy(target.labels[split.train])
    expected = torch.nn.functional.cross_entropy(scores, labels, weight=torch.from_numpy(target.class_weights).float())
    torch.testing.assert_close(weighted_loss(scores, split.train, target), expected)


@pytest.mark.parametrize("method", ["random", "metis"])
def test_clusters_train(graph, method: str) -> None:
    found = run_experiment(graph, graph.columns["salary"], experiment(clustering_method=method, cluster_number=4))
    assert found.probabilities.shape == (N, 3)
    assert found.probabilities.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("model", ["catgcn", "rhgn"])
def test_a_saved_model_predicts_the_same(graph, tmp_path: Path, model: str) -> None:
    one = experiment(model)
    trained = run_experiment(graph, graph.columns["salary"], one)
    path = save_model(tmp_path / "model.pt", trained, one, (0, 1, 2))
    found, classes = load_model(path, graph)
    assert classes == [0, 1, 2]
    assert np.allclose(found, trained.probabilities, atol=1e-12)


def test_too_high_a_rate_is_said(graph) -> None:
    with pytest.raises(InputError, match="learning rate"):
        run_experiment(graph, graph.columns["salary"], experiment(training={"learning_rate": float("nan")}))
