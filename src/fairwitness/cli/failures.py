"""Why rows failed, in a few lines under the count of them."""

from pathlib import Path

MOST = 3


def reasons(path: Path) -> list[str]:
    """The commonest reasons in column `error` of a result file, each with its number of rows; nothing where no row failed."""
    import polars as pl

    from fairwitness import tables

    with tables.reading(path):
        said = tables.scan(path).select(pl.col("error").cast(pl.String)).drop_nulls().filter(pl.col("error") != "")
        found = said.group_by("error").len().sort(["len", "error"], descending=[True, False]).collect()
    lines = [f"  failed: {count:,} × {reason}" for reason, count in found.head(MOST).iter_rows()]
    rest = found.slice(MOST)
    return lines + (
        [f"  failed: {rest['len'].sum():,} × for {rest.height:,} other reasons; see column 'error' of {path}"]
        if rest.height
        else []
    )
