"""Texts in, attributions out, in the shape an engine keeps part by part: the scorer's prompt and labels, our integral."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from fairwitness.errors import ModelError
from fairwitness.explain.integrated_gradients import Attribution, Prompt, Settings, attribute
from fairwitness.explain.words import join
from fairwitness.models.causal_lm import CausalLM
from fairwitness.models.prompting import Frame, Prompted, text_spans


class PromptedScorer(Protocol):
    """What is needed of a scorer to explain it: `scorers.zero_shot.ZeroShot` is one."""

    @property
    def identity(self) -> dict[str, Any]: ...
    @property
    def lm(self) -> CausalLM: ...
    @property
    def labels(self) -> list[list[int]]: ...
    @property
    def frames(self) -> list[Frame]: ...
    def prompted(self, texts: Sequence[str], wording: int = 0) -> list[Prompted]: ...


@dataclass(frozen=True)
class Explainer:
    """Integrated Gradients of a scorer's margin. `rows_per_part` rows share passes, and are what a killed run loses at most.

    Computed in float32 whatever the scores were computed in (`dtype` "same": in that): the differences along a path are smaller
    than bfloat16's rounding, so that in bfloat16 hardly any text converges.
    """

    scorer: PromptedScorer
    settings: Settings
    rows_per_part: int = 8
    dtype: str = "float32"

    @property
    def identity(self) -> dict[str, Any]:
        """The scorer's, and how the path is integrated."""
        return {**self.scorer.identity, "explainer": "integrated_gradients/2", "explained_in": self.dtype, **asdict(self.settings)}

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """Columns of the attribution table; `score` is f(x), and a row that could not be explained has `error`."""
        rows = self.scorer.prompted(items)
        spans = [text_spans(self.scorer.lm, self.scorer.frames[0], row) if row.error is None else [] for row in rows]
        usable = [k for k, marks in enumerate(spans) if any(marks)]
        prompts = [_prompt(rows[k], spans[k]) for k in usable]
        lm = self.scorer.lm
        with lm.computing_in(lm.dtype if self.dtype == "same" else self.dtype, "Give --ig_dtype same (fewer rows will converge)"):
            answers = dict(zip(usable, self._attribute(prompts), strict=True))
        columns = [self._columns(row, marks, answers.get(k)) for k, (row, marks) in enumerate(zip(rows, spans, strict=True))]
        return {name: [row[name] for row in columns] for name in columns[0]}

    def _attribute(self, prompts: list[Prompt]) -> list[Attribution | str]:
        """All rows together; where one of them does not fit into memory, each by itself, so that only that one fails."""
        lm, labels = self.scorer.lm, self.scorer.labels
        if not prompts:
            return []
        try:
            return list(attribute(lm, prompts, labels, self.settings))
        except ModelError as error:
            if len(prompts) == 1:
                return [str(error)]
            return [answer for prompt in prompts for answer in self._attribute([prompt])]

    def _columns(self, row: Prompted, spans: list[tuple[int, int] | None], answer: Attribution | str | None) -> dict[str, Any]:
        frame = self.scorer.frames[0]
        if not isinstance(answer, Attribution):
            names = ("prompt", "tokens", "attributions", "raw", "words", "word_weights", "start", "gap", "interval_error")
            empty = dict.fromkeys(("score", *names, "steps", "converged"))
            return {**empty, "error": row.error or answer or "no token of the text to explain"}
        raw = answer.raw
        total = float(np.abs(raw).sum())
        on_path = spans[answer.first : answer.first + len(raw)]
        weights = raw / total if total else raw
        inside = [(span, value) for span, value in zip(on_path, weights, strict=True) if span is not None]
        words, sums = join(row.text, [span for span, _ in inside], [value for _, value in inside])
        return {
            "score": answer.explained,
            "prompt": frame.front + row.text + frame.back,
            "tokens": self._names(row, on_path, answer.first),
            "attributions": weights.tolist(),
            "raw": raw.tolist(),
            "words": words,
            "word_weights": sums.tolist(),
            "start": answer.start,
            "gap": answer.gap,
            "interval_error": answer.interval_error,
            "steps": answer.steps,
            "converged": answer.converged,
            "error": None,
        }

    def _names(self, row: Prompted, spans: Sequence[tuple[int, int] | None], first: int) -> list[str]:
        """Tokens as they read. Where a character takes several tokens, the first of them carries it."""
        tokenizer = self.scorer.lm.tokenizer
        names, done = [], -1
        for place, span in enumerate(spans):
            if span is None:
                names.append(str(tokenizer.decode([row.tokens[first + place]])))
                continue
            names.append(row.text[max(span[0], done) : span[1]] if span[1] > done else "")
            done = max(done, span[1])
        return names


def _prompt(row: Prompted, spans: list[tuple[int, int] | None]) -> Prompt:
    inside = [k for k, span in enumerate(spans) if span is not None]
    return Prompt(row.tokens, inside[0], inside[-1] + 1)
