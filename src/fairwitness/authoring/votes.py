"""From what several annotators said about one text to what the dataset says: majorities, "undecided" and "undefined".

A majority is more than half of those who answered. A label without one is the schema's word for that ("undecided") or nothing. A
sub-label without one, though two or more chose some sub-label of the winning label, is "undefined".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairwitness.authoring.records import Row
from fairwitness.authoring.schema import Kind
from fairwitness.errors import InputError
from fairwitness.metrics.agreement import majority


@dataclass(frozen=True, kw_only=True)
class Vote:
    """One annotator's answer about one text."""

    annotator: str
    label: str | None
    includes: bool | None = None
    sub_labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the votes come to. `decided` is False while a majority is missing and nobody has adjudicated."""

    label: str | None
    includes: bool | None
    sub_labels: tuple[str, ...]
    votes: int
    unanimous: bool
    decided: bool


def check_vote(kind: Kind, vote: Vote) -> None:
    """Refuse a vote that the schema does not allow."""
    if vote.label is not None and vote.label not in kind.labels:
        raise InputError(f"Unknown label '{vote.label}' for a {kind.name}. Expected one of: {', '.join(kind.labels)}.")
    if kind.include is not None and vote.label is None and vote.includes is None:
        raise InputError(f"A {kind.name} needs an answer to '{kind.include.field}'.")
    if kind.include is None and vote.label is None:
        raise InputError(f"A {kind.name} needs a label: {', '.join(kind.labels)}.")
    allowed = kind.sub_labels.get(vote.label or "", ())
    wrong = [name for name in vote.sub_labels if name not in allowed]
    if wrong:
        raise InputError(f"'{wrong[0]}' is no sub-label of '{vote.label}'.")
    if len(vote.sub_labels) > 1 and not kind.several:
        raise InputError(f"A {kind.name} takes one sub-label, not {len(vote.sub_labels)}.")


def decide(kind: Kind, votes: Sequence[Vote]) -> Verdict:
    """The verdict over the votes of one text.

    >>> from fairwitness.authoring.schema import load_schema
    >>> kind = load_schema("kosbi").second
    >>> said = [("unsafe", ("stereotype_explicit",)), ("unsafe", ("other",)), ("safe", ())]
    >>> verdict = decide(kind, [Vote(annotator=str(n), label=label, sub_labels=sub) for n, (label, sub) in enumerate(said)])
    >>> verdict.label, verdict.sub_labels, verdict.unanimous
    ('unsafe', ('undefined',), False)
    """
    includes = majority([vote.includes for vote in votes if vote.includes is not None])
    labels = [vote.label for vote in votes if vote.label is not None]
    label = majority(labels)
    sub_labels = _sub_labels(kind, votes, label)
    undecided = label is None and bool(labels)
    return Verdict(
        label=kind.no_majority if undecided and len(labels) > 1 else label,
        includes=includes,
        sub_labels=sub_labels,
        votes=len(votes),
        unanimous=len(votes) > 1 and len(labels) == len(votes) and len(set(labels)) == 1,
        decided=not undecided and not (kind.include is not None and includes is None and bool(votes)),
    )


def _sub_labels(kind: Kind, votes: Sequence[Vote], label: str | None) -> tuple[str, ...]:
    """The winning label's sub-labels that more than half chose, in the schema's order; else "undefined" where two chose any."""
    names = kind.sub_labels.get(label or "", ())
    if not names:
        return ()
    chosen = [set(vote.sub_labels) & set(names) if vote.label == label else set() for vote in votes]
    won = tuple(name for name in names if 2 * sum(name in one for one in chosen) > len(votes))
    if won:
        return won
    some = sum(bool(one) for one in chosen)
    return (kind.undefined,) if some >= min(2, len(votes)) and some else ()


def apply(kind: Kind, row: Mapping[str, Any], verdict: Verdict) -> Row:
    """A row with the verdict in the dataset's own fields."""
    result = dict(row)
    if kind.include is not None:
        value = {True: kind.include.yes, False: kind.include.no, None: None}[verdict.includes]
        result[kind.include.field] = value
    result[kind.label] = kind.stored(verdict.label)
    several = list(verdict.sub_labels) or None
    result[kind.sub_label] = several if kind.several or several is None else several[0]
    return result


def raw_annotations(kind: Kind, votes: Iterable[Vote]) -> dict[str, list[Row]]:
    """The votes as the published files keep them: question → one answer per annotator."""
    raw: dict[str, list[Row]] = {}
    if kind.include is not None:
        raw[kind.include.question] = []
    raw[kind.label_question] = []
    for question in kind.sub_label_questions.values():
        raw.setdefault(question, [])
    for vote in votes:
        if kind.include is not None and vote.includes is not None:
            value = kind.include.yes if vote.includes else kind.include.no
            raw[kind.include.question].append({"workerID": vote.annotator, kind.include.field: value})
        if vote.label is not None:
            raw[kind.label_question].append(
                {"workerID": vote.annotator, kind.raw_label_field or kind.label: _raw_label(kind, vote)}
            )
        asked = kind.sub_label_questions.get(vote.label or "")
        if asked is not None and asked != kind.label_question:
            sub: Any = list(vote.sub_labels) if kind.several else next(iter(vote.sub_labels), None)
            raw[asked].append({"workerID": vote.annotator, kind.sub_label: sub})
    return raw


def read_votes(kind: Kind, row: Mapping[str, Any], where: str) -> list[Vote]:
    """The votes in a row's `raw_annotations`, one per annotator, in the order they first appear. None where there are none."""
    raw = row.get("raw_annotations")
    if raw is None:
        return []
    if not isinstance(raw, Mapping):
        raise InputError(f"{where}: 'raw_annotations' is {type(raw).__name__}; question → answers was expected.")
    said: dict[str, dict[str, Any]] = {}
    try:
        for answer in raw.get(kind.label_question) or []:
            label, sub_labels = _read_label(kind, answer.get(kind.raw_label_field or kind.label, answer.get(kind.label)))
            said.setdefault(str(answer["workerID"]), {}).update(label=label, sub_labels=sub_labels)
        for answer in raw.get(kind.include.question if kind.include else "") or []:
            assert kind.include is not None
            said.setdefault(str(answer["workerID"]), {})["includes"] = kind.includes(answer.get(kind.include.field))
        for question in set(kind.sub_label_questions.values()) - {kind.label_question}:
            for answer in raw.get(question) or []:
                said.setdefault(str(answer["workerID"]), {})["sub_labels"] = kind.sub_labels_of(answer.get(kind.sub_label))
    except (InputError, KeyError, AttributeError, TypeError) as error:
        raise InputError(f"{where}: its raw annotations cannot be read: {error}") from error
    return [Vote(annotator=name, **{"label": None, **answers}) for name, answers in said.items()]


def _read_label(kind: Kind, value: Any) -> tuple[str | None, tuple[str, ...]]:
    if isinstance(value, str) and value.strip().lower() in kind.abstentions:
        return None, ()
    if kind.raw_label_field and isinstance(value, str) and " - " in value:
        label, _, sub_label = value.partition(" - ")
        return kind.label_of(label), kind.sub_labels_of(sub_label)
    return kind.label_of(value), ()


def _raw_label(kind: Kind, vote: Vote) -> str:
    combined = kind.raw_label_field and vote.sub_labels
    return f"{vote.label} - {vote.sub_labels[0]}" if combined else str(vote.label)
