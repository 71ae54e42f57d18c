"""One trainer for all user models: epochs, validation, early stopping that brings the best weights back, checkpoints.

It knows nothing of graphs: a learner gives scores for rows. The same seed gives the same weights on the same machine, whether
or not the training was interrupted.
"""

import copy
import io
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fairwitness.errors import InputError, ModelError
from fairwitness.files import write_bytes
from fairwitness.graphs.learners import Learner
from fairwitness.graphs.settings import TrainSettings
from fairwitness.graphs.splits import Split
from fairwitness.graphs.user_graph import Array
from fairwitness.progress import say


@dataclass(frozen=True)
class Target:
    """What is learnt: a class code per user, a weight per class, and a weight per user."""

    labels: Array
    class_weights: Array
    row_weights: Array


@dataclass
class State:
    """Everything that changes while training; what a checkpoint holds."""

    epoch: int = 0
    best_epoch: int = -1
    best_value: float = math.inf
    best: dict[str, Tensor] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)


def fit(
    learner: Learner,
    target: Target,
    split: Split,
    settings: TrainSettings,
    *,
    checkpoint: Path | None = None,
    identity: str = "",
    on_epoch: Callable[[dict[str, float]], None] | None = None,
) -> State:
    """Train, and leave the learner's module with the weights of the best epoch.

    With a checkpoint path the state is kept there now and then, and a training of the same identity goes on from it.
    """
    settings.check()
    optimiser = _optimiser(learner, settings)
    schedule = _schedule(optimiser, learner, len(split.train), settings)
    state = _resume(checkpoint, identity, learner, optimiser, schedule) or State()
    saved = time.monotonic()
    while state.epoch < settings.epochs and not _out_of_patience(state, settings):
        record = _epoch(learner, target, split, settings, optimiser, schedule, state.epoch)
        _keep_if_better(state, record, learner, settings)
        state.history.append(record)
        state.epoch += 1
        if on_epoch is not None:
            on_epoch(record)
        if checkpoint is not None and time.monotonic() - saved >= settings.checkpoint_s:
            save_checkpoint(checkpoint, identity, state, learner, optimiser, schedule)
            saved = time.monotonic()
    if not state.best:
        raise ModelError("The training gave no finite validation loss. Lower the learning rate (--learning-rate, --max-lr).")
    learner.module.load_state_dict(state.best)
    return state


def probabilities(learner: Learner) -> Array:
    """Class probabilities of all users, from the weights the module has now."""
    learner.module.eval()
    with torch.no_grad():
        scores = F.softmax(learner.everyone().double(), dim=1)
    return np.asarray(scores.cpu().numpy())


def _epoch(
    learner: Learner, target: Target, split: Split, settings: TrainSettings, optimiser: Any, schedule: Any, epoch: int
) -> dict[str, float]:
    started = time.monotonic()
    learner.module.train()
    losses, hits, sizes = 0.0, 0, 0
    for scores, rows in learner.batches(split.train):
        loss = weighted_loss(scores, rows, target)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if settings.clip:
            torch.nn.utils.clip_grad_norm_(learner.module.parameters(), settings.clip)
        optimiser.step()
        if schedule is not None and schedule.last_epoch < schedule.total_steps:
            schedule.step()
        losses += float(loss.detach()) * len(rows)
        hits += int((scores.detach().argmax(dim=1).cpu().numpy() == target.labels[rows]).sum())
        sizes += len(rows)
    record = {"epoch": epoch, "train_loss": losses / sizes, "train_accuracy": hits / sizes}
    record |= _validate(learner, target, split.validation)
    return record | {"seconds": time.monotonic() - started}


def _validate(learner: Learner, target: Target, rows: Array) -> dict[str, float]:
    learner.module.eval()
    with torch.no_grad():
        scores = learner.everyone()[torch.from_numpy(rows).to(_device(learner))]
        loss = float(weighted_loss(scores, rows, target))
    accuracy = float((scores.argmax(dim=1).cpu().numpy() == target.labels[rows]).mean())
    return {"val_loss": loss, "val_accuracy": accuracy}


def weighted_loss(scores: Tensor, rows: Array, target: Target) -> Tensor:
    """Σ w_i·ℓ_i / Σ w_i with w_i the weight of the row's class times the row's own; the plain mean where all are 1."""
    labels = torch.from_numpy(target.labels[rows]).to(scores.device)
    weights = torch.from_numpy((target.class_weights[target.labels[rows]] * target.row_weights[rows]).astype(np.float32)).to(
        scores.device
    )
    losses = F.cross_entropy(scores, labels, reduction="none")
    return (losses * weights).sum() / weights.sum()


def _keep_if_better(state: State, record: dict[str, float], learner: Learner, settings: TrainSettings) -> None:
    values = {"val_loss": record["val_loss"], "val_accuracy": -record["val_accuracy"], "last": -record["epoch"]}
    value = values[settings.select]
    if math.isfinite(record["val_loss"]) and value < state.best_value:
        state.best_epoch, state.best_value = int(record["epoch"]), value
        # A copy: state_dict() itself shares memory with the weights, which go on changing.
        state.best = copy.deepcopy(learner.module.state_dict())


def _out_of_patience(state: State, settings: TrainSettings) -> bool:
    return bool(settings.patience and state.epoch - 1 - state.best_epoch >= settings.patience)


def _optimiser(learner: Learner, settings: TrainSettings) -> torch.optim.Optimizer:
    kinds: dict[str, type[torch.optim.Optimizer]] = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    if settings.optimiser not in kinds:
        raise InputError(f"--optimiser is '{settings.optimiser}'; it is one of: {', '.join(kinds)}.")
    options: dict[str, Any] = {"lr": settings.learning_rate, "weight_decay": settings.weight_decay}
    return kinds[settings.optimiser]([p for p in learner.module.parameters() if p.requires_grad], **options)


def _schedule(optimiser: torch.optim.Optimizer, learner: Learner, n_train: int, settings: TrainSettings) -> Any:
    if not settings.one_cycle:
        return None
    steps = learner.steps(n_train)
    return torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=settings.learning_rate, epochs=settings.epochs, steps_per_epoch=steps
    )


def save_checkpoint(path: Path, identity: str, state: State, learner: Learner, optimiser: Any, schedule: Any) -> None:
    """Put the whole state on disk, atomically."""
    held = {
        "identity": identity,
        "state": asdict(state),
        "module": learner.module.state_dict(),
        "optimiser": optimiser.state_dict(),
        "schedule": None
        if schedule is None
        else {k: v for k, v in schedule.state_dict().items() if isinstance(v, int | float | list)},
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state() if _device(learner).type == "cuda" else None,
        "sampler": _sampler_state(learner),
    }
    stream = io.BytesIO()  # to a full disk torch would write with an error of its own
    torch.save(held, stream)
    write_bytes(path, stream.getvalue())


def _resume(path: Path | None, identity: str, learner: Learner, optimiser: Any, schedule: Any) -> State | None:
    """The state of a checkpoint of the same identity, put back everywhere; None where there is none that can be used."""
    if path is None or not path.exists():
        return None
    try:
        held = torch.load(path, weights_only=True, map_location=_device(learner))
    except Exception:  # noqa: BLE001 - a damaged checkpoint of any kind means starting over
        return None
    if held.get("identity") != identity:
        return None
    learner.module.load_state_dict(held["module"])
    optimiser.load_state_dict(held["optimiser"])
    if schedule is not None:
        schedule.load_state_dict(held["schedule"])
    torch.set_rng_state(held["random"].cpu())
    if held["random_cuda"] is not None and _device(learner).type == "cuda":
        torch.cuda.set_rng_state(held["random_cuda"].cpu())
    generator = getattr(learner, "generator", None)
    if generator is not None and held["sampler"]:
        import json

        generator.bit_generator.state = json.loads(held["sampler"])
    state = State(**held["state"])
    say(f"Going on behind epoch {state.epoch} of a training that was cut off.")
    return state


def _sampler_state(learner: Learner) -> str:
    import json

    generator = getattr(learner, "generator", None)
    return "" if generator is None else json.dumps(generator.bit_generator.state)


def _device(learner: Learner) -> torch.device:
    return next(learner.module.parameters()).device
