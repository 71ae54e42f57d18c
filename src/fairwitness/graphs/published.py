"""Loading a user graph from the files of its published layout, in one folder or in its `catgcn/` and `rhgn/` folders.

Rows of array files stand for user ids, as published; every other file is joined by its id column. Files of only one of the
two models may be there: then the other model's part is absent from the graph.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fairwitness.errors import InputError, listing
from fairwitness.graphs.columns import Codes, encode
from fairwitness.graphs.facts import DatasetFacts, dataset_facts
from fairwitness.graphs.reading import identifiers, read_array, read_csv
from fairwitness.graphs.user_graph import (
    Array,
    AttributeTable,
    Relation,
    Relations,
    UserGraph,
    distinct_pairs,
    locate,
    refuse_gaps,
    simple_edges,
)
from fairwitness.graphs.vectors import value_vectors

FOLDERS = ("", "catgcn", "rhgn")
_PICKLED = (
    "{} is a pickled DGL graph, and nothing is unpickled here. Convert it once to {}.npz with the arrays click_src, click_dst "
    "(and purchase_…), item_cid1, item_cid2, item_cid3."
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where the files are. A path that is given wins over the name that the published layout has in `folder`."""

    dataset: str
    folder: Path | None = None
    edge_path: Path | None = None
    field_path: Path | None = None
    target_path: Path | None = None
    labels_path: Path | None = None
    graph: str = "G"
    edge_faults: str = "error"

    def find(self, *names: str) -> Path | None:
        """The first of these names that exists in the folder or its model folders."""
        places = [self.folder / part for part in FOLDERS] if self.folder else []
        return next((place / name for name in names for place in places if (place / name).is_file()), None)

    def need(self, given: Path | None, names: tuple[str, ...], flag: str) -> Path:
        """The given path, or the found one, or an InputError that says what was looked for."""
        found = given or self.find(*names)
        if found is None:
            raise InputError(
                f"No {' or '.join(names)} in {self.folder or 'any folder'}. Give --data-dir its folder, or {flag} its path."
            )
        return found


def load_published(layout: Layout) -> UserGraph:
    """The user graph of a published layout."""
    if layout.folder is not None and not layout.folder.is_dir():
        raise InputError(f"{layout.folder} is not a folder. --data-dir names the folder with the dataset's files.")
    facts = dataset_facts(layout.dataset)
    users_path = layout.need(layout.labels_path, facts.users_file, "--labels-path")
    users = read_csv(users_path)
    id_column, ids = identifiers(users, users_path)
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    columns, reasons = _class_columns(users, id_column, users_path, order)
    if layout.target_path is not None:
        columns |= _target(layout.target_path, ids)
    edges_path = layout.need(layout.edge_path, facts.edges_file, "--edge-path")
    first, second = _pairs(edges_path)
    edges, notes = simple_edges(first, second, ids, where=edges_path, faults=layout.edge_faults, self_edges=facts.self_edges)
    if facts.items and layout.find(f"{layout.graph}.pkl") and not layout.find(f"{layout.graph}.npz"):
        reasons["relations"] = _PICKLED.format(layout.find(f"{layout.graph}.pkl"), layout.graph)
    graph = UserGraph(
        dataset=facts.name,
        user_ids=ids,
        columns=columns,
        edges=edges,
        fields=_fields(layout, facts, ids),
        relations=_item_relations(layout, facts, ids) if facts.items else _user_relations(layout, facts, ids, first, second),
        notes=notes,
        reasons=reasons,
    )
    graph.notes["isolated_users"] = int((~graph.connected).sum())
    return graph


def _class_columns(users: pa.Table, id_column: str, path: Path, order: Array) -> tuple[dict[str, Codes], dict[str, str]]:
    """Columns that hold classes, and for the others why they do not: a measurement is in nobody's way until it is asked for."""
    columns, reasons = {}, {}
    for name in users.column_names:
        if name == id_column:
            continue
        try:
            columns[name] = encode(users[name], name, path).take(order)
        except InputError as error:
            reasons[name] = str(error)
    return columns, reasons


def _target(path: Path, ids: Array) -> dict[str, Codes]:
    """The label column of a target file, by id: its second column, as published."""
    table = read_csv(path)
    _, target_ids = identifiers(table, path)
    if table.num_columns < 2:
        raise InputError(f"{path} has one column; a target file has the user's id and its class.")
    name = table.column_names[1]
    rows = locate(ids, np.sort(target_ids))
    if (rows < 0).any():
        raise InputError(f"{path} has no row for user {ids[rows < 0][0]} ({int((rows < 0).sum())} users in all).")
    return {name: encode(table[name], name, path).take(np.argsort(target_ids)[rows])}


def _pairs(path: Path) -> tuple[Array, Array]:
    if path.suffix == ".npy":
        pairs = read_array(path)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise InputError(
                f"{path} has the shape {pairs.shape} and type {pairs.dtype}; two whole-number ids a row were expected."
            )
        return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    table = read_csv(path)
    if table.num_columns < 2:
        raise InputError(f"{path} has one column; an edge file has two ids a row.")
    sides = []
    for name in table.column_names[:2]:
        if table[name].null_count:
            raise InputError(f"{path}: column '{name}' has {table[name].null_count} empty ids.")
        side = np.asarray(table[name].to_numpy())
        sides.append(side.astype(str) if side.dtype.kind == "O" else side)
    return sides[0], sides[1]


def _fields(layout: Layout, facts: DatasetFacts, ids: Array) -> Array | None:
    path = layout.field_path or layout.find(*facts.fields_file)
    if path is None:
        return None
    fields = read_array(path)
    if fields.ndim != 2 or len(fields) < 1:
        raise InputError(f"{path} has the shape {fields.shape}; a row of category ids per user was expected.")
    refuse_gaps(fields, "the category fields", path)
    if fields.dtype.kind not in "iu":
        if fields.dtype.kind != "f" or not np.all(fields == np.round(fields)):
            raise InputError(f"{path} holds {fields.dtype}; category ids are whole numbers.")
        fields = fields.astype(np.int64)
    rows = _array_rows(ids, len(fields), path)
    return compact(fields[rows])


def compact(fields: Array) -> Array:
    """Category ids as codes 0…V−1, in order of id.

    >>> compact(np.array([[7, 9], [9, 40]])).tolist()
    [[0, 1], [1, 2]]
    """
    _, codes = np.unique(fields, return_inverse=True)
    return np.asarray(codes.reshape(fields.shape), dtype=np.int64)


def _array_rows(ids: Array, n_rows: int, path: Path) -> Array:
    """Which row of an array belongs to each user: the row whose number is the id, as published."""
    if len(ids) != n_rows:
        raise InputError(f"{path} has {n_rows} rows but there are {len(ids)} users; an array file has a row per user.")
    if ids.dtype.kind in "iu" and ids[0] == 0 and ids[-1] == n_rows - 1:
        return ids
    raise InputError(f"{path} has no ids of its own, so its rows can be matched only when user ids run from 0 to {n_rows - 1}.")


def _user_relations(layout: Layout, facts: DatasetFacts, ids: Array, first: Array, second: Array) -> Relations | None:
    """Two copies of the users; user1 → user2 where the edge file says so, and back."""
    path = layout.find(facts.features_file)
    if path is None:
        return None
    table = read_csv(path)
    _, feature_ids = identifiers(table, path)
    rows = locate(ids, np.sort(feature_ids))
    if (rows < 0).any():
        raise InputError(f"{path} has no row for user {ids[rows < 0][0]} ({int((rows < 0).sum())} users in all).")
    order = np.argsort(feature_ids)[rows]
    attributes = tuple(_attribute(layout, table, a.name, a.column, a.table, order, path) for a in facts.attributes)
    left, right = locate(first, ids), locate(second, ids)
    known = (left >= 0) & (right >= 0) & (left != right)
    forward = distinct_pairs(np.stack([left[known], right[known]]), len(ids))
    return Relations(
        counts={"user1": len(ids), "user2": len(ids)},
        edges={("user1", "connect", "user2"): forward, ("user2", "receive", "user1"): forward[::-1]},
        target="user1",
        attributed="user2",
        attributes=attributes,
    )


def _attribute(layout: Layout, table: pa.Table, name: str, column: str, file: str, order: Array, path: Path) -> AttributeTable:
    """Codes in order of first appearance among ascending ids, so that they name the rows of the published vectors."""
    if column not in table.column_names:
        raise InputError(f"Column '{column}' is not in {path}. It has: {listing(table.column_names)}.")
    if table[column].null_count:
        raise InputError(
            f"{path}: column '{column}' has {table[column].null_count} empty cells. Fill them or leave those users out."
        )
    values = np.asarray(table[column].to_numpy())[order]
    refuse_gaps(values, f"column '{column}'", path)
    codes, distinct = by_appearance(values)
    return AttributeTable(name, codes, _vectors(layout.find(file), distinct))


def by_appearance(values: Array) -> tuple[Array, Array]:
    """Codes in order of first appearance, and the value of each code.

    >>> by_appearance(np.array([6.5, 2.0, 6.5]))
    (array([0, 1, 0]), array([6.5, 2. ]))
    """
    distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[inverse], distinct[np.argsort(first)]


def _vectors(path: Path | None, values: Array) -> Array:
    """The published vectors, or vectors made from the values themselves where the file is not there."""
    if path is None:
        return value_vectors([str(value) for value in values.tolist()])
    vectors = read_array(path)
    refuse_gaps(vectors, "the attribute vectors", path)
    if vectors.ndim != 2 or len(vectors) < len(values):
        raise InputError(f"{path} has the shape {vectors.shape}; {len(values)} values need a row each.")
    return vectors.astype(np.float32)


def _item_relations(layout: Layout, facts: DatasetFacts, ids: Array) -> Relations | None:
    path = layout.find(f"{layout.graph}.npz")
    if path is None:
        return None
    arrays = dict(np.load(path, allow_pickle=False))
    names = [name for name in facts.attributes if f"item_{name.name}" in arrays]
    if not names:
        raise InputError(f"{path} has none of the item attributes {listing('item_' + a.name for a in facts.attributes)}.")
    n_items = len(arrays[f"item_{names[0].name}"])
    edges: dict[Relation, Array] = {}
    for name in facts.relations:
        if f"{name}_src" in arrays:
            pairs = _item_pairs(arrays, name, len(ids), n_items, path)
            edges |= {("user", name, "item"): pairs, ("item", f"{name}_by", "user"): pairs[::-1]}
    if not edges:
        raise InputError(f"{path} has no click_src and click_dst.")
    attributes = tuple(
        AttributeTable(
            a.name, arrays[f"item_{a.name}"], _vectors(layout.find(a.table), np.arange(arrays[f"item_{a.name}"].max() + 1))
        )
        for a in names
    )
    return Relations({"user": len(ids), "item": n_items}, edges, "user", "item", attributes)


def _item_pairs(arrays: dict[str, Any], name: str, n_users: int, n_items: int, path: Path) -> Array:
    pairs = np.stack([arrays[f"{name}_src"], arrays[f"{name}_dst"]]).astype(np.int64)
    if pairs.size and (pairs.min() < 0 or pairs[0].max() >= n_users or pairs[1].max() >= n_items):
        raise InputError(f"{path}: {name} edges name users beyond {n_users - 1} or items beyond {n_items - 1}.")
    return distinct_pairs(pairs, n_items)
