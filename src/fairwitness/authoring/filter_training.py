"""Training a filter model and saying how good it is, overall and per category. `fairwitness kosbi train-filter`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fairwitness import tables
from fairwitness.authoring.filter_metrics import measure
from fairwitness.authoring.records import Row, look_up, read_rows
from fairwitness.authoring.schema import Schema, Task, load_schema, schema_of_task
from fairwitness.errors import InputError
from fairwitness.files import file_hash
from fairwitness.models.text_classifier import BUILT_IN, TextClassifier, checkpoint_name, find_checkpoints
from fairwitness.options import Options, require_config
from fairwitness.progress import say
from fairwitness.runs import open_run

BUILT_IN_LR = 10.0


@dataclass(frozen=True, kw_only=True)
class TrainFilterConfig(Options):
    """Everything that a training depends on; names and defaults as published, but every epoch's checkpoint is kept."""

    task: str
    """What to learn: kosbi_incl_grp_classify, kosbi_unsafe_sent_classify, or one of the square_ tasks."""
    trn_pth: Path
    """Training rows (JSON list or JSON lines)."""
    val_pth: Path
    """Validation rows: they name the best checkpoint and may stop the training early."""
    tst_pth: Path | None = None
    """Test rows; measured with the best checkpoint."""
    filter_model_type: str = "beomi/KcELECTRA-base-v2022"
    """Encoder from the Hugging Face hub or a folder; 'ngram' for the built-in classifier, which needs no download."""
    checkpoint_dirpath: Path = Path("data/models")
    """Folder of all trainings; this one goes into a folder of its own below."""
    exp_name: str = ""
    """Name of that folder; by default made from task, epochs, rate, batch size and clipping."""
    epoch: int = 10
    """Epochs to train."""
    lr: float | None = None
    """Learning rate; by default 5e-5 for an encoder and 10 for the built-in classifier."""
    batch_size: int = 16
    """Rows in a batch."""
    gradient_clip_val: float = 0.0
    """Longest gradient; 0 does not clip."""
    warmup_ratio: float = 0.1
    """Share of the steps in which the rate grows (encoders)."""
    accumulate_grad_batches: int = 1
    """Batches between two steps (encoders)."""
    max_steps: int = -1
    """Steps at most; -1 goes by epochs (encoders)."""
    precision: str = "32"
    """32, or bf16 where the device can (encoders)."""
    checkpoint_save_top_k: int = -1
    """How many checkpoints stay, lowest validation loss first; -1 keeps all, which variability needs."""
    earlystop_patience: int | None = None
    """Stop after so many epochs without a lower validation loss; by default never."""
    do_train_only: bool = False
    """Leave the test out."""
    seed: int = 42
    """Seed of initial weights and of shuffling."""
    wandb_project: str = ""
    """Log to this wandb project (needs the package wandb)."""
    wandb_entity: str = ""
    """wandb entity that owns the project."""
    schema: str = ""
    """Schema file of your own that has the task; by default the built-in one that has it."""
    restart: bool = False
    """Start over beside results of another question."""

    @property
    def rate(self) -> float:
        """The learning rate that is used."""
        return self.lr if self.lr is not None else BUILT_IN_LR if self.filter_model_type == BUILT_IN else 5e-5

    @property
    def folder(self) -> Path:
        """Where this training's checkpoints go."""
        plain = f"{self.task}-ep{self.epoch}-lr{self.rate:g}-bsz{self.batch_size}-gclip{self.gradient_clip_val:g}"
        return self.checkpoint_dirpath / (self.exp_name or plain)


@dataclass(frozen=True)
class Trained:
    """A finished training: its folder, the losses by epoch, and the test's measurements (empty without a test)."""

    folder: Path
    history: list[dict[str, float]]
    measurements: pl.DataFrame


@dataclass(frozen=True)
class Labelled:
    """Rows ready for a classifier: the fields of each, its class (0 or 1), its category and group."""

    items: list[tuple[str, ...]]
    classes: list[int]
    categories: list[str]
    groups: list[str]


def train_filter(config: TrainFilterConfig) -> Trained:
    """Train, keep a checkpoint per epoch, and test the best one."""
    require_config(config, TrainFilterConfig)
    schema = load_schema(config.schema) if config.schema else schema_of_task(config.task)
    task = schema.task(config.task)
    _check(config)
    paths = {"train": config.trn_pth, "valid": config.val_pth}
    if config.tst_pth is not None and not config.do_train_only:
        paths["test"] = config.tst_pth
    data = {name: file_hash(path) for name, path in paths.items()}
    question = {**{k: v for k, v in asdict(config).items() if k not in ("restart", "checkpoint_dirpath")}, "data": data}
    out = config.folder / "training.csv"
    with open_run(out, "train-filter", question, restart=config.restart, data=data, inputs=paths) as run:
        if run.sealed:
            return _stored(config.folder)
        rows = {name: read_labelled(schema, task, path, both=name == "train") for name, path in paths.items()}
        history = _train(config, task, rows)
        tables.write(pl.DataFrame(history), out)
        files = [out]
        if "test" in rows:
            files += measure_filter(config.folder, task, rows["test"])
        counts = {"asked": len(rows["train"].items), "scored": len(rows["train"].items), "failed": 0}
        run.seal(files, counts, best=min(history, key=lambda row: row["val_loss"]))
    return _stored(config.folder)


def read_labelled(schema: Schema, task: Task, path: Path, *, both: bool = False) -> Labelled:
    """The rows of a file as a task needs them. A row without a label is left out, and counted aloud; a wrong label is an error."""
    kind = schema.kind(task.kind)
    rows = read_rows(path, required=[name for name in task.fields if name != schema.group])
    kept: list[tuple[Row, int]] = []
    for number, row in enumerate(rows, start=1):
        try:
            value = _class_of(schema, task, row.get(task.target))
        except InputError as error:
            raise InputError(f"{path}, row {number}: {error}") from error
        if value is not None:
            kept.append((row, value))
    if len(kept) < len(rows):
        say(f"{len(rows) - len(kept)} of {len(rows)} rows of {path} have no '{task.target}' and are left out.")
    seen = {value for _, value in kept}
    if len(seen) < (2 if both else 1):
        raise InputError(
            f"{path} has {len(kept)} labelled rows of {len(seen)} classes; both {' and '.join(task.classes)} are needed."
        )
    return Labelled(
        items=[fields_of(schema, task, row, f"{path}") for row, _ in kept],
        classes=[value for _, value in kept],
        categories=[str(look_up(row, kind.category)) for row, _ in kept],
        groups=[str(look_up(row, schema.group)) for row, _ in kept],
    )


def fields_of(schema: Schema, task: Task, row: Row, where: str) -> tuple[str, ...]:
    """The texts of a row that a task's model reads."""
    values = [look_up(row, name) for name in task.fields]
    for name, value in zip(task.fields, values, strict=True):
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{where}: a row has no '{name}', which the task {task.name} reads.")
    return tuple(values)


def _class_of(schema: Schema, task: Task, value: Any) -> int | None:
    kind = schema.kind(task.kind)
    if kind.include is not None and task.target == kind.include.field:
        answer = kind.includes(value)
        return None if answer is None else int(answer)
    label = kind.label_of(value)
    return task.classes.index(label) if label in task.classes else None


def _train(config: TrainFilterConfig, task: Task, rows: dict[str, Labelled]) -> list[dict[str, float]]:
    history: list[dict[str, float]] = []
    log = _wandb(config)

    def after(epoch: int, model: TextClassifier, save: Callable[[Path], Any]) -> bool:
        losses = {name: _loss(model, rows[name]) for name in ("train", "valid")}
        row = {
            "epoch": float(epoch),
            "train_loss": losses["train"][0],
            "train_accuracy": losses["train"][1],
            "val_loss": losses["valid"][0],
            "val_accuracy": losses["valid"][1],
        }
        history.append(row)
        save(config.folder / checkpoint_name(epoch, row["val_loss"]))
        _prune(config)
        log(row)
        say(f"Epoch {epoch}: validation loss {row['val_loss']:.5f}, accuracy {row['val_accuracy']:.4f}")
        return not _should_stop(history, config.earlystop_patience)

    about = {"task": task.name, "fields": list(task.fields), "joiner": task.joiner, "classes": list(task.classes)}
    if config.filter_model_type == BUILT_IN:
        _train_built_in(config, rows["train"], about, after)
    else:
        _train_encoder(config, rows["train"], about, after)
    return history


def _train_built_in(config: TrainFilterConfig, rows: Labelled, about: dict[str, Any], after: Callable[..., bool]) -> None:
    from fairwitness.models.ngram_classifier import NgramSettings, train_ngram_classifier

    settings = NgramSettings(lr=config.rate, batch_size=config.batch_size, max_norm=config.gradient_clip_val, seed=config.seed)
    for epoch, model in enumerate(train_ngram_classifier(rows.items, rows.classes, config.epoch, settings, about)):
        if not after(epoch, model, lambda path, model=model: model.save(path.with_name(f"{path.name}.npz"))):
            return


def _train_encoder(config: TrainFilterConfig, rows: Labelled, about: dict[str, Any], after: Callable[..., bool]) -> None:
    from fairwitness.models.encoder_classifier import EncoderSettings, save_encoder_classifier, train_encoder_classifier

    settings = EncoderSettings(
        name=config.filter_model_type,
        epochs=config.epoch,
        lr=config.rate,
        batch_size=config.batch_size,
        warmup_ratio=config.warmup_ratio,
        gradient_clip_val=config.gradient_clip_val,
        accumulate_grad_batches=config.accumulate_grad_batches,
        max_steps=config.max_steps,
        precision=config.precision,
        seed=config.seed,
    )
    train_encoder_classifier(
        {"train": rows.items},
        {"train": rows.classes},
        settings,
        about,
        lambda epoch, model: after(epoch, model, lambda path: save_encoder_classifier(model, path)),
    )


def measure_filter(folder: Path, task: Task, rows: Labelled) -> list[Path]:
    """Measure the best checkpoint of a folder on rows; write the predictions and the measurements beside it."""
    best = min(find_checkpoints(folder), key=lambda checkpoint: checkpoint.val_loss)
    probability = _softmax(best.load().logits(rows.items))
    predicted = probability.argmax(axis=1)
    positive = task.classes.index(task.positive)
    frame = pl.DataFrame(
        {
            "idx": range(len(rows.items)),
            "label": [int(value == positive) for value in rows.classes],
            "pred": (predicted == positive).astype(int),
            "score": probability[:, positive],
            "category": rows.categories,
            "group": rows.groups,
        }
    )
    measured = measure(np.asarray(rows.classes), predicted, rows.categories)
    return [tables.write(frame, folder / "test_preds.parquet"), tables.write(measured, folder / "test_metrics.csv")]


def _loss(model: TextClassifier, rows: Labelled) -> tuple[float, float]:
    """Mean cross-entropy and accuracy."""
    logits, truth = model.logits(rows.items), np.asarray(rows.classes)
    peak = logits.max(axis=1, keepdims=True)
    log_p = logits - peak - np.log(np.exp(logits - peak).sum(axis=1, keepdims=True))
    return float(-log_p[np.arange(len(truth)), truth].mean()), float((logits.argmax(axis=1) == truth).mean())


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _should_stop(history: Sequence[dict[str, float]], patience: int | None) -> bool:
    if patience is None:
        return False
    best = min(range(len(history)), key=lambda place: history[place]["val_loss"])
    return len(history) - 1 - best >= patience


def _prune(config: TrainFilterConfig) -> None:
    """Remove all but the `checkpoint_save_top_k` checkpoints of lowest validation loss."""
    if config.checkpoint_save_top_k < 0:
        return
    import shutil

    ranked = sorted(find_checkpoints(config.folder), key=lambda checkpoint: checkpoint.val_loss)
    for checkpoint in ranked[config.checkpoint_save_top_k :]:
        if checkpoint.path.is_dir():
            shutil.rmtree(checkpoint.path)
        else:
            checkpoint.path.unlink()


def _wandb(config: TrainFilterConfig) -> Callable[[dict[str, float]], None]:
    if not config.wandb_project:
        return lambda _row: None
    try:
        import wandb
    except ImportError as error:
        raise InputError("--wandb_project needs the package wandb: pip install wandb") from error
    run = wandb.init(project=config.wandb_project, entity=config.wandb_entity or None, name=config.folder.name)
    return lambda row: run.log(row)


def _stored(folder: Path) -> Trained:
    history = tables.read(folder / "training.csv").to_dicts()
    metrics = folder / "test_metrics.csv"
    return Trained(folder, history, tables.read(metrics) if metrics.is_file() else pl.DataFrame())


def _check(config: TrainFilterConfig) -> None:
    if config.epoch < 1 or config.batch_size < 1:
        raise InputError(f"--epoch {config.epoch} and --batch_size {config.batch_size} must be at least 1.")
    if config.checkpoint_save_top_k == 0:
        raise InputError("--checkpoint_save_top_k 0 would keep nothing. Use -1 to keep every epoch.")
