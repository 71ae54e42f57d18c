"""From a run folder to the sections of a page: each kind of audit has a file that knows what to say about it.

What every section shares is here: how much could be scored, where it came from, and the honest words for a run that has not
ended or that nothing is known about.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from fairwitness.report.page import Section, render
from fairwitness.report.recorded import Recorded, recorded_in

# kind of audit → where its section is made
MAKERS: dict[str, str] = {
    "zeroshot": "fairwitness.report.zeroshot_section:section",
    "zeroshot-ig": "fairwitness.report.zeroshot_section:explained_section",
    "fairness": "fairwitness.report.fairness_section:section",
    "stereoset eval": "fairwitness.report.stereoset_section:section",
    "stereoset score": "fairwitness.report.stereoset_section:section",
    "crows": "fairwitness.report.stereoset_section:crows_section",
    "counterfactual analyze": "fairwitness.report.counterfactual_section:section",
    "usermodel": "fairwitness.report.user_model_section:section",
}
# Steps on the way to an audit: where it has finished they have nothing of their own to say.
STEPS = (
    "counterfactual templates",
    "counterfactual expand",
    "counterfactual score",
    "data download",
    "stereoset analyze",
    "usermodel build",
    "usermodel generate",
)


def page_of(folders: Sequence[Path], *, title: str = "Fair Witness report") -> str:
    """The report over one or more run folders, as HTML."""
    return render(title, sections_of(folders))


def sections_of(folders: Sequence[Path]) -> list[Section]:
    """One section per audit in the folders, each with its provenance and an anchor of its own."""
    made: list[Section] = []
    places: list[str] = []
    for number, folder in enumerate(folders):
        for recorded in recorded_in(folder):
            if recorded.kind in STEPS and recorded.finished:
                continue
            section = make_section(recorded)
            made.append(replace(section, anchor=f"{recorded.name}-{number}", provenance=provenance(recorded)))
            places.append(f"{folder.name}/{recorded.name}")
    titles = [section.title for section in made]
    # Two audits of one kind are told apart by where they lie.
    return [
        replace(section, title=f"{section.title} ({place})") if titles.count(section.title) > 1 else section
        for section, place in zip(made, places, strict=True)
    ]


def make_section(recorded: Recorded) -> Section:
    """The section of one audit."""
    if not recorded.finished:
        return Section(
            f"{recorded.kind}: not finished",
            [f"This audit ({recorded.name}) was begun and has not ended. Run the same command again to go on."],
            limits=[f"{recorded.name} is unfinished: it says nothing yet."],
        )
    if recorded.kind not in MAKERS:
        return Section(recorded.kind or recorded.name, [coverage(recorded)])
    module, _, function = MAKERS[recorded.kind].partition(":")
    section: Section = getattr(import_module(module), function)(recorded)
    return section


def coverage(recorded: Recorded) -> str:
    """How much could be scored, as a sentence."""
    asked, failed = recorded.counts.get("asked"), recorded.counts.get("failed", 0)
    if not asked:
        return f"Outputs: {', '.join(recorded.entry.get('outputs', {}))}."
    if not failed:
        return f"All {asked:,} rows could be scored."
    return f"{asked - failed:,} of {asked:,} rows could be scored; {failed:,} failed and are counted in no rate."


def provenance(recorded: Recorded) -> dict[str, Any]:
    """Where the numbers came from and how to get them again."""
    entry = recorded.entry
    facts: dict[str, Any] = {"command": " ".join(entry.get("command", []))}
    facts |= {name: value for name, value in _flat(recorded.question).items() if value not in (None, "", [], {})}
    facts |= {f"data: {name}": digest for name, digest in entry.get("data", {}).items()}
    facts["seconds"] = entry.get("seconds", "")
    facts["finished"] = entry.get("finished", "")
    facts["versions"] = ", ".join(f"{name} {version}" for name, version in entry.get("versions", {}).items())
    return facts


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, inner in value.items():
        name = f"{prefix}{key}"
        found |= _flat(inner, f"{name}.") if isinstance(inner, dict) else {name: inner}
    return found
