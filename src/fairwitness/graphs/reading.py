"""Reading the small files a user graph is made of: CSV by pyarrow, arrays, and the published tables that torch saved.

Nothing is ever unpickled: arrays load with `allow_pickle=False`, torch archives with `weights_only=True`.
"""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from fairwitness.errors import InputError, listing
from fairwitness.files import require_file

ID_COLUMNS = ("user_id", "uid", "userid", "id")


def read_csv(path: Path, *, separator: str = ",", names: list[str] | None = None) -> pa.Table:
    """A CSV file as an arrow table. Without a header, give the names."""
    options = pa_csv.ReadOptions(column_names=names) if names else pa_csv.ReadOptions()
    try:
        table = pa_csv.read_csv(require_file(path), read_options=options, parse_options=pa_csv.ParseOptions(delimiter=separator))
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as CSV: {str(error).splitlines()[0][:160]}") from error
    if table.num_rows == 0:
        raise InputError(f"{path} has no rows.")
    _refuse_other_encodings(table, path)
    return table


def _refuse_other_encodings(table: pa.Table, path: Path) -> None:
    """pyarrow takes what is not UTF-8 for bytes, and shows it only when a name or a value is looked at."""
    try:
        wrong = [name for name in table.column_names if pa.types.is_binary(table.schema.field(name).type)]
    except (UnicodeDecodeError, KeyError):
        wrong = ["its header"]
    if wrong:
        raise InputError(f"{path} is not UTF-8 ({wrong[0]}). Convert it first: iconv -f LATIN1 -t UTF-8 {path.name}")


def read_array(path: Path) -> np.ndarray[Any, Any]:
    """A .npy array, or a tensor that torch.save wrote under that name, as numpy."""
    require_file(path)
    try:
        if zipfile.is_zipfile(path):
            import torch

            return np.asarray(torch.load(path, weights_only=True, map_location="cpu").numpy())
        return np.asarray(np.load(path, allow_pickle=False))
    except Exception as error:
        raise InputError(f"{path} is not an array that can be loaded safely ({str(error).splitlines()[0][:160]}).") from error


def numbers(table: pa.Table, column: str, path: Path) -> np.ndarray[Any, Any]:
    """A column of whole numbers without gaps."""
    if column not in table.column_names:
        raise InputError(f"Column '{column}' is not in {path}. It has: {listing(table.column_names)}.")
    values = table[column]
    if values.null_count or not pa.types.is_integer(values.type):
        raise InputError(f"Column '{column}' of {path} must hold whole numbers without gaps; it holds {values.type}.")
    return np.asarray(values.to_numpy()).astype(np.int64)


def identifiers(table: pa.Table, path: Path) -> tuple[str, np.ndarray[Any, Any]]:
    """The name of the id column and its values; every user once."""
    column = next((name for name in ID_COLUMNS if name in table.column_names), table.column_names[0])
    values = table[column]
    if values.null_count:
        raise InputError(f"Column '{column}' of {path} has {values.null_count} empty ids.")
    array = np.asarray(values.to_numpy(zero_copy_only=False))
    if array.dtype.kind == "O":
        array = array.astype(str)
    elif array.dtype.kind == "f":
        raise InputError(f"Column '{column}' of {path} holds {values.type}; ids are whole numbers or words.")
    unique, counts = np.unique(array, return_counts=True)
    if len(unique) != len(array):
        raise InputError(f"{path} names user {unique[counts > 1][0]} more than once in '{column}'. Keep one row per user.")
    return column, array
