"""A filter model from any Hugging Face encoder: fine-tuned with `Trainer`, a checkpoint (safetensors) after each epoch."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairwitness.errors import ModelError
from fairwitness.models.memory import enough_memory, in_batches
from fairwitness.models.quiet import quiet
from fairwitness.models.safe_weights import safe
from fairwitness.models.text_classifier import ABOUT, read_about

SEPARATOR = " [SEP] "


@dataclass(frozen=True, kw_only=True)
class EncoderSettings:
    """The training of an encoder; the published defaults."""

    name: str
    epochs: int = 10
    lr: float = 5e-5
    batch_size: int = 16
    weight_decay: float = 0.01
    warmup_ratio: float = 0.1
    gradient_clip_val: float = 0.0
    accumulate_grad_batches: int = 1
    max_steps: int = -1
    max_length: int = 256
    precision: str = "32"
    seed: int = 42
    log_every: int = 20
    wandb: bool = False
    run_name: str = ""


class EncoderClassifier:
    """A fine-tuned encoder, loaded."""

    def __init__(self, model: Any, tokenizer: Any, about: dict[str, Any]) -> None:
        self.model, self.tokenizer, self.about = model.eval(), tokenizer, about

    def logits(self, items: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """[item, 2], in batches of like length."""
        texts = join_fields(items, self.about["joiner"], self.tokenizer)
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        result = np.zeros((len(texts), 2))

        def one_batch(places: Sequence[int]) -> None:
            some = [texts[place] for place in places]
            batch = self.tokenizer(some, return_tensors="pt", padding=True, truncation=True, max_length=self._longest)
            with torch.inference_mode():
                result[list(places)] = self.model(**batch.to(self.model.device)).logits.double().cpu().numpy()

        in_batches(order, 64, one_batch, self.model.device)
        return result

    @property
    def _longest(self) -> int:
        return int(self.about.get("max_length", 256))


def load_encoder_classifier(folder: Path) -> EncoderClassifier:
    """Load a checkpoint; weights in safetensors only."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        with quiet():
            model = AutoModelForSequenceClassification.from_pretrained(folder, **safe())
            return EncoderClassifier(model.to(_device()), AutoTokenizer.from_pretrained(folder), read_about(folder))
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{folder} cannot be loaded as a filter model: {str(error).splitlines()[0]}") from error


def train_encoder_classifier(
    items: dict[str, Sequence[Sequence[str]]],
    labels: dict[str, Sequence[int]],
    settings: EncoderSettings,
    about: dict[str, Any],
    on_epoch: Callable[[int, EncoderClassifier], bool],
) -> None:
    """Fine-tune on `train`; after each epoch call `on_epoch(epoch, model)`, which says whether to go on."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, set_seed

    set_seed(settings.seed)
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(settings.name)
            model = AutoModelForSequenceClassification.from_pretrained(
                settings.name, **safe(), num_labels=2, ignore_mismatched_sizes=True
            )
    except (OSError, ValueError) as error:
        raise ModelError(
            f"The encoder '{settings.name}' cannot be loaded: {str(error).splitlines()[0]} "
            "Name a model folder, or train the built-in classifier: --filter_model_type ngram"
        ) from error
    about = {**about, "max_length": min(settings.max_length, _positions(model))}
    data = _Rows(tokenizer, join_fields(items["train"], about["joiner"], tokenizer), labels["train"], about["max_length"])
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Trainer(
            model=model,
            args=_arguments(settings, Path(scratch)),
            train_dataset=data,
            data_collator=DataCollatorWithPadding(tokenizer),
            callbacks=[_epoch_callback(tokenizer, about, on_epoch)],
        )
        with enough_memory(
            f"training '{settings.name}' on {settings.batch_size} texts at once", _device(), "Give a smaller --batch_size"
        ):
            trainer.train()


def save_encoder_classifier(classifier: EncoderClassifier, folder: Path) -> Path:
    """Write a checkpoint: safetensors, tokenizer, and what it was trained for. The last file written says it is whole."""
    classifier.model.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)
    (folder / ABOUT).write_text(json.dumps(classifier.about, ensure_ascii=False, indent=2), encoding="utf-8")
    return folder


def join_fields(items: Sequence[Sequence[str]], joiner: str, tokenizer: Any) -> list[str]:
    """The fields of each item in one text; the published " [SEP] " becomes the tokenizer's own separator."""
    if joiner == SEPARATOR and tokenizer.sep_token:
        joiner = f" {tokenizer.sep_token} "
    return [joiner.join(item) for item in items]


class _Rows(torch.utils.data.Dataset[dict[str, Any]]):
    def __init__(self, tokenizer: Any, texts: Sequence[str], labels: Sequence[int], longest: int) -> None:
        self._encoded = tokenizer(list(texts), truncation=True, max_length=longest)
        self._labels = labels

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {**{key: values[index] for key, values in self._encoded.items()}, "labels": int(self._labels[index])}


def _arguments(settings: EncoderSettings, scratch: Path) -> Any:
    from transformers import TrainingArguments

    return TrainingArguments(
        output_dir=str(scratch),
        num_train_epochs=settings.epochs,
        max_steps=settings.max_steps,
        learning_rate=settings.lr,
        weight_decay=settings.weight_decay,
        warmup_steps=settings.warmup_ratio,
        lr_scheduler_type="linear",
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.accumulate_grad_batches,
        max_grad_norm=settings.gradient_clip_val,
        bf16=settings.precision in ("bf16", "16"),
        seed=settings.seed,
        save_strategy="no",
        logging_steps=settings.log_every,
        report_to=["wandb"] if settings.wandb else [],
        run_name=settings.run_name or None,
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
    )


def _epoch_callback(tokenizer: Any, about: dict[str, Any], on_epoch: Callable[[int, EncoderClassifier], bool]) -> Any:
    from transformers import TrainerCallback

    class AfterEpoch(TrainerCallback):  # type: ignore[misc]
        def on_epoch_end(self, _arguments: Any, state: Any, control: Any, **rest: Any) -> Any:
            model = rest["model"]
            epoch = round(state.epoch) - 1
            go_on = on_epoch(epoch, EncoderClassifier(model, tokenizer, {**about, "epoch": epoch}))
            model.train()
            control.should_training_stop = not go_on
            return control

    return AfterEpoch()


def _positions(model: Any) -> int:
    return int(getattr(model.config, "max_position_embeddings", 512) or 512)


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
