"""From texts to token rows: a prompt is a front, the text and a back; what does not fit is cut from the text, and marked.

The prompt is tokenized as one string, as a person would type it. Chat models get it inside their own template.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from fairwitness.errors import InputError, ModelError
from fairwitness.models.causal_lm import CausalLM

_MARK = "\u241ctext\u241c"


class Prompted(NamedTuple):
    """One text in its prompt: the tokens, whether the text was cut, or why there are none."""

    tokens: list[int]
    text: str
    truncated: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Frame:
    """What stands in front of the text and behind it. `special`: whether the tokenizer adds its special tokens."""

    front: str
    back: str
    special: bool = True


def frame(lm: CausalLM, prompt: str, *, chat: bool = False) -> Frame:
    """Split a prompt at its one `{text}`; with `chat`, after wrapping it in the model's own template."""
    if prompt.count("{text}") != 1:
        raise InputError(
            f"A prompt must say {{text}} exactly once, where the text goes; this one does {prompt.count('{text}')} times."
        )
    if not chat:
        front, _, back = prompt.partition("{text}")
        return Frame(front, back)
    if not getattr(lm.tokenizer, "chat_template", None):
        raise ModelError(f"Model '{lm.name}' has no chat template. Leave out --chat.")
    messages = [{"role": "user", "content": prompt.replace("{text}", _MARK)}]
    whole = str(lm.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    if whole.count(_MARK) != 1:
        raise ModelError(f"The chat template of '{lm.name}' drops or repeats the user's message. Leave out --chat.")
    front, _, back = whole.partition(_MARK)
    return Frame(front, back, special=False)


def prompts(lm: CausalLM, frame: Frame, texts: Sequence[str], *, room: int) -> list[Prompted]:
    """Tokenize texts in their frame, in bulk. `room` is how many tokens a prompt may have, labels already taken off."""
    rows = _encode(lm, [frame.front + text + frame.back for text in texts], frame.special)
    return [
        Prompted(tokens, text) if len(tokens) <= room else _cut(lm, frame, text, room)
        for text, tokens in zip(texts, rows, strict=True)
    ]


def _cut(lm: CausalLM, frame: Frame, text: str, room: int) -> Prompted:
    """The longest beginning of the text that fits, found by halving: tokens do not end where characters do."""
    low, high = 0, len(text)
    best = _encode(lm, [frame.front + frame.back], frame.special)[0]
    if len(best) > room:
        return Prompted([], "", True, f"the instruction alone has {len(best)} tokens and the model has room for {room}")
    while low < high:
        middle = (low + high + 1) // 2
        tokens = _encode(lm, [frame.front + text[:middle] + frame.back], frame.special)[0]
        if len(tokens) <= room:
            low, best = middle, tokens
        else:
            high = middle - 1
    return Prompted(best, text[:low], True)


def text_spans(lm: CausalLM, frame: Frame, row: Prompted) -> list[tuple[int, int] | None]:
    """For each token of a prompt the characters of the text it stands for, or None where it is of the frame.

    A token that holds characters of both, such as the last full stop and the line break behind it, counts as the text's.
    """
    start, end = len(frame.front), len(frame.front) + len(row.text)
    if getattr(lm.tokenizer, "is_fast", False):
        prompt = frame.front + row.text + frame.back
        offsets = lm.tokenizer(prompt, add_special_tokens=frame.special, return_offsets_mapping=True)["offset_mapping"]
        spans = [(max(a, start) - start, min(b, end) - start) if a < end and b > start and a < b else None for a, b in offsets]
        return (spans + [None] * len(row.tokens))[: len(row.tokens)]
    return _guessed_spans(lm, frame, row)


def _guessed_spans(lm: CausalLM, frame: Frame, row: Prompted) -> list[tuple[int, int] | None]:
    """Without offsets: what differs from the empty prompt at both ends is the text; its characters are dealt out evenly."""
    empty = _encode(lm, [frame.front + frame.back], frame.special)[0]
    before = next((k for k, (a, b) in enumerate(zip(empty, row.tokens, strict=False)) if a != b), min(len(empty), len(row.tokens)))
    pairs = zip(reversed(empty[before:]), reversed(row.tokens[before:]), strict=False)
    after = next((k for k, (a, b) in enumerate(pairs) if a != b), len(empty) - before)
    inside = len(row.tokens) - before - after
    edges = [round(len(row.text) * k / max(1, inside)) for k in range(inside + 1)]
    return [None] * before + list(pairwise(edges)) + [None] * after


def _encode(lm: CausalLM, texts: Sequence[str], special: bool) -> list[list[int]]:
    return lm.encode_prefixes(texts) if special else lm.encode(texts)
