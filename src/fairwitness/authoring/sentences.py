"""Drafting the second texts: for each annotated context, sentences of either class. `fairwitness kosbi generate-sentences`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fairwitness.authoring.contexts import make_prompt
from fairwitness.authoring.demonstrations import choose, distinct, for_second, of_class, require_pool
from fairwitness.authoring.drafting import Ask, Drafts
from fairwitness.authoring.generate import Chain, Generated, run_chains
from fairwitness.authoring.prompts import second_prompt
from fairwitness.authoring.records import Row, look_up, read_rows
from fairwitness.authoring.schema import Schema, load_schema
from fairwitness.authoring.services import GenerationConfig
from fairwitness.errors import InputError
from fairwitness.models.generation import Prompt
from fairwitness.options import require_config
from fairwitness.progress import say


@dataclass(frozen=True, kw_only=True)
class SentencesConfig(GenerationConfig):
    """Everything that a generation of sentences depends on."""

    demo_fpath: Path
    """Pool of demonstrations with both classes (JSON list or JSON lines)."""
    context_fpath: Path
    """Annotated contexts; those that do not include their group (`include?` 0) are left out."""
    num_total_demos: int = 10
    """Demonstrations in a prompt."""
    num_in_context_label: int = 5
    """Of those, how many follow a context of the same label and sub-label."""
    num_generations_per_context: int = 3
    """Sentences of each class to draft for each context."""
    output_dir: Path = Path("data/generations")
    """Folder of the results."""
    output_fname: str = "output_sentences.json"
    """File of the drafted sentences; rejected drafts go to `<name>.rejected.jsonl` beside it."""


def generate_sentences(config: SentencesConfig) -> Generated:
    """Draft sentences of each class after every context; one row per context, its drafts in pairs."""
    require_config(config, SentencesConfig)
    schema = load_schema(config.schema)
    classes = tuple(reversed(schema.second.classes))
    contexts = included(schema, read_rows(config.context_fpath, required=[schema.first.text]), config.context_fpath)
    pools = {label: _pool(config, schema, label) for label in classes}
    keys = [(context, label) for context in contexts for label in classes]
    chains = [
        Chain(
            ask=_asking(config, schema, pools[label], context, label),
            about={schema.first.text: context[schema.first.text], "intended_label": label},
            number=config.num_generations_per_context,
        )
        for context, label in keys
    ]

    def rows_of(drafts: list[Drafts]) -> list[Row]:
        pairs = zip(*(iter(drafts),) * len(classes), strict=True)
        rows = (_row(schema, context, dict(zip(classes, done, strict=True))) for context, done in zip(contexts, pairs, strict=True))
        return [row for row in rows if row["generations"]]

    inputs = {"demonstrations": config.demo_fpath, f"{schema.first.name}s": config.context_fpath}
    return run_chains(config, config.output_dir / config.output_fname, "generate-sentences", chains, rows_of, inputs)


def included(schema: Schema, rows: Sequence[Row], where: Path) -> list[Row]:
    """The contexts that include their group. Where nobody was asked, all; an answer of 0 or none leaves a row out."""
    include = schema.first.include
    kept = [row for row in rows if include is None or include.field not in row or schema.first.includes(row[include.field])]
    if not kept:
        raise InputError(f"No row of {where} includes its group ('{include.field if include else ''}' is 0 everywhere).")
    if len(kept) < len(rows):
        say(f"{len(rows) - len(kept)} of {len(rows)} rows of {where} do not include their group and are left out.")
    for number, row in enumerate(kept, start=1):
        _check_labels(schema, row, f"{where}, row {number}")
    return kept


def _check_labels(schema: Schema, row: Row, where: str) -> None:
    for name in schema.first.required:
        if not look_up(row, name):
            raise InputError(f"{where} has no '{name}'. Every {schema.first.name} needs one.")
    try:
        schema.first.label_of(row.get(schema.first.label))
        schema.first.sub_labels_of(row.get(schema.first.sub_label))
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _pool(config: SentencesConfig, schema: Schema, label: str) -> list[Row]:
    rows = read_rows(config.demo_fpath, required=[schema.first.text, schema.second.text])
    pool = distinct(of_class(schema, rows, label))
    if config.num_total_demos:
        require_pool(pool, config.num_total_demos, f"{config.demo_fpath} (class {label})")
    return pool


def _asking(config: SentencesConfig, schema: Schema, pool: list[Row], context: Row, label: str) -> Ask:
    given = carried(schema, context)
    wishes = for_second(schema, pool, given, in_label=config.num_in_context_label)

    def ask(place: int, retry: int) -> tuple[Prompt, Row]:
        random = Random(f"{config.seed}|{context[schema.first.text]}|{label}|{place}|{retry}")
        chosen = choose(pool, wishes, config.num_total_demos, random)
        text = second_prompt(schema, config.language, chosen.rows, given=given, label=label)
        return make_prompt(config, text, retry, f"{label}|{place}|{retry}"), {}

    return ask


def _row(schema: Schema, context: Row, drafts: dict[str, Drafts]) -> Row:
    """A context with its drafts in pairs. A side that gave nothing usable is null; a pair of two such sides is left out."""
    texts = {label: {draft.place: draft.text for draft in done.accepted} for label, done in drafts.items()}
    places = sorted({place for by_place in texts.values() for place in by_place})
    names = {label: f"{schema.second.text}_{label}" for label in texts}
    generations = [{names[label]: texts[label].get(place) for label in texts} for place in places]
    return {**({"id": context["id"]} if "id" in context else {}), **carried(schema, context), "generations": generations}


def carried(schema: Schema, context: Row) -> Row:
    """What a second text takes over from its first, under its own names."""
    return {name: look_up(context, source) for name, source in schema.second.carry.items()}
