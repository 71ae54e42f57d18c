"""The built-in filter model: a linear classifier over character n-grams, trained an epoch at a time. No download, no pickle.

Each field of an item (a context and its sentence, say) has n-grams of its own, hashed into its own block of features, weighted by
tf-idf and scaled to length one; five more features say how much of the first field is found in the last. A checkpoint is one .npz
file of plain arrays.
"""

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairwitness.errors import ModelError
from fairwitness.files import replacing

Item = Sequence[str]
FORMAT = 1
# Five dense features beside thousands of sparse ones must not drown them.
OVERLAP_WEIGHT = 0.1


@dataclass(frozen=True, kw_only=True)
class NgramSettings:
    """What the features and the training depend on."""

    fields: int = 2
    longest: int = 5
    bits: int = 20
    earlier_weight: float = 0.6
    lr: float = 10.0
    batch_size: int = 16
    decay: float = 3e-4
    max_norm: float = 0.0
    seed: int = 42


@dataclass(frozen=True)
class NgramClassifier:
    """A trained checkpoint: idf of each feature and the weights of the one logit z (class 1 against class 0)."""

    settings: NgramSettings
    idf: NDArray[np.float32]
    weights: NDArray[np.float32]
    about: dict[str, Any]
    known: dict[int, tuple[Sequence[Item], Any]] = field(default_factory=dict, repr=False, compare=False)
    """Feature tables made before, by the identity of their items: the checkpoints of one training share them."""

    def logits(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """[item, 2]: −z/2 for class 0 and z/2 for class 1, so that their softmax is the logistic of z."""
        half = (self._features(items) @ self.weights.astype(np.float64)) / 2
        return np.stack([-half, half], axis=1)

    def _features(self, items: Sequence[Item]) -> Any:
        seen, table = self.known.get(id(items), (None, None))
        if seen is not items:
            table = features(items, self.settings, self.idf)
            if len(self.known) > 3:
                self.known.clear()
            self.known[id(items)] = (items, table)
        return table

    def save(self, path: Path) -> Path:
        """Write the checkpoint as one .npz of plain arrays."""
        head = json.dumps({"format": FORMAT, "settings": asdict(self.settings), "about": self.about}, ensure_ascii=False)
        kept = np.flatnonzero(self.weights)
        with replacing(path) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, head=np.array(head), idf=self.idf, kept=kept.astype(np.int32), weights=self.weights[kept])
        return path


# What numpy, zip and JSON raise on a file that is not what it says.
_OF_THE_CONTENT = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError, OverflowError, SyntaxError)
_DAMAGED = (*_OF_THE_CONTENT, OSError, EOFError, zipfile.BadZipFile, zlib.error)


def load_ngram_classifier(path: Path) -> NgramClassifier:
    """Read a checkpoint. Arrays only: nothing in the file can run."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            head = json.loads(str(arrays["head"]))
            weights = np.zeros_like(arrays["idf"])
            weights[arrays["kept"]] = arrays["weights"]
            return NgramClassifier(NgramSettings(**head["settings"]), arrays["idf"], weights, head["about"])
    except _DAMAGED as error:
        raise ModelError(f"{path} is not a checkpoint of the built-in classifier, or it is damaged ({error}).") from error


def train_ngram_classifier(
    items: Sequence[Item], labels: Sequence[int], epochs: int, settings: NgramSettings, about: dict[str, Any]
) -> Iterator[NgramClassifier]:
    """Yield the classifier after each epoch: averaged stochastic gradient descent on the logistic loss, shuffled each epoch."""
    settings = replace(settings, fields=len(items[0]))
    idf = _idf(items, settings)
    # Most hashed columns are empty: training goes over the others alone.
    used = np.flatnonzero(idf)
    whole = features(items, settings, idf)
    known: dict[int, tuple[Sequence[Item], Any]] = {id(items): (items, whole)}
    table, target = whole[:, used], np.asarray(labels, dtype=np.float64)
    random = np.random.default_rng(settings.seed)
    weights, average, steps = np.zeros(table.shape[1]), np.zeros(table.shape[1]), 0
    batches = max(1, -(-len(items) // settings.batch_size))
    for epoch in range(epochs):
        order = random.permutation(len(items))
        if epoch == 1:
            # The first epoch only finds the region; what is averaged begins after it.
            average, steps = np.zeros_like(weights), 0
        for number in range(batches):
            rows = order[number * settings.batch_size : (number + 1) * settings.batch_size]
            rate = settings.lr / (1.0 + (epoch * batches + number) / (2.0 * batches))
            _step(weights, table[rows], target[rows], rate, settings)
            steps += 1
            average += (weights - average) / steps
        weights_everywhere = np.zeros(len(idf), dtype=np.float32)
        weights_everywhere[used] = average
        yield NgramClassifier(settings, idf, weights_everywhere, about | {"epoch": epoch}, known)


def features(items: Sequence[Item], settings: NgramSettings, idf: NDArray[np.float32] | None) -> Any:
    """The sparse feature table of items: a block of hashed n-grams per field, then the overlap features."""
    from scipy import sparse

    blocks = [_block([item[place] for item in items], place, settings, idf) for place in range(settings.fields)]
    return sparse.hstack([*blocks, _overlap(items, settings)]).tocsr()


def _step(weights: NDArray[np.float64], rows: Any, target: NDArray[np.float64], rate: float, settings: NgramSettings) -> None:
    probability = 1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -30, 30)))
    gradient = rows.T @ (probability - target) / len(target)
    if settings.max_norm > 0 and (norm := float(np.linalg.norm(gradient))) > settings.max_norm:
        gradient *= settings.max_norm / norm
    weights *= 1.0 - rate * settings.decay
    weights -= rate * gradient


def _block(texts: Sequence[str], place: int, settings: NgramSettings, idf: NDArray[np.float32] | None) -> Any:
    from scipy import sparse

    width = 1 << settings.bits
    counted = [_counts(text, settings) for text in texts]
    starts = np.cumsum([0, *(len(columns) for columns, _ in counted)])
    columns = np.concatenate([columns for columns, _ in counted]) if counted else np.zeros(0, np.int64)
    values = np.concatenate([1.0 + np.log(counts) for _, counts in counted]) if counted else np.zeros(0)
    table = sparse.csr_matrix((values, columns, starts), shape=(len(texts), width))
    if idf is None:
        return table
    weighted = table.multiply(idf[place * width : (place + 1) * width]).tocsr()
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    weight = 1.0 if place == settings.fields - 1 else settings.earlier_weight
    return sparse.diags(weight / np.where(length > 0, length, 1.0)) @ weighted


def _idf(items: Sequence[Item], settings: NgramSettings) -> NDArray[np.float32]:
    """ln((1 + n) / (1 + documents with the n-gram)) + 1; an n-gram of one document only is left out, as noise."""
    frequency = np.concatenate(
        [
            np.bincount(_block([item[place] for item in items], place, settings, None).indices, minlength=1 << settings.bits)
            for place in range(settings.fields)
        ]
    )
    idf = np.log((1 + len(items)) / (1 + frequency)) + 1
    return np.concatenate([np.where(frequency > 1, idf, 0.0), np.ones(settings.longest)]).astype(np.float32)


def _overlap(items: Sequence[Item], settings: NgramSettings) -> Any:
    """For each length of n-gram, the share of the first field's that the last field has; 0 where there is one field only."""
    from scipy import sparse

    shares = np.zeros((len(items), settings.longest))
    if settings.fields > 1:
        for row, item in enumerate(items):
            for length in range(1, settings.longest + 1):
                wanted = set(_windows(item[0], length))
                found = sum(part in item[-1] for part in wanted)
                shares[row, length - 1] = OVERLAP_WEIGHT * found / len(wanted) if wanted else 0.0
    return sparse.csr_matrix(shares)


def _windows(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(len(text) - length + 1)]


def _counts(text: str, settings: NgramSettings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The hashed n-grams of a text, each once, and how often it stands there."""
    codes = np.frombuffer(text.lower().encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    found = []
    rolling = np.zeros(len(codes), dtype=np.uint64)
    for length in range(1, min(settings.longest, len(codes)) + 1):
        # The hash of n characters from that of n − 1: h·P + c, in 64 bits, which wrap around.
        rolling = rolling[: len(codes) - length + 1] * np.uint64(0x100000001B3) + codes[length - 1 :] + np.uint64(1)
        mixed = (rolling ^ (rolling >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        found.append(mixed >> np.uint64(64 - settings.bits))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    columns, counts = np.unique(np.concatenate(found).astype(np.int64), return_counts=True)
    return columns, counts
