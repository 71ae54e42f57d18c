"""A causal language model as a classifier: how much likelier is the positive label than the negative one behind the prompt?

    score = log P(positive label | prompt) − log P(negative label | prompt)       all label tokens, natural logs

A label of more tokens is less likely for that reason alone; `normalize="tokens"` compares means per token instead, and
`calibrate="content-free"` subtracts what the model says of an empty text. The plain difference is the default.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairwitness.errors import InputError
from fairwitness.scorers.tasks import Task, task

if TYPE_CHECKING:
    from fairwitness.models.causal_lm import CausalLM, Scored
    from fairwitness.models.prompting import Frame, Prompted

NORMALIZE = ("none", "tokens")
CALIBRATE = ("none", "content-free", "prior")


@dataclass(frozen=True, kw_only=True)
class ZeroShot:
    """Scores texts with a causal language model. The model is loaded when the first text is scored."""

    uses_gpu: ClassVar[bool] = True

    model: str = "smollm2"
    task: str | Task = "toxicity"
    device: str = "auto"
    dtype: str = "auto"
    quantize: bool = False
    chat: bool = False
    normalize: str = "none"
    content_free: bool = False
    label_prefix: str = ""
    prompts: int = 1
    max_tokens: int = 0
    token_budget: int = 0

    @cached_property
    def question(self) -> Task:
        """The task, and as many of its wordings as were asked for."""
        found = self.task if isinstance(self.task, Task) else task(self.task)
        if not 1 <= self.prompts <= len(found.prompts):
            raise InputError(
                f"--prompts {self.prompts} was asked for, but task '{found.name}' has {len(found.prompts)} wordings. "
                "A task of your own (--task file.toml) may list more under prompts."
            )
        return Task(found.name, found.positive, found.negative, found.prompts[: self.prompts])

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on."""
        from fairwitness.models.loading import fingerprint, is_packed

        question = self.question
        return {
            "scorer": "zero_shot/1",
            "model": self.model,
            "weights": fingerprint(self.model),
            "labels": [self.label_prefix + question.positive, self.label_prefix + question.negative],
            "prompts": list(question.prompts),
            "number_format": self.resolved_dtype,
            "quantized": self.quantize or is_packed(self.model),
            "chat": self.chat,
            "normalize": self.normalize,
            "content_free": self.content_free,
            "max_text": self.max_tokens,
        }

    @cached_property
    def resolved_dtype(self) -> str:
        """The number format that is used where "auto" was asked for."""
        from fairwitness.models.devices import choose_device, choose_dtype

        return choose_dtype(self.dtype, choose_device(self.device))

    @property
    def rows_per_part(self) -> int:
        """Enough rows to pack batches of like length from; a part is what a killed run loses at most."""
        from fairwitness.models.devices import choose_device

        return 8192 if choose_device(self.device).type == "cuda" else 256

    @cached_property
    def lm(self) -> "CausalLM":
        """The loaded model."""
        from fairwitness.models.causal_lm import load

        return load(self.model, device=self.device, dtype=self.dtype, quantize=self.quantize, token_budget=self.token_budget)

    @cached_property
    def labels(self) -> list[list[int]]:
        """Tokens of the positive and of the negative label."""
        names = [self.label_prefix + self.question.positive, self.label_prefix + self.question.negative]
        tokens = self.lm.encode(names)
        for name, ids in zip(names, tokens, strict=True):
            if not ids:
                raise InputError(
                    f"The label '{name}' becomes no tokens with the tokenizer of '{self.model}'. Choose another label."
                )
        if tokens[0] == tokens[1]:
            raise InputError(
                f"The labels '{names[0]}' and '{names[1]}' become the same tokens with the tokenizer of '{self.model}'."
            )
        return tokens

    @cached_property
    def frames(self) -> list["Frame"]:
        """Front and back of each wording."""
        from fairwitness.models.prompting import frame

        return [frame(self.lm, prompt, chat=self.chat) for prompt in self.question.prompts]

    @cached_property
    def offsets(self) -> list[float]:
        """What is subtracted from the score under each wording: the score of an empty text, or 0."""
        if not self.content_free:
            return [0.0] * len(self.frames)
        rows = [prompted for number in range(len(self.frames)) for prompted in self.prompted([""], number)]
        return [float(self._margins(self.lm.score([(row.tokens, self.labels)]))[0]) for row in rows]

    @property
    def room(self) -> int:
        """Tokens a prompt may have, the labels taken off."""
        longest = max(len(tokens) for tokens in self.labels) - 1
        room = self.lm.context_length - longest
        return min(room, self.max_tokens) if self.max_tokens else room

    def prompted(self, texts: Sequence[str], wording: int = 0) -> list["Prompted"]:
        """Texts in their prompt, as tokens."""
        from fairwitness.models.prompting import prompts

        return prompts(self.lm, self.frames[wording], texts, room=self.room)

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """`score`, `lp_pos`, `lp_neg`, `truncated`, `error`; with several wordings also `score_2`, …"""
        columns = self._score_wording(items, 0)
        for wording in range(1, len(self.frames)):
            answered = self._score_wording(items, wording)
            columns[f"score_{wording + 1}"] = answered["score"]
            columns["error"] = [first or then for first, then in zip(columns["error"], answered["error"], strict=True)]
        return columns

    def _score_wording(self, items: Sequence[str], wording: int) -> dict[str, Any]:
        rows: list[Prompted] = []
        scored: list[Scored] = []
        for chunk in self._tokenized_ahead(items, wording):
            rows += chunk
            scored += self.lm.score([(row.tokens, self.labels) for row in chunk])
        sums = np.array([answer.logprob_sum or (np.nan, np.nan) for answer in scored], dtype=np.float64).reshape(-1, 2)
        return {
            "score": self._margins(scored) - self.offsets[wording],
            "lp_pos": sums[:, 0],
            "lp_neg": sums[:, 1],
            "truncated": [row.truncated for row in rows],
            "error": [row.error or answer.error for row, answer in zip(rows, scored, strict=True)],
        }

    def _margins(self, scored: Sequence["Scored"]) -> np.ndarray:
        sums = np.array([answer.logprob_sum or (np.nan, np.nan) for answer in scored], dtype=np.float64).reshape(-1, 2)
        if self.normalize == "tokens":
            sums = sums / [len(tokens) for tokens in self.labels]
        difference: np.ndarray = sums[:, 0] - sums[:, 1]
        return difference

    def _tokenized_ahead(self, items: Sequence[str], wording: int, size: int = 4096) -> Iterator[list["Prompted"]]:
        """Chunks of prompts; the next is tokenized by another thread while the model works on this one."""
        self.frames, self.labels  # noqa: B018 - made once, before two threads want them
        chunks = [items[start : start + size] for start in range(0, len(items), size)]
        with ThreadPoolExecutor(1) as pool:
            waiting = [pool.submit(self.prompted, chunk, wording) for chunk in chunks[:1]]
            for number in range(len(chunks)):
                if number + 1 < len(chunks):
                    waiting.append(pool.submit(self.prompted, chunks[number + 1], wording))
                yield waiting[number].result()
