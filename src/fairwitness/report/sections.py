"""From a run folder to the sections of a page: each kind of audit has a file that knows what to say about it.

What every section shares is here: how much could be scored, where it came from, and the honest words for a run that has not
ended or that nothing is known about.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import polars as pl

from fairwitness.errors import listing
from fairwitness.report.content import Block, Section, Table
from fairwitness.report.recorded import Recorded, recorded_in, written_by

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
    "usermodel seeds": "fairwitness.report.user_model_section:seeds_section",
}
# Of an audit that is not among them: tables up to this many rows, with names up to this long.
MOST_ROWS, MOST_LETTERS, FOLD_FROM = 200, 60, 20
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


def sections_of(folders: Sequence[Path]) -> list[Section]:
    """One section per audit in the folders, each with its provenance and an anchor of its own."""
    made: list[Section] = []
    places: list[str] = []
    for number, folder in enumerate(folders):
        audits = recorded_in(folder)
        for recorded in audits:
            if recorded.kind in STEPS and recorded.finished:
                continue
            section = replace(make_section(recorded), audited=audited(recorded, audits))
            made.append(replace(section, anchor=f"{'-'.join(recorded.name.split())}-{number}", source=recorded))
            places.append(f"{folder.name}/{recorded.name}")
    titles = [section.title for section in made]
    # Two audits of one kind are told apart by where they lie.
    return [
        replace(section, title=f"{section.title} ({place})") if titles.count(section.title) > 1 else section
        for section, place in zip(made, places, strict=True)
    ]


def audited(recorded: Recorded, siblings: Sequence[Recorded]) -> tuple[str, str, str]:
    """What was audited, on what, and how much could be scored. What another audit of the run wrote is followed to its beginning."""
    subject, first = recorded.model, recorded
    for _ in siblings:
        before = written_by(first, siblings)
        if before is None:
            break
        subject, first = subject or before.model, before
    read = ", ".join(Path(path).name for path in first.inputs.values())
    material = read or str(first.question.get("dataset") or ("what is built in" if first.folder.name else ""))
    asked, failed = recorded.counts.get("asked"), recorded.counts.get("failed", 0)
    share = "not finished" if not recorded.finished else "" if asked is None else f"{asked - failed:,} of {asked:,}"
    return subject or ("predictions" if recorded.kind == "fairness" else ""), material, share


def make_section(recorded: Recorded) -> Section:
    """The section of one audit."""
    if not recorded.finished:
        reason = str(recorded.entry.get("reason", ""))
        why = f"was stopped: {reason}" if reason else "was begun and has not ended."
        return Section(
            f"{recorded.kind}: not finished",
            [f"This audit ({recorded.name}) {why} Run the same command again to go on."],
            limits=[f"{recorded.name} is unfinished: it says nothing yet."],
        )
    if recorded.kind not in MAKERS:
        section = Section(recorded.kind or recorded.name, [coverage(recorded)], blocks=_tables(recorded))
    else:
        module, _, function = MAKERS[recorded.kind].partition(":")
        section = getattr(import_module(module), function)(recorded)
    if not recorded.damaged:
        return section
    words = f"Gone, or changed since {recorded.name} wrote them: {listing(recorded.damaged)}. Run it again to have them back."
    return replace(section, limits=[*section.limits, words])


def _tables(recorded: Recorded) -> list[Block]:
    """The tables of an audit that nothing more is known of, where they are short and hold no texts, only names and numbers."""
    blocks: list[Block] = []
    for name in recorded.outputs:
        frame = recorded.table(name) if Path(name).suffix in (".csv", ".parquet") else None
        if frame is None or not 0 < frame.height <= MOST_ROWS:
            continue
        plain = frame.select(pl.selectors.numeric() | pl.selectors.boolean() | pl.selectors.string())
        words = plain.select(pl.selectors.string())
        longest = words.select(pl.all().str.len_chars().max()).row(0) if words.width else ()
        if plain.width and max((letters or 0 for letters in longest), default=0) <= MOST_LETTERS:
            columns = [column.replace("_", " ") for column in plain.columns]
            blocks.append(Table(name, columns, plain.rows(), folded=plain.height > FOLD_FROM))
    return blocks


def coverage(recorded: Recorded) -> str:
    """How much could be scored, as a sentence."""
    asked, failed = recorded.counts.get("asked"), recorded.counts.get("failed", 0)
    if not asked:
        return f"Outputs: {', '.join(recorded.outputs) or 'none'}."
    if not failed:
        return f"All {asked:,} rows could be scored."
    return f"{asked - failed:,} of {asked:,} rows could be scored; {failed:,} failed and are counted in no rate."
