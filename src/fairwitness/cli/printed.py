"""Where tables are printed: as wide as the terminal is, and wide enough for every name where there is none."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 200


def console() -> "Console":
    """A console whose tables are not cut where a file or a pipe reads them."""
    from rich.console import Console

    here = Console()
    return here if here.is_terminal else Console(width=WIDE)
