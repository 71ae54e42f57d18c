"""Alibaba shoppers: the Taobao ad-click files of the user-modelling papers, or the small e-commerce sample that is public."""

from collections.abc import Iterator

import polars as pl

from fairwitness.datasets import graph_tables
from fairwitness.datasets.card import Card, Dataset, Manual
from fairwitness.datasets.raw import RawCopy, csv_batches, read_table
from fairwitness.tables import require_columns

USERS = ("user_id", "gender", "age", "education", "career", "income", "stages")
ITEMS = ("item_id", "category1", "category", "brand", "price")
RELATIONS = {"1": "click", "2": "collect", "3": "cart", "4": "buy"}
PROFILE = {
    "userid": "user_id",
    "final_gender_code": "gender",
    "age_level": "age",
    "pvalue_level": "consumption",
    "shopping_level": "shopping",
    "occupation": "student",
    "new_user_class_level": "city",
}
AD = {"adgroup_id": "item_id", "cate_id": "category", "campaign_id": "campaign", "brand": "brand", "price": "price"}

CARD = Card(
    name="alibaba",
    title="Alibaba user profiling (Taobao ad clicks; e-commerce sample)",
    licence="Tianchi's terms; the e-commerce sample lies in an MIT repository",
    citation="Purificato, Boratto, De Luca (2022). Do Graph Neural Networks Build Fair User Models? CIKM; Xue et al. (2020). "
    "Modeling Dynamic Heterogeneous Network for Link Prediction using Hierarchical Attention with Temporal RNN (DyHATR)",
    warning="",
    counts={
        "sample users": 1_500,
        "sample items": 36_224,
        "sample edges": 85_213,
        "sample gender 1": 362,
        "sample gender unknown": 7,
        "paper users": 166_958,
        "paper ads": 64_553,
        "paper clicks": 427_464,
    },
    counted_on="a real copy of the e-commerce sample (DyHATR); the paper's figures are its own",
    columns={
        "user_id": "as released",
        "gender": "0 or 1 in the sample; 1 male and 2 female in the ad-click files, as released; null where unknown",
        "age": "age level as released; null where unknown",
        "education, career, income, stages": "sample only; null where unknown",
        "consumption, shopping, student, city": "ad-click files only, as released",
        "edges: user_id, item_id, relation, date": "click, collect, cart or buy",
        "items: item_id, category, brand, price": "what was clicked",
    },
    layouts=(
        "ecomm_user_feature.txt, ecomm_edge_train.txt, ecomm_item_feature.txt (DyHATR sample)",
        "user_profile.csv, raw_sample.csv, ad_feature.csv (Tianchi ad clicks)",
        "users.csv and edges.csv (prepared)",
    ),
    remotes=(
        Manual(
            address="https://tianchi.aliyun.com/dataset/56",
            how="Tianchi asks for a log-in. Put user_profile.csv, raw_sample.csv and ad_feature.csv in one folder, then add "
            "--source FOLDER. A small public stand-in: dataset/ecomm of https://github.com/xuehansheng/DyHATR",
        ),
    ),
    dead={"the papers' prepared Alibaba inputs": "not in any public copy of their repository"},
    notes="The sample is another dataset of the same shape, not the papers'.",
)


def _users(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    sample, profile = copy.find("ecomm_user_feature.txt"), copy.find("user_profile.csv")
    if sample:
        for frame in csv_batches(sample[0], separator="\t", names=USERS, quotes=False):
            known = frame.with_columns(pl.col(name).replace("-1", None) for name in USERS[1:])
            known = graph_tables.whole(known, ("user_id", "gender", "age", "education", "career"), sample[0])
            yield known.with_columns(pl.col("income").cast(pl.Float64))
    elif profile:
        for frame in csv_batches(profile[0]):
            frame = frame.rename({name: name.strip() for name in frame.columns})  # the release has a blank behind one name
            require_columns(frame.columns, tuple(PROFILE), profile[0].shown)
            yield graph_tables.whole(
                frame.select(pl.col(a).alias(b) for a, b in PROFILE.items()), tuple(PROFILE.values()), profile[0]
            )
    else:
        yield graph_tables.prepared_users(copy, ("gender",))


def _edges(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    sample, clicks = copy.find("ecomm_edge_train.txt"), copy.find("raw_sample.csv")
    if sample:
        for frame in csv_batches(sample[0], separator="\t", names=("user_id", "item_id", "relation", "date"), quotes=False):
            named = frame.with_columns(pl.col("relation").replace_strict(RELATIONS, default=None))
            yield graph_tables.whole(named, ("user_id", "item_id"), sample[0])
    elif clicks:
        for frame in csv_batches(clicks[0]):
            require_columns(frame.columns, ("user", "time_stamp", "adgroup_id", "clk"), clicks[0].shown)
            chosen = frame.filter(pl.col("clk") == "1").select(
                pl.col("user").alias("user_id"),
                pl.col("adgroup_id").alias("item_id"),
                pl.lit("click").alias("relation"),
                "time_stamp",
            )
            yield graph_tables.whole(chosen, ("user_id", "item_id"), clicks[0]).rename({"time_stamp": "date"})
    else:
        yield from graph_tables.prepared_edges(copy)


def _items(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    sample, ads = copy.find("ecomm_item_feature.txt"), copy.find("ad_feature.csv")
    if sample:
        for frame in csv_batches(sample[0], separator="\t", names=ITEMS, quotes=False):
            yield graph_tables.whole(frame, ITEMS[:-1], sample[0]).with_columns(pl.col("price").cast(pl.Float64, strict=False))
    elif ads:
        frame = read_table(ads[0])
        require_columns(frame.columns, tuple(AD), ads[0].shown)
        frame = frame.select(pl.col(theirs).replace("NULL", None).alias(ours) for theirs, ours in AD.items())
        yield graph_tables.whole(frame, tuple(AD.values())[:-1], ads[0]).with_columns(pl.col("price").cast(pl.Float64))


DATASET = Dataset(card=CARD, tables={"users": _users, "edges": _edges, "items": _items})
