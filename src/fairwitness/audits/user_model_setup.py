"""From what was asked to what is trained: loads the graph, checks the columns, and fills in each model's published defaults."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwitness.errors import InputError, MissingExtraError, suggestion
from fairwitness.files import file_hash

if TYPE_CHECKING:
    from fairwitness.audits.user_model import UserModelConfig
    from fairwitness.graphs.columns import Codes
    from fairwitness.graphs.runner import Experiment
    from fairwitness.graphs.trainer import TrainSettings
    from fairwitness.graphs.user_graph import Array, UserGraph

# model → what the published code uses where nothing is said. The baselines are ours, and follow CatGCN's protocol.
PUBLISHED: dict[str, dict[str, Any]] = {
    "catgcn": {
        **{"seed": 42, "train_ratio": 0.8, "split": "catgcn", "epochs": 9999, "patience": 10, "select": "val_loss"},
        **{"rate": 0.1, "weight_decay": 1e-5, "clip": 0.0, "dropout": 0.5, "weight_balanced": True},
    },
    "rhgn": {
        **{"seed": 7, "train_ratio": 0.75, "split": "rhgn", "epochs": 50, "patience": 0, "select": "val_accuracy"},
        **{"rate": 0.01, "weight_decay": 0.01, "clip": 1.0, "dropout": 0.2, "weight_balanced": False},
    },
}
PUBLISHED["logistic"] = PUBLISHED["mlp"] = PUBLISHED["catgcn"] | {"rate": 0.01, "patience": 20}
SHAPE = (
    *("field_dim", "graph_refining", "aggr_pooling", "bi_interaction", "aggr_style", "graph_layer", "balance_ratio", "diag_probe"),
    *("nfm_units", "grn_units", "gnn_units", "gat_units", "gnn_hops", "multi_heads", "alpha", "theta"),
)


@dataclass(frozen=True)
class Prepared:
    """A graph, what to learn on it, and how; the same for every seed."""

    graph: "UserGraph"
    label: "Codes"
    rows: "Array"
    """Users that may be in a part."""
    attributes: tuple[str, ...]
    """Sensitive attributes, crossed ones with a star."""
    groups: "Codes | None"
    """The attribute that group-reweighted training looks at."""
    experiment: "Experiment"
    seeds: tuple[int, ...]
    data: dict[str, str]
    """Name → hash of every file that was read."""
    missing: dict[str, int]
    """Sensitive attribute → users without a value."""


def prepare(config: "UserModelConfig") -> Prepared:
    """Load and check everything that can be checked before training starts."""
    model = config.model.lower()
    if model not in PUBLISHED:
        raise InputError(f"Unknown model '{config.model}'. There are: {', '.join(PUBLISHED)}.{suggestion(model, PUBLISHED)}")
    _require_torch()
    import numpy as np

    from fairwitness.graphs.facts import dataset_facts
    from fairwitness.graphs.layers import check_graph_layer
    from fairwitness.graphs.published import Layout, load_published

    check_graph_layer(config.graph_layer)
    experiment = _experiment(config, model)
    facts = dataset_facts(config.dataset)
    if config.data_dir is None and not (config.edge_path and config.labels_path):
        raise InputError(f"Where are the files of {config.dataset}? Give --data-dir, or --edge-path and --labels-path.")
    layout = Layout(
        dataset=config.dataset,
        folder=config.data_dir,
        edge_path=config.edge_path,
        field_path=config.field_path,
        target_path=config.target_path,
        labels_path=config.labels_path,
        graph=config.graph,
        edge_faults=config.edge_faults,
    )
    graph = load_published(layout)
    label = graph.column(config.label, "--label")
    if len(label.values) < 2:
        raise InputError(f"Column '{config.label}' has one class, {list(label.values)}; two are needed to learn.")
    attributes = config.sens_attr or tuple(name for name in facts.sensitive if name in graph.columns and name != config.label)
    single = [part for name in attributes for part in name.split("*")]
    missing = {name: graph.column(name, "--sens-attr").n_missing for name in single}
    if config.isolated not in ("keep", "exclude"):
        raise InputError(f"--isolated is '{config.isolated}'; it is keep or exclude.")
    rows = np.flatnonzero(graph.connected) if config.isolated == "exclude" else np.arange(graph.n_users)
    groups = graph.column(single[0], "--sens-attr") if single else None
    if not attributes:
        raise InputError(f"No sensitive attribute is known for {config.dataset}. Name one with --sens-attr.")
    return Prepared(graph, label, rows, attributes, groups, experiment, _seeds(config, model), _hashes(layout, facts), missing)


def _seeds(config: "UserModelConfig", model: str) -> tuple[int, ...]:
    if config.seeds and config.seed is not None:
        raise InputError("Give --seed or --seeds, not both.")
    found = config.seeds or (config.seed if config.seed is not None else PUBLISHED[model]["seed"],)
    if len(set(found)) < len(found):
        raise InputError(f"--seeds names a seed twice: {' '.join(map(str, found))}.")
    return tuple(found)


def _experiment(config: "UserModelConfig", model: str) -> "Experiment":
    from fairwitness.graphs.catgcn import CatGCNSettings
    from fairwitness.graphs.rhgn import RHGNSettings
    from fairwitness.graphs.runner import Experiment

    usual = PUBLISHED[model]
    dropout = usual["dropout"] if config.dropout is None else config.dropout
    training = _training(config, model)
    training.check()
    catgcn = CatGCNSettings(dropout=dropout, **{name: getattr(config, name) for name in SHAPE})
    rhgn = RHGNSettings(
        n_hid=config.n_hid,
        n_inp=config.n_inp,
        n_layers=config.n_layers,
        n_heads=config.n_heads,
        dropout=dropout,
        own_attributes=config.own_attributes,
    )
    (rhgn if model == "rhgn" else catgcn).check()
    split = config.split or usual["split"]
    if split not in ("catgcn", "rhgn"):
        raise InputError(f"--split is '{split}'; it is catgcn or rhgn.")
    return Experiment(
        model=model,
        seed=0,
        split=split,
        train_ratio=usual["train_ratio"] if config.train_ratio is None else config.train_ratio,
        catgcn=catgcn,
        rhgn=rhgn,
        training=training,
        weight_balanced=_truth(config.weight_balanced, usual["weight_balanced"]),
        reweight=config.reweight,
        clustering_method=config.clustering_method,
        cluster_number=config.cluster_number,
        batch_size=config.batch_size,
        fanout=config.fanout,
        features=config.features,
        hidden=config.hidden,
        gpu=config.gpu,
    )


def _training(config: "UserModelConfig", model: str) -> "TrainSettings":
    from fairwitness.graphs.trainer import TrainSettings

    usual = PUBLISHED[model]
    return TrainSettings(
        epochs=_either(config.epochs, config.n_epoch, "--epochs", "--n-epoch") or usual["epochs"],
        patience=usual["patience"] if config.patience is None else config.patience,
        select=config.select or usual["select"],
        optimiser="adamw" if model == "rhgn" else "adam",
        learning_rate=_either(config.learning_rate, config.max_lr, "--learning-rate", "--max-lr") or usual["rate"],
        weight_decay=usual["weight_decay"] if config.weight_decay is None else config.weight_decay,
        one_cycle=model == "rhgn",
        clip=usual["clip"] if config.clip is None else config.clip,
        checkpoint_s=config.checkpoint_s,
    )


def _either(first: Any, second: Any, first_flag: str, second_flag: str) -> Any:
    if first is not None and second is not None and first != second:
        raise InputError(f"{first_flag} and {second_flag} are the same setting; give one of them.")
    return second if first is None else first


def _truth(word: str | None, usual: bool) -> bool:
    if word is None:
        return usual
    if word.lower() not in ("true", "false"):
        raise InputError(f"--weight-balanced is '{word}'; it is True or False.")
    return word.lower() == "true"


def _hashes(layout: Any, facts: Any) -> dict[str, str]:
    """Hashes of the files that were read; a changed file is another question."""
    tables = [attribute.table for attribute in facts.attributes]
    names = [*facts.users_file, *facts.edges_file, *facts.fields_file, facts.features_file, f"{layout.graph}.npz", *tables]
    given = [layout.labels_path, layout.edge_path, layout.field_path, layout.target_path]
    found: list[Path | None] = [*given, *(layout.find(name) for name in names if name)]
    return {path.name: file_hash(path) for path in found if path is not None}


def _require_torch() -> None:
    from importlib.util import find_spec

    for package in ("torch", "torch_geometric"):
        if find_spec(package) is None:
            raise MissingExtraError(package.replace("_", "-"), "graphs", "A user model")
