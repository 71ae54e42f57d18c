"""`fairwitness report`: one file over one or more run folders."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairwitness.audits.reporting import ReportConfig


def report(
    runs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    config: Annotated[ReportConfig | None, Parameter(name="*")] = None,
) -> None:
    """Write one file for one or more run folders: a self-contained page, Markdown for a pull request, or JSON.

    Parameters
    ----------
    runs
        Folders that hold a run.json. Several make a comparison.
    """
    from fairwitness.audits.reporting import write_report

    print(write_report(runs, config))
