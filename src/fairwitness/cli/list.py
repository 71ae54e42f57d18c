"""`fairwitness list`: the names that other commands take."""

from typing import Literal

from fairwitness import registry


def list_names(kind: Literal["scorers", "datasets", "models", "metrics"], /, *, json: bool = False) -> None:
    """Print what there is of one kind, a name a line.

    Parameters
    ----------
    kind
        scorers, datasets, models, or metrics with what each is.
    json
        Print JSON.
    """
    from json import dumps

    words = _metrics() if kind == "metrics" else dict.fromkeys(registry.names(kind), "")
    if json:
        print(dumps(words if kind == "metrics" else list(words)))
        return
    width = max(map(len, words))
    for name, what in words.items():
        print(f"{name:{width}}  {what}".rstrip())


def _metrics() -> dict[str, str]:
    from fairwitness.metrics.names import NAMES

    return NAMES
