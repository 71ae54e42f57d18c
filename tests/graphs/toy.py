"""A tiny made-up user graph in the published layout: twelve ids, two communities, one isolated user."""

from pathlib import Path
from typing import Any

import numpy as np

N = 60


def write_toy(folder: Path, *, order: list[int] | None = None, columns: dict[str, list[Any]] | None = None) -> Path:
    """Files of the NBA layout. `order` permutes the rows of users.csv; `columns` replaces or adds columns (by id)."""
    generator = np.random.default_rng(0)
    salary = [i % 3 for i in range(N)]
    table: dict[str, list[Any]] = {
        "salary": salary,
        "bin_salary": [int(s == 2) for s in salary],
        "age": [(i // 3) % 3 for i in range(N)],
        "country": [i % 2 for i in range(N)],
    }
    table |= columns or {}
    folder.mkdir(parents=True, exist_ok=True)
    rows = order or list(range(N))
    lines = ["user_id," + ",".join(table)]
    lines += [f"{i}," + ",".join("" if table[c][i] is None else str(table[c][i]) for c in table) for i in rows]
    (folder / "users.csv").write_text("\n".join(lines) + "\n")
    edges = {(i, j) for i in range(N - 1) for j in generator.choice(N - 1, 4).tolist() if i != j and salary[i] == salary[j]}
    (folder / "edges.csv").write_text("uid1,uid2\n" + "".join(f"{a},{b}\n" for a, b in sorted(edges)))
    fields = np.repeat(np.array([[s * 2 + int(generator.random() < 0.5)] for s in salary]), 10, axis=1)
    np.save(folder / "points.npy", fields)
    features = ["user_id,pts,height,weight"] + [f"{i},{fields[i, 0]}.5,{180 + i % 4},{80 + i % 5}" for i in range(N)]
    (folder / "features.csv").write_text("\n".join(features) + "\n")
    return folder
