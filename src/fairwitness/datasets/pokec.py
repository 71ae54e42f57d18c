"""Pokec, a Slovak social network: the inputs that the user-modelling papers prepared. The raw files are no longer to be had."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import graph_tables
from fairwitness.datasets.card import Card, Dataset, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy

COMMIT = "8760d3fc62122c23c92571c0ee6b252229f2ed8d"
GITHUB = f"https://raw.githubusercontent.com/erasmopurif/toward-responsible-fairness-analysis/{COMMIT}"
ATTRIBUTES = ("public", "gender", "region", "work_field", "age", "bin_age", "bin_work_field")

CARD = Card(
    name="pokec",
    title="Pokec (user-modelling inputs)",
    licence="none stated by the repository that holds it; derived from SNAP soc-Pokec",
    citation="Takac, Zabovsky (2012). Data Analysis in Public Social Networks; Purificato, Boratto, De Luca (2024). Toward a "
    "Responsible Fairness Analysis: From Binary to Multiclass and Multigroup Assessment in Graph Neural Network-Based User "
    "Modeling Tasks. Minds and Machines",
    warning="",
    counts={
        "users": 13_504,
        "edges": 24_769,
        "undirected edges": 17_229,
        "connected users": 9_380,
        "work_field 0": 1_676,
        "work_field 1": 6_437,
        "work_field 2": 2_849,
        "work_field 3": 770,
        "work_field 4": 1_772,
        "gender 1": 6_943,
        "region 1": 4_616,
        "public 1": 3_903,
        "bin_age 1": 5_246,
        "bin_work_field 1": 6_437,
    },
    counted_on="a real copy",
    columns={
        "user_id": "row number, 0 to 13503",
        "work_field, bin_work_field": "0 to 4; bin_work_field is 1 for work_field 1",
        "age, bin_age": "0 to 4; bin_age is 1 for age 2",
        "gender, region, public": "0 or 1 as released; their meaning is not documented there",
        "completion_percentage, spoken_languages_indicator, hobbies_indicator": "features, where features.csv is there",
        "edges: uid1, uid2": "friendships as row numbers, in file order",
    },
    layouts=("users.csv, edges.csv, features.csv (folder or the repository's zips)",),
    remotes=(
        WebFiles(
            tuple(
                WebFile(url=f"{GITHUB}/{part}/input_pokec_data/input_pokec_data.zip", name=f"{part.lower()}_input_pokec_data.zip")
                for part in ("CatGCN", "RHGN")
            )
        ),
    ),
    dead={"the raw Pokec files of FairGNN": "not publicly obtainable any more"},
    revision=COMMIT,
    notes="4,124 users have no edge. The papers' category field is the exact age, that is, the sensitive attribute itself.",
)


def _users(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    yield graph_tables.prepared_users(copy, ATTRIBUTES)


def _edges(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    return graph_tables.prepared_edges(copy)


DATASET = Dataset(card=CARD, tables={"users": _users, "edges": _edges})
