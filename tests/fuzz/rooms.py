"""Readers of the single rooms: StereoSet, lexicons, templates, tasks, scorers, KoSBi's files, graphs, raw datasets."""

import io
import json
import shutil
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.fuzz.reader import Reader

PACKAGE = resources.files("fairwitness")


def _file(*parts: str) -> bytes:
    place = PACKAGE
    for part in parts:
        place = place / part
    return place.read_bytes()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


# --- StereoSet and CrowS-Pairs

ITEM = {
    "id": "a1",
    "context": "He is here.",
    "target": "neighbour",
    "bias_type": "profession",
    "sentences": [
        {"id": f"s{k}", "sentence": f"He is BLANK {k}.".replace("BLANK", word), "gold_label": label}
        for k, (word, label) in enumerate([("kind", "stereotype"), ("tall", "anti-stereotype"), ("seven", "unrelated")])
    ],
}
DEV = {"version": "1.1", "data": {"intersentence": [ITEM]}}
ITEM_WORDS = (
    "data",
    "intersentence",
    "intrasentence",
    "id",
    "context",
    "target",
    "bias_type",
    "sentences",
    "sentence",
    "gold_label",
)


RESULTS = (
    b"id,bias_type,context,target,sentence_options,sentence_scores,predicted_option,predicted_label,gold_labels\n"
    b"a1,profession,He is BLANK.,neighbour,\"['kind', 'tall', 'seven']\",\"[-1.5, nan, None]\",0,stereotype,"
    b"\"['stereotype', 'anti-stereotype', 'unrelated']\"\n"
)


def _items(path: Path) -> None:
    from fairwitness.datasets.stereoset_items import read_items

    read_items(path)


def _predictions(path: Path) -> None:
    from fairwitness.audits.stereoset_score import ScoreConfig, score_predictions

    shutil.rmtree(path.parent / "scored", ignore_errors=True)
    score_predictions(
        ScoreConfig(predictions=path, out=path.parent / "scored" / "r.json", draws=100, subset="intersentence", allow_missing=True)
    )


def _results(path: Path) -> None:
    from fairwitness.audits.stereoset_analysis import read_results

    read_results(path)


def _pairs(path: Path) -> None:
    from fairwitness.datasets.crows_items import read_pairs

    read_pairs(path)


def _built_in_predictions() -> bytes:
    from fairwitness.datasets.stereoset_items import read_items

    ids = read_items(subset="intersentence")["id"].to_list()
    return _json({"intersentence": [{"id": name, "score": -1.5 - k} for k, name in enumerate(ids)]})


# --- counterfactual


def _lexicon(path: Path) -> None:
    from fairwitness.datasets.counterfactual.finding import Finder
    from fairwitness.datasets.counterfactual.lexicon import read_lexicon

    Finder(read_lexicon(path))


def _templates(path: Path) -> None:
    from fairwitness.audits.counterfactual_expand import expanded_pieces
    from fairwitness.audits.counterfactual_templates import read_templates

    for _ in expanded_pieces(read_templates(path)):
        pass


def _cassette(path: Path) -> None:
    from fairwitness.scorers.by_name import scorer_by_name

    scorer = scorer_by_name(f"cassette:{path}")
    scorer.score(["a", "b"])
    _ = scorer.identity


def _calibration(path: Path) -> None:
    from fairwitness.scorers.by_name import scorer_by_name

    scorer = scorer_by_name(f"calibrated:{path}")
    _ = scorer.identity
    scorer.score(["a mild text"])


def _http(path: Path) -> None:
    from fairwitness.scorers.http_json import HTTPScorer

    scorer = HTTPScorer(path=path)
    _ = scorer.identity, scorer.calls
    scorer.request("text")


def _cassette_bytes(folder: Path) -> bytes:
    from fairwitness.scorers import cassette

    frame = pl.DataFrame({"score": [0.5, 0.25], "error": [None, None]}, schema={"score": pl.Float64, "error": pl.String})
    rows = cassette.rows_of(["a", "b"], frame, attribute="TOXICITY", version="1", keep_text=True)
    cassette.write_cassette(folder / "c.parquet", [rows], {"scorer": "perspective"})
    return (folder / "c.parquet").read_bytes()


# --- zero-shot


def _task(path: Path) -> None:
    from fairwitness.scorers.tasks import task

    task(str(path))


def _identity_words(path: Path) -> None:
    from fairwitness.explain.words import read_identity_words

    read_identity_words(path)


# --- authoring

ROW = {
    "context": "A new family moved in next door.",
    "sentence": "They brought a cake.",
    "demographic_category": "Family",
    "demographic_group": "a new family",
    "demographic_group_set": "a new family, newcomers",
    "context_label": "safe",
    "sentence_label": "safe",
    "context_sub_label": "undefined",
    "sentence_sub_label": "undefined",
    "include?": 1,
}


def _rows(path: Path) -> None:
    from fairwitness.authoring.filter_training import read_labelled
    from fairwitness.authoring.records import read_rows
    from fairwitness.authoring.schema import load_schema

    read_rows(path, ["context"])
    schema = load_schema("kosbi")
    for name in schema.tasks:
        read_labelled(schema, schema.tasks[name], path)


def _groups(path: Path) -> None:
    from fairwitness.authoring.records import read_groups

    read_groups(path)


def _schema(path: Path) -> None:
    from fairwitness.authoring.schema import load_schema

    load_schema.cache_clear()
    load_schema(str(path))


def _loop(path: Path) -> None:
    from fairwitness.authoring.loop_config import read_loop

    read_loop(path)


def _checkpoint(path: Path) -> None:
    from fairwitness.models.text_classifier import load_classifier

    load_classifier(path).logits([("a mild", "text")])


def _npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


# --- graphs: one file of a small layout is the one tried, the others are sound

USERS = b"user_id,SALARY,country\n0,1,0\n1,0,1\n2,1,1\n3,0,0\n"
EDGES = b"uid1,uid2\n0,1\n1,2\n2,3\n3,0\n"


def _graph(which: str, path: Path, dataset: str = "nba") -> None:
    from fairwitness.graphs.published import Layout, load_published

    folder = path.parent / "graph"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "users.csv").write_bytes(USERS)
    (folder / "edges.csv").write_bytes(EDGES)
    (folder / which).write_bytes(path.read_bytes())
    load_published(Layout(dataset=dataset, folder=folder))


def _array(path: Path) -> None:
    from fairwitness.graphs.reading import read_array

    read_array(path)


# --- raw copies of datasets


def _raw(name: str, path: Path) -> None:
    from fairwitness.datasets.download import load_dataset

    load_dataset(name, source=path)


JIGSAW = b"id,target,comment_text,male,female,split\n1,0.2,a mild text,0.0,1.0,train\n2,0.9,another,,,test\n"
SBIC = (
    b"HITId,post,offensiveYN,intentYN,sexYN,whoTarget,targetCategory,targetMinority,targetStereotype,WorkerId\n"
    b"1,a mild text,0.0,0.33,0.0,1.0,gender,,,2\n"
)
HATEXPLAIN = {
    "1_x": {
        "post_id": "1_x",
        "annotators": [{"label": "normal", "annotator_id": 1, "target": ["None"]}],
        "rationales": [],
        "post_tokens": ["a", "mild", "text"],
    }
}

LOOP = (b'folder = "x"\ngroups = "g.json"\ncontext_demos = "c.json"\nsentence_demos = "s.json"\nskip = []\n[filter]\nepoch = 2\n',)
HEAD = np.array('{"format": 1, "settings": {"bits": 4}, "about": {}}')
CHECKPOINT = (_npz(head=HEAD, idf=np.zeros(37, np.float32), kept=np.zeros(1, np.int32), weights=np.ones(1, np.float32)),)

ROOMS: dict[str, Reader] = {
    "stereoset_items": Reader(_items, "dev.json", (_json(DEV), _file("datasets", "builtin", "stereoset_items.json")), ITEM_WORDS),
    "stereoset_predictions": Reader(
        _predictions, "p.json", (_built_in_predictions(),), ("intersentence", "intrasentence", "id", "score")
    ),
    "stereoset_results": Reader(_results, "r.csv", (RESULTS,), ("context", "target", "sentence_options", "sentence_scores")),
    "crows_csv": Reader(
        _pairs,
        "crows.csv",
        (b"sent_more,sent_less,stereo_antistereo,bias_type\nHe is here.,She is here.,stereo,gender\n",),
        ("sent_more", "sent_less", "stereo_antistereo", "bias_type", "stereo", "gender"),
    ),
    "lexicon": Reader(
        _lexicon,
        "own.toml",
        (
            b'category = "team"\n[slots]\nTEAM = "players"\n[[group]]\nname = "red"\n'
            b'fill = { TEAM = "reds" }\nfind.TEAM = ["red"]\n'
            b'[[group]]\nname = "blue"\nfill = { TEAM = "blues" }\n',
            _file("datasets", "counterfactual", "lexicons", "gender.toml"),
        ),
        ("category", "slots", "group", "name", "aliases", "companions", "adjective_of", "ambiguous", "words", "found"),
    ),
    "templates_txt": Reader(_templates, "t.txt", (b"My {RACE} neighbour sings. | Neutral\nA {GENDER_PERSON} came. | Positive\n",)),
    "calibration": Reader(
        _calibration,
        "c.json",
        (_json({"format": "fairwitness-calibration/1", "scorer": "profanity", "x": [0, 1], "y": [0.1, 0.9]}),),
        ("format", "fairwitness-calibration/1", "scorer", "profanity", "x", "y"),
    ),
    "http_scorer": Reader(
        _http,
        "s.toml",
        (b'name = "s"\nurl = "http://localhost:1/x"\nscore = "a.0.b"\nscale = [0, 100]\nbody = { text = "$text" }\nqps = 2.0\n',),
        ("url", "score", "body", "scale", "headers", "qps", "workers", "timeout_s", "attempts", "per_minute"),
    ),
    "task_toml": Reader(
        _task,
        "t.toml",
        (b'positive = "rude"\nnegative = "polite"\nprompt = "Text: {text} Answer:"\nprompts = ["x {text}"]\n',),
        ("positive", "negative", "prompt", "prompts", "name"),
    ),
    "identity_words": Reader(_identity_words, "w.toml", (b'women = ["woman", "women"]\n',), ("women",)),
    "kosbi_json": Reader(_rows, "k.json", (_json([ROW, ROW]),), tuple(ROW)),
    "kosbi_jsonl": Reader(_rows, "k.jsonl", (_json(ROW) + b"\n" + _json(ROW),), tuple(ROW)),
    "groups": Reader(_groups, "g.json", (_json({"Family": ["a new family, newcomers", ["x", "y"]]}),), ("Family",)),
    "schema_toml": Reader(
        _schema, "s.toml", (_file("authoring", "schemas", "kosbi.toml"),), ("first", "second", "tasks", "labels")
    ),
    "loop_toml": Reader(
        _loop,
        "l.toml",
        (
            b'folder = "x"\ngroups = "g.json"\ncontext_demos = "c.json"\nsentence_demos = "s.json"\n'
            b"skip = []\n[filter]\nepoch = 2\n",
        ),
        ("skip", "filter", "schema"),
    ),
    "checkpoint": Reader(_checkpoint, "c.npz", CHECKPOINT),
    "graph_users": Reader(partial(_graph, "users.csv"), "u.csv", (USERS,), ("user_id", "SALARY", "country")),
    "graph_edges": Reader(partial(_graph, "edges.csv"), "e.csv", (EDGES,), ("uid1", "uid2")),
    "graph_array": Reader(_array, "a.npy", (_npy(np.zeros((4, 2), np.int64)), _npz(a=np.zeros(3)))),
    "graph_fields": Reader(partial(_graph, "user_field.npy", dataset="alibaba"), "f.npy", (_npy(np.zeros((4, 2), np.int64)),)),
    "raw_jigsaw": Reader(partial(_raw, "jigsaw"), "train.csv", (JIGSAW,), ("id", "target", "comment_text", "male")),
    "raw_sbic": Reader(partial(_raw, "sbic"), "SBIC.v2.trn.csv", (SBIC,), ("post", "offensiveYN")),
    "raw_hatexplain": Reader(
        partial(_raw, "hatexplain"), "dataset.json", (_json(HATEXPLAIN),), ("annotators", "label", "post_tokens")
    ),
    "raw_kosbi": Reader(partial(_raw, "kosbi"), "kosbi_v2_train.json", (_json([ROW]),), tuple(ROW)),
    "raw_stereoset": Reader(partial(_raw, "stereoset"), "dev.json", (_json(DEV),), ITEM_WORDS),
}


def with_cassette(folder: Path) -> dict[str, Reader]:
    """The one reader whose seed has to be written by the package."""
    return {"cassette": Reader(_cassette, "c.parquet", (_cassette_bytes(folder),))}
