"""NBA players and who follows whom: FairGNN's raw files, or the inputs that the user-modelling papers prepared from them."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import graph_tables
from fairwitness.datasets.card import Card, Dataset, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, RawFile, csv_batches, read_table
from fairwitness.errors import InputError
from fairwitness.tables import require_columns

COMMIT = "13cdca7627d7779a2396299cdc8edd3a790db7cc"
GITHUB = f"https://raw.githubusercontent.com/EnyanDai/FairGNN/{COMMIT}/dataset/NBA"
ATTRIBUTES = ("salary", "country", "age", "bin_age", "bin_salary")

CARD = Card(
    name="nba",
    title="NBA players (FairGNN)",
    licence="none stated",
    citation="Dai, Wang (2021). Say No to the Discrimination: Learning Fair Graph Neural Networks with Limited Sensitive Attribute "
    "Information. WSDM; Purificato, Boratto, De Luca (2022). Do Graph Neural Networks Build Fair User Models? CIKM",
    warning="",
    counts={
        "users": 403,
        "edges": 16_570,
        "undirected edges": 10_621,
        "connected users": 400,
        "salary 0": 90,
        "salary 1": 154,
        "salary 2": 159,
        "country 1": 107,
        "age 0 (25-29)": 151,
        "age 1 (30-40)": 91,
        "age 2 (19-24)": 161,
        "bin_age 1": 161,
        "bin_salary 1": 159,
    },
    counted_on="real copies of both layouts, which agree row by row",
    columns={
        "user_id": "row number, 0 to 402",
        "salary, bin_salary": "0 to 2 from FairGNN's -1 to 1; bin_salary is 1 for salary 2",
        "country": "0 or 1 as released; its meaning is not documented there",
        "age, bin_age": "0: 25-29, 1: 30-40, 2: 19-24; bin_age is 1 for age 2",
        "pts, height, weight": "points a game, height, weight",
        "edges: uid1, uid2": "who follows whom, as row numbers, in file order",
    },
    layouts=("nba.csv and nba_relationship.txt (FairGNN)", "users.csv, edges.csv, features.csv (user-modelling inputs, zip too)"),
    remotes=(
        WebFiles(
            tuple(WebFile(url=f"{GITHUB}/{name}", name=name) for name in ("nba.csv", "nba_relationship.txt")),
        ),
    ),
    revision=COMMIT,
    notes="--out names a folder (users.parquet and edges.parquet) or the users' file (edges go beside it). "
    "Three users have no edge: 85, 163 and 326.",
)


def _users(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    raw = copy.find("nba.csv")
    if not raw:
        yield graph_tables.prepared_users(copy, ATTRIBUTES)
        return
    frame = _raw(raw[0])
    years = pl.col("AGE").cast(pl.Float64)
    # The age bands and their odd order are the papers' own: codes by first appearance.
    age = pl.when(years < 25).then(2).when(years < 30).then(0).otherwise(1)
    frame = frame.with_columns(
        salary=pl.col("SALARY").cast(pl.Int64) + 1, age=age.cast(pl.Int64), country=pl.col("country").cast(pl.Int64)
    )
    yield frame.select(
        pl.int_range(pl.len()).alias("user_id"),
        "salary",
        "country",
        "age",
        (pl.col("age") == 2).cast(pl.Int64).alias("bin_age"),
        (pl.col("salary") == 2).cast(pl.Int64).alias("bin_salary"),
        *(
            pl.col(theirs).cast(pl.Float64).alias(ours)
            for theirs, ours in (("POINTS", "pts"), ("player_height", "height"), ("player_weight", "weight"))
        ),
    )


def _edges(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    raw = copy.find("nba.csv")
    if not raw:
        yield from graph_tables.prepared_edges(copy)
        return
    ids = _raw(raw[0])["user_id"].to_list()
    rows = {own: row for row, own in enumerate(ids)}
    file = copy.need("NBA relations", "nba_relationship.txt")[0]
    for frame in csv_batches(file, separator="\t", names=("uid1", "uid2")):
        yield frame.select(pl.col("uid1", "uid2").replace_strict(rows, default=None, return_dtype=pl.Int64)).drop_nulls()


def _raw(file: RawFile) -> pl.DataFrame:
    frame = read_table(file)
    require_columns(frame.columns, ("user_id", "SALARY", "AGE", "POINTS", "player_height", "player_weight", "country"), file.shown)
    if frame["user_id"].n_unique() != frame.height:
        raise InputError(f"{file.shown}: the same user_id stands in two rows.")
    return frame


DATASET = Dataset(card=CARD, tables={"users": _users, "edges": _edges})
