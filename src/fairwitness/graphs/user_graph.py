"""A user graph in memory: who the users are, what is known of them, whom they meet. Everything is aligned by user id.

Users are rows 0…n−1 in ascending order of id, whatever the order of any file; isolated users are rows like all others. So a
row number means the same user in the fields, the labels, the edges and the predictions, and nothing can slip.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fairwitness.errors import InputError, listing, suggestion
from fairwitness.graphs.columns import Codes

Array = np.ndarray[Any, Any]
Relation = tuple[str, str, str]
EDGE_FAULTS = ("error", "drop")


@dataclass(frozen=True)
class AttributeTable:
    """One attribute of the attributed nodes: a code per node, and a fixed vector per code."""

    name: str
    codes: Array
    vectors: Array


@dataclass(frozen=True)
class Relations:
    """What RHGN sees: node types, edge types as (source type, name, target type), and attributes of one node type."""

    counts: dict[str, int]
    edges: dict[Relation, Array]
    target: str
    attributed: str
    attributes: tuple[AttributeTable, ...]


@dataclass(frozen=True)
class UserGraph:
    """Users, their columns, the undirected simple graph among them, their category fields, and RHGN's relations."""

    dataset: str
    user_ids: Array
    columns: dict[str, Codes]
    edges: Array
    """int64 [2, E], each pair of users once, the smaller row first, no self edges."""
    fields: Array | None = None
    """int64 [n, S]: category codes 0…V−1."""
    relations: Relations | None = None
    notes: dict[str, int] = field(default_factory=dict)
    """What was found on loading: duplicate and self edges, isolated users."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why a column of the users, or `relations`, is not here."""

    @property
    def n_users(self) -> int:
        """How many users there are, isolated ones included."""
        return len(self.user_ids)

    @property
    def connected(self) -> Array:
        """Whether each user has at least one edge to another."""
        seen = np.zeros(self.n_users, dtype=bool)
        seen[self.edges.reshape(-1)] = True
        return seen

    def column(self, name: str, flag: str) -> Codes:
        """A label or sensitive column by name; an unknown one is an InputError that lists what there is."""
        if name in self.reasons:
            raise InputError(self.reasons[name])
        if name not in self.columns:
            hint = suggestion(name, self.columns).replace("Did you mean '", f"Did you mean {flag} ").replace("'?", "?")
            raise InputError(f"Column '{name}' is not in the users of {self.dataset}. They have: {listing(self.columns)}.{hint}")
        return self.columns[name]


def locate(values: Array, user_ids: Array) -> Array:
    """The row of each id, −1 where it is no user. `user_ids` is ascending."""
    if values.dtype.kind != user_ids.dtype.kind:
        values = values.astype(str)
        order = np.argsort(user_ids.astype(str))
        found = locate(values, user_ids.astype(str)[order])
        return np.where(found < 0, -1, order[found])
    rows = np.searchsorted(user_ids, values)
    rows[rows == len(user_ids)] = 0
    return np.where(user_ids[rows] == values, rows, -1)


def simple_edges(
    first: Array, second: Array, user_ids: Array, *, where: Path | str, faults: str = "error", self_edges: bool = False
) -> tuple[Array, dict[str, int]]:
    """Directed id pairs as an undirected simple graph over rows, and counts of what was found on the way.

    A pair in both directions is one edge. An unknown user, the same directed pair twice, or a self edge is an InputError, or
    with `faults="drop"` is left out and counted. `self_edges=True` expects self edges, as two published layouts have them.
    """
    if faults not in EDGE_FAULTS:
        raise InputError(f"--edge-faults is '{faults}'; it is one of: {', '.join(EDGE_FAULTS)}.")
    left, right = locate(first, user_ids), locate(second, user_ids)
    unknown = (left < 0) | (right < 0)
    loops = (left == right) & ~unknown
    n = len(user_ids)
    keys = left[~unknown] * n + right[~unknown]
    directed = np.unique(keys)
    notes = {
        "edge_rows": len(first),
        "unknown_user_edges": int(unknown.sum()),
        "self_edges": int(loops.sum()),
        "duplicate_edges": len(keys) - len(directed),
    }
    if faults == "error":
        _refuse(notes, first, second, unknown, loops, where, self_edges)
    low, high = np.minimum(directed // n, directed % n), np.maximum(directed // n, directed % n)
    pairs = np.unique((low * n + high)[low != high])
    return np.stack([pairs // n, pairs % n]), notes | {"edges": len(pairs)}


def _refuse(
    notes: dict[str, int], first: Array, second: Array, unknown: Array, loops: Array, where: Path | str, self_edges: bool
) -> None:
    advice = "Correct the file, or leave such edges out with --edge-faults drop."
    if notes["unknown_user_edges"]:
        row = int(np.flatnonzero(unknown)[0])
        raise InputError(
            f"{where} has {notes['unknown_user_edges']} edges that name unknown users, the first in data row {row + 1}: "
            f"{first[row]}, {second[row]}. {advice}"
        )
    if notes["self_edges"] and not self_edges:
        row = int(np.flatnonzero(loops)[0])
        raise InputError(
            f"{where} has {notes['self_edges']} self edges, the first in data row {row + 1}: user {first[row]}. {advice}"
        )
    if notes["duplicate_edges"]:
        raise InputError(f"{where} repeats {notes['duplicate_edges']} edges (the same two users in the same order). {advice}")


def distinct_pairs(pairs: Array, width: int) -> Array:
    """Each column of [2, E] once, in order; `width` exceeds every number of the second row.

    >>> distinct_pairs(np.array([[1, 0, 1], [2, 5, 2]]), 6).tolist()
    [[0, 1], [5, 2]]
    """
    keys = np.unique(pairs[0] * width + pairs[1])
    return np.stack([keys // width, keys % width])


def refuse_gaps(values: Array, what: str, where: Path | str) -> None:
    """An InputError where a table of features holds NaN or infinity."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise InputError(
            f"{where}: {what} has {int((~np.isfinite(values)).sum())} values that are NaN or infinite, the first in row {row}."
        )
