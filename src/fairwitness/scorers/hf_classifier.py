"""Any Hugging Face text-classification model as a toxicity scorer: `hf:unitary/toxic-bert`, `hf:./my_model`, `hf:NAME@LABEL`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from fairwitness.errors import InputError, listing, suggestion

if TYPE_CHECKING:
    from fairwitness.models.classifier import TextClassifier

# Labels that mean "this is toxic" in models people use, most telling first.
_TOXIC = ("toxic", "toxicity", "hate", "hateful", "hatespeech", "hate speech", "offensive", "abusive", "negative", "1", "label_1")
_NOT_TOXIC = (
    "non-toxic",
    "nontoxic",
    "not toxic",
    "neutral",
    "nothate",
    "not-hate",
    "non-hate",
    "normal",
    "not offensive",
    "non-offensive",
)


@dataclass(frozen=True, kw_only=True)
class HFClassifier:
    """The probability of one label of a text-classification model; the others are kept as columns `p_…`."""

    uses_gpu: ClassVar[bool] = True

    model: str
    label: str = ""
    device: str = "auto"
    batch_size: int = 32

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on."""
        return {"scorer": "hf/1", "model": self.model, "weights": self._classifier.fingerprint, "label": self.positive}

    @property
    def rows_per_part(self) -> int:
        """What a killed run loses at most."""
        return 512

    @cached_property
    def positive(self) -> str:
        """The label whose probability is the score: the one asked for, else the one that means toxic."""
        labels = self._classifier.labels
        if self.label:
            if self.label not in labels:
                raise InputError(
                    f"'{self.model}' has no label '{self.label}'. It has: {listing(labels)}.{suggestion(self.label, labels)}"
                )
            return self.label
        found = positive_label(labels)
        if found is None:
            raise InputError(
                f"Which label of '{self.model}' means toxic is not clear. Name it behind an @: hf:{self.model}@{labels[-1]}"
            )
        return found

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """`score`, `truncated`, and `p_<label>` for every label."""
        labels = self._classifier.labels
        values, cut = self._classifier.probabilities(items)
        parts = {f"p_{name}": values[:, index] for index, name in enumerate(labels)}
        return {"score": values[:, labels.index(self.positive)], "truncated": cut, **parts}

    @cached_property
    def _classifier(self) -> "TextClassifier":
        from fairwitness.models.classifier import TextClassifier

        return TextClassifier(self.model, self.device, self.batch_size)


def positive_label(labels: Sequence[str]) -> str | None:
    """The label that means toxic, by its name; None where that is not clear.

    >>> positive_label(["neutral", "toxic"]), positive_label(["obscene", "toxic", "insult"]), positive_label(["sports", "news"])
    ('toxic', 'toxic', None)
    """
    by_name = {label.lower().replace("_", " "): label for label in labels} | {label.lower(): label for label in labels}
    for name in _TOXIC:
        if name in by_name:
            return by_name[name]
    if len(labels) == 2:
        others = [label for label in labels if label.lower().replace("_", " ") not in _NOT_TOXIC]
        return others[0] if len(others) == 1 else None
    return labels[0] if len(labels) == 1 else None
