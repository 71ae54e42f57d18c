"""Several audits of several models in one resumable call: a TOML file in, commands out.

A suite is a list of [[audit]] tables. `verb` names the command, every other key is one of its options, and a list under `models`
runs the audit once per model, each in a folder of its own. What the commands do is not known here.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairwitness.errors import InputError, suggestion
from fairwitness.files import require_file


@dataclass(frozen=True)
class Step:
    """One command of a suite: the words to run, the folder its results go to, and what it writes there."""

    words: tuple[str, ...]
    folder: Path
    out: Path


def read_suite(path: Path, verbs: dict[str, str]) -> tuple[str, list[Step]]:
    """The title of a suite and its steps. `verbs` maps each verb that may be used to the option that names its output.

    Options named `in`, `data` and the like are taken as they are, relative to where the command is run.
    """
    try:
        written = tomllib.loads(require_file(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    audits = written.get("audit")
    if not isinstance(audits, list) or not audits:
        raise InputError(f'{path} has no [[audit]] tables. Each needs a verb, such as verb = "zeroshot", and its options.')
    unknown = sorted(set(written) - {"audit", "out", "title"})
    if unknown:
        raise InputError(f"{path}: unknown key '{unknown[0]}'.{suggestion(unknown[0], ['audit', 'out', 'title'])}")
    root = Path(str(written.get("out", f"runs/{path.stem}")))
    steps = [step for number, audit in enumerate(audits, start=1) for step in _steps(path, number, audit, root, verbs)]
    for number, step in enumerate(steps):
        if any(step.out == other.out for other in steps[:number]):
            raise InputError(f"{path}: two audits write to {step.out}. Give one of them another name.")
    return str(written.get("title", f"Suite {path.stem}")), steps


def _steps(path: Path, number: int, audit: Any, root: Path, verbs: dict[str, str]) -> list[Step]:
    if not isinstance(audit, dict) or not isinstance(audit.get("verb"), str):
        raise InputError(f"{path}: audit {number} has no verb. It is one of: {', '.join(verbs)}.")
    verb = audit["verb"]
    if verb not in verbs:
        raise InputError(
            f"{path}: audit {number}: a suite cannot run '{verb}'.{suggestion(verb, verbs)} It runs: {', '.join(verbs)}."
        )
    options = {key: value for key, value in audit.items() if key not in ("verb", "name", "models")}
    base = str(audit.get("name", f"{number:02d}-{verb.replace(' ', '-')}"))
    if Path(base).name != base or base in ("", ".."):
        raise InputError(f"{path}: audit {number}: name = {base!r} is the name of a folder below 'out', without slashes.")
    models = audit.get("models", [None])
    if not isinstance(models, list) or not models or (models != [None] and not all(isinstance(one, str) for one in models)):
        raise InputError(f"{path}: audit {number}: models = {models!r} is not a list of names, such as ['smollm2', 'gpt2'].")
    flag, _, file = verbs[verb].partition("=")
    made = []
    for model in models:
        folder = root / (base if model is None or len(models) == 1 else f"{base}-{_plain(str(model))}")
        out = folder / file if file else folder
        given = {**options, **({"model": model} if model is not None else {}), **({} if flag in options else {flag: str(out)})}
        out = Path(str(given[flag]))
        made.append(Step((*verb.split(), *_words(given)), out.parent if file else out, out))
    return made


def _words(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for key, value in options.items():
        if isinstance(value, bool):
            words.append(f"--{key}={value}")
        elif value != []:
            words += [f"--{key}", *(str(item) for item in (value if isinstance(value, list) else [value]))]
    return words


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name).strip("-")
