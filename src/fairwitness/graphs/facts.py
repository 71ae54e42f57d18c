"""The four datasets as a table of facts: files of each published layout, columns, counts, and the rules that binarise.

Nothing here reads a file. A rule is data, so that a prediction made on the multiclass label can be looked at through the
binarised one later, without training again.
"""

from dataclasses import dataclass, field

from fairwitness.errors import InputError, listing, suggestion


@dataclass(frozen=True)
class Binarisation:
    """`column` is 1 where `source` is one of `ones`, else 0."""

    column: str
    source: str
    ones: tuple[str, ...]


@dataclass(frozen=True)
class Attribute:
    """One attribute of the attributed node type of RHGN: its name, its column in the features file, the file of its vectors."""

    name: str
    column: str
    table: str


@dataclass(frozen=True, kw_only=True)
class DatasetFacts:
    """What is known of one dataset before a file of it is opened."""

    name: str
    users_file: tuple[str, ...]
    edges_file: tuple[str, ...]
    fields_file: tuple[str, ...]
    features_file: str = ""
    attributes: tuple[Attribute, ...] = ()
    items: bool = False
    """Whether users meet items (clicks); otherwise users meet users, and RHGN sees two copies of them."""
    relations: tuple[str, ...] = ("click",)
    self_edges: bool = False
    """Whether the published edge list carries a self edge for every user."""
    labels: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    binarised: tuple[Binarisation, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    """Published sizes, and `column=value` frequencies, for the generator and for checks."""


def _rule(column: str, source: str, *ones: str) -> Binarisation:
    return Binarisation(column, source, ones)


DATASETS: dict[str, DatasetFacts] = {
    facts.name: facts
    for facts in (
        DatasetFacts(
            name="nba",
            users_file=("users.csv",),
            edges_file=("edges.csv",),
            fields_file=("points.npy",),
            features_file="features.csv",
            attributes=(
                Attribute("pts", "pts", "pts_feature.npy"),
                Attribute("height", "height", "height_feature.npy"),
                Attribute("weight", "weight", "weight_feature.npy"),
            ),
            labels=("salary", "bin_salary"),
            sensitive=("age", "bin_age", "country"),
            binarised=(_rule("bin_salary", "salary", "2"), _rule("bin_age", "age", "2")),
            counts={"users": 403, "edges": 10_621, "isolated": 3},
        ),
        DatasetFacts(
            name="pokec",
            users_file=("users.csv",),
            edges_file=("edges.csv",),
            fields_file=("categories.npy",),
            features_file="features.csv",
            attributes=(
                Attribute("completion", "completion_percentage", "compl_feature.npy"),
                Attribute("language", "spoken_languages_indicator", "lang_feature.npy"),
                Attribute("hobby", "hobbies_indicator", "hobbies_feature.npy"),
            ),
            labels=("work_field", "bin_work_field"),
            sensitive=("age", "bin_age", "gender", "region", "public"),
            binarised=(_rule("bin_work_field", "work_field", "1"), _rule("bin_age", "age", "2")),
            counts={"users": 13_504, "edges": 17_229, "isolated": 4_124},
        ),
        DatasetFacts(
            name="alibaba",
            users_file=("user_labels.csv", "users.csv"),
            edges_file=("user_edge.csv", "user_edge.npy", "edges.csv"),
            fields_file=("user_field.npy",),
            attributes=(
                Attribute("cid1", "cid1", "cid1_feature.npy"),
                Attribute("cid2", "cid2", "cid2_feature.npy"),
                Attribute("cid3", "cid3", "cid3_feature.npy"),
            ),
            items=True,
            self_edges=True,
            labels=("buy", "bin_buy", "student", "city", "gender", "age"),
            sensitive=("age", "bin_age", "gender"),
            binarised=(_rule("bin_buy", "buy", "1", "2"), _rule("bin_age", "age", "4")),
            counts={"users": 166_958, "items": 64_553, "clicks": 427_464, "categories": 2_820, "edges": 29_061_406},
        ),
        DatasetFacts(
            name="jd",
            users_file=("user_labels.csv", "users.csv"),
            edges_file=("user_edge.csv", "user_edge.npy", "edges.csv"),
            fields_file=("user_field.npy",),
            attributes=(
                Attribute("cid1", "cid1", "cid1_feature.npy"),
                Attribute("cid2", "cid2", "cid2_feature.npy"),
                Attribute("cid3", "cid3", "cid3_feature.npy"),
                Attribute("brand", "brand", "brand_feature.npy"),
            ),
            items=True,
            relations=("click", "purchase"),
            self_edges=True,
            labels=("expense", "bin_exp", "gender", "age"),
            sensitive=("age", "bin_age", "gender"),
            binarised=(_rule("bin_exp", "expense", "1", "2"), _rule("bin_age", "age", "0", "1")),
            counts={"users": 38_322, "items": 49_634, "clicks": 315_970, "categories": 2_056, "edges": 14_559_244},
        ),
    )
}


def dataset_facts(name: str) -> DatasetFacts:
    """The facts of one dataset; an unknown name is an InputError with the near one.

    >>> dataset_facts("nba").counts["users"]
    403
    """
    if name not in DATASETS:
        raise InputError(f"Unknown dataset '{name}'. There are: {listing(DATASETS)}.{suggestion(name, DATASETS)}")
    return DATASETS[name]
