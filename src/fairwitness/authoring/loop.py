"""One iteration of the authoring loop from one small TOML file: `fairwitness kosbi run loop.toml`.

Each stage writes into the iteration's folder and is a run of its own there, so a second call goes on where the first one stopped,
at no further cost. Where people have to annotate, the loop stops, says how, and goes on once they are done.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.authoring.agreement import Agreement, measure_agreement
from fairwitness.authoring.annotation_store import AnnotationStore
from fairwitness.authoring.augmentation import AugmentContextsConfig, AugmentSentencesConfig, augment_contexts, augment_sentences
from fairwitness.authoring.contexts import ContextsConfig, generate_contexts
from fairwitness.authoring.dataset import count_rows, finished_rows, split, write_parts
from fairwitness.authoring.datasheet import Facts, write_datasheet
from fairwitness.authoring.exchange import counts, export, import_annotations
from fairwitness.authoring.filter_training import Trained, TrainFilterConfig, train_filter
from fairwitness.authoring.filtering import FilterContextsConfig, FilterSentencesConfig, filter_contexts, filter_sentences
from fairwitness.authoring.loop_config import STAGES, LoopConfig
from fairwitness.authoring.records import read_rows
from fairwitness.authoring.schema import Kind, Schema, load_schema
from fairwitness.authoring.sentences import SentencesConfig, generate_sentences
from fairwitness.errors import EvidenceError, InputError
from fairwitness.files import file_hash
from fairwitness.progress import say
from fairwitness.runs import note, read_manifest

# (predictions of the filter model on the test part, where the audit's table goes)
Audit = Callable[[Path, Path], None]


@dataclass
class Loop:
    """An iteration under way: its config, and what the stages so far have left."""

    config: LoopConfig
    audit: Audit | None = None
    agreement: dict[str, Agreement] = field(default_factory=dict)
    trained: Trained | None = None
    done: list[str] = field(default_factory=list)

    @property
    def schema(self) -> Schema:
        """The dataset's schema."""
        return load_schema(self.config.schema)

    @property
    def folder(self) -> Path:
        """This iteration's folder."""
        return self.config.folder / f"iter{self.config.iteration}"

    def file(self, name: str, *, made_by: str) -> Path:
        """A file of this iteration; an error that names its stage where it is not there."""
        path = self.folder / name
        if not path.is_file():
            raise InputError(f"{path} is not there. The stage '{made_by}' makes it; take it out of 'skip'.")
        return path


def run_loop(config: LoopConfig, *, audit: Audit | None = None) -> Loop:
    """Run all stages of one iteration that are not skipped. Raises EvidenceError where people have to annotate first."""
    loop = Loop(config, audit)
    for stage in STAGES:
        if stage in config.skip:
            say(f"{stage}: skipped.")
            continue
        say(f"{stage} …")
        _STAGES[stage](loop)
        loop.done.append(stage)
    return loop


def _generate_contexts(loop: Loop) -> None:
    config = loop.config
    generate_contexts(
        ContextsConfig(
            **config.service,
            **config.contexts,
            schema=config.schema,
            demo_fpath=config.context_demos,
            demographic_list=config.groups,
            output_dir=loop.folder,
        )
    )


def _filter_contexts(loop: Loop) -> None:
    made = loop.file("output_contexts.json", made_by="generate-contexts")
    model = loop.config.context_filter
    filter_contexts(
        FilterContextsConfig(
            input_fname=made,
            filter_model_ckpt=model,
            schema=loop.config.schema,
            output_dir=loop.folder,
            restart=_outdated(loop.folder / "filtered_contexts.json", input=made),
        )
    )


def _annotate_contexts(loop: Loop) -> None:
    made = loop.file("filtered_contexts.json", made_by="filter-contexts")
    _annotate(loop, loop.schema.first, made, loop.config.annotated_contexts)


def _train_context_filter(loop: Loop) -> None:
    """Train on whether the group is included. Where every context includes it there is nothing to learn yet."""
    include = loop.schema.first.include
    rows = read_rows(loop.file("annotated_contexts.json", made_by="annotate-contexts"))
    answers = {loop.schema.first.includes(row.get(include.field)) for row in rows if include} - {None}
    if len(answers) < 2:
        say("train-context-filter: every annotated context includes its group, so there is nothing to learn.")
        return
    parts = write_parts(loop.folder / "context_parts", "contexts", split(loop.schema, rows, seed=loop.config.seed))
    task = next(task.name for task in loop.schema.tasks.values() if task.kind == "first")
    _train(loop, task, parts, "context_filter")


def _augment_contexts(loop: Loop) -> None:
    annotated = loop.file("annotated_contexts.json", made_by="annotate-contexts")
    augment_contexts(
        AugmentContextsConfig(
            input_fname=annotated,
            restart=_outdated(loop.folder / "context_pool.json", input=annotated),
            prev_demo_fname=loop.config.context_demos if loop.config.iteration > 1 else None,
            schema=loop.config.schema,
            output_dir=loop.folder,
            output_demo_fname="context_pool.json",
        )
    )


def _generate_sentences(loop: Loop) -> None:
    config = loop.config
    generate_sentences(
        SentencesConfig(
            **config.service,
            **config.sentences,
            schema=config.schema,
            demo_fpath=config.sentence_demos,
            context_fpath=loop.file("annotated_contexts.json", made_by="annotate-contexts"),
            output_dir=loop.folder,
        )
    )


def _filter_sentences(loop: Loop) -> None:
    made = loop.file("output_sentences.json", made_by="generate-sentences")
    filter_sentences(
        FilterSentencesConfig(
            input_fname=made,
            restart=_outdated(loop.folder / "filtered_sentences.json", input=made),
            filter_model_ckpt_dir=loop.config.sentence_filter,
            schema=loop.config.schema,
            output_dir=loop.folder,
            **loop.config.selection,
        )
    )


def _annotate_sentences(loop: Loop) -> None:
    made = loop.file("filtered_sentences.json", made_by="filter-sentences")
    _annotate(loop, loop.schema.second, made, loop.config.annotated_sentences)


def _dataset(loop: Loop) -> None:
    annotated = loop.file("annotated_sentences.json", made_by="annotate-sentences")
    rows = finished_rows(loop.schema, read_rows(annotated))
    if not rows:
        raise EvidenceError("No sentence has a label that a majority or the lead decided, so there is no dataset.")
    written = write_parts(loop.folder / "dataset", loop.config.name, split(loop.schema, rows, seed=loop.config.seed))
    counts = {"asked": len(rows), "scored": len(rows), "failed": 0}
    note(
        loop.folder / "dataset" / loop.config.name,
        "kosbi dataset",
        {"seed": loop.config.seed},
        list(written.values()),
        counts=counts,
        data={"annotated": file_hash(annotated)},
        inputs={"annotated": annotated},
    )


def _train_sentence_filter(loop: Loop) -> None:
    task = next(task.name for task in loop.schema.tasks.values() if task.kind == "second")
    loop.trained = _train(loop, task, _parts(loop), "sentence_filter")


def _augment_sentences(loop: Loop) -> None:
    annotated = loop.file("annotated_sentences.json", made_by="annotate-sentences")
    augment_sentences(
        AugmentSentencesConfig(
            input_fname=annotated,
            restart=_outdated(loop.folder / "sentence_pool.json", input=annotated),
            filter_model_ckpt_dir=loop.folder / "models" / "sentence_filter",
            filter_model_train_epochs=max(2, min(5, int(loop.config.filter.get("epoch", 5)))),
            most_ambiguous_ratio=loop.config.most_ambiguous_ratio,
            min_annotators=min(2, loop.config.annotators_per_item),
            prev_demo_fname=loop.config.sentence_demos if loop.config.iteration > 1 else None,
            schema=loop.config.schema,
            output_dir=loop.folder,
            output_demo_fname="sentence_pool.json",
        )
    )


def _datasheet(loop: Loop) -> None:
    files = _parts(loop)
    entries = [read_manifest(loop.folder).get(name, {}) for name in ("output_contexts", "output_sentences")]
    spent: dict[str, Any] = {}
    for entry in entries:
        for name, value in entry.get("ledger", {}).items():
            spent[name] = spent.get(name, 0) + value
    stores = [store for kind in (loop.schema.first, loop.schema.second) if (store := _store(loop, kind)).path.exists()]
    for store in stores:
        loop.agreement[f"{store.kind.name}s"] = measure_agreement(loop.schema, store.items(), store.votes())
    people = {vote.annotator for store in stores for votes in store.votes().values() for vote in votes}
    facts = Facts(
        name=loop.config.name,
        schema=loop.schema,
        iteration=loop.config.iteration,
        counts=count_rows(loop.schema, {part: read_rows(path) for part, path in files.items()}),
        agreement=loop.agreement,
        generator=next((entry["generator"] for entry in entries if "generator" in entry), {}),
        ledger=spent,
        annotators=len(people),
        annotators_per_item=loop.config.annotators_per_item,
        filter_model=str(loop.config.filter.get("filter_model_type", "none")),
        license=loop.config.license,
        measurements=loop.trained.measurements if loop.trained else pl.DataFrame(),
    )
    written = write_datasheet(loop.folder / "dataset", files, facts)
    data = {name: file_hash(path) for name, path in files.items()}
    asked = {"license": loop.config.license}
    note(loop.folder / "dataset" / loop.config.name, "kosbi datasheet", asked, written, data=data, inputs=files)


def _audit(loop: Loop) -> None:
    predictions = loop.folder / "models" / "sentence_filter" / "test_preds.parquet"
    if loop.audit is None or not predictions.is_file():
        say("audit: there is no tested filter model to audit.")
        return
    loop.audit(predictions, loop.folder / "audit" / "filter.csv")


def _annotate(loop: Loop, kind: Kind, made: Path, given: Path | None) -> None:
    """Fill the store, take annotations that were given as a file, and export once everything is decided."""
    store = _store(loop, kind)
    store.create(loop.schema, kind, read_rows(made), per_item=loop.config.annotators_per_item)
    if given is not None:
        import_annotations(store, given)
    seen = counts(store)
    if seen["done"] < seen["items"]:
        raise EvidenceError(
            f"{seen['done']} of {seen['items']} {kind.name}s are annotated ({seen['conflicts']} wait for the lead). Go on with: "
            f"fairwitness kosbi annotate --store {store.path} --annotators NAME NAME … ; then run the loop again."
        )
    export(store, loop.folder / f"annotated_{kind.name}s.json")


def _outdated(out: Path, **inputs: Path) -> bool:
    """Whether a stage was done with other input than there is now: drafts that had failed were asked again, people ruled on more.

    It is then done again, which costs nothing. A generation is paid for: that one says so, and starts over when told to only.
    """
    recorded = read_manifest(out.parent).get(out.stem, {}).get("data", {})
    return any(recorded.get(name, digest) != digest for name, digest in ((n, file_hash(path)) for n, path in inputs.items()))


def _store(loop: Loop, kind: Kind) -> AnnotationStore:
    return AnnotationStore(loop.folder / f"{kind.name}s.sqlite")


def _parts(loop: Loop) -> dict[str, Path]:
    name = loop.config.name
    return {part: loop.file(f"dataset/{name}_{part}.json", made_by="dataset") for part in ("train", "valid", "test")}


def _train(loop: Loop, task: str, parts: dict[str, Path], name: str) -> Trained:
    return train_filter(
        TrainFilterConfig(
            task=task,
            schema=loop.config.schema,
            trn_pth=parts["train"],
            val_pth=parts["valid"],
            tst_pth=parts["test"],
            checkpoint_dirpath=loop.folder / "models",
            exp_name=name,
            restart=_outdated(loop.folder / "models" / name / "training.csv", train=parts["train"]),
            **loop.config.filter,
        )
    )


_STAGES: dict[str, Callable[[Loop], None]] = {
    "generate-contexts": _generate_contexts,
    "filter-contexts": _filter_contexts,
    "annotate-contexts": _annotate_contexts,
    "train-context-filter": _train_context_filter,
    "augment-contexts": _augment_contexts,
    "generate-sentences": _generate_sentences,
    "filter-sentences": _filter_sentences,
    "annotate-sentences": _annotate_sentences,
    "dataset": _dataset,
    "train-sentence-filter": _train_sentence_filter,
    "augment-sentences": _augment_sentences,
    "datasheet": _datasheet,
    "audit": _audit,
}
