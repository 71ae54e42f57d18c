"""What a config is given in Python, made what the command line would have made of it.

A path may be given as text and a list of names as a list or as one name. Whether the values make sense is the audit's to say.
"""

import os
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from fairwitness.errors import InputError
from fairwitness.places import is_url, local


class Options:
    """The base of every config: fields that hold paths and lists hold nothing else."""

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            object.__setattr__(self, name, _settled(name, kind, getattr(self, name)))


def require_config(config: object, kind: type[Options]) -> None:
    """Refuse anything but a config, such as a path or a dict."""
    if not isinstance(config, kind):
        name = kind.__name__
        raise InputError(f"A {name} was expected, not {_article(config)}. Make one with its options by name: {name}(…).")


def _settled(name: str, kind: Any, given: Any) -> Any:
    if get_origin(kind) is tuple:
        return _several(name, given)
    if kind is Path or Path in get_args(kind):
        return _path(name, given, optional=kind is not Path)
    return os.fspath(given) if kind is str and isinstance(given, Path) else given


def _path(name: str, given: Any, *, optional: bool) -> Path | None:
    if isinstance(given, Path) or (given is None and optional):
        return given
    if isinstance(given, str):
        return local(given) if is_url(given) else Path(given)
    raise InputError(
        f"--{name.strip('_')} is {_article(given)}; the path of a file was expected. "
        "A table in memory is written to one first, such as table.parquet."
    )


def _several(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str):
        return (given,)
    try:
        return tuple(given)
    except TypeError as error:
        raise InputError(f"--{name.strip('_')} is {_article(given)}; a list was expected.") from error


def _article(value: object) -> str:
    """
    >>> _article({}), _article(None), _article(0)
    ('a dict', 'None', 'an int')
    """
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"
