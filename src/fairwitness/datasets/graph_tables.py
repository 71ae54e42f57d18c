"""What the graph datasets share: a table of users, a table of edges, and the layout in which the user-modelling papers keep them.

Users are numbered by `user_id`; an edge is `uid1, uid2` between users, or `user_id, item_id, relation` to an item. What a
graph model makes of the tables is the business of `graphs/`.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from fairwitness.datasets.raw import RawCopy, RawFile, read_table, table_batches
from fairwitness.errors import InputError
from fairwitness.tables import require_columns


def prepared_users(copy: RawCopy, attributes: Sequence[str]) -> pl.DataFrame:
    """`users.csv` (or .parquet), with the columns of `features.csv` beside it where there is one."""
    file = copy.need("table of users", "users.csv", "users.parquet", "*users*.csv", "*users*.parquet", "user_labels.csv")[0]
    users = numbers(read_table(file))
    require_columns(users.columns, ("user_id", *attributes), file.shown)
    features = copy.find("features.csv")
    if features and "users" in file.name:
        more = numbers(read_table(features[0]))
        new = [name for name in more.columns if name not in users.columns]
        users = users.join(more.select("user_id", *new), on="user_id", how="left", maintain_order="left")
    return users


def prepared_edges(copy: RawCopy) -> Iterator[pl.DataFrame]:
    """`edges.csv` (or .parquet) in file order."""
    file = copy.need("table of edges", "edges.csv", "edges.parquet", "*edge*.csv", "*edge*.parquet")[0]
    for frame in table_batches(file):
        require_columns(frame.columns, ("uid1", "uid2"), file.shown)
        yield whole(frame, ("uid1", "uid2"), file).select("uid1", "uid2")


def numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Text columns that hold only numbers become numbers, whole ones where they are whole."""
    for name in frame.columns:
        if frame.schema[name] != pl.String:
            continue
        for dtype in (pl.Int64, pl.Float64):
            cast = frame[name].cast(dtype, strict=False)
            if cast.null_count() == frame[name].null_count():
                frame = frame.with_columns(cast)
                break
    return frame


def whole(frame: pl.DataFrame, columns: Sequence[str], file: RawFile) -> pl.DataFrame:
    """The named columns as whole numbers; anything else in them is an error."""
    try:
        return frame.with_columns(pl.col(columns).cast(pl.Int64))
    except pl.exceptions.InvalidOperationError as error:
        raise InputError(f"{file.shown}: {', '.join(columns)} must be whole numbers.") from error


def recode(column: str, codes: dict[str, int]) -> pl.Expr:
    """A column's words as the codes given for them; others are null."""
    return pl.col(column).cast(pl.String).replace_strict(codes, default=None, return_dtype=pl.Int64)
