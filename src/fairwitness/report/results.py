"""A report as JSON in the shape of lm-eval's results, so that what reads those reads ours; what they have no room for is beside it.

    results            task → "metric,none" and "metric_stderr,none"; a place (identity, group, class) is a task of its own
    group_subtasks     audit → its places
    higher_is_better   true, false, or null where the best value is a target
    target, intervals, n, n_failed     ours: task → metric → the best value, [low, high], rows, rows that failed
    hub                entries for a model's page: `model-index` (a model card) and `eval_results` (`.eval_results/*.yaml`)

Undefined is null. A standard error is an interval's width over 2 · 1.96, as lm-eval's are read.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fairwitness.report.content import Report, defined
from fairwitness.report.directions import direction
from fairwitness.report.hub_entries import hub_entries
from fairwitness.report.recorded import Recorded
from fairwitness.version import __version__

Z = 1.959964
# What stands for "all of it" where a place is named; StereoSet's two subsets together are "both".
WHOLE = (None, "", "overall", "all", "both")


@dataclass
class Task:
    """What was measured in one place of one audit: metric → its row of the measurements table."""

    name: str
    audit: str
    alias: str
    source: Recorded
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)


def render(report: Report) -> str:
    """The whole report as JSON."""
    return json.dumps(results_of(report), indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def results_of(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    sources = [section.source for section in report.sections if section.source is not None]
    found = [task for source, name in _named(sources) for task in _tasks(source, name)]
    audits = {task.audit for task in found}
    return {
        "results": {task.name: _results(task) for task in found},
        "group_subtasks": {name: [task.name for task in found if task.audit == name != task.name] for name in sorted(audits)},
        "configs": {task.audit: {"task": task.audit, **task.source.question} for task in found},
        "versions": {task.name: __version__ for task in found},
        "n-shot": {task.name: 0 for task in found},
        "higher_is_better": {task.name: {metric: direction(metric).higher_is_better for metric in task.rows} for task in found},
        "n-samples": {task.name: _samples(task) for task in found},
        "target": {task.name: {metric: direction(metric).target for metric in task.rows} for task in found},
        "intervals": {task.name: {metric: _ends(row) for metric, row in task.rows.items()} for task in found},
        "n": {task.name: {metric: row["n"] for metric, row in task.rows.items()} for task in found},
        "n_failed": {task.name: {metric: row.get("n_failed") for metric, row in task.rows.items()} for task in found},
        **_about(sources),
        "findings": [finding.text for finding in report.findings()],
        "differences_judged": sum(section.judged for section in report.sections),
        "limits": report.limits(),
        "unfinished": [source.name for source in sources if not source.finished],
        "hub": hub_entries(found, [source for source in sources if source.finished]),
    }


def _named(sources: list[Recorded]) -> Iterator[tuple[Recorded, str]]:
    """Each audit with a name of its own: its folder stands before it where several folders have one of that name."""
    names = [source.name for source in sources]
    seen: dict[str, int] = {}
    for source in sources:
        name = source.name if names.count(source.name) == 1 else f"{source.folder.name}/{source.name}"
        seen[name] = seen.get(name, 0) + 1
        yield source, name if seen[name] == 1 else f"{name}#{seen[name]}"


def _tasks(source: Recorded, audit: str) -> list[Task]:
    measured = source.table("measurements.parquet")
    made: dict[str, Task] = {}
    for row in measured.iter_rows(named=True) if measured is not None else ():
        places = [str(row[key]) for key in ("attribute", "group", "class") if row.get(key) not in WHOLE]
        name = ".".join([audit, *places])
        task = made.setdefault(name, Task(name, audit, " · ".join(places) or audit, source))
        task.rows[str(row["metric"])] = row
    return list(made.values())


def _results(task: Task) -> dict[str, Any]:
    shown: dict[str, Any] = {"alias": task.alias, "sample_len": max((row["n"] or 0 for row in task.rows.values()), default=0)}
    for metric, row in task.rows.items():
        ends = _ends(row)
        shown[f"{metric},none"] = row["value"] if defined(row["value"]) else None
        shown[f"{metric}_stderr,none"] = (ends[1] - ends[0]) / (2 * Z) if ends else "N/A"
    return shown


def _ends(row: dict[str, Any]) -> list[float] | None:
    return [row["low"], row["high"]] if defined(row["low"]) and defined(row["high"]) else None


def _samples(task: Task) -> dict[str, int | None]:
    counts = task.source.counts
    asked = counts.get("asked")
    return {"original": asked, "effective": counts.get("scored", None if asked is None else asked - counts.get("failed", 0))}


def _about(sources: list[Recorded]) -> dict[str, Any]:
    """What lm-eval says of the model and the machine, as far as it was recorded."""
    models = [source.model for source in sources if source.model]
    name = ", ".join(dict.fromkeys(models)) or None
    versions = [source.versions for source in sources]
    began = [_timestamp(source.entry.get("started")) for source in sources]
    return {
        "config": {"model": name, "model_args": None},
        "model_source": "fairwitness",
        "model_name": name,
        "model_name_sanitized": name and "".join(letter if letter.isalnum() or letter in "._-" else "__" for letter in name),
        "date": min((one for one in began if one is not None), default=None),
        "total_evaluation_time_seconds": str(sum(_seconds(source) for source in sources)),
        "transformers_version": next((one["transformers"] for one in versions if "transformers" in one), None),
        "fairwitness_version": __version__,
        "task_hashes": {f"{source.name}:{key}": digest for source in sources for key, digest in source.data.items()},
        "commands": {source.name: source.entry.get("command") for source in sources},
    }


def _seconds(source: Recorded) -> float:
    seconds = source.entry.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def _timestamp(when: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(when)).timestamp()
    except ValueError:
        return None
