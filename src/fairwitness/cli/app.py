"""The `fairwitness` command: how a call begins and ends. Which verbs there are is in verbs.py.

Verbs are named by import path and loaded when called, so that `--help` is instant. Flags may be spelt --text_col or --text-col;
lists take spaces or commas; `--config file.toml` fills the same options as the flags, which win.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, get_args

from cyclopts import App, CycloptsError, Parameter, Token, convert

from fairwitness.cli.help import Formatter, flag
from fairwitness.cli.verbs import GROUPS, VERBS
from fairwitness.errors import FairWitnessError, InputError
from fairwitness.places import is_url, local, mirror_of
from fairwitness.version import __version__


def _convert(type_: Any, tokens: Sequence[Token], *, elsewhere: list[Path]) -> Any:
    """Lists of words or numbers may come with commas; a path may be elsewhere; everything else is as cyclopts does it."""
    if (type_ is Path or Path in get_args(type_)) and any(is_url(token.value) for token in tokens):
        tokens = tuple(token.evolve(value=str(local(token.value))) if is_url(token.value) else token for token in tokens)
        elsewhere.extend(Path(token.value) for token in tokens)
    if type_ in (tuple[str, ...], tuple[int, ...], tuple[float, ...]):
        words = [word for token in tokens for word in token.value.split(",") if word]
        if type_ == tuple[str, ...]:
            return tuple(words)
        return convert(type_, tuple(Token(keyword=tokens[0].keyword, value=word, source=tokens[0].source) for word in words))
    return convert(type_, tokens)


def build(elsewhere: list[Path] | None = None) -> App:
    """The whole application, with no verb loaded yet. Paths that stand for URLs are added to `elsewhere` when words are parsed."""
    noting = partial(_convert, elsewhere=[] if elsewhere is None else elsewhere)
    app = App(
        name="fairwitness",
        help="Audits language models, toxicity scorers and graph user models for social bias, and says how surely.",
        help_epilogue="Options may also stand in a TOML file, --config FILE, under the same names; what is typed wins.",
        version=__version__,
        suppress_keyboard_interrupt=False,  # main says something about it
        help_format="plaintext",
        help_formatter=Formatter(),
        default_parameter=Parameter(
            name_transform=flag, negative=(), consume_multiple=True, converter=noting, negative_iterable=()
        ),
    )
    groups = {name: App(name=name, help=help_) for name, help_ in GROUPS.items()}
    for group in groups.values():
        app.command(group)
    for verb, (path, help_) in VERBS.items():
        group_name, _, name = verb.rpartition(" ")
        (groups[group_name] if group_name else app).command(path, name=name, help=help_)
    return app


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit: 0 done or passed, 1 a gate failed, 2 misuse or bad input, 3 not enough evidence."""
    try:
        result = call(list(sys.argv[1:] if words is None else words))
    except (CycloptsError, FairWitnessError) as error:
        print(f"fairwitness: {_one_line(error)}", file=sys.stderr)
        sys.exit(getattr(error, "exit_code", 2))
    except KeyboardInterrupt:
        print("fairwitness: stopped. The same command goes on from here.", file=sys.stderr)
        sys.exit(130)
    sys.exit(result if isinstance(result, int) else 0)


def call(words: list[str]) -> Any:
    """Parse and run one command; errors are raised, not printed."""
    elsewhere: list[Path] = []
    app, words = prepare(words, elsewhere)
    result = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    for path in elsewhere:
        if mirror := mirror_of(path):
            mirror.send_changed()
    return result


def prepare(words: list[str], elsewhere: list[Path] | None = None) -> tuple[App, list[str]]:
    """The application with the file that `--config` names as a source of options, and the words that are left."""
    app = build(elsewhere)
    words, path = _take_config(_join_booleans(words))
    if path is not None:
        from cyclopts.config import Dict

        # The options stand under the verb's own words: at the top, cyclopts would take `data` or `run` for the verb of that name.
        options: dict[str, Any] = _read_toml(path)
        for word in reversed(_verb(words).split()):
            options = {word: options}
        app.config = (Dict(options, source=str(path)),)
    return app, words


def _verb(words: list[str]) -> str:
    """The verb that the words begin with; empty where there is none.

    >>> _verb(["stereoset", "eval", "--data", "x"]), _verb(["gate", "run"]), _verb(["--help"])
    ('stereoset eval', 'gate', '')
    """
    return next((verb for verb in (" ".join(words[:2]), *words[:1]) if verb in VERBS), "")


def _join_booleans(words: list[str]) -> list[str]:
    """`--do_train_only True`, as the seeds spell it, becomes `--do_train_only=True`.

    >>> _join_booleans(["x", "--flag", "True", "--other", "1"])
    ['x', '--flag=True', '--other', '1']
    """
    joined: list[str] = []
    for word in words:
        if word.lower() in ("true", "false") and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _take_config(words: list[str]) -> tuple[list[str], Path | None]:
    """Take `--config file.toml` out of the words."""
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag != "--config":
            continue
        if not equals and index + 1 == len(words):
            raise InputError("--config needs the name of a TOML file.")
        path = Path(value if equals else words[index + 1])
        return words[:index] + words[index + (1 if equals else 2) :], path
    return words, None


def _read_toml(path: Path) -> dict[str, Any]:
    import tomllib

    from fairwitness.files import require_file

    try:
        return tomllib.loads(require_file(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
