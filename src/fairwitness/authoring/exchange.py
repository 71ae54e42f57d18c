"""Annotations in and out of a store: the KoSBi JSON with raw annotations, Label Studio's JSON, and CSV."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fairwitness import runs
from fairwitness.authoring.annotation_store import AnnotationStore, Item, item_id
from fairwitness.authoring.records import Row, look_up, read_rows, read_text
from fairwitness.authoring.schema import Kind
from fairwitness.authoring.votes import Verdict, Vote, apply, decide, raw_annotations, read_votes
from fairwitness.errors import InputError
from fairwitness.files import write_text

Format = Literal["kosbi", "labelstudio", "csv"]
_CSV = ("id", "annotator", "adjudicated", "includes", "label", "sub_labels")


@dataclass
class _Read:
    """One item as a file has it."""

    row: Row
    votes: list[Vote] = field(default_factory=list)
    ruling: Vote | None = None


def export(store: AnnotationStore, path: Path, form: Format = "kosbi", *, only_decided: bool = False) -> Path:
    """Write what was annotated. Items that nobody answered stay, without labels, unless `only_decided`."""
    state = _State(store)
    items = [item for item in store.items() if not only_decided or is_done(item, state)]
    write_text(Path(path), render(store, items, form))
    asked = {"store": str(store.path), "form": form, "only_decided": only_decided}
    decided = sum(is_done(item, state) for item in items)
    counts = {"asked": len(items), "scored": decided, "failed": 0}
    runs.note(Path(path), "kosbi annotate", asked, [Path(path)], counts=counts, inputs={"store": store.path})
    return Path(path)


def render(store: AnnotationStore, items: list[Item], form: Format) -> str:
    """The items in one of the formats, as text."""
    state = _State(store)
    if form == "kosbi":
        return json.dumps([labelled_row(state, item) for item in items], ensure_ascii=False, indent=4) + "\n"
    if form == "labelstudio":
        return json.dumps([_task(state, item) for item in items], ensure_ascii=False, indent=2) + "\n"
    if form == "csv":
        return _csv(state, items)
    raise InputError(f"Unknown format '{form}'. Expected kosbi, labelstudio or csv.")


def import_annotations(store: AnnotationStore, path: Path) -> tuple[int, int]:
    """Take items, answers and rulings from a KoSBi JSON, a Label Studio JSON or our CSV; (new items, new answers).

    Annotators are admitted under their names. An answer or ruling that stands already is not taken twice.
    """
    path = Path(path)
    if path.suffix.lower() == ".csv":
        found = _read_csv(store, path)
    else:
        rows = read_rows(path)
        studio = bool(rows) and "data" in rows[0]
        found = [_read_task(store.kind, row, f"{path}, row {n}") if studio else _read_row(store.kind, row, f"{path}, row {n}")
                 for n, row in enumerate(rows, start=1)]  # fmt: skip
    new = store.create(store.schema, store.kind, [each.row for each in found], per_item=store.per_item)
    standing, rulings, known = store.votes(), store.rulings(), {name for name, _ in store.annotators()}
    taken = 0
    for each in found:
        item = item_id(store.kind, each.row)
        if each.ruling is not None and each.ruling != rulings.get(item):
            store.rule(item, each.ruling)
        for vote in each.votes:
            if vote.annotator not in known:
                store.add_annotator(vote.annotator)
                known.add(vote.annotator)
            if vote not in standing.get(item, []):
                store.save(item, vote)
                taken += 1
    return new, taken


class _State:
    """What a store holds at this moment, read once."""

    def __init__(self, store: AnnotationStore) -> None:
        self.kind, self.schema, self.per_item = store.kind, store.schema, store.per_item
        self.votes, self.rulings = store.votes(), store.rulings()

    def verdict(self, item: Item) -> Verdict:
        """The ruling where there is one, else what the votes come to."""
        votes = self.votes.get(item.id, [])
        ruling = self.rulings.get(item.id)
        if ruling is None:
            return decide(self.kind, votes)
        own = decide(self.kind, votes)
        return Verdict(
            label=ruling.label,
            includes=ruling.includes,
            sub_labels=ruling.sub_labels,
            votes=len(votes),
            unanimous=own.unanimous,
            decided=True,
        )


def state_of(store: AnnotationStore) -> _State:
    """What a store holds at this moment, for those who look at many items."""
    return _State(store)


def is_done(item: Item, state: _State) -> bool:
    """Whether an item has all its votes and a decision."""
    return item.id in state.rulings or (len(state.votes.get(item.id, [])) >= state.per_item and state.verdict(item).decided)


def conflicts(store: AnnotationStore) -> list[Item]:
    """The items with all their votes but no majority, and no ruling yet."""
    state = _State(store)
    return [
        item
        for item in store.items()
        if item.id not in state.rulings and len(state.votes.get(item.id, [])) >= state.per_item and not state.verdict(item).decided
    ]


def labelled_row(state: _State, item: Item) -> Row:
    """An item's row in the KoSBi schema: labels by majority or ruling, and what everybody said."""
    votes = state.votes.get(item.id, [])
    # A text that still waits for annotators has no label yet, whatever the first of them said.
    complete = len(votes) >= state.per_item or item.id in state.rulings
    row = apply(state.kind, item.row, state.verdict(item)) if complete else dict(item.row)
    row["raw_annotations"] = raw_annotations(state.kind, votes)
    ruling = state.rulings.get(item.id)
    if ruling is not None:
        row["adjudication"] = {"workerID": ruling.annotator, state.kind.label: state.kind.stored(ruling.label)}
    return row


def _task(state: _State, item: Item) -> Row:
    annotations = [
        {"completed_by": vote.annotator, "ground_truth": False, "result": _choices(vote)} for vote in state.votes.get(item.id, [])
    ]
    if item.id in state.rulings:
        ruling = state.rulings[item.id]
        annotations.append({"completed_by": ruling.annotator, "ground_truth": True, "result": _choices(ruling)})
    return {"data": {**item.row, "item_id": item.id}, "annotations": annotations, "predictions": []}


def _choices(vote: Vote) -> list[Row]:
    said: dict[str, list[str]] = {}
    if vote.includes is not None:
        said["include"] = ["yes" if vote.includes else "no"]
    if vote.label is not None:
        said["label"] = [vote.label]
    if vote.sub_labels:
        said["sub_label"] = list(vote.sub_labels)
    return [
        {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": values}} for name, values in said.items()
    ]


def _read_task(kind: Kind, task: Row, where: str) -> _Read:
    try:
        read = _Read({key: value for key, value in task["data"].items() if key != "item_id"})
        for annotation in task.get("annotations") or []:
            if annotation.get("was_cancelled"):
                continue
            said = {result["from_name"]: result["value"]["choices"] for result in annotation["result"]}
            vote = _vote(kind, str(annotation["completed_by"]), said)
            if annotation.get("ground_truth"):
                read.ruling = vote
            else:
                read.votes.append(vote)
        return read
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{where} is not a task of Label Studio ({type(error).__name__} {error}).") from error


def _read_row(kind: Kind, row: Row, where: str) -> _Read:
    own = {kind.label, kind.sub_label, "raw_annotations", "adjudication", *([kind.include.field] if kind.include else [])}
    votes = [vote for vote in read_votes(kind, row, where) if vote.label is not None or vote.includes is not None]
    return _Read({key: value for key, value in row.items() if key not in own}, votes, _read_ruling(kind, row, where))


def _read_ruling(kind: Kind, row: Row, where: str) -> Vote | None:
    """The ruling of a KoSBi row: who gave it stands in `adjudication`, and what it says in the row's own labels."""
    if not row.get("adjudication"):
        return None
    try:
        return Vote(
            annotator=str(row["adjudication"]["workerID"]),
            label=kind.label_of(row.get(kind.label)),
            includes=kind.includes(row.get(kind.include.field)) if kind.include else None,
            sub_labels=kind.sub_labels_of(row.get(kind.sub_label)),
        )
    except (InputError, KeyError, TypeError) as error:
        raise InputError(f"{where}: its adjudication cannot be read: {error}") from error


def _vote(kind: Kind, annotator: str, said: Mapping[str, list[str]]) -> Vote:
    return Vote(
        annotator=annotator,
        label=kind.label_of(next(iter(said.get("label", [])), None)),
        includes=kind.includes(next(iter(said.get("include", [])), None)),
        sub_labels=kind.sub_labels_of(list(said.get("sub_label", []))),
    )


def _csv(state: _State, items: list[Item]) -> str:
    """One line per answer: the item's texts, who answered, and what."""
    schema, kind = state.schema, state.kind
    about = list(dict.fromkeys([schema.category, schema.group, schema.first.text, kind.text]))
    stream = io.StringIO()
    sheet = csv.writer(stream)
    sheet.writerow([*_CSV, *about])
    for item in items:
        said = [(vote, 0) for vote in state.votes.get(item.id, [])]
        said += [(state.rulings[item.id], 1)] if item.id in state.rulings else []
        for vote, adjudicated in said:
            includes = "" if vote.includes is None else int(vote.includes)
            answer = [item.id, vote.annotator, adjudicated, includes, vote.label or "", "|".join(vote.sub_labels)]
            sheet.writerow([*answer, *(look_up(item.row, name) for name in about)])
    return stream.getvalue()


def _read_csv(store: AnnotationStore, path: Path) -> list[_Read]:
    sheet = csv.DictReader(io.StringIO(read_text(path), newline=""))
    missing = [name for name in ("annotator", "label", store.kind.text) if name not in (sheet.fieldnames or [])]
    if missing:
        raise InputError(f"{path} has no column '{missing[0]}'. It has: {', '.join(sheet.fieldnames or [])}.")
    found: dict[str, _Read] = {}
    for number, line in enumerate(sheet, start=2):
        row = {name: value for name, value in line.items() if name is not None and name not in _CSV[1:] and value != ""}
        said = {
            "include": [line.get("includes") or ""] if line.get("includes") else [],
            "label": [line["label"]] if line["label"] else [],
            "sub_label": [name for name in (line.get("sub_labels") or "").split("|") if name],
        }
        try:
            vote = _vote(store.kind, line["annotator"], said)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        read = found.setdefault(item_id(store.kind, row), _Read(row))
        if line.get("adjudicated") == "1":
            read.ruling = vote
        else:
            read.votes.append(vote)
    return list(found.values())


def counts(store: AnnotationStore) -> dict[str, Any]:
    """How far the whole is: items, those with all votes, decided, in conflict, adjudicated."""
    state, items = _State(store), store.items()
    full = [item for item in items if len(state.votes.get(item.id, [])) >= state.per_item]
    return {
        "items": len(items),
        "answered": sum(bool(state.votes.get(item.id)) for item in items),
        "full": len(full),
        "done": sum(is_done(item, state) for item in items),
        "conflicts": len(conflicts(store)),
        "adjudicated": len(state.rulings),
    }
