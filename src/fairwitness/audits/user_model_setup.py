"""From what was asked to what is trained: loads the graph, checks the columns, and fills in each model's published defaults."""

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwitness.errors import InputError, MissingExtraError, suggestion
from fairwitness.files import file_hash
from fairwitness.graphs.settings import CatGCNSettings, Experiment, RHGNSettings, TrainSettings

if TYPE_CHECKING:
    from fairwitness.audits.user_model import UserModelConfig
    from fairwitness.graphs.columns import Codes
    from fairwitness.graphs.user_graph import Array, UserGraph


@dataclass(frozen=True, kw_only=True)
class Published:
    """What the published code of a model uses where nothing is said."""

    seed: int
    dropout: float
    training: TrainSettings = field(default_factory=TrainSettings)
    split: str = Experiment.split
    train_ratio: float = Experiment.train_ratio
    weight_balanced: bool = Experiment.weight_balanced


_ONE_CYCLE = TrainSettings(
    epochs=50, patience=0, select="val_accuracy", optimiser="adamw", learning_rate=0.01, weight_decay=0.01, one_cycle=True, clip=1.0
)
# The baselines are ours, and follow CatGCN's protocol.
_BASELINE = Published(seed=42, dropout=CatGCNSettings.dropout, training=TrainSettings(learning_rate=0.01, patience=20))
PUBLISHED = {
    "catgcn": Published(seed=42, dropout=CatGCNSettings.dropout),
    "rhgn": Published(
        seed=7, dropout=RHGNSettings.dropout, training=_ONE_CYCLE, split="rhgn", train_ratio=0.75, weight_balanced=False
    ),
    "logistic": _BASELINE,
    "mlp": _BASELINE,
}


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
    experiment: Experiment
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
    found = config.seeds or (config.seed if config.seed is not None else PUBLISHED[model].seed,)
    if len(set(found)) < len(found):
        raise InputError(f"--seeds names a seed twice: {' '.join(map(str, found))}.")
    return tuple(found)


def _experiment(config: "UserModelConfig", model: str) -> Experiment:
    usual = PUBLISHED[model]
    dropout = usual.dropout if config.dropout is None else config.dropout
    training = _training(config, usual.training)
    training.check()
    catgcn = CatGCNSettings(**_asked(config, CatGCNSettings) | {"dropout": dropout})
    rhgn = RHGNSettings(**_asked(config, RHGNSettings) | {"dropout": dropout})
    (rhgn if model == "rhgn" else catgcn).check()
    split = config.split or usual.split
    if split not in ("catgcn", "rhgn"):
        raise InputError(f"--split is '{split}'; it is catgcn or rhgn.")
    return Experiment(
        model=model,
        seed=0,
        split=split,
        train_ratio=usual.train_ratio if config.train_ratio is None else config.train_ratio,
        catgcn=catgcn,
        rhgn=rhgn,
        training=training,
        weight_balanced=_truth(config.weight_balanced, usual.weight_balanced),
        reweight=config.reweight,
        clustering_method=config.clustering_method,
        cluster_number=config.cluster_number,
        batch_size=config.batch_size,
        fanout=config.fanout,
        features=config.features,
        hidden=config.hidden,
        gpu=config.gpu,
    )


def _asked(config: "UserModelConfig", kind: type[CatGCNSettings | RHGNSettings]) -> dict[str, Any]:
    """What the options say of a model's shape."""
    return {each.name: getattr(config, each.name) for each in fields(kind) if hasattr(config, each.name)}


def _training(config: "UserModelConfig", usual: TrainSettings) -> TrainSettings:
    asked = {
        "epochs": _either(config.epochs, config.n_epoch, "--epochs", "--n-epoch"),
        "patience": config.patience,
        "select": config.select,
        "learning_rate": _either(config.learning_rate, config.max_lr, "--learning-rate", "--max-lr"),
        "weight_decay": config.weight_decay,
        "clip": config.clip,
        "checkpoint_s": config.checkpoint_s,
    }
    return replace(usual, **{name: value for name, value in asked.items() if value is not None})


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
