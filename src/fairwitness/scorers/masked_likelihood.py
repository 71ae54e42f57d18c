"""How likely a masked language model finds a sentence, under protocols that each measure something else.

An item is (subset, context, text), as in likelihood.py.

    masked       the authors' score of an intrasentence item: the word in the blank, its pieces one by one behind those before it,
                 each at a mask that stands in the context; the arithmetic mean of their probabilities.
    pll          pseudo-log-likelihood per token (Salazar et al. 2020): every token masked in turn, all others visible. Between
                 sentences only the association's tokens count, with the context visible.
    pll_sum      the same summed.
    unmodified   CrowS-Pairs' score (Nangia et al. 2020): summed over the tokens that a text shares with the other text of its pair,
                 which is given as the context, each masked in turn.

All logs are natural. `logprob_sum`, `logprob_mean` and `n_tokens` stand beside the score.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairwitness.errors import InputError
from fairwitness.scorers.likelihood import BLANK, INTRASENTENCE, WHOLE, Sentence, require_protocol, same_start

if TYPE_CHECKING:
    from fairwitness.models.masked_lm import Masked, MaskedLM

PROTOCOLS = ("masked", "pll", "pll_sum", "unmodified")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, kw_only=True)
class MaskedLikelihood:
    """Scores (subset, context, text) with a masked language model. The model is loaded when the first item is scored."""

    uses_gpu: ClassVar[bool] = True

    model: str
    protocol: str = "pll"
    device: str = "auto"
    dtype: str = "auto"
    token_budget: int = 0

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on."""
        from fairwitness.models.devices import choose_device, choose_dtype
        from fairwitness.models.loading import fingerprint

        require_protocol(self.protocol, PROTOCOLS)
        return {
            "scorer": "masked_likelihood/1",
            "model": self.model,
            "weights": fingerprint(self.model),
            "number_format": choose_dtype(self.dtype, choose_device(self.device)),
            "protocol": self.protocol,
        }

    @property
    def rows_per_part(self) -> int:
        """A multiple of a unit's three sentences, enough to pack batches of like length from."""
        from fairwitness.models.devices import choose_device

        return 3 * (1024 if choose_device(self.device).type == "cuda" else 64)

    @cached_property
    def mlm(self) -> "MaskedLM":
        """The loaded model."""
        from fairwitness.models.masked_lm import load

        return load(self.model, device=self.device, dtype=self.dtype, token_budget=self.token_budget)

    def score(self, items: Sequence[Sentence], /) -> dict[str, Any]:
        """`score`, `logprob_sum`, `logprob_mean`, `n_tokens`, `error`."""
        asked = [self._questions(item) for item in items]
        found = self.mlm.logprobs([question for questions in asked for question in questions])
        ends = np.cumsum([len(questions) for questions in asked])
        pieces = np.split(found, ends[:-1]) if len(asked) else []
        total = np.array([piece.sum() if piece.size else np.nan for piece in pieces])
        mean = np.array([piece.mean() if piece.size else np.nan for piece in pieces])
        probability = np.array([np.exp(piece).mean() if piece.size else np.nan for piece in pieces])
        score = {"masked": probability, "pll": mean}.get(self.protocol, total)
        error = [_error(piece) for piece in pieces]
        return {"score": score, "logprob_sum": total, "logprob_mean": mean, "n_tokens": [len(p) for p in pieces], "error": error}

    def _questions(self, item: Sentence) -> list["Masked"]:
        subset, context, text = item
        if self.protocol == "masked":
            return self._in_the_blank(subset, context, text)
        if self.protocol == "unmodified":
            mine, other = self._ids(text), self._ids(context)
            same = [
                place
                for block in SequenceMatcher(None, mine, other, autojunk=False).get_matching_blocks()
                for place in _span(block)
            ]
            return self._each(mine, same[1:-1])
        if subset in (INTRASENTENCE, WHOLE) or not context:
            ids = self._ids(text)
            return self._each(ids, self._own(ids))
        return self._behind(context, text)

    def _in_the_blank(self, subset: str, context: str, text: str) -> list["Masked"]:
        if subset != INTRASENTENCE:
            raise InputError(
                "--protocol masked is the authors' score of a word in a blank; between sentences they used a next-sentence head, "
                "which a masked model alone does not give. Use --protocol pll, or --subset intrasentence."
            )
        from fairwitness.models.masked_lm import Masked

        tokenizer = self.mlm.tokenizer
        place = [index for index, word in enumerate(context.split(" ")) if BLANK in word][-1]
        words = text.split(" ")
        word = words[place].translate(_PUNCTUATION) if place < len(words) else ""
        pieces = tokenizer.encode(word, add_special_tokens=False) if word else []
        questions = []
        for index, piece in enumerate(pieces):
            shown = f"{tokenizer.decode(pieces[:index])}{tokenizer.mask_token}"
            ids = self._ids(context.replace(BLANK, shown))
            questions.append(Masked(tuple(ids), ids.index(tokenizer.mask_token_id), piece))
        return questions

    def _behind(self, context: str, text: str) -> list["Masked"]:
        closed = context if context.rstrip().endswith((".", "!", "?")) else f"{context.rstrip()}."
        both, front = self._ids(f"{closed} {text}"), self._ids(closed)
        ahead = same_start([both, front])
        return self._each(both, [place for place in self._own(both) if place >= ahead])

    def _each(self, ids: list[int], places: Sequence[int]) -> list["Masked"]:
        """One question per place: that token masked, all others as they are."""
        from fairwitness.models.masked_lm import Masked

        mask = self.mlm.tokenizer.mask_token_id
        return [Masked((*ids[:place], mask, *ids[place + 1 :]), place, ids[place]) for place in places]

    def _ids(self, text: str) -> list[int]:
        return list(self.mlm.tokenizer(text)["input_ids"])

    def _own(self, ids: list[int]) -> list[int]:
        special = set(self.mlm.tokenizer.all_special_ids) - {self.mlm.tokenizer.unk_token_id}
        return [place for place, token in enumerate(ids) if token not in special]


def _span(block: Any) -> range:
    return range(block.a, block.a + block.size)


def _error(piece: Any) -> str | None:
    if not piece.size:
        return "there is no token to mask"
    return "the text is longer than the model's context" if np.isnan(piece).any() else None
