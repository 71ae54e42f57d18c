"""Made-up graphs with the size and statistics of JD and Alibaba, for scale tests and for trying a command without the data.

Users, items, clicks, categories and the co-click graph have the published counts (or a share of them); classes have the
published frequencies; what users click depends a little on their classes, so that there is something to learn. No row of any
dataset is in it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairwitness.errors import InputError
from fairwitness.graphs.clicks import co_click_edges, sample_fields
from fairwitness.graphs.columns import Codes
from fairwitness.graphs.facts import dataset_facts
from fairwitness.graphs.layout import write_item_layout
from fairwitness.graphs.raw import binary_columns
from fairwitness.graphs.user_graph import Array, AttributeTable, Relations, UserGraph, distinct_pairs
from fairwitness.graphs.vectors import value_vectors

GENERATED = ("alibaba", "jd")
# Class frequencies as published; those that no source gives are even.
FREQUENCIES: dict[str, dict[str, tuple[int, ...]]] = {
    "alibaba": {
        "gender": (124_766, 42_192),
        "age": (36_291, 2_693, 29_319, 39_571, 51_467, 7_561, 56),
        "buy": (54_233, 100_679, 12_046),
        "student": (11_718, 155_240),
        "city": (1, 1, 1, 1),
    },
    "jd": {"gender": (24_587, 13_735), "age": (6_773, 18_944, 8_919, 2_954, 732), "expense": (1, 1, 1)},
}
# The column that steers what a user clicks, how often a click follows it, and how many values each item attribute has.
STEERING = {"alibaba": "buy", "jd": "expense"}
FOLLOWS = 0.5
# Rounds of calibration, and the share of Σ clicks² that are different pairs of users (seen in such graphs).
ROUNDS, SHARED_ONCE = 4, 0.97
VALUES = {
    "alibaba": {"cid1": 2_820, "cid2": 51_792, "cid3": 20_487},
    "jd": {"cid1": 90, "cid2": 500, "cid3": 2_056, "brand": 9_000},
}


@dataclass(frozen=True)
class Generated:
    """The pieces of a made-up dataset, before they are a graph in memory or files on disk."""

    dataset: str
    columns: dict[str, Array]
    clicks: Array
    attributes: dict[str, Array]
    edges: Array
    fields: Array

    def graph(self) -> UserGraph:
        """As a user graph in memory."""
        n = len(self.fields)
        facts = dataset_facts(self.dataset)
        low = self.edges[:, self.edges[0] < self.edges[1]]
        tables = tuple(
            AttributeTable(name, codes, value_vectors([f"{name} {c}" for c in range(int(codes.max()) + 1)]))
            for name, codes in self.attributes.items()
        )
        pairs = {("user", "click", "item"): self.clicks, ("item", "click_by", "user"): self.clicks[::-1]}
        relations = Relations({"user": n, "item": len(tables[0].codes)}, pairs, "user", "item", tables)
        columns = {name: Codes(tuple(range(int(v.max()) + 1)), v) for name, v in self.columns.items()}
        return UserGraph(facts.name, np.arange(n), columns, low, self.fields, relations, {"edges": low.shape[1]})

    def write(self, out: Path) -> dict[str, int]:
        """As files of the published layout."""
        return write_item_layout(self.dataset, out, self.columns, self.edges, self.fields, {"click": self.clicks}, self.attributes)


def generate(dataset: str, *, scale: float = 1.0, seed: int = 0) -> Generated:
    """Make a graph like the dataset's, with `scale` times its users, items and clicks.

    >>> made = generate("jd", scale=0.01)
    >>> len(made.fields), made.attributes["cid1"].shape
    (383, (496,))
    """
    if dataset not in GENERATED:
        raise InputError(f"Graphs like {', '.join(GENERATED)} can be generated, not '{dataset}'.")
    if not 0 < scale <= 4:
        raise InputError(f"--scale is {scale}; it lies above 0 and at most at 4.")
    counts = dataset_facts(dataset).counts
    n_users, n_items, n_clicks = (max(20, int(counts[name] * scale)) for name in ("users", "items", "clicks"))
    generator = np.random.default_rng(seed)
    columns = {name: _classes(weights, n_users, generator) for name, weights in FREQUENCIES[dataset].items()}
    columns |= binary_columns(dataset, columns)
    attributes = {
        name: np.sort(generator.integers(0, max(2, int(count * min(1.0, scale * 4))), n_items)) if name == "cid1" else
        generator.integers(0, max(2, int(count * min(1.0, scale * 4))), n_items)
        for name, count in VALUES[dataset].items()
    }  # fmt: skip
    attributes = {name: np.unique(codes, return_inverse=True)[1] for name, codes in attributes.items()}
    clicks = _calibrated(columns[STEERING[dataset]], n_items, n_clicks, counts["edges"] * scale, generator)
    category = "cid3" if dataset == "jd" else "cid1"
    fields = sample_fields(clicks[0], attributes[category][clicks[1]], n_users, seed=seed)
    return Generated(dataset, columns, clicks, attributes, co_click_edges(clicks[0], clicks[1], n_users), fields)


def popular(n_items: int, n_clicks: int, n_pairs: float, generator: np.random.Generator) -> Array:
    """Each item's share of clicks: a power law whose steepness makes Σ clicks² about `n_pairs`, the size of the co-click graph."""
    ranks = np.arange(1, n_items + 1) + 5.0

    def shares(steepness: float) -> Array:
        weights = ranks**-steepness
        floor = min(2.0 * n_items / n_clicks, 0.9)
        return np.asarray(floor / n_items + (1 - floor) * weights / weights.sum())

    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        expected = shares(middle) * n_clicks
        low, high = (middle, high) if float((expected**2 + expected).sum()) < n_pairs else (low, middle)
    return np.asarray(generator.permutation(shares(low)))


def _calibrated(steering: Array, n_items: int, n_clicks: int, n_pairs: float, generator: np.random.Generator) -> Array:
    """Clicks whose co-click graph has about `n_pairs` directed edges: drawn a few times, each aiming by how far the last was off.

    Σ clicks² over items counts a pair of users once for every item they share, and so is a little more than the edges.
    """
    aim = n_pairs
    clicks = np.empty((2, 0), np.int64)
    for _ in range(ROUNDS):
        clicks = _clicks(steering, popular(n_items, n_clicks, aim, generator), n_clicks, generator)
        found = float((np.bincount(clicks[1], minlength=n_items).astype(float) ** 2).sum()) * SHARED_ONCE
        aim *= n_pairs / found
    return clicks


def _classes(weights: tuple[int, ...], n: int, generator: np.random.Generator) -> Array:
    """Codes with these frequencies, every class at least once."""
    codes = generator.choice(len(weights), n, p=np.array(weights) / sum(weights))
    codes[: len(weights)] = np.arange(len(weights))
    return np.asarray(generator.permutation(codes))


def _clicks(steering: Array, popularity: Array, n_clicks: int, generator: np.random.Generator) -> Array:
    """Distinct (user, item) pairs: every user clicks at least once; half of the clicks stay among items of the user's class."""
    n_users, n_classes = len(steering), int(steering.max()) + 1
    more = generator.choice(n_users, max(0, n_clicks - n_users), p=_activity(n_users, generator))
    users = np.concatenate([np.arange(n_users), more])
    # Items stand in order of their category, so that a class's items are whole categories.
    classes = (np.arange(len(popularity)) * n_classes * 8 // len(popularity)) % n_classes
    items = _drawn(popularity, len(users), generator)
    follows = generator.random(len(users)) < FOLLOWS
    for code in range(n_classes):
        rows = np.flatnonzero(follows & (steering[users] == code))
        own = np.flatnonzero(classes == code)
        items[rows] = own[_drawn(popularity[own], len(rows), generator)]
    return distinct_pairs(np.stack([users, items]), len(popularity))


def _activity(n: int, generator: np.random.Generator) -> Array:
    weights = generator.pareto(2.0, n) + 0.2
    return np.asarray(weights / weights.sum())


def _drawn(weights: Array, size: int, generator: np.random.Generator) -> Array:
    totals = np.cumsum(weights)
    return np.asarray(np.searchsorted(totals, generator.random(size) * totals[-1], side="right")).clip(max=len(weights) - 1)
