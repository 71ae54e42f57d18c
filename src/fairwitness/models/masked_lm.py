"""A masked language model (BERT, RoBERTa and their kin) that says how likely a token is at a place that was masked.

    mlm = load("bert-base-cased")
    mlm.logprobs([Masked(tokens, position, target), …])      # natural logs, in float32 whatever the model's dtype

Equal inputs with different targets go through the model once, so three associations behind one masked context cost one pass.
Which tokens to mask is the scorer's decision.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fairwitness.errors import ModelError
from fairwitness.models import packing
from fairwitness.models.devices import choose_device, choose_dtype
from fairwitness.models.loading import explained, load_tokenizer, locate
from fairwitness.models.memory import enough_memory, out_of_memory, token_budget
from fairwitness.models.quiet import quiet
from fairwitness.models.safe_weights import safe


class Masked(NamedTuple):
    """One question: how likely is `target` at `position` of `tokens`, which holds the mask token there."""

    tokens: tuple[int, ...]
    position: int
    target: int


@dataclass
class MaskedLM:
    """A loaded model with its tokenizer. `token_budget` is how many tokens go through at once; it halves when memory runs out."""

    model: Any
    tokenizer: Any
    name: str
    device: torch.device
    dtype: str
    token_budget: int = 0

    def __post_init__(self) -> None:
        self.token_budget = self.token_budget or token_budget(self.device)

    @property
    def context_length(self) -> int:
        """The most tokens a row may have. RoBERTa counts positions from its padding id, which costs it two."""
        config = self.model.config
        offset = (config.pad_token_id or 0) + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
        return int(getattr(config, "max_position_embeddings", 2**30)) - offset

    def logprobs(self, questions: Sequence[Masked]) -> NDArray[np.float64]:
        """Natural-log probability of each target at its masked place; NaN where the row is longer than the model's context."""
        answers = np.full(len(questions), np.nan)
        rows: dict[tuple[int, ...], list[int]] = {}
        for index, question in enumerate(questions):
            if len(question.tokens) <= self.context_length:
                rows.setdefault(question.tokens, []).append(index)
        distinct = list(rows)
        waiting = list(range(len(distinct)))
        while waiting:
            batches = packing.plan([len(distinct[row]) for row in waiting], budget=self.token_budget)
            waiting = self._do([[waiting[place] for place in batch] for batch in batches], distinct, rows, questions, answers)
        return answers

    def _do(
        self,
        batches: list[list[int]],
        distinct: list[tuple[int, ...]],
        rows: dict[tuple[int, ...], list[int]],
        questions: Sequence[Masked],
        answers: NDArray[np.float64],
    ) -> list[int]:
        """Do the batches in turn; return the rows still to do, with the budget halved, at the first that does not fit."""
        for number, batch in enumerate(batches):
            asked = [(place, index) for place, row in enumerate(batch) for index in rows[distinct[row]]]
            try:
                found = self._one_pass([distinct[row] for row in batch], [(place, questions[index]) for place, index in asked])
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error, self.device):
                    raise
                if len(batch) == 1:
                    tokens = len(distinct[batch[0]])
                    raise ModelError(f"Out of memory: one text of {tokens} tokens does not fit on {self.device}.") from error
                self.token_budget = max(1, self.token_budget // 2)
                return [row for later in batches[number:] for row in later]
            answers[[index for _, index in asked]] = found
        return []

    def _one_pass(self, rows: Sequence[tuple[int, ...]], asked: Sequence[tuple[int, Masked]]) -> NDArray[np.float64]:
        width = max(map(len, rows))
        tokens = torch.full((len(rows), width), self.tokenizer.pad_token_id or 0, dtype=torch.long)
        mask = torch.zeros(len(rows), width, dtype=torch.long)
        for place, row in enumerate(rows):
            tokens[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
        with torch.inference_mode():
            logits = self.model(input_ids=tokens.to(self.device), attention_mask=mask.to(self.device)).logits
            places = torch.tensor([[place, question.position] for place, question in asked], device=logits.device)
            targets = torch.tensor([question.target for _, question in asked], device=logits.device)
            chosen = torch.log_softmax(logits[places[:, 0], places[:, 1]].float(), dim=-1)
            found: NDArray[np.float64] = chosen.gather(1, targets[:, None])[:, 0].double().cpu().numpy()
        return found


def load(name: str, *, device: str = "auto", dtype: str = "auto", token_budget: int = 0) -> MaskedLM:
    """Load a masked language model by hub name or folder. Every way this can fail is a ModelError that says what to do."""
    from transformers import AutoModelForMaskedLM

    place = choose_device(device)
    number = choose_dtype(dtype, place)
    source, extra = locate(name)
    with explained(name), quiet():
        model, info = AutoModelForMaskedLM.from_pretrained(
            source, **safe(extra), dtype=getattr(torch, number), output_loading_info=True
        )
        tokenizer = load_tokenizer(name)
    missing = sorted(key for key in info.get("missing_keys") or [] if "pooler" not in key and "position_ids" not in key)
    if missing:
        raise ModelError(f"The weights of '{name}' lack {missing[0]}, which would be random numbers. Give a complete masked model.")
    if tokenizer.mask_token_id is None:
        raise ModelError(f"The tokenizer of '{name}' has no mask token, so nothing can be masked.")
    with enough_memory(f"'{name}'", place):
        model.to(place).eval().requires_grad_(False)
    return MaskedLM(model, tokenizer, name, place, number, token_budget=token_budget)


def is_masked(name: str) -> bool:
    """Whether a name is a masked language model's, by its configuration alone."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    source, extra = locate(name)
    with explained(name):
        config = AutoConfig.from_pretrained(source, **extra)
    architectures = [str(word) for word in getattr(config, "architectures", None) or []]
    if architectures:
        return any(word.endswith(("ForMaskedLM", "ForPreTraining")) for word in architectures)
    return config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False)
