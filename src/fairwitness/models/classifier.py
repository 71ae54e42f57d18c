"""Any Hugging Face text-classification model: texts in, probabilities by label out. What labels mean is the scorer's business."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairwitness.errors import MissingExtraError, ModelError
from fairwitness.files import content_hash
from fairwitness.models.quiet import quiet
from fairwitness.models.safe_weights import safe


@dataclass(frozen=True)
class TextClassifier:
    """A classifier by name or folder; loaded when first used. Texts longer than the model's limit are cut, and that is reported."""

    model: str
    device: str = "auto"
    batch_size: int = 32

    @cached_property
    def loaded(self) -> tuple[Any, Any]:
        """Tokenizer and model, on the device, ready."""
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError:
            raise MissingExtraError("transformers", "hf", f"The model '{self.model}'") from None
        from fairwitness.models.memory import enough_memory

        try:
            with quiet():
                tokenizer = AutoTokenizer.from_pretrained(self.model)
                model = AutoModelForSequenceClassification.from_pretrained(self.model, **safe(), dtype=torch.float32)
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            line = " ".join(str(error).split())[:200]
            raise ModelError(f"'{self.model}' cannot be loaded as a text-classification model: {line}") from error
        with enough_memory(f"'{self.model}'", torch.device(self._device())):
            return tokenizer, model.to(self._device()).eval()

    @cached_property
    def labels(self) -> list[str]:
        """The model's own names of its labels, in order."""
        names = self.loaded[1].config.id2label
        return [str(names[index]) for index in sorted(names)]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the weights' first values and the configuration: two models of one name are told apart."""
        model = self.loaded[1]
        weights = [parameter.detach().flatten()[:64].float().cpu().numpy().tobytes() for parameter in model.parameters()]
        return content_hash(model.config.to_json_string(use_diff=False), *weights)

    def probabilities(self, texts: Sequence[str]) -> tuple["np.ndarray[Any, Any]", list[bool]]:
        """One row a text, one column a label; and which texts were cut.

        Sigmoid where the model says it is multi-label, else softmax. Texts are batched by length, which changes nothing but speed.
        """
        import torch

        from fairwitness.models.memory import in_batches

        tokenizer, model = self.loaded
        limit = min(int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", 512)))
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        rows: list[Any] = [None] * len(texts)
        cut = [False] * len(texts)

        def one_batch(chosen: Sequence[int]) -> None:
            some = [texts[index] for index in chosen]
            batch = tokenizer(some, return_tensors="pt", padding=True, truncation=True, max_length=limit)
            with torch.inference_mode():
                logits = model(**batch.to(model.device)).logits.float()
            several = model.config.problem_type == "multi_label_classification" or logits.shape[1] == 1
            answers = (torch.sigmoid(logits) if several else torch.softmax(logits, dim=1)).cpu().numpy()
            for row, index in enumerate(chosen):
                rows[index] = answers[row]
                cut[index] = int(batch["attention_mask"][row].sum()) >= limit

        in_batches(order, self.batch_size, one_batch, model.device)
        return np.array(rows, dtype=np.float64).reshape(len(texts), -1), cut

    def _device(self) -> str:
        import torch

        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"


def is_folder(model: str) -> bool:
    """Whether a model's name is a folder here rather than a name on the Hub."""
    return Path(model).is_dir()
