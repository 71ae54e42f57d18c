"""Filter models as the authoring loop sees them: checkpoints in a folder, found, loaded and asked for scores.

A checkpoint is `ckpt-<epoch>-<validation loss>`: a .npz file of the built-in classifier, or a folder of a Hugging Face encoder. It
carries what it was trained for (task, fields, classes). Pickled checkpoints are never opened.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairwitness.errors import ModelError

BUILT_IN = "ngram"
ABOUT = "fairwitness_filter.json"
_NAME = re.compile(r"ckpt-(?:epoch=)?(\d+)-(?:val_loss=)?([\d.]+?)(?:\.npz)?$")


class TextClassifier(Protocol):
    """Two logits for each item; an item is the tuple of its fields. `about` says what the model was trained for."""

    @property
    def about(self) -> dict[str, Any]: ...

    def logits(self, items: Sequence[Sequence[str]]) -> NDArray[np.float64]: ...


@dataclass(frozen=True, order=True)
class Checkpoint:
    """One checkpoint on disk, in the order of its epoch."""

    epoch: int
    val_loss: float
    path: Path

    def load(self) -> TextClassifier:
        """The model, in memory."""
        return load_classifier(self.path)


def sigmoid_scores(model: TextClassifier, items: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """[item, label]: the sigmoid of each logit by itself, as published. The two of an item need not add up to one."""
    logits = model.logits(items) if items else np.zeros((0, 2))
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -500, 500))))


def find_checkpoints(folder: Path, *, most: int | None = None) -> list[Checkpoint]:
    """The checkpoints in a folder, or in its one subfolder that has any (the experiment's), by epoch; the first `most` of them.

    No checkpoint, and several experiments to choose from, are errors: nothing is scored by nothing.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(
            f"{folder} is not a folder. Checkpoints are made by: fairwitness kosbi train-filter --checkpoint_dirpath {folder}"
        )
    found = _in(folder)
    if not found:
        below = {path: _in(path) for path in sorted(folder.iterdir()) if path.is_dir() and _in(path)}
        if len(below) > 1:
            names = ", ".join(path.name for path in below)
            raise ModelError(f"{folder} holds the checkpoints of several trainings ({names}). Name one of those folders.")
        found = next(iter(below.values()), [])
    if not found:
        raise ModelError(_why_none(folder))
    return found[:most] if most is not None else found


def load_classifier(path: Path) -> TextClassifier:
    """A checkpoint by its path: a .npz file, a folder of an encoder, or a folder with exactly one checkpoint in it."""
    path = Path(path)
    if path.suffix == ".npz":
        from fairwitness.models.ngram_classifier import load_ngram_classifier

        return load_ngram_classifier(path)
    if (path / ABOUT).is_file():
        from fairwitness.models.encoder_classifier import load_encoder_classifier

        return load_encoder_classifier(path)
    if path.suffix in (".ckpt", ".pt", ".pth", ".bin", ".pkl"):
        raise ModelError(
            f"{path} is a pickle, which could run code, so it is not opened. Train again with: fairwitness kosbi train-filter"
        )
    if path.is_dir():
        # The best one is what one model alone is wanted for.
        return min(find_checkpoints(path), key=lambda checkpoint: checkpoint.val_loss).load()
    raise ModelError(f"{path} is no checkpoint: a .npz file or a folder made by 'fairwitness kosbi train-filter' was expected.")


def read_about(folder: Path) -> dict[str, Any]:
    """What an encoder's checkpoint says of itself."""
    about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    return about


def checkpoint_name(epoch: int, val_loss: float) -> str:
    """The name of a checkpoint, sorted by epoch as text too.

    >>> checkpoint_name(3, 0.65432)
    'ckpt-003-0.65432'
    """
    return f"ckpt-{epoch:03d}-{val_loss:.5f}"


def _in(folder: Path) -> list[Checkpoint]:
    found = []
    for path in folder.iterdir():
        match = _NAME.match(path.name)
        if match and (path.suffix == ".npz" or (path / ABOUT).is_file()):
            found.append(Checkpoint(int(match[1]), float(match[2]), path))
    return sorted(found)


def _why_none(folder: Path) -> str:
    pickles = [path.name for path in folder.rglob("*.ckpt")]
    seen = f" It holds {pickles[0]}, a pickle that could run code; those are not opened." if pickles else ""
    return (
        f"There are no checkpoints in {folder}.{seen} Train some: fairwitness kosbi train-filter --checkpoint_dirpath {folder}. "
        "At the first iteration leave the filter model out."
    )
