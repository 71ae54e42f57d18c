"""One training of one model on one graph with one seed: builds the learner, seeds everything, trains, predicts everybody.

This is what audits call, so that nothing above has to know torch.
"""

import io
import json
import os
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairwitness.errors import InputError, ModelError, suggestion
from fairwitness.files import write_bytes
from fairwitness.graphs.baselines import Logistic, Perceptron
from fairwitness.graphs.catgcn import CatGCN
from fairwitness.graphs.clustering import cluster
from fairwitness.graphs.columns import Codes
from fairwitness.graphs.learners import Clusters, FieldsOnly, Learner, Neighbourhoods, WholeGraph
from fairwitness.graphs.rhgn import RHGN
from fairwitness.graphs.settings import FEATURES, MODELS, CatGCNSettings, Experiment, RHGNSettings, TrainSettings
from fairwitness.graphs.splits import Split, draw
from fairwitness.graphs.trainer import Target, fit, probabilities
from fairwitness.graphs.user_graph import Array, UserGraph
from fairwitness.graphs.weighting import class_weights, group_weights


@dataclass(frozen=True)
class Trained:
    """What came of it: everybody's class probabilities, the parts, each epoch's record, which epoch's weights were kept."""

    probabilities: Array
    split: Split
    history: list[dict[str, float]]
    best_epoch: int
    n_parameters: int
    device: str
    seconds_per_epoch: float
    weights: Mapping[str, Any]


def run_experiment(
    graph: UserGraph,
    label: Codes,
    experiment: Experiment,
    *,
    rows: Array | None = None,
    groups: Codes | None = None,
    checkpoint: Path | None = None,
    identity: str = "",
    on_epoch: Callable[[dict[str, float]], None] | None = None,
) -> Trained:
    """Train and predict. `rows` are the users that may be in a part (all with a label by default)."""
    rows = np.arange(graph.n_users) if rows is None else rows
    split = draw(rows[label.codes[rows] >= 0], experiment.seed, train_ratio=experiment.train_ratio, method=experiment.split)
    target = learning_target(label, groups, split, experiment)
    device = pick_device(experiment.gpu)
    with reproducible(experiment.seed, device):
        learner = build_learner(graph, len(label.values), experiment, device)
        state = fit(learner, target, split, experiment.training, checkpoint=checkpoint, identity=identity, on_epoch=on_epoch)
        found = probabilities(learner)
    return Trained(
        probabilities=found,
        split=split,
        history=state.history,
        best_epoch=state.best_epoch,
        n_parameters=sum(p.numel() for p in learner.module.parameters()),
        device=str(device),
        seconds_per_epoch=float(np.median([record["seconds"] for record in state.history])),
        weights={name: value.cpu() for name, value in state.best.items()},
    )


def learning_target(label: Codes, groups: Codes | None, split: Split, experiment: Experiment) -> Target:
    """Labels and loss weights. Weights come from the training part alone."""
    n_classes = len(label.values)
    if n_classes < 2:
        raise InputError(
            f"The label has {'one class' if n_classes else 'no values'} ({list(label.values)}); two are needed to learn."
        )
    train = label.codes[split.train]
    if len(np.unique(train)) < 2:
        raise InputError(
            f"All {len(train)} users of the training part have the same label. Try another --seed or a larger --train-ratio."
        )
    by_class = class_weights(train, n_classes) if experiment.weight_balanced else np.ones(n_classes)
    if experiment.weight_balanced:
        # A class that training never sees has no weight; validation rows of it count like any other.
        by_class = np.where(by_class > 0, by_class, 1.0)
    by_row = np.ones(len(label.codes))
    if experiment.reweight:
        if groups is None:
            raise InputError("--reweight needs a sensitive attribute: --sens-attr.")
        by_row[split.train] = group_weights(train, groups.codes[split.train], experiment.reweight)
    return Target(label.codes, by_class, by_row)


def build_learner(graph: UserGraph, n_classes: int, experiment: Experiment, device: torch.device) -> Learner:
    """The learner of the model that is asked for."""
    if experiment.model not in MODELS:
        raise InputError(
            f"Unknown model '{experiment.model}'. There are: {', '.join(MODELS)}.{suggestion(experiment.model, MODELS)}"
        )
    if experiment.model == "rhgn":
        return _rhgn(graph, n_classes, experiment, device)
    fields = features_of(graph, experiment.features if experiment.model != "catgcn" else "fields")
    count = int(fields.max()) + 1
    if experiment.model == "logistic":
        return FieldsOnly(Logistic(count, n_classes), fields, device)
    if experiment.model == "mlp":
        return FieldsOnly(Perceptron(count, n_classes, hidden=experiment.hidden, dropout=experiment.catgcn.dropout), fields, device)
    module = CatGCN(experiment.catgcn, count, n_classes)
    membership = (
        cluster(
            graph.edges, graph.n_users, method=experiment.clustering_method, number=experiment.cluster_number, seed=experiment.seed
        )
        if experiment.clustering_method != "none"
        else None
    )
    if membership is None:
        return WholeGraph(module, fields, graph.edges, device)
    return Clusters(module, fields, graph.edges, membership, device)


def features_of(graph: UserGraph, kind: str) -> Array:
    """The users' category codes [n, S]: CatGCN's fields, or RHGN's attributes where users have any."""
    if kind not in FEATURES:
        raise InputError(f"--features is '{kind}'; it is one of: {', '.join(FEATURES)}.")
    if kind == "fields":
        if graph.fields is None:
            raise InputError(f"The category fields of {graph.dataset} are not in the data folder. Give --field-path the .npy file.")
        return graph.fields
    relations = graph.relations
    if relations is None or relations.target == "user":
        raise InputError(f"--features attributes: the users of {graph.dataset} have no attributes of their own here.")
    starts = np.cumsum([0, *(len(a.vectors) for a in relations.attributes[:-1])])
    return np.stack([a.codes + start for a, start in zip(relations.attributes, starts, strict=True)], axis=1)


def _rhgn(graph: UserGraph, n_classes: int, experiment: Experiment, device: torch.device) -> Learner:
    if graph.relations is None and "relations" in graph.reasons:
        raise InputError(graph.reasons["relations"])
    if graph.relations is None:
        raise InputError(f"RHGN's files of {graph.dataset} are not in the data folder: features.csv, or G.npz for users and items.")
    if experiment.batch_size < 0 or experiment.fanout < 0:
        raise InputError("--batch-size and --fanout are not negative; 0 means the whole graph, and all neighbours.")
    module = RHGN(experiment.rhgn, graph.relations, n_classes, seed=experiment.seed)
    fanouts = [experiment.fanout or None] * experiment.rhgn.n_layers
    return Neighbourhoods(
        module, graph.relations, batch_size=experiment.batch_size, fanouts=fanouts, seed=experiment.seed, device=device
    )


def pick_device(gpu: int) -> torch.device:
    """GPU number `gpu` where there is CUDA, else the CPU; −1 asks for the CPU."""
    if gpu < 0 or not torch.cuda.is_available():
        return torch.device("cpu")
    if gpu >= torch.cuda.device_count():
        raise InputError(
            f"--gpu is {gpu}, but there are {torch.cuda.device_count()} GPUs (0 … {torch.cuda.device_count() - 1}); −1 is the CPU."
        )
    return torch.device("cuda", gpu)


@contextmanager
def reproducible(seed: int, device: torch.device) -> Iterator[None]:
    """Seeds and deterministic kernels inside; the caller's random state and settings come back afterwards."""
    if not 0 <= seed < 2**32:
        raise InputError(f"--seed is {seed}; it lies between 0 and 4294967295.")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    memory: Any = torch.utils.deterministic
    filled = memory.fill_uninitialized_memory
    python_state = random.getstate()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*deterministic.*")
        torch.use_deterministic_algorithms(True, warn_only=True)
        # Nothing here reads memory before writing it, so filling it first would only cost time.
        memory.fill_uninitialized_memory = False
        torch.manual_seed(seed)
        random.seed(seed)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)
            memory.fill_uninitialized_memory = filled
            random.setstate(python_state)


def save_model(path: Path, trained: Trained, experiment: Experiment, classes: tuple[Any, ...]) -> Path:
    """Weights and settings in one file, without anything that would have to be unpickled."""
    held = {"settings": json.dumps(asdict(experiment)), "classes": json.dumps(list(classes)), "weights": dict(trained.weights)}
    # Given a path, torch writes its name into the archive, and the temporary one is random: as a stream the bytes are the same.
    # And to a full disk torch writes with an error of its own.
    stream = io.BytesIO()
    torch.save(held, stream)
    write_bytes(path, stream.getvalue())
    return path


def load_model(path: Path, graph: UserGraph) -> tuple[Array, list[Any]]:
    """Everybody's class probabilities from a saved model on this graph, and the classes."""
    try:
        held = torch.load(path, weights_only=True, map_location="cpu")
        settings = json.loads(held["settings"])
    except Exception as error:
        raise ModelError(f"{path} is not a user model that fairwitness saved.") from error
    shapes = {"catgcn": CatGCNSettings, "rhgn": RHGNSettings, "training": TrainSettings}
    experiment = Experiment(**{k: shapes[k](**v) if k in shapes else v for k, v in settings.items()})
    classes = json.loads(held["classes"])
    learner = build_learner(graph, len(classes), experiment, pick_device(experiment.gpu))
    learner.module.load_state_dict(held["weights"])
    return probabilities(learner), classes
