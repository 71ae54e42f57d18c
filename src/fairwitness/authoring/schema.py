"""What a dataset is made of: its fields, labels, questions, prompts and filter tasks, read from one TOML file.

The loop itself knows only a first text (a context, a question) and a second that follows it (a sentence, a response). KoSBi and
SQuARe differ in nothing but their schema file; a third dataset is a third file.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fairwitness.errors import InputError, listing, suggestion
from fairwitness.files import require_file

BUILT_IN = Path(__file__).with_name("schemas")


@dataclass(frozen=True, kw_only=True)
class Include:
    """The yes/no question asked before the label: is the group in it at all?"""

    field: str
    question: str
    yes: Any
    no: Any


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of text (first or second): where it stands in a row and how it is labelled."""

    name: str
    text: str
    label: str
    labels: tuple[str, ...]
    sub_label: str
    several: bool
    undefined: str
    label_question: str
    match: tuple[str, ...]
    category: str
    sub_labels: Mapping[str, tuple[str, ...]]
    sub_label_questions: Mapping[str, str]
    classes: tuple[str, ...] = ()
    no_majority: str | None = None
    raw_label_field: str | None = None
    abstentions: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    carry: Mapping[str, str] = field(default_factory=dict)
    include: Include | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)

    def label_of(self, value: Any) -> str | None:
        """The label that `value` means, whatever its spelling: a name, a stored number, another capitalisation. None stays None.

        >>> load_schema("kosbi").second.label_of("Unsafe")
        'unsafe'
        >>> load_schema("square").second.label_of(1)
        'acceptable'
        """
        return self._known(value, self.labels, "label")

    def sub_labels_of(self, value: Any) -> tuple[str, ...]:
        """The sub-labels that a stored value means, in today's spelling; nothing for null, "none" and an empty list.

        >>> load_schema("kosbi").second.sub_labels_of(["stereotypical_explicit", "prejudice_explicit"])
        ('stereotype_explicit', 'prejudice_explicit')
        """
        names = tuple(name for names in self.sub_labels.values() for name in names)
        values = value if isinstance(value, list | tuple) else [value]
        known = (self._known(_without_label(one), (*names, self.undefined), "sub-label") for one in values)
        return tuple(dict.fromkeys(name for name in known if name is not None))

    def stored(self, label: str | None) -> Any:
        """How a label is written in the dataset's files."""
        return label if label is None else self.values.get(label, label)

    def includes(self, value: Any) -> bool | None:
        """What an answer to the yes/no question means; None where nothing was answered."""
        if self.include is None or _is_missing(value):
            return None
        text = str(value).strip().lower()
        if text in {str(self.include.yes).lower(), "1", "1.0", "true", "yes"}:
            return True
        if text in {str(self.include.no).lower(), "0", "0.0", "false", "no"}:
            return False
        raise InputError(f"'{value}' is no answer to '{self.include.field}'. Expected {self.include.yes} or {self.include.no}.")

    def _known(self, value: Any, names: tuple[str, ...], what: str) -> str | None:
        if _is_missing(value):
            return None
        text = str(int(value)) if isinstance(value, bool | float) and float(value).is_integer() else str(value).strip()
        spelt = {name.lower(): name for name in names}
        spelt |= {str(stored).lower(): name for name, stored in self.values.items() if name in names}
        spelt |= {other.lower(): name for other, name in self.spellings.items() if name in names}
        if text.lower() in spelt:
            return spelt[text.lower()]
        raise InputError(
            f"Unknown {what} '{text}' for a {self.name}.{suggestion(text.lower(), spelt)} Expected one of: {listing(names)}."
        )


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a filter model learns: which fields it reads, how they are joined, and the names of its two classes, 0 first."""

    name: str
    kind: str
    joiner: str
    fields: tuple[str, ...]
    target: str
    classes: tuple[str, str]
    positive: str


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A whole dataset's description."""

    name: str
    title: str
    category: str
    group: str
    group_set: str
    first: Kind
    second: Kind
    tasks: Mapping[str, Task]
    prompts: Mapping[str, Any]
    words: Mapping[str, Mapping[str, str]]
    warning: Mapping[str, str]
    source: str
    """What `load_schema` finds it by again: a built-in name, or the path of its file."""

    def kind(self, name: str) -> Kind:
        """The kind of text called `name`: "first", "second", or by its own name ("context", "sentence")."""
        for kind, place in ((self.first, "first"), (self.second, "second")):
            if name in (kind.name, f"{kind.name}s", place):
                return kind
        raise InputError(
            f"'{name}' is no kind of text in the schema '{self.name}'. Expected {self.first.name} or {self.second.name}."
        )

    def task(self, name: str) -> Task:
        """The filter task whose name `name` holds (a longer name such as `kosbi_unsafe_sent_classify_v2` is understood)."""
        for task in self.tasks.values():
            if task.name in name:
                return task
        raise InputError(f"Unknown task '{name}'.{suggestion(name, self.tasks)} Expected one of: {listing(self.tasks)}.")


@cache
def load_schema(name: str = "kosbi") -> Schema:
    """A schema by name (`kosbi`, `square`) or by the path of a TOML file."""
    known = sorted(path.stem for path in BUILT_IN.glob("*.toml"))
    path = BUILT_IN / f"{name}.toml" if name in known else Path(name)
    if name not in known and path.suffix != ".toml":
        raise InputError(
            f"Unknown schema '{name}'.{suggestion(name, known)} Expected {listing(known)}, or the path of a TOML file."
        )
    try:
        source = name if name in known else str(path.resolve())
        return _schema(tomllib.loads(require_file(path).read_text(encoding="utf-8")), source)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a schema: {type(error).__name__} {error}. See the built-in kosbi.toml for an example."
        ) from error


def schema_of_task(name: str) -> Schema:
    """The built-in schema that has a filter task of this name."""
    for path in sorted(BUILT_IN.glob("*.toml")):
        schema = load_schema(path.stem)
        if any(task in name for task in schema.tasks):
            return schema
    known = [task for path in sorted(BUILT_IN.glob("*.toml")) for task in load_schema(path.stem).tasks]
    raise InputError(f"Unknown task '{name}'.{suggestion(name, known)} Expected one of: {listing(known)}.")


def _schema(text: dict[str, Any], source: str) -> Schema:
    tasks = {name: Task(name=name, **_tuples(table)) for name, table in text.pop("tasks").items()}
    return Schema(first=_kind(text.pop("first")), second=_kind(text.pop("second")), tasks=tasks, source=source, **text)


def _kind(table: dict[str, Any]) -> Kind:
    include = table.pop("include", None)
    sub_labels = _tuples(table.pop("sub_labels"))
    return Kind(include=Include(**include) if include else None, sub_labels=sub_labels, **_tuples(table))


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _is_missing(value: Any) -> bool:
    """Whether nothing is said: null, NaN (a table's empty cell), an empty text, or a word for nothing."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "none", "null", "nan")
    return value is None or value != value


def _without_label(value: Any) -> Any:
    """SQuARe's raw answers name the label before the sub-label: "non-acceptable - contentious"."""
    return value.rpartition(" - ")[2] if isinstance(value, str) else value
