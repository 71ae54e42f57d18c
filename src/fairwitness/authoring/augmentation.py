"""The next iteration's demonstrations out of this iteration's annotations. `augment-contexts` and `augment-sentences`.

The first iteration replaces the initial pool (leave --prev_demo_fname out); later ones extend it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairwitness.authoring.filtering import score_with_all, usable_checkpoints
from fairwitness.authoring.records import Row, read_rows, write_rows
from fairwitness.authoring.schema import Schema, Task, load_schema
from fairwitness.authoring.variability import label_variability, most_variable
from fairwitness.authoring.votes import read_votes
from fairwitness.errors import EvidenceError, InputError
from fairwitness.files import file_hash
from fairwitness.options import Options
from fairwitness.progress import say
from fairwitness.runs import open_run


@dataclass(frozen=True, kw_only=True)
class AugmentContextsConfig(Options):
    """Everything that augmenting the pool of contexts depends on."""

    input_fname: Path
    """Annotated contexts."""
    prev_demo_fname: Path | None = None
    """Pool to extend; leave it out at the first iteration, which replaces the initial pool."""
    schema: str = "kosbi"
    """Which dataset is authored."""
    output_dir: Path = Path("pipeline/demo")
    """Folder of the new pool."""
    output_demo_fname: str = "kosbi_context_iter1.json"
    """File of the new pool."""
    restart: bool = False
    """Start over beside results of another question."""


@dataclass(frozen=True, kw_only=True)
class AugmentSentencesConfig(Options):
    """Everything that augmenting the pool of sentences depends on."""

    input_fname: Path
    """Annotated sentences with their raw annotations."""
    filter_model_ckpt_dir: Path
    """Folder of a training, one checkpoint per epoch: the most ambiguous rows by its variability stay."""
    filter_model_train_epochs: int = 5
    """How many checkpoints are asked, the first ones by epoch."""
    most_ambiguous_ratio: float = 0.25
    """Share of each class that stays."""
    min_annotators: int = 2
    """Rows with fewer annotators are no evidence of agreement and are left out."""
    prev_demo_fname: Path | None = None
    """Pool to extend, and to rank anew with the rest; leave it out at the first iteration."""
    schema: str = "kosbi"
    """Which dataset is authored."""
    output_dir: Path = Path("pipeline/demo")
    """Folder of the new pool."""
    output_demo_fname: str = "kosbi_sentence_iter1.json"
    """File of the new pool."""
    restart: bool = False
    """Start over beside results of another question."""


def augment_contexts(config: AugmentContextsConfig) -> list[Row]:
    """The previous pool, if any, and every annotated context that includes its group."""
    schema = load_schema(config.schema)
    rows = read_rows(config.input_fname, required=[schema.first.text])
    previous = read_rows(config.prev_demo_fname, required=[schema.first.text]) if config.prev_demo_fname else []
    pool = previous + including(schema, rows, str(config.input_fname))
    return _write(config, "augment-contexts", pool, asked=len(rows))


def including(schema: Schema, rows: Sequence[Row], where: str) -> list[Row]:
    """The rows whose group is included; unlabelled rows are an error, because nobody looked at them."""
    include = schema.first.include
    if include is None:
        return list(rows)
    if not any(include.field in row for row in rows):
        raise InputError(f"No row of {where} has '{include.field}'. Annotate the {schema.first.name}s first.")
    return [row for row in rows if schema.first.includes(row.get(include.field))]


def augment_sentences(config: AugmentSentencesConfig) -> list[Row]:
    """The previous pool, if any, and every row that all annotators labelled alike; of each class the most ambiguous share."""
    schema = load_schema(config.schema)
    if not 0 < config.most_ambiguous_ratio <= 1:
        raise InputError(f"--most_ambiguous_ratio is {config.most_ambiguous_ratio}; a share above 0 and at most 1 was expected.")
    task = next(task for task in schema.tasks.values() if task.kind == "second")
    checkpoints = usable_checkpoints(config.filter_model_ckpt_dir, config.filter_model_train_epochs)
    rows = read_rows(config.input_fname, required=list(task.fields))
    previous = read_rows(config.prev_demo_fname, required=list(task.fields)) if config.prev_demo_fname else []
    pool = previous + unanimous(schema, rows, str(config.input_fname), least=config.min_annotators)
    values = label_variability(score_with_all(checkpoints, [tuple(row[name] for name in task.fields) for row in pool]))
    chosen = most_ambiguous(schema, task, pool, values, config.most_ambiguous_ratio)
    return _write(config, "augment-sentences", chosen, asked=len(rows))


def unanimous(schema: Schema, rows: Sequence[Row], where: str, *, least: int = 2) -> list[Row]:
    """The rows on whose label all annotators agree, at least `least` of them."""
    kind = schema.second
    kept, alone = [], 0
    for number, row in enumerate(rows, start=1):
        labels = [vote.label for vote in read_votes(kind, row, f"{where}, row {number}")]
        alone += 0 < len(labels) < least
        if len(labels) >= least and None not in labels and len(set(labels)) == 1:
            kept.append(row)
    if not any("raw_annotations" in row for row in rows):
        raise InputError(
            f"No row of {where} has 'raw_annotations', so nobody knows where the annotators agree. Export them with annotations."
        )
    if alone == len(rows):
        raise EvidenceError(
            f"Every row of {where} has fewer than {least} annotators: agreement was not seen. (--min_annotators 1 takes them.)"
        )
    if alone:
        say(f"{alone} of {len(rows)} rows of {where} have fewer than {least} annotators and are left out.")
    return kept


def most_ambiguous(schema: Schema, task: Task, rows: Sequence[Row], values: NDArray[np.float64], ratio: float) -> list[Row]:
    """Of each class, 0 (unsafe) first, the `int(number × ratio)` rows with the largest deviation of that class's own score."""
    chosen: list[Row] = []
    labels = [schema.second.label_of(row.get(task.target)) for row in rows]
    for place, label in enumerate(task.classes):
        members = [number for number, own in enumerate(labels) if own == label]
        ranked = most_variable(values[members, place], int(len(members) * ratio)) if members else []
        chosen += [rows[members[number]] for number in ranked]
    if not chosen:
        raise EvidenceError(
            f"A share of {ratio:g} of {len(rows)} unanimous rows is not one row. Annotate more, or raise the share."
        )
    return chosen


def _write(config: AugmentContextsConfig | AugmentSentencesConfig, kind: str, pool: list[Row], *, asked: int) -> list[Row]:
    if not pool:
        raise EvidenceError(f"Nothing of {config.input_fname} can be a demonstration, so the pool would be empty.")
    out = config.output_dir / config.output_demo_fname
    inputs = {"input": config.input_fname}
    if config.prev_demo_fname:
        inputs["previous"] = config.prev_demo_fname
    data = {name: file_hash(path) for name, path in inputs.items()}
    question: dict[str, Any] = {"schema": config.schema, "data": data}
    if isinstance(config, AugmentSentencesConfig):
        question |= {"ratio": config.most_ambiguous_ratio, "checkpoints": config.filter_model_ckpt_dir.name}
    with open_run(out, kind, question, restart=config.restart, data=data, inputs=inputs) as run:
        write_rows(out, pool)
        run.seal([out], {"asked": asked, "scored": asked, "failed": 0, "kept": len(pool)})
    return pool
