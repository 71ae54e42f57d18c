"""`fairwitness list`: the names that other commands take."""

from typing import Literal

from fairwitness import registry


def list_names(kind: Literal["scorers", "datasets", "models"], /) -> None:
    """Print what there is of one kind, a name a line.

    Parameters
    ----------
    kind
        scorers, datasets or models.
    """
    for name in registry.names(kind):
        print(name)
