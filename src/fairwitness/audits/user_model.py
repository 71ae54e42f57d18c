"""Training a graph user model and measuring what it does to groups: the recipe behind `fairwitness usermodel train`.

Predictions of all users go through the waist (preds.parquet); the test part goes on to the fairness audit, which makes the
multiclass × multigroup tables. Several seeds are several trainings, with mean and spread over them.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.fairness import FairnessConfig, audit_fairness
from fairwitness.audits.result import AuditResult
from fairwitness.audits.user_model_setup import Prepared, prepare
from fairwitness.audits.user_model_tables import over_seeds, performance, prediction_table, spreads
from fairwitness.files import content_hash
from fairwitness.graphs.settings import CatGCNSettings, Experiment, RHGNSettings, TrainSettings
from fairwitness.options import Options, require_config
from fairwitness.progress import progress
from fairwitness.tables import read

PREDS, TEST, HISTORY, PERFORMANCE, MODEL = "preds.parquet", "test.parquet", "history.csv", "performance.csv", "model.pt"
FAIRNESS, OVER_SEEDS = "fairness.csv", "seeds.csv"
_WORDS = r"^(class|group|positive|group_1|.*_pair|.*_class)$"


@dataclass(frozen=True, kw_only=True)
class UserModelConfig(Options):
    """Everything that can be asked of `fairwitness usermodel train`. What is left empty is as published for the model."""

    model: str
    """catgcn, rhgn, or a baseline without a graph: logistic, mlp."""

    dataset: str
    """nba, pokec, alibaba or jd: whose layout the files have."""

    label: str
    """Column of the users to predict."""

    out: Path
    """Folder of the run."""

    data_dir: Path | None = None
    """Folder with the dataset's files, or with its catgcn/ and rhgn/ folders."""

    edge_path: Path | None = None
    """Edge list (two ids a row); default: the published name in --data-dir."""

    field_path: Path | None = None
    """Category fields (.npy, a row per user id); default: the published name in --data-dir."""

    target_path: Path | None = None
    """File with the label by id (its second column), where it is not a column of the users."""

    labels_path: Path | None = None
    """Users with labels and sensitive attributes; default: the published name in --data-dir."""

    graph: str = "G"
    """Name of RHGN's graph file without its ending."""

    edge_faults: str = "error"
    """What to do with edges that name unknown users, repeat or point to themselves: error, or drop (and count) them."""

    isolated: str = "keep"
    """Users without edges: keep them in the parts, or exclude them, as the published code does."""

    sens_attr: tuple[str, ...] = ()
    """Sensitive attributes, `age*gender` crosses two; default: all that the dataset is known to have."""

    seed: int | None = None
    """Seed of the split and the training (42; rhgn 7)."""

    seeds: tuple[int, ...] = ()
    """Several seeds: one training each, with mean and spread."""

    train_ratio: float | None = None
    """Share of users that train; the rest is halved (0.8; rhgn 0.75)."""

    split: str | None = None
    """Whose way of drawing the parts: catgcn or rhgn."""

    epochs: int | None = None
    """Most epochs (9999; rhgn 50)."""

    n_epoch: int | None = None
    """The same under RHGN's name."""

    patience: int | None = None
    """Epochs without a better validation before stopping; 0 never stops early (10; rhgn 0)."""

    select: str | None = None
    """Whose weights are kept: val_loss, val_accuracy (rhgn's default) or last."""

    learning_rate: float | None = None
    """Adam's learning rate (catgcn 0.1, baselines 0.01)."""

    max_lr: float | None = None
    """Highest learning rate of rhgn's one-cycle schedule (0.01)."""

    weight_decay: float | None = None
    """Weight decay (1e-5; rhgn's AdamW 0.01)."""

    clip: float | None = None
    """Longest gradient, 0 for no clipping (0; rhgn 1)."""

    dropout: float | None = None
    """Dropout (0.5; rhgn 0.2)."""

    weight_balanced: str | None = None
    """True or False: class weights from the training part (True; rhgn False)."""

    reweight: float = Experiment.reweight
    """Strength of group-reweighted training: weights (P(g)P(y)/P(g,y))^strength over the first sensitive attribute."""

    field_dim: int = CatGCNSettings.field_dim
    """catgcn: width of the field embeddings."""

    graph_refining: str = CatGCNSettings.graph_refining
    """catgcn: how fields meet globally: agc, cosimi, gat, none."""

    aggr_pooling: str = CatGCNSettings.aggr_pooling
    """catgcn: how fields are pooled: mean, sum, max."""

    bi_interaction: str = CatGCNSettings.bi_interaction
    """catgcn: how fields meet locally: nfm, none."""

    aggr_style: str = CatGCNSettings.aggr_style
    """catgcn: how both are joined: sum, or none where only one is used."""

    graph_layer: str = CatGCNSettings.graph_layer
    """catgcn: pna, none, sgc, gcn, gat, appnp, cat-appnp, gcnii, cross (and gat_1, gat_2, gcnii_F, gcnii_T, cross_1, cross_2)."""

    balance_ratio: float = CatGCNSettings.balance_ratio
    """catgcn: weight of the global part."""

    diag_probe: float = CatGCNSettings.diag_probe
    """catgcn: probe coefficient of agc."""

    nfm_units: str = CatGCNSettings.nfm_units
    """catgcn: hidden widths of the local part, with commas, or none."""

    grn_units: str = CatGCNSettings.grn_units
    """catgcn: hidden widths of the global part, with commas, or none."""

    gnn_units: str = CatGCNSettings.gnn_units
    """catgcn: hidden widths of the graph layer, with commas, or none."""

    gat_units: str = CatGCNSettings.gat_units
    """catgcn: widths of gat refining, with commas."""

    gnn_hops: int = CatGCNSettings.gnn_hops
    """catgcn: hops of pna and sgc, layers of gcnii."""

    multi_heads: str = CatGCNSettings.multi_heads
    """catgcn: heads of the gat layers."""

    alpha: float = CatGCNSettings.alpha
    """catgcn: gcnii's α."""

    theta: float = CatGCNSettings.theta
    """catgcn: gcnii's θ."""

    clustering_method: str = Experiment.clustering_method
    """catgcn: train on clusters of the graph: none, metis, random."""

    cluster_number: int = Experiment.cluster_number
    """catgcn: how many clusters."""

    n_hid: int = RHGNSettings.n_hid
    """rhgn: hidden width."""

    n_inp: int = RHGNSettings.n_inp
    """rhgn: width of the inputs and of the attribute vectors."""

    n_layers: int = RHGNSettings.n_layers
    """rhgn: layers."""

    n_heads: int = RHGNSettings.n_heads
    """rhgn: attention heads."""

    own_attributes: bool = RHGNSettings.own_attributes
    """rhgn on nba and pokec: let users see their own attributes too, not only their neighbours'."""

    batch_size: int = Experiment.batch_size
    """rhgn: users in a batch; 0 takes the whole graph at once."""

    fanout: int = Experiment.fanout
    """rhgn: most neighbours per node and relation in a batch; 0 takes all."""

    features: str = Experiment.features
    """Baselines: catgcn's fields, or rhgn's attributes."""

    hidden: int = Experiment.hidden
    """mlp: hidden width."""

    gpu: int = Experiment.gpu
    """GPU number where there is CUDA; -1 for the CPU."""

    min_group_size: int = 10
    """Groups with fewer test users are in no spread."""

    confidence: float = 0.95
    """Confidence of all intervals."""

    checkpoint_s: float = TrainSettings.checkpoint_s
    """Seconds between checkpoints."""

    charts: bool = True
    """Draw the charts; --charts False leaves them out."""

    restart: bool = False
    """Start over where --out holds another question's answer."""


@dataclass(frozen=True, repr=False)
class UserModelResult(AuditResult):
    """Tables `performance`, `multigroup`, `binarised`, `history`; over several seeds `seeds` first, and `runs` by seed."""


def user_model(config: UserModelConfig) -> UserModelResult:
    """Train with one seed or several and measure the test part. The same question again is read, not redone."""
    require_config(config, UserModelConfig)
    prepared = prepare(config)
    if len(prepared.seeds) == 1:
        return _one(config, prepared, prepared.seeds[0], config.out)
    results = {seed: _one(config, prepared, seed, config.out / f"seed_{seed}") for seed in prepared.seeds}
    return _together(config, results)


def _one(config: UserModelConfig, prepared: Prepared, seed: int, folder: Path) -> UserModelResult:
    question = _question(config, prepared, seed)
    identity = content_hash(json.dumps(question, sort_keys=True))
    inputs = {"data_dir": config.data_dir}
    with runs.open_run(folder / PREDS, "usermodel", question, restart=config.restart, data=prepared.data, inputs=inputs) as run:
        if not run.sealed:
            _train(config, prepared, seed, folder, identity, run)
        facts = dict(run.entry["facts"])
    found = audit_fairness(
        FairnessConfig(
            preds=folder / TEST,
            label_col="label",
            out=folder / FAIRNESS,
            group_cols=prepared.attributes,
            min_group_size=config.min_group_size,
            confidence=config.confidence,
            charts=False,
            restart=config.restart,
        )
    )
    made = {"performance": read(folder / PERFORMANCE), "multigroup": found.multigroup, "binarised": found.tables["binarised"]}
    # A CSV cell does not tell the class "1" from the number 1.
    made = {name: table.with_columns(pl.col(_WORDS).cast(pl.String)) for name, table in made.items()}
    made["history"] = read(folder / HISTORY)
    files = [folder / name for name in (PREDS, TEST, PERFORMANCE, HISTORY, MODEL)] + found.files
    if config.charts:
        from fairwitness.report.user_model_charts import draw_user_model

        files += draw_user_model(made["multigroup"], folder, f"{config.model} on {config.dataset}, {config.label}, seed {seed}")
    return UserModelResult(made, {"seed": seed, **facts}, files)


def _train(config: UserModelConfig, prepared: Prepared, seed: int, folder: Path, identity: str, run: runs.Run) -> None:
    from fairwitness.graphs.runner import pick_device, run_experiment, save_model
    from fairwitness.models.memory import enough_memory

    experiment = replace(prepared.experiment, seed=seed)
    checkpoint = run.parts.folder / "checkpoint.pt"
    advice = "Train on clusters or smaller batches of the graph, or on the CPU with --gpu -1"
    with (
        progress(f"training {config.model} on {config.dataset}, seed {seed}", experiment.training.epochs, "epochs") as advance,
        enough_memory("the graph", pick_device(experiment.gpu), advice),
    ):
        trained = run_experiment(
            prepared.graph,
            prepared.label,
            experiment,
            rows=prepared.rows,
            groups=prepared.groups,
            checkpoint=checkpoint,
            identity=identity,
            on_epoch=lambda e: advance(
                1, f"loss {e['train_loss']:.4f}, val loss {e['val_loss']:.4f}, val acc {e['val_accuracy']:.4f}"
            ),
        )
    preds = prediction_table(prepared, trained)
    # Classes are names from here on: a test part that happens to hold only 0 and 1 is not thereby a yes-no question.
    test = preds.filter(pl.col("split") == "test").drop("split").with_columns(pl.col("label", "pred").cast(pl.String))
    scores = performance(test, [str(value) for value in prepared.label.values], confidence=config.confidence)
    history = pl.DataFrame(trained.history).drop("seconds")
    outputs = [
        tables.write(preds, folder / PREDS),
        tables.write(test, folder / TEST),
        tables.write(scores, folder / PERFORMANCE),
        tables.write(history, folder / HISTORY),
        save_model(folder / MODEL, trained, experiment, prepared.label.values),
    ]
    failed = int(test["error"].is_not_null().sum())
    counts = {"asked": test.height, "scored": test.height - failed, "failed": failed}
    run.seal(outputs, counts, facts=_facts(prepared, trained, scores), seconds_per_epoch=trained.seconds_per_epoch)


def _facts(prepared: Prepared, trained: Any, scores: pl.DataFrame) -> dict[str, Any]:
    parts = {f"n_{name}": len(getattr(trained.split, name)) for name in ("train", "validation", "test")}
    overall = {row["metric"]: row["value"] for row in scores.to_dicts() if row["class"] is None}
    return {
        **overall,
        **parts,
        "best_epoch": trained.best_epoch,
        "epochs": len(trained.history),
        "n_parameters": trained.n_parameters,
        "device": trained.device,
        "classes": [str(value) for value in prepared.label.values],
        "graph": prepared.graph.notes,
        "missing": prepared.missing,
    }


def _question(config: UserModelConfig, prepared: Prepared, seed: int) -> dict[str, Any]:
    """What the predictions depend on: settings as they came out, and the data's hashes; not the paths, nor how it is drawn."""
    aside = ("out", "charts", "restart", "seeds", "checkpoint_s", "min_group_size", "confidence", "data_dir", "gpu")
    asked = {name: value for name, value in asdict(config).items() if name not in aside and not name.endswith("_path")}
    how = {name: value for name, value in asdict(prepared.experiment).items() if name not in ("gpu", "seed", "training")}
    training = {name: value for name, value in asdict(prepared.experiment.training).items() if name != "checkpoint_s"}
    return {**asked, "seed": seed, "experiment": how | {"training": training}, "data": prepared.data}


def _together(config: UserModelConfig, results: dict[int, UserModelResult]) -> UserModelResult:
    rows = [spreads(seed, result.tables["performance"], result.tables["multigroup"]) for seed, result in results.items()]
    every = pl.concat(rows)
    summary = over_seeds(every)
    files = [tables.write(summary, config.out / OVER_SEEDS), tables.write(every, config.out / "by_seed.csv")]
    asked = {"seeds": list(results), "model": config.model, "dataset": config.dataset, "label": config.label}
    runs.note(files[0], "usermodel seeds", asked, list(files))
    facts = {"seeds": list(results), "runs": {str(seed): result.facts for seed, result in results.items()}}
    files += [path for result in results.values() for path in result.files]
    return UserModelResult({"seeds": summary, "by_seed": every}, facts, files)
