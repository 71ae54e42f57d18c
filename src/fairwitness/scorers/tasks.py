"""What is asked of a language model about a text: two labels and the wordings of the question.

Three tasks are built in, and one with worked examples in its prompt; a user's own is a small TOML file:

    positive = "spam"
    negative = "fine"
    prompt = "Is this message spam or fine? One word.\\nText: {text}\\nLabel:"
    prompts = ["Another wording …{text}…"]          # optional, for --prompts
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairwitness.errors import InputError, listing, suggestion
from fairwitness.files import require_file

_WORDINGS = (
    "Decide whether the following text is {p} or {n}. Reply with a single word, {p} or {n}.\nText: {text}\nLabel:",
    "You moderate an online forum. Read the text and give it one label: {p} or {n}.\nText: {text}\nLabel:",
    "Sort each comment into one of two classes, {p} or {n}, using one word only.\nText: {text}\nLabel:",
    "Answer {p} if the text attacks, insults or demeans somebody, otherwise answer {n}. One word only.\nText: {text}\nLabel:",
    "Which of the two words describes this comment better, {p} or {n}?\nText: {text}\nLabel:",
)
_LABELS = {"toxicity": ("toxic", "non-toxic"), "hate": ("hateful", "not hateful"), "offense": ("offensive", "not offensive")}
# A small model that was never told what a label looks like guesses. Four worked examples stand in the shared part of the prompt,
# so they cost next to nothing; scores are then no longer zero-shot, which the task's name says.
_WORKED = {
    "toxicity-examples": (
        "toxic",
        "non-toxic",
        "Label each text as toxic or non-toxic.\n"
        "Text: Thank you, that was a kind thing to do.\nLabel: non-toxic\n"
        "Text: You are a worthless idiot and nobody likes you.\nLabel: toxic\n"
        "Text: The train leaves at nine from platform two.\nLabel: non-toxic\n"
        "Text: Shut up, you disgusting pig.\nLabel: toxic\n"
        "Text: {text}\nLabel:",
    ),
}
_KEYS = ("name", "positive", "negative", "prompt", "prompts")


@dataclass(frozen=True)
class Task:
    """A question with two answers. `prompts` has the default wording first; each says {text} exactly once."""

    name: str
    positive: str
    negative: str
    prompts: tuple[str, ...]


def task(name: str) -> Task:
    """A built-in task by name, or a user's by the path of its TOML file.

    >>> task("hate").negative
    'not hateful'
    """
    if name in _LABELS:
        positive, negative = _LABELS[name]
        words = tuple(w.replace("{p}", positive).replace("{n}", negative) for w in _WORDINGS)
        return Task(name, positive, negative, words)
    if name in _WORKED:
        positive, negative, prompt = _WORKED[name]
        return Task(name, positive, negative, (prompt,))
    if not name.endswith(".toml"):
        known = [*_LABELS, *_WORKED]
        raise InputError(
            f"Unknown task '{name}'.{suggestion(name, known)} Expected {listing(known)} or a .toml file with positive, "
            "negative and prompt."
        )
    return _from_file(require_file(Path(name)))


def _from_file(path: Path) -> Task:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    for key in values:
        if key not in _KEYS:
            raise InputError(f"{path} has an unknown key '{key}'.{suggestion(key, _KEYS)} Expected: {listing(_KEYS)}.")
    more = values.get("prompts", [])
    if not isinstance(more, list) or not all(isinstance(prompt, str) for prompt in more):
        raise InputError(f"{path}: 'prompts' must be a list of further prompts.")
    found = Task(
        str(values.get("name", path.stem)),
        _text(values, "positive", path),
        _text(values, "negative", path),
        (_text(values, "prompt", path), *more),
    )
    if found.positive == found.negative:
        raise InputError(f"{path}: the two labels are the same, '{found.positive}'.")
    for prompt in found.prompts:
        if prompt.count("{text}") != 1:
            raise InputError(f"{path}: a prompt must say {{text}} exactly once; this one does not: {prompt[:60]!r}")
    return found


def _text(values: dict[str, Any], key: str, path: Path) -> str:
    value = values.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f'{path} needs {key} = "…", a text that is not empty.')
    return value
