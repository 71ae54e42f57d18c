"""Writing the published layout: what `published.py` reads back. Missing values (−1) are written as empty cells."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from fairwitness.files import replacing
from fairwitness.graphs.facts import dataset_facts
from fairwitness.graphs.published import by_appearance
from fairwitness.graphs.user_graph import Array
from fairwitness.graphs.vectors import value_vectors

# Above this many rows an edge list is written as an array: reading it as text would take minutes.
MOST_TEXT_EDGES = 2_000_000


def write_user_layout(
    dataset: str, out: Path, columns: dict[str, Array], edges: Array, fields: Array, features: dict[str, pa.ChunkedArray]
) -> dict[str, int]:
    """Files of a graph among users (NBA, Pokec), in `out/catgcn` and `out/rhgn`."""
    facts = dataset_facts(dataset)
    n = len(fields)
    for folder in ("catgcn", "rhgn"):
        _write_users(out / folder / "users.csv", columns, n)
        _write_csv(out / folder / "edges.csv", {"uid1": edges[0], "uid2": edges[1]})
    write_array(out / "catgcn" / facts.fields_file[0], fields)
    _write_csv(out / "rhgn" / "features.csv", {"user_id": np.arange(n), **features})
    for attribute in facts.attributes:
        _, values = by_appearance(np.asarray(features[attribute.column].to_numpy()))
        write_array(out / "rhgn" / attribute.table, value_vectors([str(value) for value in values.tolist()]))
    return {"users": n, "edge_rows": edges.shape[1]}


def write_item_layout(
    dataset: str,
    out: Path,
    columns: dict[str, Array],
    edges: Array,
    fields: Array,
    relations: dict[str, Array],
    attributes: dict[str, Array],
) -> dict[str, int]:
    """Files of users and items (JD, Alibaba): the co-click graph and fields for CatGCN, G.npz and vectors for RHGN."""
    facts = dataset_facts(dataset)
    n = len(fields)
    _write_users(out / "user_labels.csv", columns, n)
    for name, values in columns.items():
        _write_users(out / f"user_{name}.csv", {name: values}, n)
    if edges.shape[1] > MOST_TEXT_EDGES:
        write_array(out / "user_edge.npy", edges.T)
    else:
        _write_csv(out / "user_edge.csv", {"uid1": edges[0], "uid2": edges[1]})
    write_array(out / facts.fields_file[0], fields)
    arrays = {f"{name}_{side}": pairs[i] for name, pairs in relations.items() for i, side in enumerate(("src", "dst"))}
    arrays |= {f"item_{name}": codes for name, codes in attributes.items()}
    with replacing(out / "G.npz") as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)
    tables = {attribute.name: attribute.table for attribute in facts.attributes}
    for name, codes in attributes.items():
        write_array(out / tables[name], value_vectors([f"{name} {code}" for code in range(int(codes.max()) + 1)]))
    n_items = len(next(iter(attributes.values())))
    return {"users": n, "items": n_items, "clicks": relations["click"].shape[1], "edge_rows": edges.shape[1]}


def write_array(path: Path, array: Array) -> None:
    """A .npy file, atomically."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)


def _write_users(path: Path, columns: dict[str, Array], n: int) -> None:
    _write_csv(path, {"user_id": np.arange(n), **{name: pa.array(v, mask=v < 0) for name, v in columns.items()}})


def _write_csv(path: Path, columns: dict[str, Array | pa.ChunkedArray]) -> None:
    with replacing(path) as temporary:
        pa_csv.write_csv(pa.table(columns), temporary, pa_csv.WriteOptions(quoting_style="needed"))
