"""How help reads: what must be given first, then what may be, how a service is asked, and last where it runs."""

from typing import TYPE_CHECKING

from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel

from fairwitness.engine.options import ENGINE_FIELDS
from fairwitness.scorers.service_options import SERVICE_FIELDS

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

_LATER = {f"--{name}": place for place, names in ((2, SERVICE_FIELDS), (3, ENGINE_FIELDS)) for name in names}


class Formatter(DefaultFormatter):
    """Cyclopts' own pages, with the options in the order that a reader asks for them.

    Dataclasses list inherited fields first, and what a scoring audit inherits is what it has in common with all the others.
    """

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: HelpPanel) -> None:
        """Draw one panel."""
        entries = [entry.copy(default=_default(entry.default)) for entry in sorted(panel.entries, key=_place)]
        super().__call__(console, options, panel.copy(entries=entries))


def _place(entry: HelpEntry) -> int:
    return 0 if entry.required else max(_LATER.get(name, 1) for name in entry.positive_names or ("",))


def _default(shown: str | None) -> str | None:
    """A default as one would type it; what is empty or off goes without saying.

    >>> _default("('float32', 'bfloat16')"), _default("()"), _default("smollm2")
    ('float32 bfloat16', None, 'smollm2')
    """
    if shown in (None, "()", '""', "False"):
        return None
    return shown.strip("(),").replace("'", "").replace(",", "") if shown.startswith("(") else shown


def flag(name: str) -> str:
    """The flag of a parameter, spelt as in our documents; with dashes it is understood as well.

    >>> flag("text_col"), flag("in_")
    ('text_col', 'in')
    """
    return name.strip("_")
