"""Measurements as the Hugging Face Hub shows them on a model's page: a model card's `model-index`, and `.eval_results/*.yaml`.

`model-index` takes any dataset by name. `.eval_results` belongs to a benchmark that is a dataset on the Hub, so only audits of such
a benchmark have entries there. Nothing is sent anywhere.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwitness.report.content import defined
from fairwitness.report.directions import direction
from fairwitness.report.recorded import Recorded
from fairwitness.report.side_by_side import MAIN

if TYPE_CHECKING:
    from fairwitness.report.results import Task

# kind of audit → (the Hub's word for the task, the dataset's name, its id on the Hub)
BENCHMARKS = {
    "stereoset eval": ("text-generation", "StereoSet", "McGill-NLP/stereoset"),
    "stereoset score": ("text-generation", "StereoSet", "McGill-NLP/stereoset"),
    "crows": ("text-generation", "CrowS-Pairs", "nyu-mll/crows_pairs"),
}
# A model's page has room for what an audit is known by, furthest from its ideal first; the rest is in the results.
MOST_PER_AUDIT = 40


def hub_entries(tasks: Sequence["Task"], sources: Sequence[Recorded]) -> dict[str, Any]:
    """Both kinds of entries: {"model-index": […], "eval_results": […]}."""
    from huggingface_hub.repocard_data import EvalResult, eval_results_to_model_index

    # A fairness audit knows no model; the one that scored its rows in the same folder is meant.
    models = {source.folder: source.model for source in reversed(sources) if source.model}
    cards: dict[str, list[EvalResult]] = {}
    for task, metric, row in _shown(tasks):
        kind, name, identifier = _dataset(task.source)
        model = task.source.model or models.get(task.source.folder, "unknown")
        place = "" if task.name == task.audit else f" ({task.alias})"
        result = EvalResult(
            task_type=kind, dataset_type=identifier, dataset_name=name, metric_type=metric, metric_value=row["value"],
            metric_name=f"{metric}{place}", metric_args=_beside(metric, row), dataset_args=task.source.data or None,
        )  # fmt: skip
        cards.setdefault(model, []).append(result)
    index = [entry for model, results in cards.items() for entry in eval_results_to_model_index(model, results)]
    return {"model-index": index, "eval_results": [_entry(*one) for one in _shown(tasks) if _is_benchmark(*one)]}


def _shown(tasks: Sequence["Task"]) -> list[tuple["Task", str, dict[str, Any]]]:
    """Of each audit what it is known by, in all places that are not one class's."""
    found: dict[str, list[tuple[float, tuple[Task, str, dict[str, Any]]]]] = {}
    for task in tasks:
        for metric in MAIN.get(task.source.kind, ()):
            row = task.rows.get(metric)
            if row is not None and defined(row["value"]) and row.get("class") in (None, "", "all"):
                far = abs(row["value"] - (direction(metric).target or 0.0))
                found.setdefault(task.audit, []).append((-far, (task, metric, row)))
    return [one for some in found.values() for _, one in sorted(some, key=lambda pair: pair[0])[:MOST_PER_AUDIT]]


def _is_benchmark(task: "Task", _metric: str, row: dict[str, Any]) -> bool:
    """Whether the whole benchmark was read: neither the few items of the same make that are built in, nor a sample."""
    source = task.source
    sampled = source.question.get("max_samples") or source.question.get("max_rows")
    return source.kind in BENCHMARKS and "data" in source.inputs and not sampled and row["group"] in (None, "", "overall")


def _entry(task: "Task", metric: str, row: dict[str, Any]) -> dict[str, Any]:
    beside = _beside(metric, row)
    notes = "; ".join(f"{name.replace('_', ' ')} {value}" for name, value in beside.items())
    which = metric if task.name == task.audit else f"{row['attribute']}_{metric}"
    entry = {"dataset": {"id": BENCHMARKS[task.source.kind][2], "task_id": which}, "value": row["value"], "notes": notes}
    return entry | ({"date": task.source.entry["finished"]} if "finished" in task.source.entry else {})


def _beside(metric: str, row: dict[str, Any]) -> dict[str, Any]:
    ends = [round(row["low"], 6), round(row["high"], 6)] if defined(row["low"]) and defined(row["high"]) else None
    facts = {"target": direction(metric).target, "interval_95": ends, "n": row["n"], "n_failed": row.get("n_failed")}
    return {name: value for name, value in facts.items() if value is not None}


def _dataset(source: Recorded) -> tuple[str, str, str]:
    """The Hub's word for the task, and the dataset's name and id; of a file of one's own its name, twice."""
    if source.kind in BENCHMARKS and "data" in source.inputs:
        return BENCHMARKS[source.kind]
    path = next(iter(source.inputs.values()), None)
    name = Path(path).stem if path else f"{source.name} (built in)"
    return "text-classification", name, name
