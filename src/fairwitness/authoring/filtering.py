"""Sifting drafts: contexts that do not include their group go, sentences on which the filter model's checkpoints disagree stay.

`fairwitness kosbi filter-contexts` and `filter-sentences`. Without a filter model (at the first iteration) both only restructure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairwitness.authoring.records import Row, look_up, read_rows, write_rows
from fairwitness.authoring.schema import Schema, Task, load_schema
from fairwitness.authoring.variability import estimated_max_variability, most_variable, most_variable_of_each
from fairwitness.errors import InputError
from fairwitness.files import file_hash
from fairwitness.models.text_classifier import Checkpoint, find_checkpoints, load_classifier, sigmoid_scores
from fairwitness.options import Options
from fairwitness.progress import progress, say
from fairwitness.runs import open_run

# Items (tuples of fields) → sigmoid scores [item, label].
Score = Callable[[Sequence[tuple[str, ...]]], NDArray[np.float64]]
Selection = Literal["published", "top_k", "all"]


@dataclass(frozen=True, kw_only=True)
class FilterContextsConfig(Options):
    """Everything that filtering contexts depends on."""

    input_fname: Path
    """Drafted contexts."""
    filter_model_ckpt: Path | None = None
    """Checkpoint (or training folder: its best one) of a model for kosbi_incl_grp_classify; without it every context stays."""
    filter_model_type: str = ""
    """Taken because published commands name it, and not needed: a checkpoint says itself what it is."""
    schema: str = "kosbi"
    """Which dataset is authored: kosbi, square, or a schema file of your own."""
    output_dir: Path = Path("data/generations")
    """Folder of the results."""
    output_fname: str = "filtered_contexts.json"
    """File of the contexts that stay; the others go to `<name>.rejected.jsonl` beside it."""
    restart: bool = False
    """Start over beside results of another question."""


@dataclass(frozen=True, kw_only=True)
class FilterSentencesConfig(Options):
    """Everything that selecting sentences depends on."""

    input_fname: Path
    """Drafted sentences."""
    filter_model_ckpt_dir: Path | None = None
    """Folder of a training for kosbi_unsafe_sent_classify, one checkpoint per epoch; without it every sentence stays."""
    filter_model_train_epochs: int = 5
    """How many checkpoints are asked, the first ones by epoch."""
    num_generations_per_context: int = 3
    """Of so many drafts of one class for one context, the most variable stays."""
    num_extra_ambiguous_samples: int | None = None
    """Further sentences to keep, the most variable of all others."""
    selection: Selection = "published"
    """published: one per context and class, and the extra ones; top_k: the most variable of each class; all: keep everything."""
    top_k: int | None = None
    """How many sentences of each class `--selection top_k` keeps."""
    schema: str = "kosbi"
    """Which dataset is authored: kosbi, square, or a schema file of your own."""
    output_dir: Path = Path("data/generations")
    """Folder of the results."""
    output_fname: str = "filtered_sentences.json"
    """File of the sentences that stay; the others go to `<name>.rejected.jsonl` beside it."""
    restart: bool = False
    """Start over beside results of another question."""


@dataclass(frozen=True)
class Filtered:
    """What stayed and what went."""

    rows: list[Row]
    rejected: list[Row]
    file: Path = Path()


def filter_contexts(config: FilterContextsConfig) -> Filtered:
    """Keep the contexts that the filter model says include their group."""
    schema = load_schema(config.schema)
    task = next(task for task in schema.tasks.values() if task.kind == "first")
    rows = read_rows(config.input_fname, required=[schema.first.text, *schema.first.required])
    score: Score | None = None
    if config.filter_model_ckpt is not None:
        model = load_classifier(config.filter_model_ckpt)
        score = lambda items: sigmoid_scores(model, items)  # noqa: E731
    filtered = keep_including(schema, task, rows, score)
    question = {"schema": schema.name, "model": _model_name(config.filter_model_ckpt)}
    return _write(config, "filter-contexts", question, filtered, asked=len(rows))


def keep_including(schema: Schema, task: Task, rows: Sequence[Row], score: Score | None) -> Filtered:
    """Keep a context when the score of label 1 (included) is at least that of label 0. A tie stays, as published."""
    if score is None:
        return Filtered([_restructured(schema, row) for row in rows], [])
    scores = score([tuple(str(look_up(row, name)) for name in task.fields) for row in rows])
    kept = scores[:, 1] >= scores[:, 0]
    rejected = [
        {**_restructured(schema, row), "reason": "group not included", "scores": [float(value) for value in pair]}
        for row, stays, pair in zip(rows, kept, scores, strict=True)
        if not stays
    ]
    return Filtered([_restructured(schema, row) for row, stays in zip(rows, kept, strict=True) if stays], rejected)


def filter_sentences(config: FilterSentencesConfig) -> Filtered:
    """Keep the sentences on which the checkpoints disagree most."""
    check_selection(config)
    schema = load_schema(config.schema)
    task = next(task for task in schema.tasks.values() if task.kind == "second")
    rows = read_rows(config.input_fname, required=[schema.first.text])
    candidates = flatten(schema, rows, str(config.input_fname))
    values: NDArray[np.float64] | None = None
    checkpoints: list[Checkpoint] = []
    if config.filter_model_ckpt_dir is not None:
        checkpoints = usable_checkpoints(config.filter_model_ckpt_dir, config.filter_model_train_epochs)
        items = [tuple(str(row[name]) for name in task.fields) for row in candidates]
        values = estimated_max_variability(score_with_all(checkpoints, items))
    filtered = select_sentences(schema, candidates, values, config)
    names = [checkpoint.path.name for checkpoint in checkpoints]
    question = {
        "schema": schema.name,
        "checkpoints": names,
        "selection": config.selection,
        "top_k": config.top_k,
        "size": config.num_generations_per_context,
        "extra": config.num_extra_ambiguous_samples,
    }
    return _write(config, "filter-sentences", question, filtered, asked=len(candidates))


def usable_checkpoints(folder: Path, epochs: int) -> list[Checkpoint]:
    """The first `epochs` checkpoints of a folder; at least two, because one model cannot disagree with itself."""
    if epochs < 2:
        raise InputError(f"--filter_model_train_epochs {epochs}: variability needs at least 2 checkpoints.")
    found = find_checkpoints(folder, most=epochs)
    if len(found) < 2:
        raise InputError(
            f"{folder} has one checkpoint only ({found[0].path.name}), so every variability would be 0. "
            "Train again with --checkpoint_save_top_k -1 to keep every epoch."
        )
    if len(found) < epochs:
        say(f"{folder} has {len(found)} checkpoints, fewer than the {epochs} asked for; all of them are used.")
    return found


def score_with_all(checkpoints: Sequence[Checkpoint], items: Sequence[tuple[str, ...]]) -> NDArray[np.float64]:
    """Scores [checkpoint, item, label], one model in memory at a time."""
    scores = []
    with progress("Scoring", len(checkpoints), unit="checkpoints") as advance:
        for checkpoint in checkpoints:
            scores.append(sigmoid_scores(checkpoint.load(), items))
            advance(1)
    return np.stack(scores)


def flatten(schema: Schema, rows: Sequence[Row], where: str) -> list[Row]:
    """One row per sentence: all of the first class (safe) in order, then all of the other; sides that gave nothing are left out."""
    flat = []
    for label in reversed(schema.second.classes):
        name = f"{schema.second.text}_{label}"
        for number, row in enumerate(rows, start=1):
            if not isinstance(row.get("generations"), list):
                raise InputError(f"{where}, row {number} has no list 'generations'. Was it made by generate-{schema.second.name}s?")
            for generation in row["generations"]:
                if generation.get(name):
                    flat.append(_sentence(schema, row, str(generation[name]), label))
    if not flat:
        raise InputError(f"{where} holds no drafted {schema.second.name} at all.")
    return flat


def select_sentences(
    schema: Schema, candidates: Sequence[Row], values: NDArray[np.float64] | None, config: FilterSentencesConfig
) -> Filtered:
    """Apply the selection. Every kept row says its variability; without values everything stays."""
    if values is None:
        if config.selection == "top_k":
            raise InputError("--selection top_k needs a filter model: --filter_model_ckpt_dir.")
        return Filtered([dict(row) for row in candidates], [])
    chosen = _chosen(schema, candidates, values, config)
    measured = [_measured(row, float(value)) for row, value in zip(candidates, values, strict=True)]
    left = sorted(set(range(len(candidates))) - set(chosen))
    rejected = [{**measured[place], "reason": "less variable"} for place in left]
    return Filtered([measured[place] for place in chosen], rejected)


def check_selection(config: FilterSentencesConfig) -> None:
    """Refuse numbers with which nothing could be chosen, or everything would be lost."""
    if config.selection == "top_k" and (config.top_k is None or config.top_k < 1):
        raise InputError("--selection top_k needs --top_k, how many sentences of each class to keep.")
    if config.num_generations_per_context < 1:
        raise InputError(f"--num_generations_per_context is {config.num_generations_per_context}; at least 1 was expected.")
    if (config.num_extra_ambiguous_samples or 0) < 0:
        raise InputError(f"--num_extra_ambiguous_samples is {config.num_extra_ambiguous_samples}; it must not be negative.")


def _chosen(schema: Schema, rows: Sequence[Row], values: NDArray[np.float64], config: FilterSentencesConfig) -> list[int]:
    if config.selection == "all":
        return list(range(len(rows)))
    chosen: list[int] = []
    for label in reversed(schema.second.classes):
        places = [place for place, row in enumerate(rows) if row["generation_info"]["intended_label"] == label]
        if config.selection == "top_k":
            best = most_variable(values[places], config.top_k or 0)
        else:
            units = [_unit(schema, rows[place]) for place in places]
            best = most_variable_of_each(units, values[places], config.num_generations_per_context)
        chosen += [places[place] for place in best]
    if config.selection == "published" and config.num_extra_ambiguous_samples:
        taken = set(chosen)
        rest = [place for place in range(len(rows)) if place not in taken]
        chosen += [rest[place] for place in most_variable(values[rest], config.num_extra_ambiguous_samples)]
    return chosen


def _unit(schema: Schema, row: Row) -> tuple[Any, ...]:
    return (row.get("context_id"), look_up(row, schema.group), row[schema.first.text])


def _measured(row: Row, value: float) -> Row:
    return {**row, "generation_info": {**row["generation_info"], "variability": value}}


def _sentence(schema: Schema, row: Row, text: str, label: str) -> Row:
    kept = {name: look_up(row, name) for name in schema.second.carry if name not in (schema.group_set, *schema.second.match)}
    labels = {name: row.get(name) for name in schema.second.match}
    info = {schema.group_set: look_up(row, schema.group_set), "intended_label": label}
    identity = {"context_id": row["id"]} if "id" in row else {}
    return {**identity, **kept, schema.second.text: text, **labels, "generation_info": info}


def _restructured(schema: Schema, row: Row) -> Row:
    """A context as the published filtered file has it: what it was generated from goes into `generation_info`."""
    kept = {name: value for name, value in row.items() if name not in (schema.group_set, "generation_info")}
    info = {**(row.get("generation_info") or {}), schema.group_set: look_up(row, schema.group_set)}
    return {**kept, "generation_info": info}


def _model_name(path: Path | None) -> str | None:
    return None if path is None else path.name


def _write(
    config: FilterContextsConfig | FilterSentencesConfig, kind: str, question: dict[str, Any], filtered: Filtered, *, asked: int
) -> Filtered:
    out = config.output_dir / config.output_fname
    rejected = out.with_suffix(".rejected.jsonl")
    inputs = {"input": config.input_fname}
    data = {name: file_hash(path) for name, path in inputs.items()}
    with open_run(out, kind, {**question, "data": data}, restart=config.restart, data=data, inputs=inputs) as run:
        write_rows(out, filtered.rows)
        write_rows(rejected, filtered.rejected)
        run.seal([out, rejected], {"asked": asked, "scored": asked, "failed": 0, "kept": len(filtered.rows)})
    return Filtered(filtered.rows, filtered.rejected, out)
