"""Tables and columns that a caller holds in memory, of whatever library, as polars has them."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwitness import tables
from fairwitness.errors import InputError


def as_frame(table: Any) -> pl.DataFrame:
    """A polars frame from a polars, pandas or pyarrow table, a mapping of columns, or the path of a table file."""
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, str | Path):
        return tables.read(table)
    if isinstance(table, dict):
        return pl.DataFrame([as_column(str(name), column) for name, column in table.items()])
    if _is_pandas(table) and hasattr(table, "columns"):
        return _from_pandas(table)
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pl.Series) and not _is_pandas(table):
        return pl.DataFrame(table)
    raise InputError(f"A table was expected (polars, pandas, pyarrow, a dict of columns or a path), not {type(table).__name__}.")


def as_column(name: str, values: Any) -> pl.Series:
    """A column from anything with one value a row: a list, or an array of numpy, pandas, pyarrow or polars. What is missing in
    the words of any of them (None, NaN among words, NA, a mask) is null."""
    if _is_pandas(values):
        import pandas as pd

        return _from_pandas(pd.DataFrame({name: pd.Series(values).reset_index(drop=True)}))[name]
    if isinstance(values, pl.Series) or hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return pl.Series(name, values)
    if isinstance(values, np.ndarray) and values.dtype != object and not isinstance(values, np.ma.MaskedArray):
        if values.ndim != 1:
            raise InputError(f"'{name}' has {values.ndim} dimensions; one value a row was expected.")
        return pl.Series(name, values, nan_to_null=True)
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    # A list may hold 1 and 0.5: whole numbers and fractions are one kind of value.
    return pl.Series(name, [None if isinstance(value, float) and value != value else value for value in plain], strict=False)


def _is_pandas(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pandas"


def _from_pandas(table: Any) -> pl.DataFrame:
    """A pandas table. Columns that polars has no kind of its own for (bins, periods, values of several kinds) become words."""

    if not table.columns.is_unique:
        raise InputError(f"The table has two columns called '{table.columns[table.columns.duplicated()][0]}'.")
    return pl.DataFrame([pl.Series(str(name), _pandas_column(table[name])) for name in table.columns])


def _pandas_column(column: Any) -> pl.Series:
    import pandas as pd

    named = isinstance(column.dtype, pd.CategoricalDtype)
    kind = column.dtype.categories.dtype if named else column.dtype
    if not isinstance(kind, pd.IntervalDtype | pd.PeriodDtype):
        try:
            return pl.Series(pl.from_pandas(column, nan_to_null=True))
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            pass  # values of several kinds
    if named:
        words = [*map(str, column.cat.categories), None]  # where there is none, the code is -1
        return pl.Series([words[code] for code in column.cat.codes], dtype=pl.String)
    return pl.Series(
        [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)], dtype=pl.String
    )
