"""What is known of a dataset before a row of it is read: its card, where its raw copy lives, and the readers of its tables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from fairwitness.datasets.raw import RawCopy


@dataclass(frozen=True, kw_only=True)
class WebFile:
    """One file that a plain HTTPS server holds. `sha256` and `size` are empty where nobody published them."""

    url: str
    name: str
    sha256: str = ""
    size: int = 0
    split: str = ""


@dataclass(frozen=True)
class WebFiles:
    """A raw copy made of files from plain HTTPS servers."""

    files: tuple[WebFile, ...]

    @property
    def address(self) -> str:
        return self.files[0].url

    @property
    def has_splits(self) -> bool:
        return any(file.split for file in self.files)


@dataclass(frozen=True, kw_only=True)
class HubFiles:
    """Files of one Hugging Face dataset repository at one revision. `{split}` in a pattern stands for the wanted split."""

    repo: str
    revision: str
    patterns: tuple[str, ...]
    hashes: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 by path, where one was published outside the repository itself."""

    @property
    def address(self) -> str:
        return f"hf://datasets/{self.repo}@{self.revision}"

    @property
    def has_splits(self) -> bool:
        return any("{split}" in pattern for pattern in self.patterns)


@dataclass(frozen=True, kw_only=True)
class Manual:
    """A copy that only the user can get, because of a log-in, a licence to accept, or a link that moved."""

    address: str
    how: str
    has_splits: bool = False


@dataclass(frozen=True, kw_only=True)
class BuiltIn:
    """A copy inside this package."""

    address: str
    has_splits: bool = False


Remote = WebFiles | HubFiles | Manual | BuiltIn
Reader = Callable[[RawCopy, str], Iterator[pl.DataFrame]]


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a person should know of a dataset before using it."""

    name: str
    title: str
    licence: str
    citation: str
    warning: str
    """One line on what the texts contain; empty where there is nothing to warn of."""
    counts: Mapping[str, int]
    """What was counted, and how many; `counted_on` says on which copy."""
    counted_on: str
    columns: Mapping[str, str]
    """Column or group of columns of the main table → what it holds."""
    layouts: tuple[str, ...]
    """The raw layouts that --source takes."""
    remotes: tuple[Remote, ...]
    """Where a copy comes from, the first that answers is taken."""
    dead: Mapping[str, str] = field(default_factory=dict)
    """Sources that others still name and that no longer give the data → why."""
    revision: str = ""
    notes: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The card as JSON values."""
        plain = asdict(self)
        plain["remotes"] = [remote.address for remote in self.remotes]
        return plain


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A card and the readers of its tables; the first table is the main one."""

    card: Card
    tables: Mapping[str, Reader]
    document: Callable[[RawCopy], bytes] | None = None
    """The authors' own file, where an audit wants that rather than a table."""
    splits: tuple[str, ...] = ()
    """The splits there are; a dataset without any is all train, as on the Hub."""
    beside: tuple[str, ...] = ()
    """Files that are read along when --source names a single file and they lie beside it."""
    identities: tuple[str, ...] = ()
    """The main table's columns that say who a text is about, 0 to 1."""
    item: str = ""
    """The column that rows of one item share, where an item is whole only with all of them: such a dataset is drawn by items."""
