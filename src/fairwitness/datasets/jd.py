"""JD: shoppers with gender and age band, and what they clicked and ordered."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import graph_tables
from fairwitness.datasets.card import Card, Dataset, Manual
from fairwitness.datasets.raw import RawCopy, csv_batches, read_table
from fairwitness.tables import require_columns

AGES = {
    **dict.fromkeys(("0~15", "~15", "11~15", "16~20", "21~25"), 0),
    **dict.fromkeys(("26~30", "31~35"), 1),
    **dict.fromkeys(("36~40", "41~45"), 2),
    **dict.fromkeys(("46~50", "51~55"), 3),
    **dict.fromkeys(("56~60", "61~65", "66~70", "71~"), 4),
}
ITEMS = ("item_id", "cid1", "cid2", "cid3", "cid1_name", "cid2_name", "cid3_name", "brand_code", "price", "item_name")

CARD = Card(
    name="jd",
    title="JD user profiling (IJCAI 2019)",
    licence="research only, as stated by its authors; no licence file",
    citation="Chen, Gu, Ren, He, Xie, Guo, Yin, Zhang (2019). Semi-supervised User Profiling with Heterogeneous Graph Attention "
    "Networks. IJCAI",
    warning="",
    counts={
        "sample users": 999,
        "sample clicks": 999,
        "sample orders": 999,
        "sample items": 999,
        "paper users": 38_322,
        "paper items": 49_634,
        "paper clicks": 315_970,
    },
    counted_on="the head of each file (999 rows) as the authors' repository holds it; the paper's figures are its own",
    columns={
        "user_id": "as released",
        "gender": "0 or 1 as released",
        "age_range, age, bin_age": "the released band; 0: to 25, 1: 26-35, 2: 36-45, 3: 46-55, 4: from 56; bin_age is 1 to 35",
        "edges: user_id, item_id, relation, count, date": "clicks and orders",
        "items: item_id, cid1 …": "categories, brand, price, name (Chinese)",
    },
    layouts=("user, user_click, user_order, item_info (CSV without ending, or .csv)", "users.csv and edges.csv (prepared)"),
    remotes=(
        Manual(
            address="https://github.com/guyulongcs/IJCAI2019_HGAT",
            how="The authors link the full files from that page. Put user, user_click, user_order and item_info in one folder, "
            "then add --source FOLDER",
        ),
    ),
    dead={"the papers' prepared JD inputs": "not in any public copy of their repository"},
    revision="714d63213c18824d2fe0bcfdae23b4e2dbcf0aa2",
    notes="In the sample the clicked items are not among the items.",
)


def _users(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    raw = copy.find("user", "user.csv")
    if not raw:
        yield graph_tables.prepared_users(copy, ("gender",))
        return
    frame = read_table(raw[0])
    require_columns(frame.columns, ("user_id", "gender", "age_range"), raw[0].shown)
    frame = frame.with_columns(graph_tables.recode("age_range", AGES).alias("age"))
    frame = graph_tables.whole(frame, ("user_id", "gender"), raw[0])
    yield frame.select("user_id", "gender", "age_range", "age", (pl.col("age") <= 1).cast(pl.Int64).alias("bin_age"))


def _edges(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    if not copy.find("user_click*", "user_order*"):
        yield from graph_tables.prepared_edges(copy)
        return
    for relation in ("click", "order"):
        for file in copy.find(f"user_{relation}", f"user_{relation}.csv"):
            for frame in csv_batches(file):
                require_columns(frame.columns, ("user_id", "item_id", "dt"), file.shown)
                how_many = pl.col("count").cast(pl.Int64) if "count" in frame.columns else pl.lit(1, pl.Int64)
                yield graph_tables.whole(frame, ("user_id", "item_id"), file).select(
                    "user_id", "item_id", pl.lit(relation).alias("relation"), how_many.alias("count"), pl.col("dt").alias("date")
                )


def _items(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    for file in copy.find("item_info", "item_info.csv"):
        for frame in csv_batches(file):
            require_columns(frame.columns, ITEMS, file.shown)
            frame = graph_tables.whole(frame, ("item_id", "cid1", "cid2", "cid3"), file)
            yield frame.select(pl.col(ITEMS)).with_columns(pl.col("brand_code", "price").cast(pl.Float64, strict=False))


DATASET = Dataset(card=CARD, tables={"users": _users, "edges": _edges, "items": _items})
