"""`fairwitness compare`: two runs, and what changed between them beyond noise."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairwitness.audits.compare import CompareConfig


def compare(
    a: Path,
    b: Path,
    /,
    config: Annotated[CompareConfig | None, Parameter(name="*")] = None,
    *,
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Compare two run folders: which gaps changed beyond noise, which did not. Unlike things are refused.

    Parameters
    ----------
    a
        The run before.
    b
        The run after.
    out
        Write the comparison as a page (.html), Markdown (.md) or a table (.csv, .parquet).
    json
        Print JSON.
    """
    from fairwitness import tables
    from fairwitness.audits.compare import compare as compare_runs
    from fairwitness.audits.reporting import ENDINGS
    from fairwitness.report.comparison_section import place
    from fairwitness.runs import note

    result = compare_runs(a, b, config)
    if out is not None and ENDINGS.get(out.suffix.lower()) in ("html", "md"):
        result.report(out, title=f"{a} and {b}")
    elif out is not None:
        tables.write(result.table, out)
        note(out, "compare", {"a": str(a), "b": str(b), **asdict(config or CompareConfig())}, [out])
    if json:
        print(result.to_json())
        return
    changed = result.table.filter(result.table["verdict"] == "changed")
    for row in changed.iter_rows(named=True):
        print(
            f"{row['metric']:36} {place(row):30} {row['before']:+.3f} → {row['after']:+.3f}  change {row['change']:+.3f} "
            f"[{row['low']:+.3f}, {row['high']:+.3f}]  adjusted p {row['p_adjusted']:.3g}"
        )
    how = "; ".join(dict.fromkeys(result.facts["matched"].values()))
    print(f"{changed.height} of {result.table.height} measurements changed beyond noise ({how}).")
