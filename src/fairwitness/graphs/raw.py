"""From the raw public files to the published layout: NBA, Pokec, JD and Alibaba, and the Alibaba stand-in of DyHATR.

Users are numbered in the order of the raw file; edges name them by raw id and are translated, never by position. Rules that
the published notebooks do not give (spending grades of JD, purchase grades of the stand-in, Pokec's age bands) are ours and
are data below.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairwitness.errors import InputError, listing
from fairwitness.files import require_file
from fairwitness.graphs.clicks import FIELD_SIZE, co_click_edges, sample_fields
from fairwitness.graphs.facts import DATASETS, dataset_facts
from fairwitness.graphs.layout import write_item_layout, write_user_layout
from fairwitness.graphs.published import by_appearance
from fairwitness.graphs.reading import numbers, read_csv
from fairwitness.graphs.user_graph import Array, distinct_pairs, locate

# (first age, last age, code)
NBA_AGES = ((25, 29, 0), (30, 40, 1), (19, 24, 2))
# Bands with as many distinct ages as the published codes have; the notebooks do not name them.
POKEC_AGES = ((23, 27, 0), (18, 22, 1), (0, 17, 2), (28, 34, 3), (35, 200, 4))
JD_AGES = ((0, 25, 0), (26, 35, 1), (36, 45, 2), (46, 55, 3), (56, 200, 4))
# Purchases from which the stand-in's grade is 1 and 2.
STAND_IN_GRADES = (2, 5)


def build(dataset: str, raw: Path, out: Path, *, sample: float = 1.0, seed: int = 11) -> dict[str, int]:
    """Build the published layout of a dataset in `out` from its raw folder; returns counts of what was kept and left out."""
    dataset_facts(dataset)
    if not Path(raw).is_dir():
        raise InputError(f"{raw} is not a folder. --raw names the folder with the raw files of {dataset}.")
    if not 0 < sample <= 1:
        raise InputError(f"--sample is {sample}; it lies above 0 and at most at 1.")
    makers: dict[str, Callable[[Path, Path, float, int], dict[str, int]]] = {
        "nba": _nba,
        "pokec": _pokec,
        "jd": _jd,
        "alibaba": _stand_in if (Path(raw) / "ecomm_user_feature.txt").exists() else _alibaba,
    }
    assert set(makers) == set(DATASETS)
    return makers[dataset](Path(raw), Path(out), sample, seed)


def banded(ages: Array, bands: tuple[tuple[int, int, int], ...], what: str) -> Array:
    """The code of the band each age lies in; an age in none is an InputError.

    >>> banded(np.array([19, 31]), NBA_AGES, "ages")
    array([2, 1])
    """
    codes = np.full(len(ages), -1, dtype=np.int64)
    for first, last, code in bands:
        codes[(ages >= first) & (ages <= last)] = code
    if (codes < 0).any():
        raise InputError(f"{what}: age {ages[codes < 0][0]} lies in no band ({listing(f'{a}-{b}' for a, b, _ in bands)}).")
    return codes


def binary_columns(dataset: str, columns: dict[str, Array]) -> dict[str, Array]:
    """The binarised columns of a dataset's rules, for those sources that are there."""
    rules = dataset_facts(dataset).binarised
    return {r.column: np.isin(columns[r.source].astype(str), r.ones).astype(np.int64) for r in rules if r.source in columns}


def _edges(path: Path, ids: Array, *, separator: str) -> tuple[Array, int]:
    table = read_csv(path, separator=separator, names=["first", "second"])
    sides = np.stack([locate(numbers(table, name, path), np.sort(ids)) for name in ("first", "second")])
    known = (sides >= 0).all(axis=0)
    order = np.argsort(ids)
    pairs = order[sides[:, known]]
    pairs = pairs[:, pairs[0] != pairs[1]]
    _, first = np.unique(pairs[0] * len(ids) + pairs[1], return_index=True)
    return pairs[:, np.sort(first)], int((~known).sum())


def _nba(raw: Path, out: Path, _sample: float, _seed: int) -> dict[str, int]:
    path = raw / "nba.csv"
    table = read_csv(path)
    ids = numbers(table, "user_id", path)
    columns = {
        "salary": numbers(table, "SALARY", path) + 1,
        "country": numbers(table, "country", path),
        "age": banded(numbers(table, "AGE", path), NBA_AGES, str(path)),
    }
    columns |= binary_columns("nba", columns)
    features = {
        name: table[source] for name, source in (("pts", "POINTS"), ("height", "player_height"), ("weight", "player_weight"))
    }
    edges, unknown = _edges(raw / "nba_relationship.txt", ids, separator="\t")
    codes, _ = by_appearance(np.asarray(features["pts"].to_numpy()))
    return write_user_layout("nba", out, columns, edges, np.repeat(codes[:, None], FIELD_SIZE, axis=1), features) | {
        "edges_of_unknown_users": unknown
    }


def _pokec(raw: Path, out: Path, _sample: float, _seed: int) -> dict[str, int]:
    path = next((raw / f"{name}.csv" for name in ("region_job", "pokec") if (raw / f"{name}.csv").exists()), raw / "region_job.csv")
    table = read_csv(path)
    names = ("user_id", "AGE", "I_am_working_in_field")
    ids, ages, work = (numbers(table, name, path) for name in names)
    keep = (ages > 0) & (work >= 0)
    if not keep.any():
        raise InputError(f"{path}: no user has both an AGE and a field of work.")
    table, ids = table.filter(pa.array(keep)), ids[keep]
    columns = {name: numbers(table, name, path) for name in ("public", "gender", "region")}
    columns |= {"work_field": by_appearance(work[keep])[0], "age": banded(ages[keep], POKEC_AGES, str(path))}
    columns |= binary_columns("pokec", columns)
    features = {name: table[name] for name in ("completion_percentage", "spoken_languages_indicator", "hobbies_indicator")}
    edges, unknown = _edges(path.with_name(f"{path.stem}_relationship.txt"), ids, separator="\t")
    codes, _ = by_appearance(ages[keep])
    return write_user_layout("pokec", out, columns, edges, np.repeat(codes[:, None], FIELD_SIZE, axis=1), features) | {
        "users_left_out": int((~keep).sum()),
        "edges_of_unknown_users": unknown,
    }


def _jd(raw: Path, out: Path, sample: float, seed: int) -> dict[str, int]:
    paths = {name: _either_name(raw, name) for name in ("user", "user_click", "user_order", "item_info")}
    users, click, order, items = (read_csv(paths[name]) for name in paths)
    if sample < 1:
        generator = np.random.default_rng(seed)
        items, click = (t.filter(pa.array(generator.random(t.num_rows) < sample)) for t in (items, click))
    age = np.array([int(word.split("~")[0]) for word in users["age_range"].to_pylist()])
    columns = {"gender": numbers(users, "gender", paths["user"]), "age": banded(age, JD_AGES, str(paths["user"]))}
    item_ids = numbers(items, "item_id", paths["item_info"])
    price = dict(zip(item_ids.tolist(), items["price"].to_pylist(), strict=True))
    spent: dict[int, float] = {}
    for user, item, count in zip(
        order["user_id"].to_pylist(), order["item_id"].to_pylist(), order["count"].to_pylist(), strict=True
    ):
        spent[user] = spent.get(user, 0.0) + count * (price.get(item) or 0.0)
    ids = numbers(users, "user_id", paths["user"])
    total = np.array([spent.get(user, 0.0) for user in ids.tolist()])
    columns["expense"] = np.searchsorted(np.quantile(total, [1 / 3, 2 / 3]), total, side="left")
    columns |= binary_columns("jd", columns)
    attributes = {name: np.asarray(pc.fill_null(items[name], 0).to_numpy()) for name in ("cid1", "cid2", "cid3")}
    attributes["brand"] = np.nan_to_num(np.asarray(items["brand_code"].to_numpy()).astype(float)).astype(np.int64)
    pairs = {
        name: _pairs(t, "user_id", "item_id", paths[p])
        for name, t, p in (("click", click, "user_click"), ("purchase", order, "user_order"))
    }
    return _from_items("jd", out, ids, columns, item_ids, attributes, pairs, category="cid3", seed=seed)


def _alibaba(raw: Path, out: Path, sample: float, seed: int) -> dict[str, int]:
    profile_path, ads_path, shown_path = raw / "user_profile.csv", raw / "ad_feature.csv", raw / "raw_sample.csv"
    profile, ads, shown = read_csv(profile_path), read_csv(ads_path), read_csv(shown_path)
    clicks = shown.filter(pc.equal(shown["clk"], 1))
    if sample < 1:
        clicks = clicks.filter(pa.array(np.random.default_rng(seed).random(clicks.num_rows) < sample))
    wanted = {
        "gender": "final_gender_code",
        "age": "age_level",
        "buy": "pvalue_level",
        "student": "occupation",
        "city": "new_user_class_level",
    }
    # The last column is published with a trailing blank in its name.
    profile = profile.rename_columns([name.strip() for name in profile.column_names])
    missing = [name for name in wanted.values() if name not in profile.column_names]
    if missing:
        raise InputError(f"Column '{missing[0]}' is not in {profile_path}. It has: {listing(profile.column_names)}.")
    full = pc.and_kleene(pc.is_valid(profile["pvalue_level"]), pc.is_valid(profile["new_user_class_level"]))
    profile = profile.filter(full)
    columns = {name: np.asarray(profile[source].to_numpy()).astype(np.int64) for name, source in wanted.items()}
    columns = {name: by_appearance(values)[0] if name == "age" else values - values.min() for name, values in columns.items()}
    columns["bin_age"] = (np.asarray(profile["age_level"].to_numpy()) == 3).astype(np.int64)
    columns |= {name: values for name, values in binary_columns("alibaba", columns).items() if name != "bin_age"}
    item_ids = numbers(ads, "adgroup_id", ads_path)
    names = {"cid1": "cate_id", "cid2": "campaign_id", "cid3": "brand"}
    attributes = {name: np.asarray(pc.fill_null(ads[source], 0).to_numpy()).astype(np.int64) for name, source in names.items()}
    pairs = {"click": _pairs(clicks, "user", "adgroup_id", shown_path)}
    ids = numbers(profile, "userid", profile_path)
    return _from_items("alibaba", out, ids, columns, item_ids, attributes, pairs, category="cid1", seed=seed, least_clicks=2)


def _stand_in(raw: Path, out: Path, _sample: float, seed: int) -> dict[str, int]:
    users = read_csv(
        raw / "ecomm_user_feature.txt", separator="\t", names=["id", "gender", "age", "education", "career", "income", "stage"]
    )
    items = read_csv(raw / "ecomm_item_feature.txt", separator="\t", names=["id", "cate1", "cate", "brand", "price"])
    path = raw / "ecomm_edge_train.txt"
    acts = read_csv(path, separator="\t", names=["user", "item", "kind", "date"])
    ids = numbers(users, "id", raw / "ecomm_user_feature.txt")
    bought = acts.filter(pc.equal(acts["kind"], 4))
    counts = np.bincount(np.maximum(locate(numbers(bought, "user", path), np.sort(ids)), 0), minlength=len(ids))
    grade = np.searchsorted(np.array(STAND_IN_GRADES), counts[np.argsort(np.argsort(ids))], side="right")
    # −1 in this file means that the attribute is not known; it stays empty.
    columns = {name: numbers(users, name, raw / "ecomm_user_feature.txt") for name in ("gender", "age", "career")}
    columns["buy"] = grade
    columns |= binary_columns("alibaba", columns)
    columns["bin_age"] = np.where(columns["age"] < 0, -1, columns["bin_age"])
    item_ids = numbers(items, "id", raw / "ecomm_item_feature.txt")
    attributes = {name: numbers(items, source, raw) for name, source in (("cid1", "cate"), ("cid2", "cate1"), ("cid3", "brand"))}
    pairs = {"click": _pairs(acts, "user", "item", path)}
    return _from_items("alibaba", out, ids, columns, item_ids, attributes, pairs, category="cid1", seed=seed)


def _pairs(table: pa.Table, user: str, item: str, path: Path) -> Array:
    return np.stack([numbers(table, user, path), numbers(table, item, path)])


def _either_name(raw: Path, name: str) -> Path:
    found = next((raw / f"{name}{ending}" for ending in ("", ".csv") if (raw / f"{name}{ending}").is_file()), raw / name)
    return require_file(found)


def _from_items(
    dataset: str, out: Path, ids: Array, columns: dict[str, Array], item_ids: Array, attributes: dict[str, Array],
    pairs: dict[str, Array], *, category: str, seed: int, least_clicks: int = 1,
) -> dict[str, int]:  # fmt: skip
    """Keep known users and items that were clicked, number them 0…n−1 in raw order, and write the layout."""
    rows = {name: np.stack([_rows(p[0], ids), _rows(p[1], item_ids)]) for name, p in pairs.items()}
    rows = {name: distinct_pairs(p[:, (p >= 0).all(axis=0)], len(item_ids)) for name, p in rows.items()}
    often = np.bincount(rows["click"][1], minlength=len(item_ids)) >= least_clicks
    rows = {name: p[:, often[p[1]]] for name, p in rows.items()}
    if not rows["click"].size:
        n = pairs["click"].shape[1]
        raise InputError(
            f"None of the {n} clicks joins a known user with a known item, so no graph is left. Are the raw files whole?"
        )
    users, items = (np.unique(np.concatenate([p[side] for p in rows.values() if side or p is rows["click"]])) for side in (0, 1))
    local = {name: np.stack([locate(p[0], users), locate(p[1], items)]) for name, p in rows.items()}
    local = {name: p[:, (p >= 0).all(axis=0)] for name, p in local.items()}
    attributes = {name: by_appearance(values[items])[0] for name, values in attributes.items()}
    clicked, item = local["click"]
    edges = co_click_edges(clicked, item, len(users))
    fields = sample_fields(clicked, attributes[category][item], len(users))
    counts = write_item_layout(dataset, out, {k: v[users] for k, v in columns.items()}, edges, fields, local, attributes)
    left_out = {"users_left_out": len(ids) - len(users), "items_left_out": len(item_ids) - len(items)}
    return counts | left_out | {"clicks_left_out": pairs["click"].shape[1] - local["click"].shape[1]}


def _rows(values: Array, ids: Array) -> Array:
    order = np.argsort(ids)
    found = locate(values, ids[order])
    return np.where(found < 0, -1, order[found])
