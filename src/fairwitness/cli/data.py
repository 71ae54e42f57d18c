"""`fairwitness data download | doctor | card`: getting datasets, and knowing them before they are got."""

import json as json_format
from typing import Annotated

from cyclopts import Parameter

from fairwitness.datasets.download import DownloadConfig
from fairwitness.progress import say


def download(config: Annotated[DownloadConfig, Parameter(name="*")], *, json: bool = False) -> None:
    """Get a dataset as a normalised table: fetched from its live source, or from a raw copy given with --source.

    Parameters
    ----------
    json
        Print what was written as JSON.
    """
    from fairwitness.datasets.download import download as get

    written = get(config)
    if json:
        print(json_format.dumps([{"path": str(one.path), "rows": one.rows} for one in written]))
        return
    for one in written:
        print(f"Wrote {one.rows} rows -> {one.path}")


def doctor(*names: str, timeout_s: float = 5.0, json: bool = False) -> None:
    """Ask which sources answer, which have died, and where the live copy is. Always exits 0.

    Parameters
    ----------
    names
        Datasets to ask about; all where none is named.
    timeout_s
        How long to wait for one source.
    json
        Print the findings as JSON.
    """
    from fairwitness.datasets.doctor import examine

    findings = examine(names, timeout_s=timeout_s)
    if json:
        print(json_format.dumps([finding.to_dict() for finding in findings], ensure_ascii=False, indent=2))
        return
    print(f"{'dataset':<18}{'state':<23}source")
    for finding in findings:
        detail = "" if finding.state == "answers" else f"  ({finding.detail})"
        print(f"{finding.dataset:<18}{finding.state:<23}{finding.source}{detail}")
    states = {finding.state for finding in findings}
    if "unreachable" in states and "answers" not in states:
        say("No source answered. Are you offline?")


def card(name: str, /, *, json: bool = False) -> None:
    """Show a dataset's card: licence, counts, columns, content warning, where it comes from.

    Parameters
    ----------
    name
        Name of the dataset (fairwitness list datasets).
    json
        Print the card as JSON.
    """
    from fairwitness.datasets.card_page import page
    from fairwitness.datasets.download import find

    found = find(name).card
    print(json_format.dumps(found.to_dict(), ensure_ascii=False, indent=2) if json else page(found))
