"""`--config audit.toml` for every verb: every option that a flag can set, a file can set too, and an unknown key is refused."""

import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from fairwitness.cli.app import prepare
from fairwitness.cli.verbs import VERBS


def function_of(verb: str) -> Callable[..., Any]:
    module, _, name = VERBS[verb][0].partition(":")
    return getattr(import_module(module), name)


def options_of(verb: str) -> dict[str, tuple[str | None, Any, Any]]:
    """Option → (the config parameter it belongs to, its type, its default)."""
    function = function_of(verb)
    hints = typing.get_type_hints(function)
    found: dict[str, tuple[str | None, Any, Any]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = _without_none(hints[name])
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
            continue
        if dataclasses.is_dataclass(kind):
            inner = typing.get_type_hints(kind)
            for field in dataclasses.fields(kind):
                found[field.name] = (name, inner[field.name], field.default)
        else:
            found[name] = (None, hints[name], parameter.default)
    return found


def positionals_of(verb: str) -> list[str]:
    given = inspect.signature(function_of(verb)).parameters.values()
    places = [one.annotation for one in given if one.kind is inspect.Parameter.POSITIONAL_ONLY]
    return [
        typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Literal else f"place{number}"
        for number, hint in enumerate(places)
    ]


def _without_none(hint: Any) -> Any:
    inside = [one for one in typing.get_args(hint) if one is not type(None)]
    return inside[0] if typing.get_origin(hint) in (typing.Union, types.UnionType) and len(inside) == 1 else hint


def another(hint: Any, default: Any) -> Any:
    """A value of the type that is not the default, as TOML has it."""
    hint = _without_none(hint)
    if typing.get_origin(hint) is typing.Literal:
        return next(value for value in reversed(typing.get_args(hint)) if value != default)
    if typing.get_origin(hint) is tuple:
        return [another(typing.get_args(hint)[0], None), another(typing.get_args(hint)[0], None)]
    if hint is bool:
        return not default if isinstance(default, bool) else True
    return {int: 7, float: 0.25, str: "a word", Path: "some/file.csv"}[hint]


def plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def written(values: dict[str, Any]) -> str:
    """TOML writes these values as JSON does."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


@pytest.mark.parametrize("verb", [verb for verb in VERBS if options_of(verb)])
def test_a_file_sets_every_option(verb: str, tmp_path: Path) -> None:
    options = options_of(verb)
    values = {name.rstrip("_"): another(hint, default) for name, (_, hint, default) in options.items()}
    (tmp_path / "audit.toml").write_text(written(values))
    app, words = prepare([*verb.split(), *positionals_of(verb), "--config", str(tmp_path / "audit.toml")])
    _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    for name, (parameter, _, _) in options.items():
        seen = bound.arguments[name] if parameter is None else getattr(bound.arguments[parameter], name)
        assert plain(seen) == values[name.rstrip("_")], name


@pytest.mark.parametrize("verb", [verb for verb in VERBS if options_of(verb)])
def test_flags_win_and_unknown_keys_are_refused(fairwitness: Callable, verb: str, tmp_path: Path) -> None:
    (tmp_path / "audit.toml").write_text("no_such_option = 1\n")
    done = fairwitness(*verb.split(), *positionals_of(verb), "--config", tmp_path / "audit.toml")
    assert done.code == 2
    assert "no_such_option" in done.err or "no-such-option" in done.err
    options = options_of(verb)
    name, (parameter, hint, _) = next(iter(options.items()))
    if _without_none(hint) not in (str, Path):
        return
    (tmp_path / "audit.toml").write_text(written({key.rstrip("_"): another(h, d) for key, (_, h, d) in options.items()}))
    flag = [f"--{name.rstrip('_')}", "from/the/flag"]
    app, words = prepare([*verb.split(), *positionals_of(verb), *flag, "--config", str(tmp_path / "audit.toml")])
    _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    seen = bound.arguments[name] if parameter is None else getattr(bound.arguments[parameter], name)
    assert str(seen) == "from/the/flag"
