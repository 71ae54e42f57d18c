"""Integrated Gradients of the decision margin, for many texts at once, and how far each answer is from being complete.

    f(x)  = log P(positive label | x) − log P(negative label | x)              all label tokens, the very score that decides
    a_i   = ∫₀¹ ∂f/∂x_i (x0 + α (x − x0)) · (x_i − x0_i) dα                     one number per token; together f(x) − f(x0)

Only the tokens on the path get gradients; what stands before them is computed once for all rows and all α. Points of many rows
go through the model in one pass. Rules: quadrature.py. What the numbers fall on: words.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from fairwitness.errors import InputError, ModelError
from fairwitness.explain import quadrature
from fairwitness.models import packing, tree_attention
from fairwitness.models.causal_lm import CausalLM
from fairwitness.models.memory import out_of_memory

BASELINES = ("mean", "blank", "eos", "pad", "zero")
RULES = ("adaptive", "gauss", "midpoint", "published")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to integrate. `path`: 'text' moves the text's tokens only, 'prompt' all of them."""

    baseline: str = "mean"
    rule: str = "adaptive"
    path: str = "text"
    steps: int = 32
    tolerance: float = 0.05
    max_steps: int = 256

    def __post_init__(self) -> None:
        for name, value, known in (("baseline", self.baseline, BASELINES), ("rule", self.rule, RULES)):
            if value not in known:
                raise InputError(f"Unknown {name} '{value}' for Integrated Gradients. Expected one of: {', '.join(known)}.")
        if self.path not in ("text", "prompt"):
            raise InputError(f"Unknown path '{self.path}' for Integrated Gradients. Expected text or prompt.")
        if self.steps < 1 or self.max_steps < 1 or self.tolerance <= 0:
            raise InputError("Integrated Gradients needs at least one step and a tolerance above 0.")


class Prompt(NamedTuple):
    """A tokenized prompt; tokens first ≤ i < last are the text."""

    tokens: list[int]
    first: int
    last: int


@dataclass(frozen=True)
class Attribution:
    """One row's answer.

    `raw[i]` belongs to token `first + i` of the prompt. `explained` is f(x), `start` f(x0); `gap` is
    |Σ raw − (explained − start)| / |explained − start|, undefined (NaN) where the two are equal; `interval_error` is the sum of
    such errors over the intervals of the path before they cancel, and equals `gap` for rules without intervals.
    """

    first: int
    raw: np.ndarray
    explained: float
    start: float
    gap: float
    interval_error: float
    steps: int
    converged: bool


def attribute(lm: CausalLM, prompts: Sequence[Prompt], labels: Sequence[Sequence[int]], settings: Settings) -> list[Attribution]:
    """Attribute the margin between two labels to the tokens of each prompt, in order."""
    if not lm.packs:
        raise InputError(f"Integrated Gradients is not available for the architecture of '{lm.name}' ({type(lm.model).__name__}).")
    field = _Field(lm, prompts, labels, settings)
    paths = [_path(settings) for _ in prompts]
    while wanted := [(row, alpha) for row, path in enumerate(paths) for alpha in path.wanted()]:
        for (row, alpha), point in zip(wanted, field.evaluate(wanted), strict=True):
            paths[row].take(alpha, point)
    return [_finished(path, field.ranges[row][0]) for row, path in enumerate(paths)]


def _path(settings: Settings) -> quadrature.Path:
    if settings.rule == "adaptive":
        return quadrature.AdaptivePath(settings.steps, settings.tolerance, settings.max_steps)
    return quadrature.FixedPath(settings.rule, settings.steps, settings.tolerance)


def _finished(path: quadrature.Path, first: int) -> Attribution:
    answer = path.answer()
    return Attribution(
        first=first,
        raw=answer.attributions,
        explained=answer.end,
        start=answer.start,
        gap=answer.gap,
        interval_error=answer.interval_error,
        steps=answer.steps,
        converged=answer.converged,
    )


class _Field:
    """f and its gradient along the path, at any (row, α)."""

    def __init__(self, lm: CausalLM, prompts: Sequence[Prompt], labels: Sequence[Sequence[int]], settings: Settings) -> None:
        self.lm, self.labels = lm, labels
        whole = settings.path == "prompt"
        self.ranges = [(0, len(p.tokens)) if whole else (p.first, p.last) for p in prompts]
        shared = packing.shared_head([p.tokens[: first + 1] for p, (first, _) in zip(prompts, self.ranges, strict=True)], least=1)
        # One row alone shares its front with itself, at every α.
        self.shared = self.ranges[0][0] if len(prompts) == 1 else shared
        self.shared = min(self.shared, *(len(p.tokens) - 1 for p in prompts))
        self.head = lm.head(prompts[0].tokens[: self.shared])
        self.bodies = [p.tokens[self.shared :] for p in prompts]
        self.table = lm.model.get_input_embeddings()
        self.origin = baseline_vector(lm, settings.baseline)
        self.budget = max(1, lm.token_budget // 2)

    def evaluate(self, wanted: Sequence[tuple[int, float]]) -> list[quadrature.Point]:
        """Values and per-token slopes, in the order asked; in smaller passes where memory runs out."""
        extra = sum(len(tokens) - 1 for tokens in self.labels)
        answers: list[quadrature.Point | None] = [None] * len(wanted)
        waiting = list(range(len(wanted)))
        while waiting:
            lengths = [len(self.bodies[wanted[place][0]]) + extra for place in waiting]
            batches = [[waiting[k] for k in batch] for batch in packing.plan(lengths, budget=self.budget)]
            waiting = self._try(batches, wanted, answers)
        return [answer for answer in answers if answer is not None]

    def _try(
        self, batches: list[list[int]], wanted: Sequence[tuple[int, float]], answers: list[quadrature.Point | None]
    ) -> list[int]:
        for number, places in enumerate(batches):
            try:
                points = self._pass([wanted[place] for place in places])
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error, self.lm.device):
                    raise
                if len(places) == 1:
                    tokens = len(self.bodies[wanted[places[0]][0]])
                    raise ModelError(f"out of memory: the gradient of one text of {tokens} tokens does not fit") from error
                self.budget = max(1, min(self.budget, sum(len(self.bodies[wanted[place][0]]) for place in places)) // 2)
                return [place for batch in batches[number:] for place in batch]
            for place, point in zip(places, points, strict=True):
                answers[place] = point
        return []

    def _pass(self, wanted: Sequence[tuple[int, float]]) -> list[quadrature.Point]:
        device = self.lm.device
        batch = tree_attention.build([(self.bodies[row], self.labels) for row, _ in wanted], device, head=self.head)
        moved, alphas = self._moved(batch, wanted)
        with torch.no_grad():
            fixed = self.table(batch.tokens)
            ends = fixed[moved].float()
            starts = self.origin.expand_as(ends)
            points = starts + alphas[:, None] * (ends - starts)
        points.requires_grad_(True)
        embeddings = fixed.index_copy(0, moved, points.to(fixed.dtype))
        logprobs = tree_attention.run(self.lm.model, batch, embeddings).view(len(wanted), 2)
        margins = logprobs[:, 0] - logprobs[:, 1]
        (gradient,) = torch.autograd.grad(margins.sum(), points)
        slopes = (gradient * (ends - starts)).sum(dim=1).double().cpu().numpy()
        values = margins.detach().double().cpu().numpy()
        counts = [self.ranges[row][1] - self.ranges[row][0] for row, _ in wanted]
        edges = np.cumsum([0, *counts])
        return [quadrature.Point(float(values[k]), slopes[edges[k] : edges[k + 1]]) for k in range(len(wanted))]

    def _moved(self, batch: tree_attention.TreeBatch, wanted: Sequence[tuple[int, float]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Which tokens of the flat batch lie on the path, and the α of each."""
        places, alphas = [], []
        for start, (row, alpha) in zip(batch.layout.body_starts.tolist(), wanted, strict=True):
            first, last = (edge - self.shared for edge in self.ranges[row])
            places.append(np.arange(start + first, start + last))
            alphas.append(np.full(last - first, alpha, dtype=np.float32))
        device = self.lm.device
        return torch.from_numpy(np.concatenate(places)).to(device), torch.from_numpy(np.concatenate(alphas)).to(device)


def baseline_vector(lm: CausalLM, name: str) -> torch.Tensor:
    """What stands for an absent token, (hidden,) in float32: an embedding of a token that says nothing, their mean, or zero."""
    table = lm.model.get_input_embeddings()
    some = torch.zeros(1, dtype=torch.long, device=lm.device)
    with torch.no_grad():
        if name == "zero":
            return torch.zeros_like(table(some)[0], dtype=torch.float32)
        if name == "mean":
            size = int(lm.model.config.get_text_config().vocab_size)
            pieces = [torch.arange(start, min(start + 8192, size), device=lm.device) for start in range(0, size, 8192)]
            return torch.stack([table(piece).double().sum(0) for piece in pieces]).sum(0).div(size).float()
        vector: torch.Tensor = table(some + _baseline_token(lm, name))[0].float()
        return vector


def _baseline_token(lm: CausalLM, name: str) -> int:
    tokenizer: Any = lm.tokenizer
    if name == "blank":
        return int(lm.encode([" "])[0][0])
    wanted = tokenizer.pad_token_id if name == "pad" else end_of_text(tokenizer)
    if wanted is None:
        raise InputError(f"The tokenizer of '{lm.name}' has no {name} token. Choose another --ig_baseline: mean or blank.")
    return int(wanted)


def end_of_text(tokenizer: Any) -> int | None:
    """The end-of-text token: `<|endoftext|>` where the vocabulary has it (a chat model's eos ends a turn, not a text), else eos."""
    known = tokenizer.get_vocab().get("<|endoftext|>", tokenizer.eos_token_id)
    return None if known is None else int(known)
