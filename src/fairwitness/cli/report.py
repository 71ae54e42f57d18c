"""`fairwitness report`: one page over one or more run folders."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def report(
    runs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    *,
    out: Path = Path("report.html"),
    title: str = "Fair Witness report",
) -> None:
    """Write one self-contained HTML page for one or more run folders.

    Parameters
    ----------
    runs
        Folders that hold a run.json. Several make a comparison.
    out
        The page to write.
    title
        Its heading.
    """
    from fairwitness.files import sweep, write_text
    from fairwitness.report.sections import page_of

    write_text(out, page_of(runs, title=title))
    sweep(out.parent)
    print(out)
