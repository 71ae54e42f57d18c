"""How likely a causal language model finds a sentence, under protocols that each measure something else.

An item is (subset, context, text): a sentence of StereoSet, or any text with the subset `whole` and no context. Neighbouring items
with the same context are one unit, and what their tokens begin with alike goes through the model once.

    reference         geometric-mean probability of the tokens. Intrasentence: of the whole sentence, its first token behind the
                      start token, the others behind the sentence alone (the authors' GPT-2 score). Intersentence: of the
                      association behind the context (the authors' next-sentence heads for it are not published).
    conditional       mean log P(association | context) per token: longer is not worse.
    conditional_sum   the same summed: the probability of the association itself; longer is worse.
    pmi               log P(association | context) − log P(association): what the context adds; plain frequency drops out.
    full              mean log-likelihood of the full text, context included.
    chat              the same inside the model's chat template, system turn and markers included (the Gemma 3 evaluation's).

All logs are natural. `logprob_sum`, `logprob_mean` and `n_tokens` stand beside the score.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fairwitness.errors import InputError, ModelError, suggestion

if TYPE_CHECKING:
    from fairwitness.models.causal_lm import CausalLM, Scored

PROTOCOLS = ("reference", "conditional", "conditional_sum", "pmi", "full", "chat")
WHOLE, INTRASENTENCE = "whole", "intrasentence"
BLANK = "BLANK"

Sentence = tuple[str, str, str]


class Sums(NamedTuple):
    """Per sentence: summed log-probability, how many tokens it is over, and why there is none."""

    total: Any
    n: Any
    error: list[str | None]


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """Scores (subset, context, text) with a causal language model. The model is loaded when the first item is scored."""

    uses_gpu: ClassVar[bool] = True

    model: str = "smollm2"
    protocol: str = "reference"
    device: str = "auto"
    dtype: str = "auto"
    quantize: bool = False
    start: str = "auto"
    system: str = "You are a helpful assistant."
    token_budget: int = 0

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on. A template's system turn only where there is one."""
        from fairwitness.models.devices import choose_device, choose_dtype
        from fairwitness.models.loading import fingerprint, is_packed

        require_protocol(self.protocol, PROTOCOLS)
        return {
            "scorer": "likelihood/1",
            "model": self.model,
            "weights": fingerprint(self.model),
            "number_format": choose_dtype(self.dtype, choose_device(self.device)),
            "quantized": self.quantize or is_packed(self.model),
            "protocol": self.protocol,
            "start": self.start,
            "system": self.system if self.protocol == "chat" else None,
        }

    @property
    def rows_per_part(self) -> int:
        """A multiple of a unit's three sentences, enough to pack batches of like length from."""
        from fairwitness.models.devices import choose_device

        return 3 * (4096 if choose_device(self.device).type == "cuda" else 128)

    @cached_property
    def lm(self) -> "CausalLM":
        """The loaded model."""
        from fairwitness.models.causal_lm import load

        return load(self.model, device=self.device, dtype=self.dtype, quantize=self.quantize, token_budget=self.token_budget)

    @cached_property
    def start_ids(self) -> list[int]:
        """The token that stands before a text: the model's start token (its end-of-text token where it has no other), or none."""
        if self.start == "none":
            return []
        if self.start == "auto":
            return self.lm.encode_prefixes([""])[0][:1]
        found = self.lm.tokenizer.get_vocab().get(self.start)
        if found is None:
            raise InputError(
                f"--start_token {self.start}: the tokenizer of '{self.model}' has no such token. Give auto, none or a token."
            )
        return [int(found)]

    def score(self, items: Sequence[Sentence], /) -> dict[str, Any]:
        """`score`, `logprob_sum`, `logprob_mean`, `n_tokens`, `error`; with `pmi` also `logprob_alone`."""
        units = [[items[index] for index in rows] for rows in unit_rows(items)]
        more: dict[str, Any] = {}
        if self.protocol == "reference":
            sums = self._reference(units)
        elif self.protocol in ("full", "chat"):
            sums = self._whole(self._full_tokens(units))
        else:
            sums = self._conditional(units)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sums.total / np.where(sums.n > 0, sums.n, np.nan)
        score = {"reference": np.exp(mean), "conditional_sum": sums.total}.get(self.protocol, mean)
        if self.protocol == "pmi":
            alone = self._alone(units)
            score, more = sums.total - alone.total, {"logprob_alone": alone.total}
        return {"score": score, "logprob_sum": sums.total, "logprob_mean": mean, "n_tokens": sums.n, **more, "error": sums.error}

    def _reference(self, units: list[list[Sentence]]) -> Sums:
        """The whole sentence within, the association between: the subset of a unit decides."""
        within = [unit for unit in units if unit[0][0] in (INTRASENTENCE, WHOLE)]
        between = [unit for unit in units if unit[0][0] not in (INTRASENTENCE, WHOLE)]
        every = iter(self.lm.encode([text for unit in within for _, _, text in unit]))
        tokens = [[next(every) for _ in unit] for unit in within]
        rest = self._whole(tokens)
        first, counted = self._first_tokens([ids for unit in tokens for ids in unit])
        sums = Sums(rest.total + first, rest.n + counted, rest.error)
        return _interleave(units, [(within, sums), (between, self._conditional(between))])

    def _first_tokens(self, sequences: list[list[int]]) -> tuple[Any, Any]:
        """log P(first token | start token), for each sequence, from one pass over the start token alone."""
        if not self.start_ids or not sequences:
            return np.zeros(len(sequences)), np.zeros(len(sequences), dtype=np.int64)
        distinct = sorted({ids[0] for ids in sequences if ids})
        scored = self.lm.score([(self.start_ids, [[token] for token in distinct])])[0] if distinct else None
        found = dict(zip(distinct, scored.logprob_sum, strict=True)) if scored else {}
        counted = np.array([1 if ids else 0 for ids in sequences], dtype=np.int64)
        return np.array([found[ids[0]] if ids else np.nan for ids in sequences]), counted

    def _conditional(self, units: list[list[Sentence]]) -> Sums:
        """log P(association | what stands before it)."""
        return _collect(self.lm.score(self._cuts(units)), units)

    def _alone(self, units: list[list[Sentence]]) -> Sums:
        """log P(the same association tokens | start token alone)."""
        if not self.start_ids:
            raise InputError(
                "--protocol pmi needs a start token to ask for the association alone. Give --start_token auto or a token."
            )
        return _collect(self.lm.score([(self.start_ids, ends) for _, ends in self._cuts(units)]), units)

    def _cuts(self, units: list[list[Sentence]]) -> list[tuple[list[int], list[list[int]]]]:
        """(tokens before, [association tokens, …]) of each unit, tokenized together and cut where the shared text ends."""
        texts = [_before(unit) for unit in units]
        fronts = self.lm.encode([before for before, _ in texts])
        every = iter(self.lm.encode([text for _, unit in texts for text in unit]))
        cuts = []
        for front, (_, unit) in zip(fronts, texts, strict=True):
            wholes = [next(every) for _ in unit]
            same = min(same_start([front, *wholes]), min(len(ids) for ids in wholes) - 1)
            cuts.append(([*self.start_ids, *wholes[0][: max(same, 0)]], [ids[max(same, 0) :] for ids in wholes]))
        return cuts

    def _full_tokens(self, units: list[list[Sentence]]) -> list[list[list[int]]]:
        texts = [
            text if subset in (INTRASENTENCE, WHOLE) else f"{context} {text}" for unit in units for subset, context, text in unit
        ]
        if self.protocol == "chat":
            texts = [self._templated(text) for text in texts]
        start = self.start_ids if self.protocol == "full" else []
        every = iter(self.lm.encode(texts))
        return [[[*start, *next(every)] for _ in unit] for unit in units]

    def _templated(self, text: str) -> str:
        tokenizer = self.lm.tokenizer
        if not getattr(tokenizer, "chat_template", None):
            raise ModelError(f"'{self.model}' has no chat template. Use --protocol full, which is the same without one.")
        system = [{"role": "system", "content": self.system}] if self.system else []
        messages = [*system, {"role": "user", "content": text}]
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=False))

    def _whole(self, units: list[list[list[int]]]) -> Sums:
        """log P(all tokens but the first | the first), for units of token sequences."""
        work: list[tuple[list[int], list[list[int]]]] = []
        for sequences in units:
            least = min(len(ids) for ids in sequences) - 1
            same = min(same_start(sequences), max(least, 0))
            parts = (
                [(sequences[0][:same], [ids[same:] for ids in sequences])] if same else [(ids[:1], [ids[1:]]) for ids in sequences]
            )
            work += parts
        # A sequence of one token has nothing behind its first; it is no failure, only empty.
        asked = [item for item in work if all(item[1])]
        answers = iter(self.lm.score(asked, whole=True))
        scored = [next(answers) if all(item[1]) else _nothing(item) for item in work]
        return _collect(scored, [item[1] for item in work])


def require_protocol(name: str, known: Sequence[str]) -> None:
    """Refuse a protocol that is not one of `known`."""
    if name not in known:
        raise InputError(f"Unknown protocol '{name}'. It is one of {', '.join(known)}.{suggestion(name, known)}")


def same_start(sequences: Sequence[Sequence[int]]) -> int:
    """How many leading tokens all sequences share.

    >>> same_start([[1, 2, 3], [1, 2, 4, 5]])
    2
    """
    shared = 0
    for tokens in zip(*sequences, strict=False):
        if len(set(tokens)) > 1:
            break
        shared += 1
    return shared


def unit_rows(items: Sequence[Sentence]) -> Iterator[list[int]]:
    """Row numbers of neighbours that share subset and context; a text without a context is a unit by itself.

    >>> list(unit_rows([("x", "a", "1"), ("x", "a", "2"), ("x", "b", "3")]))
    [[0, 1], [2]]
    """
    for key, rows in groupby(range(len(items)), key=lambda row: tuple(items[row][:2])):
        if key[1]:
            yield list(rows)
        else:
            yield from ([row] for row in rows)


def _before(unit: list[Sentence]) -> tuple[str, list[str]]:
    """The text that stands before the associations of a unit, and the full texts that begin with it.

    Within a sentence it is what precedes BLANK; the authors' sentences are their contexts with another capitalisation, so it is
    taken from the sentence. Between sentences it is the context, closed with a full stop where it has no end, as the authors do.
    """
    subset, context, _ = unit[0]
    texts = [text for _, _, text in unit]
    if subset == WHOLE or not context:
        return "", texts
    if subset != INTRASENTENCE:
        closed = context if context.rstrip().endswith((".", "!", "?")) else f"{context.rstrip()}."
        return closed, [f"{closed} {text}" for text in texts]
    ahead = context[: context.index(BLANK)]
    fits = all(text[: len(ahead)].casefold() == ahead.casefold() for text in texts)
    same = texts[0][: len(ahead)].rstrip() if fits else ""
    return (same if all(text.startswith(same) for text in texts) else ""), texts


def _nothing(item: tuple[list[int], list[list[int]]]) -> "Scored":
    from fairwitness.models.causal_lm import Scored

    if not item[0]:
        return Scored(error="the text becomes no tokens")
    return Scored(tuple(0.0 for _ in item[1]), tuple(0 for _ in item[1]))


def _collect(scored: Sequence["Scored"], units: Sequence[Sequence[Any]]) -> Sums:
    """One value per sentence. Where a unit failed, each of its sentences did."""
    total, n, error = [], [], []
    for answer, unit in zip(scored, units, strict=True):
        failed = answer.error is not None
        total += [np.nan] * len(unit) if failed else list(answer.logprob_sum)
        n += [0] * len(unit) if failed else list(answer.n_tokens)
        error += [answer.error] * len(unit)
    return Sums(np.array(total, dtype=np.float64), np.array(n, dtype=np.int64), error)


def _interleave(units: list[list[Sentence]], pieces: list[tuple[list[list[Sentence]], Sums]]) -> Sums:
    """Put the sums of some units and of the others back in the order of all units."""
    by_unit: dict[int, tuple[Any, Any, list[str | None]]] = {}
    for some, sums in pieces:
        at = 0
        for unit in some:
            end = at + len(unit)
            by_unit[id(unit)] = (sums.total[at:end], sums.n[at:end], sums.error[at:end])
            at = end
    ordered = [by_unit[id(unit)] for unit in units]
    total = np.concatenate([piece[0] for piece in ordered]) if ordered else np.zeros(0)
    n = np.concatenate([piece[1] for piece in ordered]) if ordered else np.zeros(0, dtype=np.int64)
    return Sums(total, n, [word for piece in ordered for word in piece[2]])
