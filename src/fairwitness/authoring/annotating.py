"""Getting a store ready for annotators: texts in, tokens out, annotations in or out as files. `fairwitness kosbi annotate`."""

from dataclasses import dataclass, field
from pathlib import Path

from fairwitness.authoring.annotation_store import AnnotationStore
from fairwitness.authoring.exchange import Format, counts, export, import_annotations
from fairwitness.authoring.records import read_rows
from fairwitness.authoring.schema import load_schema
from fairwitness.errors import InputError
from fairwitness.options import Options

LEAD = "lead"


@dataclass(frozen=True, kw_only=True)
class AnnotateConfig(Options):
    """What the annotation page serves, to whom, and where."""

    store: Path
    """The file that keeps everything (SQLite); made if it is not there."""
    input_fname: Path | None = None
    """Texts to annotate: filtered contexts or sentences. Given again, new ones are added."""
    kind: str = "auto"
    """What they are: context or sentence (question or response); 'auto' looks at the rows."""
    schema: str = "kosbi"
    """Which dataset is authored."""
    annotators: tuple[str, ...] = ()
    """Names of annotators to admit; each gets a token, shown once."""
    annotators_per_item: int = 3
    """How many annotators each text wants."""
    import_fname: Path | None = None
    """Take annotations from a KoSBi JSON, a Label Studio JSON or a CSV."""
    export_fname: Path | None = None
    """Write the annotations there and end, without serving."""
    export_format: Format = "kosbi"
    """Format of the export: kosbi, labelstudio or csv."""
    no_serve: bool = False
    """Do all this, but do not serve."""
    host: str = "127.0.0.1"
    """Where to listen. Only this machine can reach the default."""
    port: int = 8710
    """The port to listen on."""


@dataclass(frozen=True)
class Prepared:
    """A store ready to be served: the tokens made now, and what was done."""

    store: AnnotationStore
    tokens: dict[str, str] = field(repr=False)
    notes: list[str]
    serve: bool


def prepare(config: AnnotateConfig) -> Prepared:
    """Fill the store, admit annotators, import, export. Tokens exist nowhere but in what this returns."""
    _check(config)
    store, notes = AnnotationStore(config.store), []
    if config.input_fname is not None:
        notes.append(_fill(store, config))
    if config.import_fname is not None:
        if config.input_fname is None and not config.store.exists():
            _fill_empty(store, config)
        items, answers = import_annotations(store, config.import_fname)
        notes.append(f"Imported {answers} answers and {items} new texts from {config.import_fname}.")
    store.fact("schema")
    tokens = _admit(store, config)
    if config.export_fname is not None:
        export(store, config.export_fname, config.export_format)
        notes.append(f"Wrote {config.export_fname}.")
    seen = counts(store)
    notes.append(f"{seen['items']} texts, {seen['done']} done, {seen['conflicts']} to adjudicate.")
    return Prepared(store, tokens, notes, serve=not config.no_serve and config.export_fname is None)


def _check(config: AnnotateConfig) -> None:
    """Before anything is opened: what is refused must leave no store behind."""
    if config.input_fname is None and config.import_fname is None and not config.store.exists():
        raise InputError(f"{config.store} does not exist. Fill it with --input_fname (drafts) or --import_fname (annotations).")
    if LEAD in config.annotators:
        raise InputError(f"'{LEAD}' is who adjudicates, and sees everybody's labels. Give this annotator another name.")


def _fill(store: AnnotationStore, config: AnnotateConfig) -> str:
    assert config.input_fname is not None
    schema = load_schema(config.schema)
    rows = read_rows(config.input_fname)
    if not rows:
        raise InputError(f"{config.input_fname} has no rows to annotate.")
    name = config.kind
    if name == "auto":
        name = schema.second.name if schema.second.text in rows[0] else schema.first.name
    kind = schema.kind(name)
    read_rows(config.input_fname, required=[schema.first.text, kind.text])
    new = store.create(schema, kind, rows, per_item=config.annotators_per_item)
    return f"{new} new {kind.name}s from {config.input_fname} ({len(rows) - new} were there already)."


def _fill_empty(store: AnnotationStore, config: AnnotateConfig) -> None:
    schema = load_schema(config.schema)
    if config.kind == "auto":
        raise InputError(f"{config.store} is new: say what is imported with --kind {schema.first.name} or {schema.second.name}.")
    store.create(schema, schema.kind(config.kind), [], per_item=config.annotators_per_item)


def _admit(store: AnnotationStore, config: AnnotateConfig) -> dict[str, str]:
    known = {name for name, _ in store.annotators()}
    tokens = {name: store.add_annotator(name) for name in config.annotators if name not in known}
    if not any(lead for _, lead in store.annotators()):
        tokens[LEAD] = store.add_annotator(LEAD, lead=True)
    return tokens
