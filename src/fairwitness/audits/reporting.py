"""A report over run folders, written as HTML, Markdown or JSON. Two runs are also compared, and several are set side by side.

What a report says is report/'s; here it is put together, because only audits know how runs are compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairwitness.audits.compare import compare
from fairwitness.errors import FairWitnessError, InputError
from fairwitness.files import sweep, write_text
from fairwitness.options import Options
from fairwitness.report import markdown, page, results
from fairwitness.report.content import Report, Section
from fairwitness.report.recorded import recorded_in
from fairwitness.report.sections import sections_of
from fairwitness.report.side_by_side import side_by_side

Format = Literal["html", "md", "json"]
WRITERS: dict[str, Callable[[Report], str]] = {"html": page.render, "md": markdown.render, "json": results.render}
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}


@dataclass(frozen=True, kw_only=True)
class ReportConfig(Options):
    """How a report is written."""

    out: Path | None = None
    """The file to write; by default report.html, report.md or report.json, here."""
    format: Format | None = None
    """html, md (GitHub-flavoured Markdown) or json (the shape of lm-eval's results); by default what --out's ending says."""
    title: str = "Fair Witness report"
    """Its heading."""


def write_report(runs: Sequence[Path], config: ReportConfig | None = None) -> Path:
    """Write the report over one or more run folders and return its path."""
    config = config or ReportConfig()
    return _write(report_of(runs, title=config.title), config)


def write_sections(sections: Sequence[Section], config: ReportConfig) -> Path:
    """Write a report of finished sections."""
    return _write(Report(config.title, sections), config)


def _write(report: Report, config: ReportConfig) -> Path:
    format_ = _format(config)
    out = config.out or Path(f"report.{format_}")
    if out.is_dir():
        raise InputError(f"{out} is a folder; a file was expected, such as {out / f'report.{format_}'}.")
    write_text(out, WRITERS[format_](report))
    sweep(out.parent)
    return out


def report_of(runs: Sequence[Path], *, title: str = "Fair Witness report") -> Report:
    """What the runs have to say. Of several, first what differs between them."""
    if not runs:
        raise InputError("No run was named. Give the folder of a run, the one that holds run.json.")
    folders = list(dict.fromkeys(Path(run) for run in runs))
    sections = sections_of(folders)
    return Report(title, [*_between(folders), *sections])


def _between(folders: Sequence[Path]) -> list[Section]:
    if len(folders) < 2:
        return []
    together = side_by_side([recorded for folder in folders for recorded in recorded_in(folder)])
    return [*(_compared(*folders) if len(folders) == 2 else []), *([together] if together is not None else [])]


def _compared(a: Path, b: Path) -> list[Section]:
    try:
        return compare(a, b).sections()
    except FairWitnessError as error:
        return [Section("What changed", [f"{a.name} and {b.name} cannot be compared."], limits=[str(error)], anchor="changes")]


def _format(config: ReportConfig) -> str:
    ending = config.out.suffix.lower() if config.out else ""
    named = ENDINGS.get(ending)
    if config.format is not None:
        return config.format
    if named is None and ending:
        raise InputError(f"--out {config.out}: '{ending}' is no format of a report. Use .html, .md or .json, or say --format.")
    return named or "html"
