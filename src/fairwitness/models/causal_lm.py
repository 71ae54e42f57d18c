"""A causal language model that says how likely continuations are behind prefixes: the one thing every likelihood audit needs.

    lm = load("smollm2")                                    # a built-in name, a hub name, a folder, a .gguf file
    lm.logprobs(["The capital of France is"], [[" Paris", " Rome"]])
    # [Scored(logprob_sum=(-1.2, -7.9), n_tokens=(1, 1), error=None)]
    lm.score([([504, 3575], [[8121], [5, 6, 7]])])          # the same with token ids: (prefix, [continuation, …])

`logprob_sum` is the natural-log probability of all tokens of a continuation, teacher forced, in float32 whatever the model's
dtype; divide by `n_tokens` for the mean. What all prefixes of a call begin with is computed once, a prefix once for all its
continuations, the vocabulary only where a token is scored. Results do not depend on batch size, order or packing beyond
rounding (float32: 1e-4). A row that cannot be scored has `error` and no numbers; the others are unharmed.
Loading is loading.py's; the pass itself is tree_attention.py's, or plain_pass.py's for architectures it does not fit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from fairwitness.errors import InputError
from fairwitness.models import packing, plain_pass, tree_attention
from fairwitness.models.loading import load_parts
from fairwitness.models.memory import enough_memory, out_of_memory, token_budget
from fairwitness.models.number_format import compute_in, formats_kept

Item = tuple[Sequence[int], Sequence[Sequence[int]]]

# Elements of (scored positions x vocabulary) held at once, in float32: 1 GiB on a GPU, 128 MiB on a CPU.
_LOGITS = {"cuda": 2**28, "mps": 2**26, "cpu": 2**25}


class Scored(NamedTuple):
    """What one item got: a sum of natural-log probabilities and a token count per continuation, or why there is none."""

    logprob_sum: tuple[float, ...] = ()
    n_tokens: tuple[int, ...] = ()
    error: str | None = None


@dataclass
class CausalLM:
    """A loaded model with its tokenizer. `token_budget` is how many tokens go through at once; it halves when memory runs out."""

    model: Any
    tokenizer: Any
    name: str
    device: torch.device
    dtype: str
    quantized: bool = False
    token_budget: int = 0
    batches_halved: int = 0
    _packs: bool | None = field(default=None, repr=False)
    _heads: dict[tuple[int, ...], tree_attention.Head] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.token_budget = self.token_budget or token_budget(self.device)

    @property
    def context_length(self) -> int:
        """The most tokens a row may have; a model that states no limit has a very large one."""
        config = self.model.config.get_text_config()
        known = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions", "max_seq_len")]
        return next((int(value) for value in known if value), 2**30)

    @property
    def packs(self) -> bool:
        """Whether the fast pass gives this architecture's own answers. Found out by asking it once, with a small row."""
        if self._packs is None:
            with enough_memory(f"a pass of '{self.name}' over fourteen tokens", self.device):
                self._packs = _fast_pass_agrees(self)
        return self._packs

    def score(self, items: Sequence[Item], *, whole: bool = False) -> list[Scored]:
        """Score (prefix tokens, [continuation tokens, …]) items, in their order.

        With `whole`, the prefix is scored too: each sum and count is over all tokens of prefix and continuation but the first.
        """
        results = [self._refusal(item) for item in items]
        rows = [index for index, refusal in enumerate(results) if refusal.error is None]
        alone = [index for index in rows if not self.packs or _length(items[index]) > self._batch_limit()]
        packed = sorted(set(rows) - set(alone))
        for indices, way in ((packed, self._packed), (alone, self._plain)):
            for index, answer in zip(indices, way([items[index] for index in indices], whole), strict=True):
                results[index] = answer
        return results

    def logprobs(self, prefixes: Sequence[str], continuations: Sequence[Sequence[str]], *, joint: bool = False) -> list[Scored]:
        """Score texts: `continuations[i]` behind `prefixes[i]`.

        A prefix gets the special tokens its tokenizer puts in front; an empty one is the start token alone (the end-of-text token
        for models that have no other). Continuations are tokenized by themselves, or with `joint` together with their
        prefix and cut where the prefix ends, as lm-eval does: then " Paris" and "Paris" stay what they are in running text.
        """
        if len(prefixes) != len(continuations):
            raise InputError(f"{len(prefixes)} prefixes were given with {len(continuations)} lists of continuations.")
        fronts = self.encode_prefixes(prefixes)
        if not joint:
            flat = iter(self.encode([text for texts in continuations for text in texts]))
            return self.score([(front, [next(flat) for _ in texts]) for front, texts in zip(fronts, continuations, strict=True)])
        wholes = iter(self.encode_prefixes([p + text for p, texts in zip(prefixes, continuations, strict=True) for text in texts]))
        return self.score([_cut(front, [next(wholes) for _ in texts]) for front, texts in zip(fronts, continuations, strict=True)])

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts as they stand, without special tokens."""
        return [list(ids) for ids in self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]] if texts else []

    def encode_prefixes(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with the special tokens that stand in front of a text, but none behind it; never empty."""
        found = [list(ids) for ids in self.tokenizer(list(texts))["input_ids"]] if texts else []
        end = self.tokenizer.eos_token_id
        letter = self.tokenizer("a")["input_ids"]
        strips = end is not None and len(letter) > 1 and letter[-1] == end
        start = self.tokenizer.bos_token_id if self.tokenizer.bos_token_id is not None else end
        found = [ids[:-1] if strips else ids for ids in found]
        return [ids or ([start] if start is not None else []) for ids in found]

    def head(self, tokens: Sequence[int]) -> tree_attention.Head | None:
        """Keys and values of the tokens all rows of a call begin with. The last few are kept: calls come in parts of one run."""
        key = tuple(tokens)
        if not key:
            return None
        if key not in self._heads:
            if len(self._heads) >= 4:
                self._heads.pop(next(iter(self._heads)))
            self._heads[key] = tree_attention.hear(self.model, key, self.device)
        return self._heads[key]

    @contextmanager
    def computing_in(self, number: str, advice: str) -> Iterator[None]:
        """Another number format inside, with the same weights; `advice` is what to do where they do not fit in it."""
        if number == self.dtype:
            yield
            return
        usual, heads = self.dtype, self._heads
        try:
            with formats_kept(self.model):
                with enough_memory(f"'{self.name}' in {number}", self.device, advice):
                    compute_in(self.model, number)
                self.dtype, self._heads = number, {}
                yield
        finally:
            self.dtype, self._heads = usual, heads

    def _refusal(self, item: Item) -> Scored:
        prefix, continuations = item
        if not prefix:
            return Scored(error="nothing stands before the continuation, and the model has no start token")
        if not continuations or not all(len(tokens) for tokens in continuations):
            return Scored(error="a continuation has no tokens")
        if _length(item) > self.context_length:
            return Scored(error=f"{_length(item)} tokens, but the model's context is {self.context_length}")
        return Scored()

    def _batch_limit(self) -> int:
        """Rows longer than this would change the positions of others in their batch (dynamic and long rotary scaling)."""
        return _positions_depend_on_batch(self.model.config.get_text_config())

    def _packed(self, items: Sequence[Item], whole: bool) -> list[Scored]:
        if not items:
            return []
        shared = packing.shared_head([prefix for prefix, _ in items])
        # When prefixes are scored, the head's last token stays with the bodies, to predict their first.
        shared = shared - 1 if whole and shared else shared
        first = items[0][0]
        try:
            head = self.head(first[:shared])
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error, self.device):
                raise
            self.batches_halved += 1
            shared, head = 0, None  # what all rows begin with does not fit by itself: each row brings its own
        heads_own: torch.Tensor | int = 0
        if whole and shared:
            with torch.inference_mode():
                heads_own = plain_pass.continuation_logprobs(self.model, [(first[:1], first[1 : shared + 1])], self.device)
        bodies = [(prefix[shared:], continuations) for prefix, continuations in items]

        def one_pass(rows: Sequence[int]) -> torch.Tensor:
            batch = tree_attention.build([bodies[row] for row in rows], self.device, head=head, whole=whole)
            return tree_attention.run(self.model, batch) + heads_own

        lengths = [len(body) + sum(len(tokens) - 1 for tokens in ends) for body, ends in bodies]
        return self._in_batches(items, lengths, one_pass, whole)

    def _plain(self, items: Sequence[Item], whole: bool) -> list[Scored]:
        # A batch never mixes rows whose positions depend on each other, so with such a model each row goes alone.
        alone = self._batch_limit() < 2**30

        def one_pass(rows: Sequence[int]) -> torch.Tensor:
            pairs = [(items[row][0], tokens) for row in rows for tokens in items[row][1]]
            pairs = [(prefix[:1], [*prefix[1:], *tokens]) for prefix, tokens in pairs] if whole else pairs
            size = 1 if alone else len(pairs)
            parts = [
                plain_pass.continuation_logprobs(self.model, pairs[k : k + size], self.device) for k in range(0, len(pairs), size)
            ]
            return torch.cat(parts)

        return self._in_batches(items, [_length(item) * len(item[1]) for item in items], one_pass, whole)

    def _in_batches(
        self, items: Sequence[Item], lengths: Sequence[int], one_pass: Callable[[Sequence[int]], torch.Tensor], whole: bool
    ) -> list[Scored]:
        """Run all rows through `one_pass` in batches; where memory runs out, in smaller ones."""
        own = [len(prefix) - 1 if whole else 0 for prefix, _ in items]
        scored = [1 + own[row] + sum(len(tokens) - 1 for tokens in ends) for row, (_, ends) in enumerate(items)]
        vocabulary = self.model.config.get_text_config().vocab_size
        answers: list[Scored] = [Scored(error="out of memory on this row alone")] * len(items)
        waiting = list(range(len(items)))
        done: list[tuple[list[int], torch.Tensor]] = []
        while waiting:
            limits = {"budget": self.token_budget, "scored_budget": max(1, _LOGITS.get(self.device.type, 2**25) // vocabulary)}
            batches = packing.plan([lengths[row] for row in waiting], scored=[scored[row] for row in waiting], **limits)
            waiting = self._try_batches([[waiting[place] for place in batch] for batch in batches], lengths, one_pass, done)
        for rows, sums in done:
            values = iter(sums.cpu().numpy().astype(np.float64).tolist())
            for row in rows:
                counts = tuple(own[row] + len(tokens) for tokens in items[row][1])
                answers[row] = Scored(tuple(next(values) for _ in counts), counts)
        return answers

    def _try_batches(
        self,
        batches: list[list[int]],
        lengths: Sequence[int],
        one_pass: Callable[[Sequence[int]], torch.Tensor],
        done: list[tuple[list[int], torch.Tensor]],
    ) -> list[int]:
        """Do the batches in turn; return the rows still to do, with the budget halved, at the first that does not fit."""
        for number, rows in enumerate(batches):
            try:
                with torch.inference_mode():
                    done.append((rows, one_pass(rows)))
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error, self.device):
                    raise
                rest = [row for batch in batches[number:] for row in batch]
                if len(rows) == 1:
                    return rest[1:]
                self.batches_halved += 1
                self.token_budget = max(1, min(self.token_budget, sum(lengths[row] for row in rows)) // 2)
                return rest
        return []


def load(name: str, *, device: str = "auto", dtype: str = "auto", quantize: bool = False, token_budget: int = 0) -> CausalLM:
    """Load a causal language model by built-in name, hub name, folder or GGUF file. See loading.py for what can go wrong."""
    parts = load_parts(name, device=device, dtype=dtype, quantize=quantize)
    return CausalLM(
        parts.model, parts.tokenizer, name, parts.device, parts.dtype, quantized=parts.quantized, token_budget=token_budget
    )


def _length(item: Item) -> int:
    prefix, continuations = item
    return len(prefix) + max((len(tokens) for tokens in continuations), default=0) - 1


def _cut(front: Sequence[int], wholes: Sequence[Sequence[int]]) -> Item:
    """Cut jointly tokenized texts where the prefix ends; at least one token stays behind, as lm-eval does it."""
    return front, [whole[min(len(front), len(whole) - 1) :] for whole in wholes]


def _positions_depend_on_batch(config: Any) -> int:
    """The length from which a row's rotary frequencies depend on the longest row beside it; 2**30 where they never do."""
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    kinds = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    for kind in kinds:
        if kind.get("rope_type", kind.get("type")) in ("dynamic", "longrope"):
            limit = kind.get("original_max_position_embeddings") or getattr(config, "original_max_position_embeddings", None)
            return int(limit or config.max_position_embeddings)
    return 2**30


def _fast_pass_agrees(lm: CausalLM) -> bool:
    """Score a few tokens both ways. An architecture that raises, skips our attention or answers otherwise takes the plain way."""
    vocabulary = int(lm.model.config.get_text_config().vocab_size)
    tokens = [(7 * k * k + 3 * k + 1) % vocabulary for k in range(1, 15)]
    head = tokens[:4]
    branching = [(tokens[4:7], [tokens[7:9], tokens[9:12]]), (tokens[12:14], [tokens[2:3], tokens[5:8]])]
    plain_rows = [(tokens[4:7], [tokens[7:8], tokens[9:12]]), (tokens[12:14], [tokens[2:3], tokens[5:8]])]
    return _agrees(lm, head, branching) and _agrees(lm, head, plain_rows)


def _agrees(lm: CausalLM, head: Sequence[int], bodies: Sequence[Item]) -> bool:
    with torch.inference_mode():
        try:
            heard = tree_attention.hear(lm.model, head, lm.device)
            batch = tree_attention.build(bodies, lm.device, head=heard)
            fast = tree_attention.run(lm.model, batch)
        except (RuntimeError, TypeError, KeyError, ValueError, AttributeError, IndexError) as error:
            if out_of_memory(error, lm.device):
                raise
            return False
        pairs = [([*head, *body], continuation) for body, continuations in bodies for continuation in continuations]
        slow = torch.cat([plain_pass.continuation_logprobs(lm.model, [pair], lm.device) for pair in pairs])
    relative, absolute = (1e-3, 1e-3) if lm.dtype == "float32" else (0.05, 0.5)
    return batch.calls > 0 and bool(torch.allclose(fast, slow, rtol=relative, atol=absolute))
