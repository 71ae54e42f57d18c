"""Every error that Fair Witness raises on purpose.

FairWitnessError            the root: the command line prints it in one line and exits with its `exit_code`
├── InputError              something the user gave is wrong: a file, a column, a value, a name
├── MissingExtraError       a package that an extra brings is not installed
├── ModelError              a model cannot be found, loaded or used as asked
├── RunError                the run's folder is locked, unwritable, full, or holds another question's results
├── ServiceError            a paid or remote service refused, and trying again would not help
└── EvidenceError           too little was seen to answer; exit code 3

Anything else that escapes is our bug and keeps its traceback.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class FairWitnessError(Exception):
    """Root of every error raised on purpose. `exit_code` is what the command line returns."""

    exit_code = 2


class InputError(FairWitnessError):
    """Something the user gave is wrong."""


class MissingExtraError(FairWitnessError):
    """A package that one of our extras brings is not installed."""

    def __init__(self, package: str, extra: str, what: str) -> None:
        super().__init__(f"{what} needs the package '{package}'. Install it with: pip install 'fairwitness[{extra}]'")


class ModelError(FairWitnessError):
    """A model cannot be found, loaded or used as asked."""


class RunError(FairWitnessError):
    """A run's folder cannot be used as asked."""


class ServiceError(FairWitnessError):
    """A service refused, and trying again would not help."""


class EvidenceError(FairWitnessError):
    """Too little was seen to answer the question."""

    exit_code = 3


def suggestion(word: str, known: Iterable[str]) -> str:
    """The near name as a sentence to put behind an error, or nothing.

    >>> suggestion("perspectve", ["perspective", "profanity"])
    " Did you mean 'perspective'?"
    >>> suggestion("zzz", ["perspective"])
    ''
    """
    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""


def listing(names: Iterable[str], most: int = 12) -> str:
    """Names in one readable line, cut where it would become a wall.

    >>> listing(["a", "b", "c"], most=2)
    'a, b, … (3 in all)'
    """
    names = list(names)
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"
